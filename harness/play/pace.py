"""When the pieces of an answer go out: at once, or at the times they were recorded with."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from harness.seams import Clock, SystemClock
from harness.wire.exchange import Response


@dataclass(frozen=True, slots=True)
class Pace:
    """``speed`` 0 plays at once, 1 as recorded, 2 twice as fast.

    An answer whose times are part of it (`Response.paced`) keeps them also where the speed is 0. ``sleep`` waits in a
    coroutine, ``block`` in a thread; both take seconds. Raises ValueError for a negative speed.
    """

    speed: float = 0.0
    clock: Clock = field(default_factory=SystemClock)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    block: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        if not 0 <= self.speed < float("inf"):
            raise ValueError(f"a speed is 0 or more, not {self.speed}")

    def pieces(self, response: Response) -> list[tuple[float, bytes]]:
        """The body cut as it arrived, each piece with the seconds after the request at which it is due."""
        cut = pieces_of(response)
        speed = self.speed or (1.0 if response.paced else 0.0)
        if not speed or not response.chunks:
            return [(0.0, piece) for piece in cut]
        times = [chunk.time / speed for chunk in response.chunks]
        times += [times[-1]] * (len(cut) - len(times))
        return list(zip(times, cut, strict=True))

    def left(self, start: float, due: float) -> float:
        """Seconds until a piece is due, counted from ``start`` on the clock; 0 or less where it is due already.

        Counted from the start, so that late pieces don't make the later ones still later.
        """
        return start + due - self.clock.monotonic() if due > 0 else 0.0


def pieces_of(response: Response) -> tuple[bytes, ...]:
    """The body cut as it arrived, or whole where nobody kept the cuts."""
    starts = (0, *(chunk.end for chunk in response.chunks))
    pieces = tuple(response.body[start : chunk.end] for start, chunk in zip(starts, response.chunks, strict=False))
    rest = response.body[starts[-1] :]
    return (*pieces, rest) if rest else pieces
