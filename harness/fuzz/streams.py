"""Streams of a turn: the same message in any fragments, and streams in which something went wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from harness.fuzz.choices import Choices, several
from harness.play.script import ScriptedCall, ScriptedTurn, render_turn
from harness.wire.exchange import Chunk, Response
from harness.wire.faults import Fault, generate, rng_of
from harness.wire.half_pairs import loads

_LONGEST_FRAGMENT = 9
_MOST_READS = 12
_ONE_IN_JOINED = 3
_REQUEST = {"model": "fuzzed", "stream": True, "stream_options": {"include_usage": True}}
_HEADERS = (("content-type", "text/event-stream"),)


class FaultyStream(NamedTuple):
    """A stream after faults, in their order, with what each did; empty where it changed nothing."""

    response: Response
    faults: tuple[Fault, ...]
    done: tuple[str, ...]


def fragmented(choices: Choices, turn: ScriptedTurn) -> Response:
    """The turn as a conforming stream: any fragments, any reads; calls may come side by side.

    Whatever the choices, a reader has to get the same message from it. Fragments of one call keep their order, a
    call's id and name come first, line ends and comments are among those that event streams allow.
    """
    documents = _documents(turn, choices.integer(1, _LONGEST_FRAGMENT))
    if len(turn.calls) > 1 and choices.flag():
        documents = _interleaved(choices, documents)
    end = choices.pick((b"\n", b"\r\n", b"\r"))
    space = choices.pick((b" ", b""))
    body = bytearray()
    for document in documents:
        if choices.flag(8):
            body += (
                choices.pick((b": keep-alive", b": ", b"retry: 10", b"id: 7")) + end + (end if choices.flag() else b"")
            )
        body += b"data:" + space + document + end + end
    return Response(200, _HEADERS, bytes(body), _reads(choices, len(body)))


def faulty(choices: Choices, turn: ScriptedTurn) -> FaultyStream:
    """The turn as a stream with one to three faults (`harness.wire.faults`): cuts, swaps, lost events, errors."""
    response = fragmented(choices, turn)
    seed = choices.integer(0, 2**32 - 1)
    faults = generate(seed, response)
    done: list[str] = []
    for position, fault in enumerate(faults):
        instead = fault.instead()
        applied = instead if instead is not None else fault.apply(response, rng_of(seed, 1, position))
        response = applied.response
        done.append(applied.what)
    return FaultyStream(response, tuple(faults), tuple(done))


def turn_of(calls: Sequence[ScriptedCall], text: str | None = None) -> ScriptedTurn:
    """The turn of a model that makes these calls; without calls it only says its text."""
    return ScriptedTurn(text=text, calls=tuple(calls), finish_reason="tool_calls" if calls else "stop")


def _documents(turn: ScriptedTurn, fragment: int) -> list[bytes]:
    """The data of each event, as `render_turn` makes them."""
    fresh = ScriptedTurn(turn.text, turn.calls, turn.finish_reason, turn.usage, fragment, turn.done)
    body = render_turn(fresh, 0, _REQUEST).body
    return [event.removeprefix(b"data: ") for event in body.split(b"\n\n") if event]


def _interleaved(choices: Choices, documents: Sequence[bytes]) -> list[bytes]:
    """Fragments of different calls side by side; those of one call, and all other events, keep their order."""
    lanes: dict[int, list[bytes]] = {}
    before: list[bytes] = []
    after: list[bytes] = []
    for document in documents:
        index = _call_index(document)
        if index is not None:
            lanes.setdefault(index, []).append(document)
        else:
            (after if lanes else before).append(document)
    return [*before, *_merged(choices, list(lanes.values())), *after]


def _merged(choices: Choices, lanes: list[list[bytes]]) -> Iterator[bytes]:
    """The lanes' events; a lane begins when the one before it has, as indexes grow."""
    begun, positions = 1, [0] * len(lanes)
    while True:
        unfinished = [at for at in range(begun) if positions[at] < len(lanes[at])]
        next_may_begin = begun < len(lanes) and positions[begun - 1] > 0
        if next_may_begin and (not unfinished or choices.flag(_ONE_IN_JOINED)):
            begun += 1
        elif unfinished:
            at = choices.pick(unfinished)
            yield lanes[at][positions[at]]
            positions[at] += 1
        else:
            return


def _call_index(document: bytes) -> int | None:
    if not document.startswith(b"{"):
        return None
    choices: list[dict[str, Any]] = loads(document)["choices"]
    entries = choices[0]["delta"].get("tool_calls") if choices else None
    return int(entries[0]["index"]) if entries else None


def _reads(choices: Choices, length: int) -> tuple[Chunk, ...]:
    """Network reads that end anywhere, inside characters and line ends too."""
    cuts = {choices.integer(1, length) for _ in range(several(choices, 0, _MOST_READS))} | {length}
    return tuple(Chunk(end, 0.0) for end in sorted(cuts))
