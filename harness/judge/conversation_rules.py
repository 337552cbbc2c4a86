"""What an agent makes of a conversation from one request to the next, where a single request does not show it.

Violations change what the model said or was told: they fail. The rest is allowed and often meant (compaction, tools by
mode), but it has its price, so it is noted: from the first difference on, a provider's prompt cache is of no use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from harness.cassette.differences import first_difference
from harness.cassette.messages import canonical_arguments
from harness.pipeline.arguments import parse_tool_input
from harness.scenario.expectations import CHANGES
from harness.scenario.observed import pair_calls
from harness.trace.run import Run, Step
from harness.wire.chat import ModelTurn, ToolCall, text_of

_COSTLY = frozenset({"history_changed", "history_shrunk", "tools_changed"})
_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that an agent changed: ``kind`` is of `CHANGES` or `NOTED_CHANGES`, ``where`` step and JSON path."""

    kind: str
    where: str
    message: str

    @property
    def violation(self) -> bool:
        """Whether it breaks the protocol."""
        return self.kind in CHANGES


@dataclass(frozen=True, slots=True)
class _Sent:
    """A step's request, and the turn it got where the agent could take it."""

    step: Step
    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Any]
    turn: ModelTurn | None
    broken_off: ModelTurn | None = None
    """What there is of an answer that broke off; nothing of it may be used."""


def conversation_findings(run: Run) -> list[Finding]:
    """All findings of a run, lane by lane in the order of the steps; steps without an exchange tell nothing."""
    prices = _Prices(run)
    found: list[Finding] = []
    for number, lane in enumerate(run.lanes):
        prefix = "" if number == 0 else f"lane {lane.name} "
        sent = [one for step in lane.steps if (one := _sent(run, step)) is not None]
        for before, now in pairwise(sent):
            where = f"{prefix}step {now.step.index + 1}"
            for kind, path, message in _between(before, now):
                price = prices.of(now.step) if kind in _COSTLY else ""
                found.append(Finding(kind, f"{where} {path}", message + price))
    return found


def _between(before: _Sent, now: _Sent) -> Iterator[tuple[str, str, str]]:
    yield from _tools(before, now)
    shared = _shared(before.messages, now.messages)
    if shared < len(before.messages):
        yield _history(before, now, shared)
    if before.turn is None:
        yield from _used(before, now, shared)
        return
    found = _repeated(before, now, shared)
    if found is None:
        if now.messages[shared:]:
            yield "answer_dropped", f"$.messages[{shared}]", "what the model answered is not in the next request"
        return
    yield from _turn(before.turn, now.messages[found], f"$.messages[{found}]")


def _used(before: _Sent, now: _Sent, shared: int) -> Iterator[tuple[str, str, str]]:
    """Calls of an answer that broke off which the next request has: their arguments may be those of another call."""
    ids = {call.id for call in before.broken_off.tool_calls if call.id} if before.broken_off is not None else set()
    for number in range(shared, len(now.messages)):
        for place, call in enumerate(_calls(now.messages[number])):
            if call.get("id") in ids:
                name = _function(call).get("name")
                message = f"the answer broke off, and its call of {name} is in the next request all the same"
                yield "incomplete_call_used", f"$.messages[{number}].tool_calls[{place}]", message


def _tools(before: _Sent, now: _Sent) -> Iterator[tuple[str, str, str]]:
    if before.tools == now.tools:
        return
    old, new = _by_name(before.tools), _by_name(now.tools)
    parts = [
        *(f"{name} is no longer offered" for name in old if name not in new),
        *(f"{name} is offered too" for name in new if name not in old),
        *(f"{name} is defined in another way" for name in old if name in new and old[name] != new[name]),
    ]
    place = next(
        (n for n, pair in enumerate(zip(before.tools, now.tools, strict=False)) if pair[0] != pair[1]),
        min(len(before.tools), len(now.tools)),
    )
    yield "tools_changed", f"$.tools[{place}]", "; ".join(parts) or "the tools stand in another order"


def _history(before: _Sent, now: _Sent, shared: int) -> tuple[str, str, str]:
    path = f"$.messages[{shared}]"
    lost = len(before.messages) - len(now.messages)
    if lost > 0:
        return "history_shrunk", path, f"the history has {lost} messages less than in the request before"
    role = before.messages[shared].get("role")
    found = first_difference(_as_sent(before.messages[shared]), _as_sent(now.messages[shared]), path)
    if found is None:
        return "history_changed", path, f"the {role} message differs from that in the request before"
    old, new = found.shown()
    return "history_changed", found.path, f"the {role} message was {old} in the request before and is {new}"


def _repeated(before: _Sent, now: _Sent, shared: int) -> int | None:
    """Where the next request repeats the answer: behind what was sent or, in a changed history, where its calls are."""
    turn, messages = before.turn, now.messages
    place = len(before.messages)
    while place < len(messages) and messages[place].get("role") == "user":
        place += 1  # some agents put a reminder before the answer
    if shared == len(before.messages) and place < len(messages) and messages[place].get("role") == "assistant":
        return place
    if turn is None or not turn.tool_calls:
        return None
    ids = {call.id for call in turn.tool_calls if call.id}
    return next(
        (
            number
            for number in range(len(messages) - 1, shared - 1, -1)
            if ids & {str(call.get("id")) for call in _calls(messages[number])}
        ),
        None,
    )


