"""What a strict reader makes of an arguments text.

It is written apart from the pipeline's parser, so that the one can be judged by the other. Empty texts mean no
arguments; the text ``null`` may be taken so, or refused. A key that comes twice, half a surrogate pair, NaN and a
number beyond a float are refused: what was meant cannot be told, and the text is sent back in the next request.
"""

from __future__ import annotations

import json
import math
import re
from enum import StrEnum
from typing import Any, NamedTuple, NoReturn

from harness.fuzz.schema.values import identity

DEEPEST = 100
"""Levels of nesting that every reader has to take; what is deeper may be refused."""

_SPACE = " \t\r\n"
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"?|[{}\[\]]', re.DOTALL)
_ESCAPE_OF_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")


class Reading(StrEnum):
    """What a text is beside the object that was meant.

    *same*: valid JSON, the same object; it has to be accepted. *other*: an object, but another one, or a text that a
    reader may refuse; it must not be taken for the object that was meant. *broken*: no JSON object; it is refused.
    """

    SAME = "same"
    OTHER = "other"
    BROKEN = "broken"


class Read(NamedTuple):
    """The object that a text holds, or None; ``refusable`` says that nothing speaks against it but its size or form."""

    value: dict[str, Any] | None
    refusable: bool = False


class _BrokenError(ValueError):
    """JSON by its grammar that is broken all the same."""


def read_strictly(text: str) -> Read:
    """What the text holds. Raises nothing."""
    bare = text.strip(_SPACE)
    if bare in ("", "null"):
        return Read({}, refusable=bool(bare))
    if text.count("[") + text.count("{") > DEEPEST and (levels := _levels(text)).deepest > DEEPEST:
        return Read(None, refusable=not levels.open)
    try:
        value = json.loads(
            text, object_pairs_hook=_pairs, parse_constant=_constant, parse_float=_finite, parse_int=_integer
        )
    except ValueError:
        return Read(None)
    if not isinstance(value, dict) or (_ESCAPE_OF_SURROGATE.search(text) and _has_surrogates(value)):
        return Read(None)
    return Read(value)


def reading_of(read: Read, meant: dict[str, Any]) -> Reading:
    """How what was read stands to the object that was meant."""
    if read.value is None and not read.refusable:
        return Reading.BROKEN
    if read.refusable or read.value != meant or identity(read.value) != identity(meant):
        return Reading.OTHER
    return Reading.SAME


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise _BrokenError("a key comes twice")
    return made


def _constant(name: str) -> NoReturn:
    raise _BrokenError(name)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise _BrokenError(text)
    return value


def _integer(text: str) -> int:
    """An integer beyond a float is no number to most readers."""
    value = int(text) if len(text) < 400 else 10**400
    if abs(value) >= 2**1024:
        raise _BrokenError("beyond a float")
    return value


def _has_surrogates(value: object) -> bool:
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            if any("\ud800" <= character <= "\udfff" for character in part):
                return True
        elif isinstance(part, dict):
            waiting += [*part.keys(), *part.values()]
        elif isinstance(part, list):
            waiting += part
    return False


class _Levels(NamedTuple):
    deepest: int
    open: int


def _levels(text: str) -> _Levels:
    """How deep a text is nested, and how many brackets stay open; found without recursion, which has its own limits."""
    depth = deepest = 0
    for found in _STRING_OR_BRACKET.finditer(text):
        bracket = found.group()
        if bracket in "{[":
            depth += 1
            deepest = max(deepest, depth)
        elif bracket in "}]":
            depth -= 1
    return _Levels(deepest, depth)
