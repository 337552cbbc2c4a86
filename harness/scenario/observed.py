"""A run made from what a server saw: the requests of an agent and their answers, told apart and read.

What an agent does inside is its own: batches, gates and the status of a result are not known, only what the next
request says of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.cassette.lanes import Lane as Conversation
from harness.cassette.lanes import LaneStep, find_lanes
from harness.cassette.messages import canonical_arguments
from harness.pipeline.arguments import parse_tool_input
from harness.pipeline.loop import LoopStatus
from harness.play.neutral.finishing import finishing_text
from harness.scenario.replay.recorded import RecordedResults, recorded_results
from harness.trace.run import CallRecord, Lane, Run, Step, names_of, step_of
from harness.wire.chat import ModelTurn, ToolCall, text_of
from harness.wire.exchange import Ending, Exchange, Request, Response
from harness.wire.half_pairs import dumps

MISS, UNFINISHED, UNANSWERED = "miss", "unfinished", "unanswered"
"""Ends that only an observed conversation has: the last turn's calls were left, the last request got an error."""

MAIN = "main"

_NOTHING = Response(0)


@dataclass(frozen=True, slots=True)
class Asked:
    """A chat request, in the order of their coming, with its answer, or why it has none."""

    request: Request
    response: Response | None = None
    failure: str = ""
    miss: bool = False

    @property
    def body(self) -> object:
        """The request's body as JSON, None where it is none."""
        try:
            return self.request.json()
        except ValueError:
            return None

    @property
    def is_conversation(self) -> bool:
        """Whether the request has a list of messages, whatever they are."""
        body = self.body
        return isinstance(body, dict) and isinstance(body.get("messages"), list)


def observe(run: Run, asked: Sequence[Asked], prompt: str = "") -> None:
    """Fill a run with the lanes and events of the requests; ``run.exchanges`` become those that were answered.

    The first lane is the agent's main conversation: the first one that offers tools and has the ``prompt`` in it, or
    else does either. An attempt that failed and was made again is a step of its own in the lane that goes on from it.
    Requests that have no list of messages have no place in a conversation and are events only.
    """
    positions = _number_exchanges(run, asked)
    placed = [number for number, one in enumerate(asked) if one.is_conversation]
    again = _repeated_attempts(asked, placed)
    kept = [number for number in placed if number not in again]
    conversations = find_lanes([Exchange(asked[n].request, asked[n].response or _NOTHING, n) for n in kept])
    before: dict[int, list[int]] = {}
    for number in placed:
        if number in again:
            before.setdefault(_last(number, again), []).append(number)
    reader = _Reader(run, asked, positions, before)
    seen: set[int] = set()
    lanes: list[Lane] = []
    for conversation in _main_first(conversations, prompt):
        own = [step for step in conversation.steps if step.exchange.index not in seen]
        seen |= {step.exchange.index for step in own}
        name = MAIN if not lanes else f"lane-{conversation.number}"
        lanes.append(reader.lane(name, conversation, own))
    run.lanes += [lane for lane in lanes if lane.steps or lane.outcome]
    for number, one in enumerate(asked):
        if number not in placed:
            event = {"lane": "", "step": 0, "event": "unreadable_request", "request": number}
            run.events.append({**event, "size": len(one.request.body)})