def _turn(turn: ModelTurn, message: Mapping[str, Any], path: str) -> Iterator[tuple[str, str, str]]:
    """What became of the model's answer in the message that repeats it."""
    said = (turn.content or "").strip()
    told = (text_of(message.get("content")) or "").strip()
    if said != told:
        was, now = _short(said), _short(told)
        yield "text_changed", f"{path}.content", f"the model said {was!r}, the request says {now!r}"
    given = _calls(message)
    if turn.legacy_function_call:
        places: list[int | None] = [0 if given else None]
    else:
        places = pair_calls(turn.tool_calls, given)
    for call, place in zip(turn.tool_calls, places, strict=True):
        if place is None:
            yield "call_dropped", path, f"the model called {_shown(call)}, the request does not have the call"
        else:
            yield from _call(call, given[place], f"{path}.tool_calls[{place}]")
    for place in sorted(set(range(len(given))) - set(places)):
        name = _function(given[place]).get("name")
        yield "call_added", f"{path}.tool_calls[{place}]", f"the model did not call {name}, the request says it did"
    order = [place for place in places if place is not None]
    if order != sorted(order):
        yield "calls_reordered", f"{path}.tool_calls", "the calls stand in another order than the model made them in"


def _call(call: ToolCall, given: Mapping[str, Any], path: str) -> Iterator[tuple[str, str, str]]:
    function = _function(given)
    if call.id and given.get("id") is not None and given.get("id") != call.id:
        yield "ids_rewritten", f"{path}.id", f"the model's id is {call.id!r}, the request has {given.get('id')!r}"
    if function.get("name") != call.name:
        message = f"the model called {call.name!r}, the request says {function.get('name')!r}"
        yield "call_renamed", f"{path}.function.name", message
    sent, told = canonical_arguments(call.arguments), canonical_arguments(function.get("arguments"))
    found = first_difference(sent, told)
    if found is None:
        return
    where = f"{path}.function.arguments"
    if parse_tool_input(call.arguments)[1] is not None:
        yield "arguments_repaired", where, f"the model sent {_short(call.arguments)}, which is no JSON object"
        return
    old, new = found.shown()
    yield "arguments_changed", where, f"{call.name}: {found.path} was {old} from the model and is {new} in the request"


class _Prices:
    """At which token a prompt stops being what it was: counted only where it is asked for."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._texts: dict[int, str] | None = None

    def of(self, step: Step) -> str:
        """The token in words, behind a message; empty where it is not known."""
        if self._texts is None:
            self._texts = dict(self._counted())
        return self._texts.get(-1 if step.exchange is None else step.exchange, "")

    def _counted(self) -> Iterator[tuple[int, str]]:
        from harness.measure.prefix import breaks  # noqa: PLC0415  encodings
        from harness.measure.task import read_tasks  # noqa: PLC0415

        for task in read_tasks(self._run.exchanges).tasks:
            for step, found in zip(task.steps, breaks(task.steps), strict=True):
                if found is not None:
                    total = step.count.total
                    kept = max(total - found.tokens_after, 0)
                    yield step.exchange, f"; a prompt cache ends at token {kept:,} of {total:,}"


def _sent(run: Run, step: Step) -> _Sent | None:
    if step.exchange is None or step.exchange >= len(run.exchanges):
        return None
    exchange = run.exchanges[step.exchange]
    try:
        body = exchange.request.json()
        readable = step.error is None and step.status == "complete"
        turn = exchange.turn(step.tools) if readable else None
        broken_off = exchange.turn(step.tools) if step.status in ("incomplete", "error") else None
    except ValueError:
        return None
    if not isinstance(body, dict):
        return None
    messages, tools = body.get("messages"), body.get("tools")
    known = [message for message in messages if isinstance(message, dict)] if isinstance(messages, list) else []
    return _Sent(step, known, tools if isinstance(tools, list) else [], turn, broken_off)


def _shared(before: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]) -> int:
    """How many messages from the first on are the same to a model."""
    for number, (old, new) in enumerate(zip(before, now, strict=False)):
        if old != new and _as_sent(old) != _as_sent(new):
            return number
    return min(len(before), len(now))


def _as_sent(message: Mapping[str, Any]) -> dict[str, Any]:
    """What of a message reaches the model; marks for caching and the like do not."""
    content = message.get("content")
    listed = content if isinstance(content, list) else []
    parts = [part for part in listed if isinstance(part, dict) and "text" not in part]
    calls = [{"id": call.get("id"), **_function(call)} for call in _calls(message)]
    return {
        "role": message.get("role"),
        "content": text_of(content) or "",
        **({"parts": parts} if parts else {}),
        **({"tool_calls": calls} if calls else {}),
        **{name: message[name] for name in ("name", "tool_call_id") if message.get(name) is not None},
    }


def _calls(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The calls of a message; one in the old form is a call without an id."""
    legacy = message.get("function_call")
    if isinstance(legacy, dict):
        return [{"function": legacy}]
    calls = message.get("tool_calls")
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def _function(call: Mapping[str, Any]) -> Mapping[str, Any]:
    function = call.get("function")
    return function if isinstance(function, dict) else {}


def _by_name(tools: Sequence[Any]) -> dict[str, Any]:
    return {str(_function(tool).get("name")): tool for tool in tools if isinstance(tool, dict)}


def _shown(call: ToolCall) -> str:
    return f"{call.name}({_short(call.arguments)})"


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
