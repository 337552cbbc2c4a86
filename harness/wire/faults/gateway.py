"""A gateway that decodes JSON into arrays and encodes it again: every ``{}`` becomes ``[]`` (seed 002, E02).

PHP's ``json_decode($body, true)`` makes the same empty array of both; what was an object goes on as a list.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, Literal

import orjson

from harness.wire.exchange import Request, Response
from harness.wire.faults.body import Edit, edited, is_stream, opened
from harness.wire.faults.fault import Applied, Fault, Mangled
from harness.wire.faults.frames import Fragment, Frame, frames_of, stream_fragments
from harness.wire.half_pairs import loads
from harness.wire.json_spans import Span, character_offsets
from harness.wire.json_text import is_json

Sides = Literal["both", "request", "response"]

_STRING_OR_EMPTY = re.compile(r'"(?:[^"\\]|\\.)*"|\{[ \t\r\n]*\}', re.DOTALL)
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Gateway(Fault):
    """Turns each empty object into an empty array, in the JSON of the request, of the answer, or of both.

    Arguments that are the text ``{}`` become the text ``[]``, also where a stream spreads them over deltas. No other
    byte changes.
    """

    name: ClassVar[str] = "gateway"
    main: ClassVar[str | None] = "sides"

    sides: Sides = "both"

    def mangle(self, request: Request) -> Mangled:
        """The request as the model gets it."""
        if self.sides == "response":
            return Mangled(request)
        try:
            document = loads(request.body)
        except orjson.JSONDecodeError:
            return Mangled(request)
        places = list(empty_objects(document))
        if not places:
            return Mangled(request)
        body = _arrays(request.body.decode()).encode()
        return Mangled(replace(request, body=body), f"{became_array(places)} of the request")

    def apply(self, response: Response, rng: random.Random) -> Applied:
        """The answer as the agent gets it."""
        del rng
        body = opened(response)
        if body is None or self.sides == "request":
            return Applied(response)
        edits = list(_stream_edits(body) if is_stream(response) else _plain_edits(body))
        if not edits:
            return Applied(response)
        return Applied(edited(response, edits), "{} became [] in the answer")


def empty_objects(document: Any, path: str = "$") -> Iterator[str]:
    """The JSON paths at which the document has ``{}``, in its order; inside the text of arguments too."""
    if isinstance(document, dict):
        if not document:
            yield path
        for key, value in document.items():
            if key == "arguments" and isinstance(value, str) and is_json(value):
                yield from empty_objects(orjson.loads(value), f"{path}.{key}")
            else:
                yield from empty_objects(value, f"{path}.{key}")
    elif isinstance(document, list):
        for number, value in enumerate(document):
            yield from empty_objects(value, f"{path}[{number}]")


def became_array(places: Sequence[str]) -> str:
    """In words that ``{}`` became ``[]`` at these places: the first of them named, the rest counted."""
    more = f" and {len(places) - _NAMED} more places" if len(places) > _NAMED else ""
    return f"{{}} became [] at {', '.join(places[:_NAMED])}{more}"


def _arrays(text: str) -> str:
    """A JSON text with arrays for its empty objects; each is as long as the object was."""
    pieces: list[str] = []
    position, key = 0, ""
    for found in _STRING_OR_EMPTY.finditer(text):
        between, whole = text[position : found.start()], found.group()
        if not whole.startswith('"'):
            pieces += (between, "[", whole[1:-1], "]")
        elif key == '"arguments"' and between.strip() == ":":
            pieces += (between, '"', _in_literal(whole[1:-1]), '"')
        else:
            pieces += (between, whole)
        position, key = found.end(), whole
    return "".join([*pieces, text[position:]])


def _in_literal(literal: str) -> str:
    """The literal of a JSON text inside a string with arrays for the empty objects of that text."""
    value = json.loads(f'"{literal}"', strict=False)
    if not is_json(value):
        return literal
    offsets = character_offsets(literal)
    pieces: list[str] = []
    position = 0
    for place, new in _changes(value):
        pieces += (literal[position : offsets[place]], new)
        position = offsets[place + 1]
    return "".join([*pieces, literal[position:]])


def _changes(text: str) -> Iterator[tuple[int, str]]:
    """Which characters of a JSON text become which."""
    for place, (old, new) in enumerate(zip(text, _arrays(text), strict=True)):
        if old != new:
            yield place, new


def _plain_edits(body: bytes) -> Iterator[Edit]:
    try:
        loads(body)
    except orjson.JSONDecodeError:
        return
    text = body.decode()
    if (changed := _arrays(text)) != text:
        yield Edit(0, len(body), changed.encode())


def _stream_edits(body: bytes) -> Iterator[Edit]:
    frames = frames_of(body)
    # What is spread over deltas first: the texts of the events still are as long as they were.
    texts = _with_spread_arrays(frames)
    for frame, text in zip(frames, texts, strict=True):
        if frame.is_json and (changed := _arrays(text)) != frame.text:
            yield Edit(frame.start, frame.end, frame.with_text(changed))


def _with_spread_arrays(frames: tuple[Frame, ...]) -> list[str]:
    """The events' texts with arrays for the empty objects in the joined arguments of each call."""
    texts = [list(frame.text or "") for frame in frames]
    calls: dict[str, list[Fragment]] = {}
    for fragment in stream_fragments(frames):
        if fragment.channel == "arguments":
            calls.setdefault(fragment.call, []).append(fragment)
    for fragments in calls.values():
        places = [place for fragment in fragments for place in _characters(frames, fragment)]
        joined = "".join(character for _, _, character in places)
        if not is_json(joined):
            continue
        for place, new in _changes(joined):
            number, span, _ = places[place]
            texts[number][span.start : span.end] = [new, *[""] * (span.end - span.start - 1)]
    return ["".join(text) for text in texts]


def _characters(frames: tuple[Frame, ...], fragment: Fragment) -> Iterator[tuple[int, Span, str]]:
    """Each character of a fragment: its event, where it stands in the event's text, and what it is."""
    literal = (frames[fragment.frame].text or "")[fragment.literal.start : fragment.literal.end]
    start = fragment.literal.start
    for (first, last), character in zip(
        pairwise(character_offsets(literal)), json.loads(f'"{literal}"', strict=False), strict=True
    ):
        yield fragment.frame, Span(start + first, start + last), character