class _Reader:
    """Reads conversations into lanes; ``before`` has the failed attempts that came before an exchange."""

    def __init__(
        self, run: Run, asked: Sequence[Asked], positions: Mapping[int, int], before: Mapping[int, Sequence[int]]
    ) -> None:
        self._run = run
        self._asked = asked
        self._positions = positions
        self._before = before

    def lane(self, name: str, conversation: Conversation, own: Sequence[LaneStep]) -> Lane:
        lane = Lane(name)
        places = [step.exchange.index for step in conversation.steps]
        following = dict(zip(places, conversation.steps[1:], strict=False))
        last: Asked | None = None
        for step in own:
            number = step.exchange.index
            for earlier in self._before.get(number, ()):
                self._take(lane, earlier, step.body, None)
            self._take(lane, number, step.body, following.get(number))
            last = self._asked[number]
        if last is not None:
            _end(lane, last)
        return lane

    def _take(self, lane: Lane, number: int, body: Mapping[str, Any], following: LaneStep | None) -> None:
        one = self._asked[number]
        if one.response is None:
            event = {"lane": lane.name, "step": len(lane.steps), "event": "miss" if one.miss else "error"}
            self._run.events.append({**event, ("text" if one.miss else "reason"): one.failure})
            return
        step = _step(len(lane.steps), Exchange(one.request, one.response), self._positions[number], body, following)
        lane.steps.append(step)
        head = {"lane": lane.name, "step": step.index}
        self._run.events.append({**head, "event": "request", "messages": step.messages_sent})
        self._run.events.append({**head, "event": "turn", "status": step.status, "calls": len(step.calls)})
        if step.error is not None:
            self._run.events.append({**head, "event": "error", "reason": step.error})


def _number_exchanges(run: Run, asked: Sequence[Asked]) -> dict[int, int]:
    positions: dict[int, int] = {}
    for number, one in enumerate(asked):
        if one.response is not None:
            positions[number] = len(run.exchanges)
            run.exchanges.append(Exchange(one.request, one.response, len(run.exchanges)))
    return positions


def _repeated_attempts(asked: Sequence[Asked], placed: Sequence[int]) -> dict[int, int]:
    """Each attempt that did not arrive and was made again, and the next attempt: the same messages asked once more."""
    waiting: dict[bytes, int] = {}
    again: dict[int, int] = {}
    for number in placed:
        one = asked[number]
        key = _key(one.body)
        if key in waiting:
            again[waiting.pop(key)] = number
        if not _arrived(one):
            waiting[key] = number
    return again


def _key(body: object) -> bytes:
    said = [body.get(name) for name in ("model", "messages")] if isinstance(body, dict) else body
    return hashlib.sha256(dumps(said)).digest()


def _last(number: int, again: Mapping[int, int]) -> int:
    while number in again:
        number = again[number]
    return number


def _arrived(one: Asked) -> bool:
    if one.response is None or one.response.status >= 400 or one.response.ending is not Ending.WHOLE:
        return False
    try:
        return Exchange(one.request, one.response).turn().status in ("complete", "truncated")
    except ValueError:
        return False


def _main_first(conversations: Sequence[Conversation], prompt: str) -> list[Conversation]:
    def rank(conversation: Conversation) -> tuple[bool, bool]:
        body = conversation.steps[0].body
        return not body.get("tools"), not _says(body, prompt)

    if not conversations:
        return []
    main = min(conversations, key=rank)
    return [main, *(each for each in conversations if each is not main)]


def _says(body: Mapping[str, Any], prompt: str) -> bool:
    said = (text_of(message.get("content")) for message in _messages(body) if message.get("role") == "user")
    return any(text is not None and prompt in text for text in said)


def _step(index: int, exchange: Exchange, position: int, body: Mapping[str, Any], following: LaneStep | None) -> Step:
    tools = names_of(body.get("tools"))
    turn, error = _turn_of(exchange, tools)
    results = RecordedResults(None) if following is None else _results(following)
    calls = tuple(_calls(index, turn, results)) if turn is not None else ()
    return step_of(
        turn,
        index=index,
        exchange=position,
        tools=tools,
        messages_sent=len(_messages(body)),
        calls=calls,
        error=error,
    )


def _turn_of(exchange: Exchange, tools: Sequence[str]) -> tuple[ModelTurn | None, str | None]:
    """The turn, and why the agent cannot have taken it, where it cannot."""
    response = exchange.response
    try:
        turn = exchange.turn(tools)
    except ValueError as error:
        return None, f"HTTP {response.status}: the answer cannot be read: {error}"
    if response.status >= 400:
        said = (turn.error or {}).get("message") or response.reason or "no message"
        return None, f"HTTP {response.status}: {said}"
    if response.ending is not Ending.WHOLE:
        return turn, f"the answer broke off: {response.ending}"
    if turn.status == "error":
        return turn, f"the provider said: {(turn.error or {}).get('message') or turn.error}"
    return turn, "the answer broke off before its end" if turn.status == "incomplete" else None


