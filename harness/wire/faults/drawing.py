"""Faults drawn at random for an answer, so that one recording becomes many tests."""

from __future__ import annotations

import random
from collections.abc import Callable

from harness.wire.exchange import Response
from harness.wire.faults.body import is_stream, opened
from harness.wire.faults.cutting import Cut, Disconnect, Timeout
from harness.wire.faults.events import BrokenFrame, Duplicate, ErrorEvent, Swap
from harness.wire.faults.fault import Fault
from harness.wire.faults.fields import Drop, What
from harness.wire.faults.frames import frames_of, stream_fragments
from harness.wire.faults.gateway import Gateway
from harness.wire.faults.status import Status
from harness.wire.faults.transfer import ContentType, Delay, Gzip, Rechunk

MOST = 3
"""How many faults are drawn together at most."""

_LONGEST_DELAY_S = 0.002
_LARGEST_READ = 48

_Maker = Callable[[random.Random], Fault]


def generate(seed: int, response: Response) -> list[Fault]:
    """One to three faults that fit the answer, to be applied in this order; the same seed and bytes give the same.

    Places are inside the answer. Delays are of a few milliseconds at most; status faults happen once.
    """
    rng = random.Random(f"{seed}:{len(response.body)}")  # noqa: S311  to be repeatable is its purpose
    makers = _for_stream(response) if is_stream(response) else _for_plain(response)
    return [rng.choice(makers)(rng) for _ in range(rng.randint(1, MOST))]


def _for_any(length: int) -> list[_Maker]:
    return [
        lambda rng: Cut(byte=rng.randrange(max(length, 1))),
        lambda rng: Disconnect(byte=rng.randrange(max(length, 1))),
        lambda rng: Timeout(byte=rng.randrange(max(length, 1))),
        lambda rng: Rechunk(largest=rng.randint(1, _LARGEST_READ)),
        lambda rng: Delay(seconds=rng.uniform(0, _LONGEST_DELAY_S), event=1),
        lambda rng: ContentType(value=rng.choice(["text/html", "application/json", "text/plain", "text/event-stream"])),
        lambda _: Gzip(),
        lambda rng: Gateway(sides=rng.choice(["both", "request", "response"])),
        lambda rng: Status(status=rng.choice([429, 500, 503]), retry_after=rng.choice([None, 0.0])),
        lambda _: Status(status="timeout"),
    ]


def _for_plain(response: Response) -> list[_Maker]:
    left_out: tuple[What, ...] = ("usage", "finish_reason", "id")
    return [*_for_any(len(response.body)), lambda rng: Drop(what=rng.choice(left_out))]


def _for_stream(response: Response) -> list[_Maker]:
    frames = frames_of(opened(response) or b"")
    events, fragments = max(len(frames), 1), len(stream_fragments(frames))
    left_out: tuple[What, ...] = ("done", "usage", "finish_reason", "id", "index")
    return [
        *_for_any(len(response.body)),
        lambda rng: Cut(event=rng.randrange(events)),
        lambda rng: Cut(delta=rng.randint(0, fragments), of="any"),
        lambda rng: Cut(character=rng.randint(0, fragments), of="any"),
        lambda _: Disconnect(),
        lambda _: Timeout(),
        lambda rng: Drop(what=rng.choice(left_out)),
        lambda rng: Duplicate(event=rng.randint(1, events)),
        lambda rng: Swap(event=rng.randint(1, max(events - 1, 1))),
        lambda rng: ErrorEvent(event=rng.randint(0, events), form=rng.choice(["data", "event"])),
        lambda _: BrokenFrame(),
    ]
