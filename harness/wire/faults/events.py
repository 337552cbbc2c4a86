"""Events of a stream that come twice, in the wrong order, broken, or out of place. Plain answers have none."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import ClassVar, Literal

import orjson

from harness.wire.exchange import Response
from harness.wire.faults.body import Edit, edited, is_stream, opened
from harness.wire.faults.fault import Applied, Fault, drawn
from harness.wire.faults.frames import Frame, frames_of


@dataclass(frozen=True, slots=True)
class Duplicate(Fault):
    """Sends an ``event``, counted from 1, twice; without it one is drawn."""

    name: ClassVar[str] = "duplicate"
    main: ClassVar[str | None] = "event"

    event: int | None = None

    def apply(self, response: Response, rng: random.Random) -> Applied:
        """The answer with the event again behind it."""
        frames = _events_of(response)
        number = drawn(rng, self.event, len(frames))
        if number is None:
            return Applied(response)
        frame = frames[number - 1]
        again = frame.closed[len(frame.raw) :] + frame.closed
        edit = Edit(frame.end, frame.end, again, (len(again),))
        return Applied(edited(response, [edit]), f"event {number} of {len(frames)} sent twice")


@dataclass(frozen=True, slots=True)
class Swap(Fault):
    """Sends an ``event``, counted from 1, after the one that followed it; without it a pair is drawn."""

    name: ClassVar[str] = "swap"
    main: ClassVar[str | None] = "event"

    event: int | None = None

    def apply(self, response: Response, rng: random.Random) -> Applied:
        """The answer with two neighbours changed over; what stood between them (comments) stays between them."""
        frames = _events_of(response)
        number = drawn(rng, self.event, len(frames) - 1)
        if number is None:
            return Applied(response)
        first, second = frames[number - 1], frames[number]
        body = opened(response) or b""
        between = body[first.end : second.start]
        new = second.closed + between + first.raw
        cuts = (len(second.closed) + len(between), len(new))
        edit = Edit(first.start, second.end, new, cuts)
        return Applied(edited(response, [edit]), f"events {number} and {number + 1} of {len(frames)} swapped")


@dataclass(frozen=True, slots=True)
class ErrorEvent(Fault):
    """Puts an error object behind so many events; without ``event`` a place is drawn.

    ``form`` is *data* (an object with ``error``, as OpenAI-like gateways send it) or *event* (with ``event: error``).
    What followed still follows: cut the answer too where it should not.
    """

    name: ClassVar[str] = "error"
    main: ClassVar[str | None] = "event"

    event: int | None = None
    message: str = "the upstream failed"
    form: Literal["data", "event"] = "data"

    def __post_init__(self) -> None:
        Fault.__post_init__(self)
        if self.event is not None and self.event < 0:
            raise ValueError(f"event is {self.event}; a count is not negative")

    def apply(self, response: Response, rng: random.Random) -> Applied:
        """The answer with the error event."""
        frames = _events_of(response)
        number = drawn(rng, self.event, len(frames)) if self.event != 0 else 0
        if number is None or not frames:
            return Applied(response)
        before = frames[number - 1] if number else None
        end = frames[0].line_end
        error = orjson.dumps({"error": {"message": self.message, "type": "server_error", "param": None, "code": None}})
        new = (b"event: error" + end if self.form == "event" else b"") + b"data: " + error + end * 2
        at = before.end if before else frames[0].start
        new = before.closed[len(before.raw) :] + new if before else new
        words = f"an error event after {number} of {len(frames)} events"
        return Applied(edited(response, [Edit(at, at, new, (len(new),))]), words)


@dataclass(frozen=True, slots=True)
class BrokenFrame(Fault):
    """Cuts the JSON of an ``event``, counted from 1, in the middle; without it one that is JSON is drawn."""

    name: ClassVar[str] = "broken"
    main: ClassVar[str | None] = "event"

    event: int | None = None

    def apply(self, response: Response, rng: random.Random) -> Applied:
        """The answer with half a document in that event."""
        frames = _events_of(response)
        able = [number for number, frame in enumerate(frames, 1) if frame.is_json]
        number = self.event
        if number is None and able:
            number = rng.choice(able)
        if number not in able:
            return Applied(response)
        frame = frames[number - 1]
        text = (frame.text or "").rstrip()
        edit = Edit(frame.start, frame.end, frame.with_text(text[: (len(text) + 1) // 2]))
        return Applied(edited(response, [edit]), f"the JSON of event {number} of {len(frames)} broken")


def _events_of(response: Response) -> tuple[Frame, ...]:
    body = opened(response)
    return frames_of(body) if body is not None and is_stream(response) else ()
