"""The conversation as it is sent: always valid for a strict server.

Each call is answered exactly once, in the order of the calls; assistant messages stay as they came, except for what no
strict server takes back: a missing role, ids or names, arguments that are not a JSON object, a list of calls that holds
none, null content without a call (W06, W07, O05). Half a surrogate pair, which UTF-8 cannot hold, becomes U+FFFD.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from harness.pipeline.arguments import parse_tool_input
from harness.pipeline.observation import ToolObservation
from harness.pipeline.orchestrator import INTERRUPTED, ToolCallPlan
from harness.wire.chat import ModelTurn
from harness.wire.half_pairs import without_halves

__all__ = ["INTERRUPTED", "History", "HistoryError", "interrupted_answers"]


class HistoryError(ValueError):
    """A message that would make the history invalid: an answer without its call, a call left unanswered."""


class History:
    """Messages in wire form, appended in valid order only. ``messages`` gives copies, so nobody changes the past.

    It may begin with ``messages``, which are sent as they are given; `resumed` makes those of a saved conversation
    valid. The last ``open_calls`` of them wait for an answer, as ``open_function`` where the call is of the old form.
    """

    def __init__(
        self,
        messages: Iterable[Mapping[str, Any]] = (),
        *,
        open_calls: Iterable[str] = (),
        open_function: str | None = None,
    ) -> None:
        self._messages: list[dict[str, Any]] = [_sendable(message) for message in messages]
        self._open: list[str] = list(open_calls)
        self._open_function = open_function
        self._call_ids = {call_id for message in self._messages for call_id in _ids_of(message)}

    def __len__(self) -> int:
        return len(self._messages)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """All messages, as the next request sends them."""
        return copy.deepcopy(self._messages)

    @property
    def open_calls(self) -> tuple[str, ...]:
        """Ids of calls that have no answer yet, in order."""
        return tuple(self._open)

    @property
    def call_ids(self) -> frozenset[str]:
        """The ids of all calls so far, compacted ones included: none of them may name another call (bug report A13)."""
        return frozenset(self._call_ids)

    def append(self, message: Mapping[str, Any]) -> None:
        """Add a system, developer or user message; raises HistoryError while calls are unanswered."""
        self._demand_answered()
        self._messages.append(_sendable(message))

    def append_turn(self, turn: ModelTurn, plans: Sequence[ToolCallPlan]) -> None:
        """Add the model's turn. ``plans`` are those of its calls, by position; their answers must follow."""
        self._demand_answered()
        message = {**turn.message, "role": "assistant"}
        if plans and turn.legacy_function_call:
            message["function_call"] = {"name": plans[0].tool_name, "arguments": _sendable_arguments(plans[0])}
        elif plans:
            message["tool_calls"] = [_call_entry(message, plan) for plan in plans]
        else:
            message.pop("tool_calls", None)
            if message.get("content") is None and not message.get("function_call"):
                message["content"] = ""
        self._messages.append(_sendable(message))
        self._open = [plan.tool_call_id for plan in plans]
        self._call_ids.update(self._open)
        self._open_function = plans[0].tool_name if plans and turn.legacy_function_call else None

    def append_observation(self, observation: ToolObservation, *, legacy: bool = False) -> None:
        """Add the answer to the next open call; raises HistoryError for any other."""
        if not self._open or self._open[0] != observation.tool_call_id:
            due = self._open[0] if self._open else "no call"
            raise HistoryError(f"an answer to {observation.tool_call_id} where {due} is due")
        self._open.pop(0)
        if legacy:
            message = {"role": "function", "name": observation.tool_name, "content": observation.observation}
        else:
            message = {
                "role": "tool",
                "tool_call_id": observation.tool_call_id,
                "content": observation.observation,
            }
        self._messages.append(_sendable(message))

    def close_interrupted(self) -> int:
        """Answer every open call with the fact of the interruption, so that the pairs stay whole; how many."""
        answers = interrupted_answers(self._open, self._open_function)
        self._messages += [_sendable(answer) for answer in answers]
        self._open.clear()
        return len(answers)

    def compact(self, keep_last: int, summary: str) -> int:
        """Replace the oldest messages by one user message with ``summary``; how many were replaced.

        System and developer messages at the start stay. At least ``keep_last`` messages at the end stay; the cut
        moves back to where no pair of call and answer is torn. Raises HistoryError while calls are unanswered.
        """
        self._demand_answered()
        start = 0
        while start < len(self._messages) and self._messages[start].get("role") in ("system", "developer"):
            start += 1
        cut = max(start, len(self._messages) - keep_last)
        while cut > start and self._messages[cut : cut + 1] and self._messages[cut]["role"] in ("tool", "function"):
            cut -= 1
        if cut == start:
            return 0
        replaced = cut - start
        self._messages[start:cut] = [_sendable({"role": "user", "content": summary})]
        return replaced

    def _demand_answered(self) -> None:
        if self._open:
            raise HistoryError(f"calls without an answer: {', '.join(self._open)}")


def interrupted_answers(call_ids: Iterable[str], function: str | None) -> list[dict[str, Any]]:
    """Messages that answer these calls with the fact of the interruption, as ``function`` in the old form."""
    if function is not None:
        return [{"role": "function", "name": function, "content": INTERRUPTED} for _ in call_ids]
    return [{"role": "tool", "tool_call_id": call_id, "content": INTERRUPTED} for call_id in call_ids]


def _ids_of(message: Mapping[str, Any]) -> Iterator[str]:
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, Mapping) and isinstance(call.get("id"), str):
            yield call["id"]


def _sendable(message: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of the message that the client can write."""
    copied: dict[str, Any] = without_halves(dict(message))
    return copied


def _call_entry(message: Mapping[str, Any], plan: ToolCallPlan) -> dict[str, Any]:
    received = [
        entry
        for entry in message.get("tool_calls") or []
        if isinstance(entry, dict) and isinstance(entry.get("function"), dict)
    ]
    entry = dict(received[plan.position]) if plan.position < len(received) else {}
    function = dict(entry.get("function", {}))
    function["name"] = plan.tool_name
    function["arguments"] = _sendable_arguments(plan)
    return {**entry, "id": plan.tool_call_id, "type": entry.get("type") or "function", "function": function}


def _sendable_arguments(plan: ToolCallPlan) -> str:
    """The arguments as they came where that is a JSON object, else what they were read as, or ``{}`` (D09)."""
    raw = plan.raw_arguments
    if isinstance(raw, str) and raw.strip() and parse_tool_input(raw)[1] is None:
        return raw
    return json.dumps(plan.parsed_input, ensure_ascii=False)
