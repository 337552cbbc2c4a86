"""How an answer is transferred: in other reads, later, under another content type, packed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from harness.wire.exchange import Chunk, Response
from harness.wire.faults.body import gzipped, is_stream, opened, spread, with_body
from harness.wire.faults.fault import Applied, Fault
from harness.wire.faults.frames import frames_of

_LARGEST_READ = 64


@dataclass(frozen=True, slots=True)
class Rechunk(Fault):
    """Cuts the body into other reads: of ``size`` bytes each, or of 1 to ``largest`` bytes, drawn.

    A read comes at the time at which its last byte came.
    """

    name: ClassVar[str] = "rechunk"
    main: ClassVar[str | None] = "size"

    size: int | None = None
    largest: int = _LARGEST_READ

    def __post_init__(self) -> None:
        Fault.__post_init__(self)
        for key, value in (("size", self.size), ("largest", self.largest)):
            if value is not None and value < 1:
                raise ValueError(f"{key} is {value}; a read has at least 1 byte")

    def apply(self, response: Response, rng: random.Random) -> Applied:
        """The same bytes in other reads."""
        ends = list(self._ends(len(response.body), rng))
        if not ends:
            return Applied(response)
        return Applied(
            replace(response, chunks=_timed(ends, response.chunks)), f"{len(ends)} reads in place of {_reads(response)}"
        )

    def _ends(self, length: int, rng: random.Random) -> Iterator[int]:
        position = 0
        while position < length:
            position = min(position + (self.size or rng.randint(1, self.largest)), length)
            yield position


@dataclass(frozen=True, slots=True)
class Delay(Fault):
    """Lets the answer wait ``seconds`` before each read, or only before the one that ``event``, from 1, begins in.

    The times of the recording are dropped: only the delay is waited for, also where playing doesn't wait otherwise.
    """

    name: ClassVar[str] = "delay"
    main: ClassVar[str | None] = "seconds"

    seconds: float = 0.1
    event: int | None = None

    def __post_init__(self) -> None:
        Fault.__post_init__(self)
        if self.seconds < 0:
            raise ValueError(f"seconds is {self.seconds}; a delay is not negative")
        if self.event is not None and self.event < 1:
            raise ValueError(f"event is {self.event}; events count from 1")

    def apply(self, response: Response, rng: random.Random) -> Applied:
        """The same bytes, later."""
        del rng
        ends = [chunk.end for chunk in response.chunks]
        if not ends or ends[-1] < len(response.body):
            ends.append(len(response.body))
        if not response.body:
            return Applied(response)
        if self.event is None:
            chunks = [Chunk(end, round(self.seconds * number, 6)) for number, end in enumerate(ends, 1)]
            words = f"{self.seconds:g} s before each of {len(ends)} reads"
            return Applied(replace(response, chunks=tuple(chunks), paced=True), words)
        body = opened(response)
        frames = frames_of(body) if body is not None and body is response.body and is_stream(response) else ()
        if self.event > len(frames):
            return Applied(response)
        begins = frames[self.event - 1].start
        if begins and begins not in ends:
            ends = sorted([*ends, begins])
        chunks = [Chunk(end, self.seconds if end > begins else 0.0) for end in ends]
        words = f"{self.seconds:g} s before event {self.event} of {len(frames)}"
        return Applied(replace(response, chunks=tuple(chunks), paced=True), words)


@dataclass(frozen=True, slots=True)
class ContentType(Fault):
    """Announces the body as something else."""

    name: ClassVar[str] = "content_type"
    main: ClassVar[str | None] = "value"

    value: str = "text/html"

    def apply(self, response: Response, rng: random.Random) -> Applied:
        """The same bytes under the other content type."""
        del rng
        kept = tuple((name, value) for name, value in response.headers if name.lower() != "content-type")
        headers = (*kept, ("content-type", self.value))
        return Applied(replace(response, headers=headers), f"announced as {self.value}")


@dataclass(frozen=True, slots=True)
class Gzip(Fault):
    """Packs the body with gzip, the same bytes each time; one that is packed already stays as it is."""

    name: ClassVar[str] = "gzip"

    def apply(self, response: Response, rng: random.Random) -> Applied:
        """The body packed and announced as such."""
        del rng
        if opened(response) is not response.body or not response.body:
            return Applied(response)
        packed = gzipped(response.body)
        kept = tuple((name, value) for name, value in response.headers if name.lower() != "content-encoding")
        chunks = spread(response.chunks, len(response.body), len(packed))
        changed = with_body(response, packed, chunks, (*kept, ("content-encoding", "gzip")))
        return Applied(changed, f"packed with gzip: {len(response.body)} bytes to {len(packed)}")


def _timed(ends: Sequence[int], old: Sequence[Chunk]) -> tuple[Chunk, ...]:
    chunks: list[Chunk] = []
    number = 0
    for end in ends:
        while number < len(old) - 1 and old[number].end < end:
            number += 1
        chunks.append(Chunk(end, old[number].time if old else 0.0))
    return tuple(chunks)


def _reads(response: Response) -> str:
    return str(len(response.chunks)) if response.chunks else "one"
