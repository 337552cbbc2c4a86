"""A run of the fuzzer in several processes; what came of it does not depend on how many."""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

from harness.errors import HarnessError
from harness.fuzz.coverage import Coverage
from harness.fuzz.fuzzer import Finding, FuzzReport, FuzzSpec, Session, together
from harness.fuzz.targets import LoadedTarget, TargetName
from harness.pipeline.workspace import Workspace
from harness.scenario.target import Surroundings
from harness.seams import ManualClock

OnProgress = Callable[[int, int, int], None]
"""Told of examples, calls and causes so far."""

_POLL_S = 0.2


class WorkerDiedError(HarnessError):
    """A worker ended without a report: what it was fuzzing has ended the process."""


def load_target(name: TargetName) -> list[LoadedTarget]:
    """The target's parts, loaded in this process; raises InputError."""
    with tempfile.TemporaryDirectory(prefix="harness-fuzz-") as folder:
        return name.load(Surroundings(Workspace(folder), ManualClock()))


def fuzz(
    name: TargetName, spec: FuzzSpec, *, workers: int = 1, on_progress: OnProgress = lambda *_: None
) -> FuzzReport:
    """Fuzz a target; with one worker in this process. Raises InputError, and WorkerDiedError."""
    if workers <= 1:
        session = Session(load_target(name), spec)
        return session.run(lambda coverage, found: on_progress(coverage.examples, coverage.calls, found))
    load_target(name)
    spec.user_oracles()
    context = multiprocessing.get_context("spawn")
    told: Any = context.Queue()
    processes = [
        context.Process(target=_work, args=(name, spec, number, workers, told), daemon=True)
        for number in range(workers)
    ]
    for process in processes:
        process.start()
    try:
        return _gathered(processes, told, on_progress)
    finally:
        for process in processes:
            process.terminate()


def _gathered(processes: Sequence[Any], told: Any, on_progress: OnProgress) -> FuzzReport:
    """The reports of all workers; an interrupt reaches them as well, and each then sends what it has."""
    reports: dict[int, FuzzReport] = {}
    progress: dict[int, tuple[int, int, int]] = {}
    interrupts = 0
    while len(reports) < len(processes):
        try:
            number, found = told.get(timeout=_POLL_S)
        except queue.Empty:
            if (
                any(not process.is_alive() and at not in reports for at, process in enumerate(processes))
                and told.empty()
            ):
                raise WorkerDiedError("a worker ended without a report: the target has ended its process") from None
            continue
        except KeyboardInterrupt:
            interrupts += 1
            if interrupts > 1:
                break
            for process in processes:
                if process.is_alive() and process.pid is not None:
                    os.kill(process.pid, signal.SIGINT)
            continue
        if isinstance(found, FuzzReport):
            reports[number] = found
        else:
            progress[number] = found
            on_progress(*(sum(column) for column in zip(*progress.values(), strict=True)))
    whole = together([reports[number] for number in sorted(reports)])
    whole.interrupted = whole.interrupted or interrupts > 0
    return whole


def _work(name: TargetName, spec: FuzzSpec, number: int, workers: int, told: Any) -> None:
    session = Session(load_target(name), spec, first=number, step=workers)

    def on_progress(coverage: Coverage, found: int) -> None:
        told.put((number, (coverage.examples, coverage.calls, found)))

    told.put((number, session.part(on_progress)))
    told.close()
    told.join_thread()
    # Threads that never end would keep the process.
    os._exit(0)


__all__ = ["Finding", "OnProgress", "WorkerDiedError", "fuzz", "load_target"]
