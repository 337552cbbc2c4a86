"""What is wrong in a recording, named before anything is compared.

A cassette that lost a fragment, a result or an id can still be played; the point of replay is to say so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.cassette.differences import Difference, first_difference
from harness.cassette.messages import canonical_arguments
from harness.pipeline.arguments import parse_tool_input
from harness.scenario.replay.recorded import RecordedResults
from harness.wire.chat import ModelTurn, arguments_text
from harness.wire.rules import Breach, check_request


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of the recording: its code, the place (exchange and JSON path), and why in words."""

    code: str
    where: str
    why: str


def request_faults(index: int, body: Mapping[str, Any], before: Mapping[str, Any] | None) -> list[Fault]:
    """Breaches of the protocol in a recorded request, those of the step before it left out."""
    known = {(breach.code, breach.path) for breach in check_request(before)} if before is not None else set()
    return [_of_breach(index, breach) for breach in check_request(body) if (breach.code, breach.path) not in known]


def turn_faults(index: int, turn: ModelTurn, results: RecordedResults) -> list[Fault]:
    """Faults of a recorded answer, and contradictions between it and the request that follows."""
    where = f"exchange {index} response"
    unreadable = [
        Fault("event_unreadable", f"{where} event {anomaly.at}", f"an event is no JSON: {anomaly.detail}")
        for anomaly in turn.anomalies
        if anomaly.code == "broken_json"
    ]
    if turn.status == "incomplete":
        if turn.finish_reason:  # it has its end, and lacks what an event before that held
            return unreadable
        return [Fault("answer_broken_off", where, "the answer ends before a finish_reason or [DONE]")]
    if results.message is None:
        return [*unreadable, *_unparsed(turn, where)]
    return [*unreadable, *_call_faults(turn, results, where), *_result_faults(results, where)]


def unrecorded_turns(index: int, messages: Sequence[Mapping[str, Any]], said_from: int) -> list[Fault]:
    """Turns of the model that a request repeats and no recorded answer gave; the replay would be a partial one."""
    return [
        Fault(
            "turn_not_recorded",
            f"exchange {index} $.messages[{position}]",
            "no recorded exchange gave this answer of the model: one is missing, or the agent made it up",
        )
        for position, message in enumerate(messages[said_from:], said_from)
        if message.get("role") == "assistant"
    ]


def unreadable_answer(index: int, why: str) -> Fault:
    """An answer that says that it succeeded and holds no chat completion."""
    return Fault("answer_unreadable", f"exchange {index} response", f"the body is no chat completion: {why}")


def _of_breach(index: int, breach: Breach) -> Fault:
    return Fault(breach.code, f"exchange {index} {breach.path}", breach.why)


def _unparsed(turn: ModelTurn, where: str) -> Iterator[Fault]:
    """Arguments that no later request can be compared with. At the token limit broken ones are to be expected."""
    if turn.status == "truncated":
        return
    for number, call in enumerate(turn.tool_calls):
        _, problem = parse_tool_input(call.arguments)
        place = f"{where} tool_calls[{number}].function.arguments"
        if canonical_arguments(call.arguments) == []:
            yield Fault("object_became_array", place, f"{call.name}: arguments is [] where an object {{}} belongs")
        elif problem is not None:
            yield Fault(
                "arguments_broken", place, f"{call.name}: {problem}; a fragment was lost or the model wrote this"
            )


def _call_faults(turn: ModelTurn, results: RecordedResults, where: str) -> Iterator[Fault]:
    repeated = _repeated_calls(results)
    if len(repeated) != len(turn.tool_calls):
        yield Fault(
            "calls_differ",
            where,
            f"the answer holds {len(turn.tool_calls)} calls, the next request repeats {len(repeated)}",
        )
        return
    yield from _id_faults(turn, repeated, where)
    for number, (call, (_, name, arguments)) in enumerate(zip(turn.tool_calls, repeated, strict=True)):
        place = f"{where} tool_calls[{number}].function"
        if call.name != name:
            yield Fault("name_differs", f"{place}.name", f"{call.name!r} is answered, {name!r} is repeated")
        yield from _argument_faults(call.arguments, arguments, f"{place}.arguments")


def _id_faults(turn: ModelTurn, repeated: Sequence[tuple[str | None, str | None, str]], where: str) -> Iterator[Fault]:
    """Ids in another order are swapped; ids that are all new were rewritten by the agent, which is its right."""
    received = [call.id for call in turn.tool_calls]
    given = [call_id for call_id, _, _ in repeated]
    for number, (one, other) in enumerate(zip(received, given, strict=True)):
        if one and other and one != other and other in received:
            yield Fault(
                "ids_swapped",
                f"{where} tool_calls[{number}].id",
                f"call {number} has the id {one!r}, the next request gives it {other!r}, the id of another call",
            )
            return


def _result_faults(results: RecordedResults, where: str) -> Iterator[Fault]:
    for number, content in enumerate(results.contents):
        if content is None and "tool_calls" not in (results.message or {}):
            yield Fault("result_missing", f"{where} function_call", f"call {number} has no recorded result")


def _repeated_calls(results: RecordedResults) -> list[tuple[str | None, str | None, str]]:
    message = results.message or {}
    legacy = message.get("function_call")
    if isinstance(legacy, Mapping):
        return [(None, legacy.get("name"), arguments_text(legacy.get("arguments"))[0])]
    repeated = []
    for call in results.calls:
        function = call.get("function")
        function = function if isinstance(function, Mapping) else {}
        repeated.append((call.get("id"), function.get("name"), arguments_text(function.get("arguments"))[0]))
    return repeated


def _argument_faults(received: str, repeated: str, place: str) -> Iterator[Fault]:
    old, new = canonical_arguments(received), canonical_arguments(repeated)
    if old == new:
        return
    if {str(old), str(new)} == {"[]", "{}"}:
        yield Fault(
            "object_became_array",
            place,
            f"the answer has {received!r}, the next request {repeated!r}: one of the bodies was re-encoded",
        )
        return
    broken = parse_tool_input(received)[1] is not None
    if broken and new == {} and _missing_piece(received, repeated) is None:
        return  # the model wrote this, and the agent sends valid JSON back, as the pipeline does
    yield Fault("arguments_differ", place, _argument_difference(received, repeated))


def _argument_difference(received: str, repeated: str) -> str:
    """The difference of two arguments texts; a text that lacks one piece of the other lost a fragment."""
    for shorter, longer, owner in ((received, repeated, "the answer"), (repeated, received, "the next request")):
        gap = _missing_piece(shorter, longer)
        if gap is not None:
            at, piece = gap
            return f"{owner} lacks the fragment {piece[:60]!r} ({len(piece)} characters) at character {at}"
    found = first_difference(canonical_arguments(received), canonical_arguments(repeated))
    if found is None or parse_tool_input(received)[1] or parse_tool_input(repeated)[1]:
        found = Difference("", received, repeated)
    before, after = found.shown()
    return f"the answer has {before}, the next request {after}{f' at {found.path}' if found.path else ''}"


def _missing_piece(shorter: str, longer: str) -> tuple[int, str] | None:
    if not shorter or len(shorter) >= len(longer):
        return None
    head = 0
    while head < len(shorter) and shorter[head] == longer[head]:
        head += 1
    rest = len(shorter) - head
    gap = len(longer) - len(shorter)
    if longer[len(longer) - rest :] == shorter[head:] if rest else True:
        return head, longer[head : head + gap]
    return None
