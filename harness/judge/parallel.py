"""Items judged in this process or in several, each as it is done."""

from __future__ import annotations

import signal
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from harness.errors import InputError
from harness.judge.collecting import Item
from harness.judge.one_case import Judged, error_case, judge_item
from harness.scenario.policy import ReplayPolicy

_AHEAD = 2
"""Items handed out for each process, so that none waits; an interrupted run ends no more than these."""


@dataclass(frozen=True, slots=True)
class Work:
    """An item with its place in the suite and the folder for its run, None where runs are not saved."""

    number: int
    item: Item
    folder: Path | None


class WorkerEndedError(Exception):
    """The process in which an item was judged ended by itself."""


def judge_each(works: Sequence[Work], policy: ReplayPolicy | None, workers: int) -> Generator[tuple[Work, Judged]]:
    """Judge the items, and give each as soon as it is done; with one worker in their order, in this process.

    A case is the same whatever the number of ``workers``. Raises InputError for a named file that cannot be used: of
    several the first. When the caller stops early, what has begun is ended first.
    """
    if min(workers, len(works)) <= 1:
        for work in works:
            yield work, judge_item(work.item, work.folder, policy)
        return
    lost: list[Work] = []
    yield from _in_processes(works, policy, min(workers, len(works)), lost)
    # A process that dies takes its pool along; alone, each item shows whether it was the one.
    for work in sorted(lost, key=lambda each: each.number):
        gone: list[Work] = []
        yield from _in_processes([work], policy, 1, gone)
        for same in gone:
            why = WorkerEndedError("the process that judged it ended by itself, killed or out of memory")
            yield same, error_case(same.item, why)


def _in_processes(
    works: Sequence[Work], policy: ReplayPolicy | None, workers: int, lost: list[Work]
) -> Iterator[tuple[Work, Judged]]:
    """Judge in ``workers`` processes; items whose process died, and those it took along, are added to ``lost``."""
    waiting = list(reversed(works))
    running: dict[Future[Judged], Work] = {}
    failed: tuple[int, InputError] | None = None
    with _pool(workers) as pool:
        while waiting or running:
            while waiting and len(running) < workers * _AHEAD:
                work = waiting.pop()
                try:
                    running[pool.submit(judge_item, work.item, work.folder, policy)] = work
                except BrokenProcessPool:
                    lost += [work, *waiting]
                    waiting.clear()
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                work = running.pop(done)
                try:
                    judged = done.result()
                except InputError as error:
                    failed = (work.number, error) if failed is None or work.number < failed[0] else failed
                    waiting.clear()
                except BrokenProcessPool:
                    lost.append(work)
                else:
                    yield work, judged
    if failed is not None:
        raise failed[1]


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    # Not forked: a copy of a process with threads may hang. An interrupt is for the parent, which lets them finish.
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_ignore_interrupts)
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
