"""JSON as text with positions, so that a part can be changed and every other byte stays as it was.

Works on any text: what is no JSON gives fewer or odd values, never an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

Path = tuple[str | int, ...]

LITERAL = re.compile(r'"((?:[^"\\]|\\.)*+)"?', re.DOTALL)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|[{}\[\],:]|[^\s{}\[\],:"]++', re.DOTALL)
# One character of the text that a literal stands for: a pair of surrogates is one.
_UNIT = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]++", re.DOTALL
)
_PLAIN_KEY = re.compile(r"[A-Za-z_]\w*")


class Value(NamedTuple):
    """A value with its place; of a string ``start`` and ``end`` enclose the quotes."""

    path: Path
    start: int
    end: int


def unescaped(raw: str) -> str:
    """The text that the inside of a string literal stands for; where it is no literal, itself."""
    if "\\" not in raw:
        return raw
    try:
        text: str = json.loads(f'"{raw}"', strict=False)
    except ValueError:
        return raw
    return text


def raw_offsets(raw: str, offsets: Sequence[int]) -> list[int]:
    """Where ascending offsets in `unescaped` stand in ``raw``."""
    if "\\" not in raw or unescaped(raw) is raw:
        return list(offsets)
    found: list[int] = []
    length = 0
    wanted = iter(offsets)
    offset = next(wanted, None)
    for unit in _UNIT.finditer(raw):
        escape = raw[unit.start()] == "\\"
        size = 1 if escape else unit.end() - unit.start()
        while offset is not None and offset < length + size:
            found.append(unit.start() + (offset - length))
            offset = next(wanted, None)
        length += size
    return found + [len(raw)] * (len(offsets) - len(found))


def values(text: str) -> Iterator[Value]:
    """Every value of a JSON document with its path, innermost first. Work is linear in the text."""
    path: list[str | int] = []
    opened: list[int] = []
    expects_key = False
    for token in _TOKEN.finditer(text):
        first = text[token.start()]
        if first in "{[":
            opened.append(token.start())
            path.append("" if first == "{" else 0)
            expects_key = first == "{"
        elif first in "}]":
            if opened:
                path.pop()
                yield Value(tuple(path), opened.pop(), token.end())
            expects_key = False
        elif first == ",":
            if path and isinstance(last := path[-1], int):
                path[-1] = last + 1
            else:
                expects_key = bool(path)
        elif first == ":":
            expects_key = False
        elif expects_key and path:
            path[-1] = unescaped(text[token.start() + 1 : token.end() - 1])
        else:
            yield Value(tuple(path), token.start(), token.end())


def path_at(text: str, offset: int) -> str:
    """The JSON path of the innermost value at an offset, ``$`` where there is none."""
    for value in values(text):
        if value.start <= offset < value.end:
            return path_text(value.path)
    return "$"


def path_text(path: Path) -> str:
    """A path as people write it: ``$.messages[0].content``."""
    return "$" + "".join(
        f"[{step}]" if isinstance(step, int) else f".{step}" if _PLAIN_KEY.fullmatch(step) else f"[{json.dumps(step)}]"
        for step in path
    )
