"""The events of a stream with the bytes they stand in, and the fragments of text and arguments inside them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import orjson

from harness.wire.half_pairs import loads
from harness.wire.json_spans import EACH, Span, character_offsets, document_start, find
from harness.wire.sse import SSEParser

Channel = Literal["arguments", "text"]

_LINE = re.compile(rb"[^\r\n]+")
_LINE_END = re.compile(rb"\r\n|\n|\r")
_DONE = b"[DONE]"


@dataclass(frozen=True, slots=True)
class Frame:
    """An event: ``raw`` are its bytes, from ``start`` to ``end`` of the unpacked body, its blank line included.

    ``lines`` are the values of its data lines as spans in ``raw``. ``text`` is the data as text, None where it is not
    UTF-8.
    """

    start: int
    end: int
    raw: bytes
    lines: tuple[Span, ...]
    text: str | None
    terminated: bool = True

    @property
    def is_done(self) -> bool:
        """Whether this is ``[DONE]``."""
        return self.text is not None and self.text.strip().encode() == _DONE

    @property
    def is_json(self) -> bool:
        """Whether the data is a JSON object."""
        if self.text is None or not self.text.lstrip().startswith("{"):
            return False
        try:
            loads(self.text)
        except orjson.JSONDecodeError:
            return False
        return True

    @property
    def line_end(self) -> bytes:
        """How the event's lines end."""
        found = _LINE_END.search(self.raw)
        return found.group() if found else b"\n"

    @property
    def closed(self) -> bytes:
        """The event's bytes, with a blank line also where the stream ended without one."""
        if self.terminated:
            return self.raw
        tail = self.raw[self.lines[-1].end :]
        return self.raw + self.line_end * (1 if tail else 2)

    def offset(self, position: int) -> int:
        """Where the character at ``position`` of the data begins in the unpacked body."""
        at = len((self.text or "")[:position].encode())
        for line in self.lines:
            length = line.end - line.start
            if at <= length:
                return self.start + line.start + at
            at -= length + 1
        return self.end

    def with_text(self, text: str) -> bytes:
        """The event's bytes with other data, in the same lines; a line that has nothing left is left out."""
        new = text.encode().split(b"\n")
        last = len(self.lines) - 1
        pieces: list[bytes] = []
        position = 0
        for number, line in enumerate(self.lines):
            if number < len(new):
                values = new[number:] if number == last else new[number : number + 1]
                pieces += (self.raw[position : line.start], (self.line_end + b"data: ").join(values))
            position = line.end
        return b"".join([*pieces, self.raw[position:]])


def frames_of(body: bytes) -> tuple[Frame, ...]:
    """The events of a stream; what stands between them (comments, blank lines) is in none."""
    parser = SSEParser()
    frames: list[Frame] = []
    for event in (*parser.feed(body), *parser.close()):
        raw = body[event.start : event.end]
        frames.append(
            Frame(event.start, event.end, raw, tuple(_data_lines(raw)), _text_of(event.data), event.terminated)
        )
    return tuple(frames)


class Fragment(NamedTuple):
    """A piece of arguments or text: the event it is in, its literal in the event's data, and the index of its call.

    ``call`` is the index as written, empty for text and where there is none.
    """

    frame: int
    channel: Channel
    literal: Span
    call: str


def fragments_in(text: str, frame: int, envelope: str) -> Iterator[Fragment]:
    """The fragments of one JSON document; ``envelope`` is ``delta`` in streams, ``message`` in plain bodies."""
    for choice in find(text, document_start(text), "choices", EACH, envelope):
        for value in find(text, choice.start, "content"):
            yield from _fragment(text, frame, "text", value, "")
        for number, call in enumerate(find(text, choice.start, "tool_calls", EACH)):
            indexes = [text[index.start : index.end] for index in find(text, call.start, "index")]
            key = str(number) if envelope == "message" else "".join(indexes[:1])
            for value in find(text, call.start, "function", "arguments"):
                yield from _fragment(text, frame, "arguments", value, key)
        for value in find(text, choice.start, "function_call", "arguments"):
            yield from _fragment(text, frame, "arguments", value, "")


def _fragment(text: str, frame: int, channel: Channel, value: Span, call: str) -> Iterator[Fragment]:
    if text[value.start] == '"' and value.end - value.start > len('""'):
        yield Fragment(frame, channel, Span(value.start + 1, value.end - 1), call)


def stream_fragments(frames: tuple[Frame, ...]) -> list[Fragment]:
    """The fragments of a stream, in the order of their arrival."""
    return [
        fragment
        for number, frame in enumerate(frames)
        if frame.is_json
        for fragment in fragments_in(frame.text or "", number, "delta")
    ]


def position_of_character(text: str, literal: Span, character: int) -> int:
    """Where in the data the character of that number begins, from 0; the number of characters is where they end."""
    offsets = character_offsets(text[literal.start : literal.end])
    return literal.start + offsets[character]


def length_of(text: str, literal: Span) -> int:
    """How many characters the fragment has."""
    return len(character_offsets(text[literal.start : literal.end])) - 1


def fragment_with(lengths: list[int], character: int) -> tuple[int, int]:
    """Which of the fragments the first ``character`` characters end in, and how many of them are in it.

    ``lengths`` are the fragments' lengths summed up.
    """
    number = bisect_right(lengths, character - 1) if character else 0
    return number, character - (lengths[number - 1] if number else 0)


def _data_lines(raw: bytes) -> Iterator[Span]:
    for line in _LINE.finditer(raw):
        if line.group() == b"data":
            yield Span(line.end(), line.end())
        elif line.group().startswith(b"data:"):
            value = line.start() + len(b"data:")
            yield Span(value + 1 if raw[value : value + 1] == b" " else value, line.end())


def _text_of(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None
