"""Where the parts of a JSON text lie in it, so that one can be changed and the rest stays as it was.

All functions take texts that are valid JSON; positions are characters of the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

EACH = None
"""In a path: every item of an array."""

_DECODER = json.JSONDecoder(strict=False)
_SPACE = re.compile(r"[ \t\r\n]*")
_HEX = "[0-9A-Fa-f]"
_UNIT = re.compile(rf"\\u[Dd][89ABab]{_HEX}{{2}}\\u[Dd][C-Fc-f]{_HEX}{{2}}|\\u{_HEX}{{4}}|\\.|[^\\]+|\\", re.DOTALL)


class Span(NamedTuple):
    """From ``start`` up to, not including, ``end``."""

    start: int
    end: int


class Member(NamedTuple):
    """A key of an object: where the key begins, and where its value lies."""

    key: str
    start: int
    value: Span


def document_start(text: str) -> int:
    """Where the document begins, behind white space."""
    return _after_space(text, 0)


def members(text: str, start: int) -> Iterator[Member]:
    """The keys of the object at ``start`` in order; none where something else stands there."""
    if text[start : start + 1] != "{":
        return
    position = _after_space(text, start + 1)
    while text[position] != "}":
        key, after = _DECODER.raw_decode(text, position)
        value = _after_space(text, _after_space(text, after) + 1)
        _, end = _DECODER.raw_decode(text, value)
        yield Member(key, position, Span(value, end))
        position = _after_comma(text, end)


def items(text: str, start: int) -> Iterator[Span]:
    """The items of the array at ``start`` in order; none where something else stands there."""
    if text[start : start + 1] != "[":
        return
    position = _after_space(text, start + 1)
    while text[position] != "]":
        _, end = _DECODER.raw_decode(text, position)
        yield Span(position, end)
        position = _after_comma(text, end)


def find(text: str, start: int, *path: str | None) -> Iterator[Span]:
    """The values at ``path`` below the value at ``start``; `EACH` in it stands for every item of an array."""
    if not path:
        yield Span(start, _DECODER.raw_decode(text, start)[1])
        return
    first, *rest = path
    if first is EACH:
        for item in items(text, start):
            yield from find(text, item.start, *rest)
        return
    for member in members(text, start):
        if member.key == first:
            yield from find(text, member.value.start, *rest)


def member_span(text: str, start: int, key: str) -> Span | None:
    """What to take out of the object at ``start`` so that it lacks ``key``: the member and one comma, or None."""
    found = list(members(text, start))
    for number, member in enumerate(found):
        if member.key != key:
            continue
        if number + 1 < len(found):
            return Span(member.start, found[number + 1].start)
        return Span(found[number - 1].value.end if number else member.start, member.value.end)
    return None


def character_offsets(literal: str) -> Sequence[int]:
    """Where each character of a string's value begins in its literal (without the quotes), and where the last ends.

    An escaped surrogate pair is one character.
    """
    if "\\" not in literal:
        return range(len(literal) + 1)
    offsets: list[int] = []
    for unit in _UNIT.finditer(literal):
        offsets += [unit.start()] if unit.group().startswith("\\") else range(unit.start(), unit.end())
    return [*offsets, len(literal)]


def _after_space(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found else position


def _after_comma(text: str, position: int) -> int:
    position = _after_space(text, position)
    return _after_space(text, position + 1) if text[position] == "," else position
