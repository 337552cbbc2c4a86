"""How long something takes, for the benchmarks beside this file."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable


def best(run: Callable[[], object], times: int) -> float:
    """The shortest of some runs, in seconds: what disturbs a measurement only adds to it."""
    taken = []
    for _ in range(times):
        gc.collect()
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return min(taken)
