"""A stream with all its layers: network reads, events, deltas, message. Nothing of the wire is lost on the way up."""

from __future__ import annotations

import zlib
from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from harness.wire.chat import ModelTurn
from harness.wire.deltas import Delta, DeltaAssembler
from harness.wire.exchange import Chunk, Response, decoded
from harness.wire.sse import SSEEvent, SSEParser

_GZIP = b"\x1f\x8b"
_GZIP_WINDOW = zlib.MAX_WBITS | 16


@dataclass(frozen=True, slots=True)
class StreamLayers:
    """``chunks`` are the network reads, with offsets into the decoded body; empty where none were recorded.

    ``events`` hold byte offsets into the same body, and ``deltas`` the number of their event.
    """

    chunks: tuple[Chunk, ...]
    events: tuple[SSEEvent, ...]
    deltas: tuple[Delta, ...]
    turn: ModelTurn

    def time_of(self, event: int) -> float | None:
        """When the read came that completed an event, in seconds since the request; None where no times were kept."""
        if not self.chunks:
            return None
        read = bisect_left(self.chunks, self.events[event].end, key=lambda chunk: chunk.end)
        return self.chunks[min(read, len(self.chunks) - 1)].time


def read_layers(body: bytes, chunks: Sequence[Chunk] = (), tool_names: Collection[str] = ()) -> StreamLayers:
    """All layers of a stream that is not packed."""
    parser = SSEParser()
    assembler = DeltaAssembler(tool_names, keep_deltas=True)
    events = [*parser.feed(body), *parser.close()]
    assembler.feed_events(events)
    return StreamLayers(tuple(chunks), tuple(events), tuple(assembler.deltas or ()), assembler.finish())


def response_layers(response: Response, tool_names: Collection[str] = ()) -> StreamLayers:
    """All layers of a recorded stream; raises ValueError where a packed body is damaged."""
    body = decoded(response.body, response.headers)
    return read_layers(body, _decoded_chunks(response, body), tool_names)


def _decoded_chunks(response: Response, body: bytes) -> Sequence[Chunk]:
    """The reads with offsets into the decoded body; none for a packing that cannot be undone read by read."""
    if body == response.body:
        return response.chunks
    if not response.body.startswith(_GZIP):
        return ()
    unpacker = zlib.decompressobj(_GZIP_WINDOW)
    start = end = 0
    found: list[Chunk] = []
    for chunk in response.chunks:
        end += len(unpacker.decompress(response.body[start : chunk.end]))
        start = chunk.end
        found.append(Chunk(end, chunk.time))
    return found
