"""A saved conversation made valid again, so that an agent can go on with it (bug reports A13, D07, D09 to D11).

What another program stored may hold cut arguments, calls without an answer, answers without an id, ids used again. What
can be told is put right; what cannot is refused and never guessed, because a result under the wrong call misleads the
model without any error.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from typing import Any

from harness.pipeline.arguments import parse_tool_input
from harness.pipeline.history import History, HistoryError, interrupted_answers
from harness.seams import IdSource, RandomIds
from harness.wire.rules import check_request


def resumed(messages: Sequence[Mapping[str, Any]], ids: IdSource | None = None) -> History:
    """The history that goes on from ``messages``, in wire form.

    Put right: arguments that are no JSON object (``{}``), null content without a call (``""``), answers in another
    order than their calls, one answer without an id where one call is left, ids that an earlier message has used (a
    fresh one from ``ids``), calls in the middle without an answer (answered as interrupted). Calls at the end without
    an answer stay open, see `History.close_interrupted`. Raises HistoryError, with the message's place, for all else.
    """
    return _Reader(ids or RandomIds()).read(messages)


class _Reader:
    """Reads turn by turn: an assistant message and the answers after it."""

    def __init__(self, ids: IdSource) -> None:
        self._ids = ids
        self._used: set[str] = set()
        self._sound: list[dict[str, Any]] = []

    def read(self, messages: Sequence[Mapping[str, Any]]) -> History:
        position = 0
        open_calls: list[str] = []
        open_function: str | None = None
        while position < len(messages):
            self._sound += interrupted_answers(open_calls, open_function)
            message = copy.deepcopy(dict(messages[position]))
            end = position + 1
            while end < len(messages) and messages[end].get("role") in ("tool", "function"):
                end += 1
            answers = list(enumerate(messages[position + 1 : end], position + 1))
            open_calls, open_function = self._turn(message, position, answers)
            position = end
        answered = [*self._sound, *interrupted_answers(open_calls, open_function)]
        if answered and (breaches := check_request({"messages": answered})):
            raise HistoryError(f"{breaches[0].path}: {breaches[0].why}")
        return History(self._sound, open_calls=open_calls, open_function=open_function)

    def _turn(
        self, message: dict[str, Any], position: int, answers: Sequence[tuple[int, Mapping[str, Any]]]
    ) -> tuple[list[str], str | None]:
        """Store one message and its answers; which calls have none, and the function where they are of the old form."""
        calls = message.get("tool_calls") if message.get("role") == "assistant" else None
        legacy = message.get("function_call") if message.get("role") == "assistant" else None
        self._sound.append(message)
        if calls:
            return self._calls(calls, position, answers), None
        if message.get("role") == "assistant":
            message.pop("tool_calls", None)
            if message.get("content") is None and not legacy:
                message["content"] = ""
        if isinstance(legacy, dict):
            _mend(legacy)
            if len(answers) > 1 or any(answer.get("role") != "function" for _, answer in answers):
                raise HistoryError(f"$.messages[{answers[-1][0]}]: answers no call before it")
            self._sound += [copy.deepcopy(dict(answer)) for _, answer in answers]
            return ([], None) if answers else (["function_call"], str(legacy.get("name")))
        if answers:
            raise HistoryError(f"$.messages[{answers[0][0]}]: answers no call before it")
        return [], None

    def _calls(self, calls: object, position: int, answers: Sequence[tuple[int, Mapping[str, Any]]]) -> list[str]:
        where = f"$.messages[{position}].tool_calls"
        if not isinstance(calls, list) or not all(_is_call(call) for call in calls):
            raise HistoryError(f"{where}: not a list of calls, each with an id and a function with a name")
        received = [call["id"] for call in calls]
        if len(set(received)) < len(received):
            raise HistoryError(f"{where}: an id is used twice, which answer is whose cannot be told")
        by_id = _by_id(received, answers)
        left: list[str] = []
        for call, call_id in zip(calls, received, strict=True):
            call["id"] = self._unused(call_id)
            _mend(call["function"])
            answer = by_id.get(call_id)
            if answer is None:
                left.append(call["id"])
            elif left:
                # The order of the answers is that of the calls; what is left before an answered call is closed here.
                self._sound += interrupted_answers(left, None)
                left = []
            if answer is not None:
                self._sound.append({**copy.deepcopy(dict(answer)), "tool_call_id": call["id"]})
        return left

    def _unused(self, call_id: str) -> str:
        while call_id in self._used:
            call_id = self._ids.call_id()
        self._used.add(call_id)
        return call_id


def _by_id(calls: Sequence[str], answers: Sequence[tuple[int, Mapping[str, Any]]]) -> dict[str, Mapping[str, Any]]:
    """The answers by the id of their call; one without an id goes to the only call that is left."""
    by_id: dict[str, Mapping[str, Any]] = {}
    nameless: list[tuple[int, Mapping[str, Any]]] = []
    for position, answer in answers:
        call_id = answer.get("tool_call_id")
        if not call_id:
            nameless.append((position, answer))
        elif call_id not in calls:
            raise HistoryError(f"$.messages[{position}]: {call_id!r} answers no call before it")
        elif call_id in by_id:
            raise HistoryError(f"$.messages[{position}]: {call_id!r} has been answered already")
        else:
            by_id[call_id] = answer
    if nameless:
        left = [call_id for call_id in calls if call_id not in by_id]
        if len(nameless) > 1 or len(left) != 1:
            raise HistoryError(
                f"$.messages[{nameless[0][0]}]: an answer without tool_call_id, and {len(left)} calls that it may be of"
            )
        by_id[left[0]] = nameless[0][1]
    return by_id


def _is_call(call: object) -> bool:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(call, dict) or not isinstance(function, dict):
        return False
    return all(isinstance(text, str) and bool(text) for text in (call.get("id"), function.get("name")))


def _mend(function: dict[str, Any]) -> None:
    raw = function.get("arguments")
    parameters, problem = parse_tool_input(raw)
    if not isinstance(raw, str) or not raw.strip() or problem is not None:
        function["arguments"] = json.dumps(parameters, ensure_ascii=False)
