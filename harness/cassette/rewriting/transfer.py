"""Chunks and headers of a response whose body was edited."""

from __future__ import annotations

import zlib
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate

from harness.cassette.rewriting.cutting import spread
from harness.cassette.rewriting.edits import ByteEdit
from harness.wire.exchange import Chunk, Headers, Response


def moved(chunks: Iterable[Chunk], length: int, edits: Sequence[ByteEdit]) -> tuple[Chunk, ...]:
    """The chunks of a body of some length after edits."""
    chunks = tuple(chunks)
    if not chunks:
        return ()
    starts = [edit.start for edit in edits]
    growth = [0, *accumulate(len(edit.new) - (edit.end - edit.start) for edit in edits)]
    inside: dict[int, set[int]] = {}
    for chunk in chunks:
        number = bisect_left(starts, chunk.end) - 1
        if number >= 0 and chunk.end < edits[number].end:
            inside.setdefault(number, set()).add(chunk.end)
    places: dict[int, int] = {}
    for number, ends in inside.items():
        start, end, new = edits[number]
        rising = sorted(ends)
        cuts = spread([cut - start for cut in rising], end - start, len(new), low=1, high=len(new) - 1)
        places.update((old, start + growth[number] + cut) for old, cut in zip(rising, cuts, strict=True))
    result: list[Chunk] = []
    for chunk in chunks:
        old = min(chunk.end, length)
        place = places.get(old)
        if place is None:
            place = old + growth[bisect_left(starts, old)]
        result.append(Chunk(place, chunk.time))
    return tuple(result)


def decoded_chunks(response: Response, length: int) -> tuple[Chunk, ...]:
    """The chunks of a compressed body as chunks of the decoded one: what each brought could then be read."""
    if not response.chunks:
        return ()
    ends = _decoded_ends(response)
    if ends is None or ends[-1] != length:
        total = max(len(response.body), 1)
        ends = [min(chunk.end, total) * length // total for chunk in response.chunks]
    result: list[Chunk] = []
    for end, chunk in zip(ends, response.chunks, strict=True):
        if end > (result[-1].end if result else 0):
            result.append(Chunk(end, chunk.time))
    return tuple(result)


def _decoded_ends(response: Response) -> list[int] | None:
    """How many decoded bytes there were after each chunk, or None where the bytes cannot be read piece by piece."""
    for bits in (zlib.MAX_WBITS | 32, -zlib.MAX_WBITS):  # gzip or zlib by their headers, and deflate without
        decoder = zlib.decompressobj(bits)
        ends: list[int] = []
        start = read = 0
        try:
            for chunk in response.chunks:
                read += len(decoder.decompress(response.body[start : chunk.end]))
                start = chunk.end
                ends.append(read)
        except zlib.error:
            continue
        return ends
    return None


def headers_for(headers: Headers, length: int, *, encoded: bool) -> Headers:
    """The headers of the edited body: its length set right, no ``content-encoding`` where it is given decoded."""
    result: list[tuple[str, str]] = []
    for name, value in headers:
        key = name.lower()
        if key == "content-encoding" and encoded:
            continue
        result.append((name, str(length) if key == "content-length" else value))
    return tuple(result)
