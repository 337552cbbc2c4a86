"""Edits of a response's body: every other byte stays, and so do the chunk boundaries, at shifted offsets.

A packed body (gzip, deflate) is edited inside and packed again, the same way each time; its chunks are then spread
over the new length as they were over the old one.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from harness.wire.exchange import Chunk, Ending, Headers, Response, decoded, header

_GZIP_WINDOW = 31  # zlib's word for "with a gzip header"
_GZIP_SYSTEM = 9  # the byte that names the operating system, which is none of the content's business
_UNKNOWN_SYSTEM = b"\xff"


class Edit(NamedTuple):
    """Replace ``start`` to ``end`` of the unpacked body by ``new``.

    ``cuts`` are boundaries inside ``new``. With None the boundaries inside the replaced bytes stay as near as they can.
    """

    start: int
    end: int
    new: bytes
    cuts: tuple[int, ...] | None = None


def opened(response: Response) -> bytes | None:
    """The body as a client sees it, unpacked; None where it cannot be unpacked."""
    try:
        return decoded(response.body, response.headers)
    except ValueError:
        return None


def is_stream(response: Response) -> bool:
    """Whether the body is a stream of events; a packed body that is damaged is none."""
    return opened(response) is not None and response.streamed


def edited(response: Response, edits: Iterable[Edit]) -> Response:
    """The response with its unpacked body edited; ``edits`` are in order and do not overlap.

    Raises ValueError where the body cannot be unpacked.
    """
    changes = list(edits)
    inside = decoded(response.body, response.headers)
    pieces: list[bytes] = []
    position = 0
    for edit in changes:
        pieces += (inside[position : edit.start], edit.new)
        position = edit.end
    body = b"".join([*pieces, inside[position:]])
    if inside == response.body:
        return with_body(response, body, moved(response.chunks, changes))
    packed = packed_like(response.body, body)
    return with_body(response, packed, spread(response.chunks, len(response.body), len(packed)))


def with_body(response: Response, body: bytes, chunks: Sequence[Chunk], headers: Headers | None = None) -> Response:
    """The response with another body; a content-length that was true stays true where the response ends whole."""
    given = response.headers if headers is None else headers
    if response.ending is Ending.WHOLE and header(given, "content-length") == str(len(response.body)):
        given = tuple((name, str(len(body)) if name.lower() == "content-length" else value) for name, value in given)
    return replace(response, body=body, chunks=tuple(chunks), headers=given)


def moved(chunks: Sequence[Chunk], edits: Sequence[Edit]) -> tuple[Chunk, ...]:
    """The chunks after the edits; one that no byte is left of is gone."""
    return tuple(_growing(_moved(chunks, edits)))


def spread(chunks: Sequence[Chunk], old: int, new: int) -> tuple[Chunk, ...]:
    """The chunks of a body of ``old`` bytes over one of ``new`` bytes."""
    if not old:
        return ()
    ends = (Chunk(chunk.end * new // old, chunk.time) for chunk in chunks)
    return tuple(_growing(ends))


def gzipped(body: bytes) -> bytes:
    """The body as gzip, without time and system: the same bytes each time."""
    packer = zlib.compressobj(wbits=_GZIP_WINDOW)
    packed = packer.compress(body) + packer.flush()
    return packed[:_GZIP_SYSTEM] + _UNKNOWN_SYSTEM + packed[_GZIP_SYSTEM + 1 :]


def packed_like(example: bytes, body: bytes) -> bytes:
    """The body packed as ``example`` is: gzip, or deflate with the zlib header or without."""
    if example.startswith(b"\x1f\x8b"):
        return gzipped(body)
    try:
        zlib.decompress(example)
    except zlib.error:
        packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
        return packer.compress(body) + packer.flush()
    return zlib.compress(body)


def _moved(chunks: Sequence[Chunk], edits: Sequence[Edit]) -> Iterator[Chunk]:
    if not chunks:
        return
    shift = 0
    number = 0
    for chunk in chunks:
        # What is put in at a boundary belongs to the read after it.
        while number < len(edits) and edits[number].start < chunk.end:
            edit = edits[number]
            begins = edit.start + shift
            if chunk.end < edit.end:
                if edit.cuts is None:
                    yield Chunk(begins + min(chunk.end - edit.start, len(edit.new)), chunk.time)
                break
            yield from (Chunk(begins + cut, chunk.time) for cut in edit.cuts or ())
            shift += len(edit.new) - (edit.end - edit.start)
            number += 1
        else:
            yield Chunk(chunk.end + shift, chunk.time)
    for edit in edits[number:]:
        yield from (Chunk(edit.start + shift + cut, chunks[-1].time) for cut in edit.cuts or ())
        shift += len(edit.new) - (edit.end - edit.start)
        yield Chunk(chunks[-1].end + shift, chunks[-1].time)


def _growing(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    last = 0
    for chunk in chunks:
        if chunk.end > last:
            last = chunk.end
            yield chunk
