"""What a change of tool definitions costs: two sets compared tool by tool, per request and per task."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import orjson

from harness.measure.prompt import PromptCount, count_request
from harness.measure.task import Task
from harness.wire.half_pairs import dumps


@dataclass(slots=True)
class ToolSet:
    """The definitions sent with a request, counted; ``json_bytes`` is the size of the array as compact JSON.

    ``sets`` is how many different sets the source sent; this is the one that most of its requests had.
    """

    tools: Sequence[Any]
    count: PromptCount
    sets: int = 1

    @property
    def json_bytes(self) -> int:
        """The size of the array as compact JSON."""
        return len(dumps(self.tools))

    @property
    def tokens(self) -> int:
        """What the set adds to each request."""
        return self.count.tools_tokens


@dataclass(frozen=True, slots=True)
class ToolChange:
    """One tool before and after; None where it is missing. ``status``: added, removed, changed or same."""

    name: str
    status: str
    before: int | None
    after: int | None

    @property
    def delta(self) -> int:
        """Tokens more (or less) in each request."""
        return (self.after or 0) - (self.before or 0)


@dataclass(slots=True)
class TaskChange:
    """What the change costs in one task: its requests with tools, and the tokens more (or less) over all of them."""

    file: str
    task: int
    requests: int
    delta: int


@dataclass(slots=True)
class Against:
    """A change of definitions, from ``before`` to ``after``."""

    before: ToolSet
    after: ToolSet
    changes: list[ToolChange] = field(default_factory=list)
    tasks: list[TaskChange] = field(default_factory=list)

    @property
    def delta(self) -> int:
        """Tokens more (or less) in each request, the frame around the tools included."""
        return self.after.tokens - self.before.tokens

    def document(self) -> dict[str, object]:
        """For JSON."""
        return {
            "before": _set_document(self.before),
            "after": _set_document(self.after),
            "per_request": self.delta,
            "tools": [{**asdict(change), "delta": change.delta} for change in self.changes],
            "tasks": [asdict(task) for task in self.tasks],
        }


def tool_set(tools: Sequence[Any], model: str | None = None, sets: int = 1, *, sorted_keys: bool = False) -> ToolSet:
    """Count a ``tools`` array as it is sent."""
    body = {"tools": list(tools), "messages": [{"role": "system", "content": "x"}]}
    return ToolSet(tools, count_request(body, model, sorted_keys=sorted_keys), sets)


def sent_tools(tasks: Iterable[Task]) -> ToolSet | None:
    """The set of tools that most requests of some tasks sent, of several the larger; None where none was sent."""
    found: dict[bytes, list[Any]] = {}
    last: tuple[Sequence[Any] | None, bytes] = (None, b"")
    for task in tasks:
        for step in task.own_steps:
            if not step.tools:
                continue
            if step.tools != last[0]:
                last = (step.tools, dumps(step.tools, option=orjson.OPT_SORT_KEYS))
            entry = found.setdefault(last[1], [0, step.count.tools_tokens, step])
            entry[0] += 1
    if not found:
        return None
    _, _, step = max(found.values(), key=lambda entry: (entry[0], entry[1]))
    # Not the step's own count: where system prompts meet the tools a token more or less is no change of the tools.
    return tool_set(step.tools, step.model, len(found))


def compare_tools(before: ToolSet, after: ToolSet, tasks: Iterable[Task] = ()) -> Against:
    """Compare two sets, counted in the encoding of ``after``; ``tasks`` are those whose requests carry the change."""
    if before.count.encoding != after.count.encoding:
        before = tool_set(before.tools, after.count.model, before.sets)
    result = Against(before, after, list(_changes(before, after)))
    for task in tasks:
        requests = sum(bool(step.tools) for step in task.own_steps)
        if requests:
            result.tasks.append(TaskChange(task.file, task.number, requests, requests * result.delta))
    return result


def _changes(before: ToolSet, after: ToolSet) -> Iterable[ToolChange]:
    olds, news = _by_name(before), _by_name(after)
    for name in dict.fromkeys((*olds, *news)):
        old, new = olds.get(name), news.get(name)
        if old is None or new is None:
            status = "added" if old is None else "removed"
        else:
            status = "same" if old[0] == new[0] else "changed"
        yield ToolChange(name, status, old[1] if old else None, new[1] if new else None)


def _by_name(tools: ToolSet) -> dict[str, tuple[Any, int]]:
    definitions = {_name(tool): tool for tool in tools.tools}
    return {one.name: (definitions.get(one.name), one.tokens) for one in tools.count.tools}


def _name(tool: object) -> str:
    function = tool.get("function", tool) if isinstance(tool, Mapping) else None
    return str(function.get("name") or "") if isinstance(function, Mapping) else ""


def _set_document(tools: ToolSet) -> dict[str, object]:
    return {
        "tools": len(tools.count.tools),
        "tokens": tools.tokens,
        "json_bytes": tools.json_bytes,
        "different_sets": tools.sets,
    }