def _results(following: LaneStep) -> RecordedResults:
    """What the next request says became of the calls: from the assistant message on, where something stands before."""
    added = _messages(following.body)[following.adds_from :]
    start = next((n for n, message in enumerate(added) if message.get("role") == "assistant"), 0)
    return recorded_results(added[start:])


def _calls(step: int, turn: ModelTurn, results: RecordedResults) -> Iterator[CallRecord]:
    if turn.legacy_function_call:
        paired: list[int | None] = [0 if results.contents else None]
    else:
        paired = pair_calls(turn.tool_calls, results.calls)
    for number, (call, place) in enumerate(zip(turn.tool_calls, paired, strict=True)):
        given = results.calls[place] if place is not None and place < len(results.calls) else {}
        content = results.contents[place] if place is not None and place < len(results.contents) else None
        yield CallRecord(
            id=str(given.get("id") or call.id or f"call_{step + 1}_{number + 1}"),
            received_id=call.id,
            name=call.name or "",
            arguments=call.arguments,
            parse_error=parse_tool_input(call.arguments)[1],
            batch=None,
            concurrency_safe=None,
            executed=None,
            status=None,
            error_code=None,
            observation=content or "",
        )


def pair_calls(calls: Sequence[ToolCall], given: Sequence[Mapping[str, Any]]) -> list[int | None]:
    """For each call the place at which the agent repeats it: by id, then by what it calls, then by position."""
    left = list(range(len(given)))
    paired: list[int | None] = [None] * len(calls)

    def pair(number: int, place: int | None) -> None:
        if place is not None:
            paired[number] = place
            left.remove(place)

    for number, call in enumerate(calls):
        if call.id:
            pair(number, next((place for place in left if given[place].get("id") == call.id), None))
    for number, call in enumerate(calls):
        if paired[number] is None:
            pair(number, next((place for place in left if _same(call, given[place])), None))
    if len(calls) == len(given):
        return [number if place is None and number in left else place for number, place in enumerate(paired)]
    return paired


def _same(call: ToolCall, given: Mapping[str, Any]) -> bool:
    function = given.get("function")
    if not isinstance(function, Mapping) or function.get("name") != call.name:
        return False
    return canonical_arguments(function.get("arguments")) == canonical_arguments(call.arguments)


def _end(lane: Lane, last: Asked) -> None:
    """Say how the lane ended, by its last request and the answer to it."""
    if last.response is None:
        lane.outcome = MISS if last.miss else UNANSWERED
        lane.reason = next(iter(last.failure.splitlines()), "the request was not answered")
        return
    step = lane.steps[-1]
    if step.error is not None:
        lane.outcome, lane.reason = LoopStatus.ERROR.value, step.error
        return
    lane.final_text = text_of((step.message or {}).get("content"))
    if step.status == "truncated":
        lane.outcome, lane.reason = LoopStatus.CUT.value, "the answer was cut at the token limit"
    elif any(anomaly["code"] == "call_in_text" for anomaly in step.anomalies):
        lane.outcome, lane.reason = LoopStatus.CALL_IN_TEXT.value, "the last message is a call written as text"
    elif not step.calls:
        lane.outcome, lane.reason = LoopStatus.ANSWERED.value, "the model answered without a call"
    elif (text := _finishing(step.calls)) is not None:
        lane.outcome, lane.reason = LoopStatus.ANSWERED.value, f"the model ended with {step.calls[-1].name}"
        lane.final_text = text or lane.final_text
    else:
        names = ", ".join(call.name for call in step.calls)
        lane.outcome = UNFINISHED
        lane.reason = f"the model called {names}, and the agent asked no more: no result was sent"
        lane.final_text = None


def _finishing(calls: Sequence[CallRecord]) -> str | None:
    """The text of the call that ends an agent's work, where the last call is one."""
    arguments, _ = parse_tool_input(calls[-1].arguments)
    return finishing_text(calls[-1].name, arguments)


def _messages(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    messages = body.get("messages")
    return [message for message in messages if isinstance(message, dict)] if isinstance(messages, list) else []
