"""The one line model of all tools: a line ends at LF or CRLF and nowhere else (bug report E13)."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from itertools import islice

BOM = codecs.BOM_UTF8
NUL_PICTURE = "\u2400"
"""Shown for NUL, which JSON can say but which several providers and most terminals cannot take."""

LINE_END = re.compile(rb"\r?\n")

SAMPLE_BYTES = 8192
"""How much of a file `looks_binary` needs."""

_FEW_CONTROLS = 32
_CONTROLS = bytes(set(range(32)) - {*b"\t\n\r\f\b\x1b"})


def split_lines(content: bytes) -> list[bytes]:
    """The lines with their ends; what follows the last end is a line if there is any of it."""
    return io.BytesIO(content).readlines()


def count_lines(content: bytes) -> int:
    """How many lines `split_lines` gives."""
    return content.count(b"\n") + (not content.endswith(b"\n") and bool(content))


def lines_from(content: bytes, first: int) -> Iterator[bytes]:
    """The lines from number ``first`` (from 1) on, made one by one: a file may have many millions of them."""
    return islice(io.BytesIO(content), first - 1, None)


def split_end(line: bytes) -> tuple[bytes, bytes]:
    """A line without its end, and the end (``b""`` for a last line that has none)."""
    if line.endswith(b"\r\n"):
        return line[:-2], line[-2:]
    if line.endswith(b"\n"):
        return line[:-1], line[-1:]
    return line, b""


def line_number(content: bytes, position: int) -> int:
    """The line, from 1, that the byte at ``position`` is in."""
    return content.count(b"\n", 0, position) + 1


def visible(text: str) -> str:
    """``text`` with NUL shown as its picture."""
    return text.replace("\0", NUL_PICTURE)


def looks_binary(content: bytes) -> bool:
    """Whether showing the content would only fill the context: NUL and many other control bytes near its start.

    A text with a stray NUL is text, and so is whatever is too short to do harm. UTF-16 counts as binary, because its
    lines do not end where this model says.
    """
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return True
    sample = content[:SAMPLE_BYTES]
    if 0 not in sample:
        return False
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    return controls > _FEW_CONTROLS and controls * 20 > len(sample)
