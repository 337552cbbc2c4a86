r"""Finding a text in bytes and replacing it, where a line end matches a line end (bug report E06).

A text that stands there byte for byte is taken first. Otherwise LF and CRLF match each other, and nothing else is
tolerated: no blanks, no indentation, no similar text (E15).
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from harness.pipeline.builtin.lines import LINE_END

_CRLF = re.compile(rb"\r\n")


class Replacement(NamedTuple):
    """A place in the content, as byte offsets."""

    start: int
    end: int


def distinct_matches(content: bytes, old: bytes, *, limit: int) -> list[Replacement]:
    """The first ``limit`` places where ``old`` stands, overlapping ones too: each is one that may have been meant.

    Places that differ in their line ends count only if none is exact.
    """
    exact = list(islice(_exact(content, old, step=1), limit))
    return exact or list(islice(_modulo_line_ends(content, old, overlapping=True), limit))


def count_matches(content: bytes, old: bytes) -> int:
    """How many places there are, none overlapping another; as with `distinct_matches` exact ones come first."""
    exact = sum(1 for _ in _exact(content, old, step=len(old)))
    return exact or sum(1 for _ in _modulo_line_ends(content, old, overlapping=False))


def all_matches(content: bytes, old: bytes) -> list[Replacement]:
    """The places that replacing all of ``old`` replaces, from the left, whatever their line ends."""
    return list(_modulo_line_ends(content, old, overlapping=False)) or list(_exact(content, old, step=len(old)))


def replaced(content: bytes, places: list[Replacement], old: bytes, new: bytes) -> bytes:
    """``content`` with ``new`` in these places, its line ends fitted to each; all other bytes stay."""
    parts: list[bytes] = []
    done = 0
    lines = _LineEnds(content)
    for place in places:
        parts += [content[done : place.start], _fitted(content, place, old, new, lines)]
        done = place.end
    return b"".join([*parts, content[done:]])


def _exact(content: bytes, old: bytes, *, step: int) -> Iterator[Replacement]:
    start = content.find(old)
    while start >= 0:
        # An LF that is the second half of a CRLF is no line end of its own; replacing it would leave a bare CR.
        half = old.startswith(b"\n") and content[max(0, start - 1) : start] == b"\r"
        if not half:
            yield Replacement(start, start + len(old))
        start = content.find(old, start + (1 if half else step))


def _modulo_line_ends(content: bytes, old: bytes, *, overlapping: bool) -> Iterator[Replacement]:
    """Found in the content with every CRLF as LF: `bytes.find` is linear for any content, a pattern is not."""
    plain, wanted = _CRLF.sub(b"\n", content), _CRLF.sub(b"\n", old)
    start = plain.find(wanted)
    if start < 0:
        return
    dropped = array("Q", (found.start() - number for number, found in enumerate(_CRLF.finditer(content))))
    while start >= 0:
        end = start + len(wanted)
        yield Replacement(start + bisect_left(dropped, start), end + bisect_left(dropped, end))
        start = plain.find(wanted, start + 1 if overlapping else end)


class _LineEnds:
    """Which lines end in CRLF, asked from left to right: one line may hold a million places, and is scanned once."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._end = -1
        self._crlf = False

    def crlf(self, place: Replacement) -> bool:
        """Whether the line that holds the place ends in CRLF; a last line without end goes by the one before it."""
        if place.end > self._end:
            newline = self._content.find(b"\n", place.end)
            self._end = len(self._content) if newline < 0 else newline
            if newline < 0:
                newline = self._content.rfind(b"\n", 0, place.start)
            self._crlf = newline > 0 and self._content[newline - 1 : newline] == b"\r"
        return self._crlf


def _fitted(content: bytes, place: Replacement, old: bytes, new: bytes, lines: _LineEnds) -> bytes:
    """``new`` with the line ends that the place has; what the caller wrote stays where it is explicit.

    A place of several lines gives its ends in order, the last one for further lines. Within one line, the end of that
    line decides, so that a line added to a CRLF file does not mix the ends.
    """
    if b"\n" not in new:
        return new
    region = content[place.start : place.end]
    ends: list[bytes] = LINE_END.findall(region)
    if ends and region == old:
        return new
    if not ends:
        explicit = b"\r\n" in new
        return new if explicit or not lines.crlf(place) else new.replace(b"\n", b"\r\n")
    remaining = iter(ends)
    return LINE_END.sub(lambda _: next(remaining, ends[-1]), new)
