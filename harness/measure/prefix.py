"""Where a request stops beginning like the one before it, which is where a provider's prompt cache ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from harness.measure.task import SYSTEM_ROLES, TaskStep, role_of


@dataclass(frozen=True, slots=True)
class PrefixBreak:
    """What changed first (``model``, ``system``, ``tools`` or ``history``), where, and the prompt tokens after it."""

    kind: str
    where: str
    tokens_after: int


class PrefixWatch:
    """Goes along a task and says of each step where its prefix breaks, None where it only goes on.

    Providers render the tools behind the first system message, so tools come before the history.
    """

    def __init__(self) -> None:
        self._before: TaskStep | None = None
        self._tokens: list[int] = []

    def next(self, step: TaskStep) -> PrefixBreak | None:
        """Look at the next step of the task."""
        count = step.count
        del self._tokens[count.messages_from :]
        self._tokens += [message.tokens for message in count.messages]
        before, self._before = self._before, step
        if before is None:
            return None
        if (before.model or "") != (step.model or ""):
            return PrefixBreak("model", f"{before.model} became {step.model}", count.total)
        return self._in_prompt(before, step)

    def _in_prompt(self, before: TaskStep, step: TaskStep) -> PrefixBreak | None:
        shared = step.shared
        kind = "system" if _is_system(before, shared) or _is_system(step, shared) else "history"
        head = next((n for n, message in enumerate(step.messages) if role_of(message) in SYSTEM_ROLES), None)
        whole = shared >= len(before.messages)
        if not whole and (head is None or shared <= head):
            # Where there is no system message, the tools have one of their own at the front.
            front = 0 if head is not None else step.count.tools_tokens
            if front == 0 or _same_tools(before, step):
                after = step.count.total - step.count.priming - sum(self._tokens[:shared]) - front
                return PrefixBreak(kind, f"messages[{shared}]", after)
        tool = _first_difference(before.tools, step.tools)
        if tool is not None:
            kept = sum(one.tokens for one in step.count.tools[:tool])
            system = self._tokens[head] if head is not None and head < len(self._tokens) else 0
            front = sum(self._tokens[:head]) if head else 0
            after = step.count.total - step.count.priming - front - system - kept
            return PrefixBreak("tools", f"tools[{tool}]{_tool_name(step, before, tool)}", max(after, 0))
        if whole:
            return None
        return PrefixBreak(kind, f"messages[{shared}]", sum(self._tokens[shared:]))


def breaks(steps: Sequence[TaskStep]) -> Iterator[PrefixBreak | None]:
    """For each step of a task where its prefix breaks."""
    watch = PrefixWatch()
    for step in steps:
        yield watch.next(step)


def _is_system(step: TaskStep, index: int) -> bool:
    return index < len(step.messages) and role_of(step.messages[index]) in SYSTEM_ROLES


def _same_tools(before: TaskStep, step: TaskStep) -> bool:
    return _first_difference(before.tools, step.tools) is None


def _first_difference(before: Sequence[Any], now: Sequence[Any]) -> int | None:
    if before == now:
        return None
    limit = min(len(before), len(now))
    return next((n for n in range(limit) if before[n] != now[n]), limit)


def _tool_name(step: TaskStep, before: TaskStep, index: int) -> str:
    for side in (step.count.tools, before.count.tools):
        if index < len(side) and side[index].name:
            return f" ({side[index].name})"
    return ""
