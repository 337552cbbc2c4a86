r"""JSON that holds half surrogate pairs: models write them, as escapes, and RFC 8259 lets them.

``"\ud83d"`` is a JSON text, Python's ``json`` and JavaScript read it, and what they read no UTF-8 can hold. `loads`
and `dumps` are `orjson`'s in all else, its refusals and their words included: only what it refuses because of a half
is read or written a second time, with a mark in place of each half. They are for what goes over the wire and what is
kept of it. Whether arguments may hold a half is another question; `harness.wire.json_text` and the pipeline say no.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import orjson

# A noncharacter and the four digits that an escape would have. It is escaped itself, so no text can hold a mark.
_MARK = "\ufdd0"
_TO_MARK = re.compile("[\ud800-\udfff\ufdd0]")
_OF_MARK = re.compile("\ufdd0([0-9a-f]{4})")
_WRITTEN_MARK = re.compile(_MARK.encode() + rb"([0-9a-f]{4})")

# The two escapes of a character beyond 0xffff come first, so that what is found later is a half.
_ESCAPED = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|\\u(?P<half>[dD][89a-fA-F][0-9a-fA-F]{2}|[fF][dD][dD]0)"
    rb"|(?P<mark>" + _MARK.encode() + rb")"
    rb"|\\.",
    re.DOTALL,
)
_HALF = re.compile("[\ud800-\udfff]")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def loads(text: bytes | str) -> Any:
    """The document in a JSON text; halves that are escaped become half pairs of the string. Raises JSONDecodeError."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        try:
            raw = text if isinstance(text, bytes) else text.encode()
            marked = _ESCAPED.sub(_mark_of_escape, raw)
            if marked == raw:
                raise error from None
            document = orjson.loads(marked)
        except ValueError:
            raise error from None
    return _without_marks(document)


def dumps(value: object, option: int | None = None) -> bytes:
    """The value as JSON in UTF-8, halves of pairs as escapes. Raises JSONEncodeError for what has no JSON."""
    try:
        return orjson.dumps(value, option=option)
    except orjson.JSONEncodeError as error:
        try:
            marked = _with_marks(value)
        except RecursionError:
            raise error from None
        return _WRITTEN_MARK.sub(rb"\\u\1", orjson.dumps(marked, option=option))


def rejoined(pieces: Iterable[str]) -> str:
    """The pieces of a text as one; a pair whose halves came in two pieces is a character again."""
    text = "".join(pieces)
    return text if text.isascii() else _PAIR.sub(_character, text)


def is_whole(text: str) -> bool:
    """Whether no half is in the text, so that UTF-8 can hold it."""
    return text.isascii() or _HALF.search(text) is None


def without_halves(value: Any) -> Any:
    """A copy of a JSON value with U+FFFD, the replacement character, for each half."""
    if isinstance(value, str):
        return value if is_whole(value) else _HALF.sub("\ufffd", value)
    if isinstance(value, dict):
        return {without_halves(key): without_halves(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [without_halves(part) for part in value]
    return value


def _character(pair: re.Match[str]) -> str:
    return pair[0].encode("utf-16", "surrogatepass").decode("utf-16")


def _mark_of_escape(found: re.Match[bytes]) -> bytes:
    if found["half"]:
        return _MARK.encode() + found["half"].lower()
    return _MARK.encode() + b"fdd0" if found["mark"] else found[0]


def _marked(text: str) -> str:
    return _TO_MARK.sub(lambda found: f"{_MARK}{ord(found[0]):04x}", text)


def _unmarked(text: str) -> str:
    return _OF_MARK.sub(lambda found: chr(int(found[1], 16)), text)


def _with_marks(value: object) -> object:
    """A copy of the value with marks."""
    if isinstance(value, str):
        return _marked(value)
    if isinstance(value, dict):
        return {_marked(key) if isinstance(key, str) else key: _with_marks(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_with_marks(part) for part in value]
    return value


def _without_marks(document: Any) -> Any:
    """The document, changed in place; without recursion, because the parser nests more deeply than Python."""
    root = [document]
    waiting: list[dict[str, Any] | list[Any]] = [root]
    while waiting:
        owner = waiting.pop()
        if isinstance(owner, dict):
            items = [(_unmarked(key), part) for key, part in owner.items()]
            owner.clear()
            owner.update(items)
        for place, part in owner.items() if isinstance(owner, dict) else enumerate(owner):
            if isinstance(part, str):
                owner[place] = _unmarked(part)  # type: ignore[index]
            elif isinstance(part, dict | list):
                waiting.append(part)
    return root[0]
