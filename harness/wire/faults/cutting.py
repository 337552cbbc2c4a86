"""Answers that end too early, or whose connection does: cut, disconnect, timeout."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import ClassVar, Literal, NamedTuple

from harness.wire.exchange import Ending, Response
from harness.wire.faults.body import Edit, edited, is_stream, moved, opened, with_body
from harness.wire.faults.fault import Applied, Fault
from harness.wire.faults.frames import (
    Channel,
    Fragment,
    Frame,
    fragment_with,
    fragments_in,
    frames_of,
    length_of,
    position_of_character,
    stream_fragments,
)

Of = Literal["arguments", "text", "any"]


class _Place(NamedTuple):
    """Where the unpacked body ends, and that in words."""

    offset: int
    words: str


@dataclass(frozen=True, slots=True)
class Cut(Fault):
    """The body ends after so many bytes (as transferred), events, deltas or characters; the transfer ends in order.

    At most one of them is given. ``delta`` and ``character`` count pieces and characters of arguments or text: ``of``
    says which, *arguments* by default where there are any. Without a place one byte is drawn. A place at or behind
    the end changes nothing.
    """

    name: ClassVar[str] = "cut"
    ending: ClassVar[Ending] = Ending.WHOLE

    byte: int | None = None
    event: int | None = None
    delta: int | None = None
    character: int | None = None
    of: Of | None = None

    def __post_init__(self) -> None:
        Fault.__post_init__(self)
        given = [key for key in ("byte", "event", "delta", "character") if getattr(self, key) is not None]
        if len(given) > 1:
            raise ValueError(f"one place is enough: {' or '.join(given)}")
        if any(getattr(self, key) < 0 for key in given):
            raise ValueError(f"{given[0]} is {getattr(self, given[0])}; a count is not negative")
        if self.of is not None and given not in (["delta"], ["character"]):
            raise ValueError("of says what delta or character counts; neither is given")

    @property
    def placed(self) -> bool:
        """Whether a place is given."""
        return any(place is not None for place in (self.byte, self.event, self.delta, self.character))

    def apply(self, response: Response, rng: random.Random) -> Applied:
        """The answer up to the place."""
        if not self.placed and self.ending is not Ending.WHOLE:
            return _ended(response, self.ending, "")
        byte = self.byte
        if not self.placed:
            if len(response.body) < 1:
                return Applied(response)
            byte = rng.randrange(len(response.body))
        if byte is not None:
            if byte >= len(response.body):
                return Applied(response)
            cut = with_body(
                _ending(response, self.ending),
                response.body[:byte],
                moved(response.chunks, [Edit(byte, len(response.body), b"")]),
            )
            return _ended(cut, self.ending, f"cut after {byte} of {len(response.body)} bytes")
        body = opened(response)
        place = self._place(response, body) if body is not None else None
        if body is None or place is None or place.offset >= len(body):
            return Applied(response)
        cut = edited(_ending(response, self.ending), [Edit(place.offset, len(body), b"")])
        return _ended(cut, self.ending, f"cut after {place.words}")

    def _place(self, response: Response, body: bytes) -> _Place | None:
        if not is_stream(response):
            return self._place_in_plain(body)
        frames = frames_of(body)
        if self.event is not None:
            if self.event >= len(frames):
                return None
            offset = frames[self.event - 1].end if self.event else 0
            return _Place(offset, f"{self.event} of {len(frames)} events")
        fragments = self._counted(stream_fragments(frames))
        if self.delta is not None:
            if self.delta > len(fragments):
                return None
            offset = frames[fragments[self.delta - 1].frame].end if self.delta else 0
            return _Place(offset, f"{self.delta} of {len(fragments)} deltas of {_kinds(fragments)}")
        return self._character([frames[fragment.frame] for fragment in fragments], fragments)

    def _place_in_plain(self, body: bytes) -> _Place | None:
        whole = frames_of(b"data: " + body.replace(b"\r", b" ").replace(b"\n", b" ") + b"\n\n")
        if self.character is None or len(whole) != 1 or not whole[0].is_json:
            return None
        fragments = self._counted(list(fragments_in(whole[0].text or "", 0, "message")))
        place = self._character([whole[0]] * len(fragments), fragments)
        return place and _Place(place.offset - len(b"data: "), place.words)

    def _counted(self, fragments: list[Fragment]) -> list[Fragment]:
        if self.of == "any":
            return fragments
        called = any(fragment.channel == "arguments" for fragment in fragments)
        channel: Channel = self.of or ("arguments" if called else "text")
        return [fragment for fragment in fragments if fragment.channel == channel]

    def _character(self, frames: list[Frame], fragments: list[Fragment]) -> _Place | None:
        lengths = list(
            accumulate(
                length_of(frame.text or "", fragment.literal) for frame, fragment in zip(frames, fragments, strict=True)
            )
        )
        wanted = self.character
        if wanted is None or not lengths or wanted > lengths[-1]:
            return None
        number, inside = fragment_with(lengths, wanted)
        frame = frames[number]
        offset = frame.offset(position_of_character(frame.text or "", fragments[number].literal, inside))
        return _Place(offset, f"{wanted} of {lengths[-1]} characters of {_kinds(fragments)}")


@dataclass(frozen=True, slots=True)
class Disconnect(Cut):
    """The connection is closed before the body is whole: after the place, or after all that there is to send."""

    name: ClassVar[str] = "disconnect"
    ending: ClassVar[Ending] = Ending.DISCONNECT


@dataclass(frozen=True, slots=True)
class Timeout(Cut):
    """Nothing more comes after the place, or after all that there is to send; nothing at all where that is nothing."""

    name: ClassVar[str] = "timeout"
    ending: ClassVar[Ending] = Ending.TIMEOUT


_IN_WORDS = {
    Ending.WHOLE: "",
    Ending.DISCONNECT: "the connection closed before the body was whole",
    Ending.TIMEOUT: "nothing more came",
}


def _ending(response: Response, ending: Ending) -> Response:
    return response if ending is Ending.WHOLE else replace(response, ending=ending)


def _ended(response: Response, ending: Ending, what: str) -> Applied:
    words = [part for part in (what, _IN_WORDS[ending]) if part]
    return Applied(_ending(response, ending), ", ".join(words))


def _kinds(fragments: list[Fragment]) -> str:
    return " and ".join(sorted({fragment.channel for fragment in fragments})) or "nothing"
