"""Edits of texts, of JSON string literals, and of the bytes in which texts lie."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from harness.wire.json_spans import character_offsets


class Edit(NamedTuple):
    """Replace ``start`` to ``end`` of some text by ``new``."""

    start: int
    end: int
    new: str


class ByteEdit(NamedTuple):
    """Replace ``start`` to ``end`` of some bytes by ``new``."""

    start: int
    end: int
    new: bytes


def literal_edits(raw: str, start: int, edits: Iterable[Edit]) -> Iterator[Edit]:
    """Edits of a string's value as edits of the text around it, in which its literal ``raw`` begins at ``start``."""
    offsets = character_offsets(raw)
    for edit in edits:
        first, last = offsets[edit.start], offsets[edit.end]
        yield Edit(start + first, start + last, _encoded_like(raw[first:last], edit.new))


def _encoded_like(old: str, new: str) -> str:
    """A text for a JSON string, with the escapes that what it replaces had although it need not."""
    encoded = json.dumps(new, ensure_ascii="\\u" in old)[1:-1]
    return encoded.replace("/", "\\/") if "\\/" in old else encoded


def in_bytes(text: str, edits: Iterable[Edit], offset: int) -> Iterator[ByteEdit]:
    """Edits of a text, in order, as edits of the bytes in which it begins at ``offset``."""
    done = 0
    for start, end, new in edits:
        first = offset + len(text[done:start].encode())
        offset = first + len(text[start:end].encode())
        done = end
        yield ByteEdit(first, offset, new.encode())


def edited(body: bytes, edits: Iterable[ByteEdit]) -> bytes:
    """The body with its edits made; they are in order and do not overlap."""
    pieces: list[bytes] = []
    position = 0
    for start, end, new in edits:
        pieces += (body[position:start], new)
        position = end
    pieces.append(body[position:])
    return b"".join(pieces)
