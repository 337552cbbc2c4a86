"""Whether a text is JSON, by the one strict parser; and whether a text that still grows is one whole object."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import orjson

from harness.wire.half_pairs import rejoined

_NOT_SPACE = re.compile(r"[^ \t\n\r]")
_OUTSIDE = re.compile(r'["{}\[\]]')
_INSIDE = re.compile(r'["\\]')
_FIRST_VALUE = json.JSONDecoder()


def is_json(text: str) -> bool:
    """Whether the text is a JSON document."""
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


def is_json_object(text: str) -> bool:
    """Whether the text is a JSON object."""
    return text.lstrip().startswith("{") and is_json(text)


def first_object_end(text: str) -> int | None:
    """The offset behind the object with which the text begins, whatever follows it; None where it begins with none."""
    start = _NOT_SPACE.search(text)
    if start is None or start[0] != "{":
        return None
    try:
        return _FIRST_VALUE.raw_decode(text, start.start())[1]
    except (ValueError, RecursionError):
        return None


class GrowingObject:
    """Says of a text that comes in fragments whether it is one whole JSON object so far.

    Brackets are counted as the fragments come; the text is parsed once, when the first bracket is closed. So all
    questions about a text together cost no more than reading it once.
    """

    __slots__ = ("_closed", "_depth", "_escaped", "_in_string", "_read", "_spoilt", "_valid")

    def __init__(self) -> None:
        self._read = 0
        self._depth = 0
        self._in_string = self._escaped = self._closed = self._spoilt = False
        self._valid: bool | None = None

    def is_whole(self, fragments: Sequence[str]) -> bool:
        """Whether ``fragments`` join to an object; each call is given the same fragments, and those that have come."""
        for position in range(self._read, len(fragments)):
            if self._spoilt:
                break
            self._take(fragments[position])
        self._read = len(fragments)
        if self._spoilt or not self._closed:
            return False
        if self._valid is None:
            self._valid = is_json_object(rejoined(fragments))
        return self._valid

    def _take(self, text: str) -> None:
        at, end = 0, len(text)
        while at < end:
            if self._escaped:
                self._escaped = False
                at += 1
                continue
            found = (_INSIDE if self._in_string else _OUTSIDE if self._depth else _NOT_SPACE).search(text, at)
            if found is None:
                return
            at = found.end()
            self._step(found[0])
            if self._spoilt:
                return

    def _step(self, character: str) -> None:
        if self._in_string:
            self._in_string = character != '"'
            self._escaped = character == "\\"
        elif not self._depth:
            self._spoilt = self._closed or character != "{"
            self._depth = 1
        elif character == '"':
            self._in_string = True
        elif character in "{[":
            self._depth += 1
        else:
            self._depth -= 1
            self._closed = self._depth == 0
