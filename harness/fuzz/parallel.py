"""A run of the fuzzer in processes of its own: what came of it does not depend on how many, nor on their ends.

A worker tells of each example at once. One that an example kept from ending, or ended, is found out by what it has
told: the example counts as one that does not end, and another worker goes on with the next one.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from harness.errors import HarnessError
from harness.fuzz.examples import ExampleMaker
from harness.fuzz.fuzzer import MOST_HANGS, PROGRESS_S, FuzzSpec, Session, counted, hit
from harness.fuzz.interrupts import Interrupts
from harness.fuzz.parts import Finding, FuzzReport, Judged, Part, by_example, together
from harness.fuzz.playing import memory
from harness.fuzz.targets import TargetName, load_target
from harness.fuzz.tries import Loaded, Tries, endless
from harness.scenario.children import Channel, Child, Children, Ended, Over, grace_of

OnProgress = Callable[[int, int, int], None]
"""Told of examples, calls and causes so far."""


class WorkerDiedError(HarnessError):
    """A worker ended before it had played anything: what it was to fuzz has ended the process."""


@dataclass(frozen=True, slots=True)
class _Task:
    """A worker's part, from where another one has left it; see `Session`."""

    name: TargetName
    spec: FuzzSpec
    first: int
    step: int
    known: frozenset[tuple[object, ...]]
    endless: int
    folder: Path


def fuzz(
    name: TargetName, spec: FuzzSpec, *, workers: int = 1, on_progress: OnProgress = lambda *_: None
) -> FuzzReport:
    """Fuzz a target in ``workers`` processes. An interrupt ends it, and what was found is kept.

    Raises InputError, WorkerDiedError, and KeyboardInterrupt when interrupted again.
    """
    with ExitStack() as stack:
        interrupts = stack.enter_context(Interrupts())
        folder = Path(tempfile.mkdtemp(prefix=f"harness-fuzz-{os.getpid()}-", dir=memory()))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        children = stack.enter_context(Children())
        run = _Run(name, spec, max(workers, 1), children, folder)
        run.play(interrupts, on_progress)
        report = together(run.parts, interrupted=run.cut_short or bool(interrupts))
        tries = Tries(children, name, spec, folder, lambda: bool(interrupts))
        if spec.shrink and not interrupts:
            report.findings = [one if one.small else tries.smallest(one) for one in report.findings]
        report.findings = by_example(report.findings)
        report.interrupted = report.interrupted or bool(interrupts)
    return report


class _Run:
    """The workers of a run, each with the part that it has told of."""

    def __init__(self, name: TargetName, spec: FuzzSpec, workers: int, children: Children, folder: Path) -> None:
        self._name = name
        self._spec = spec
        self._children = children
        self._folder = folder
        self._grace = grace_of(spec.hang_s)
        self._at_work: dict[Child, int] = {}
        self._loaded: set[Child] = set()
        self._makers: Sequence[ExampleMaker] = ()
        self._started: float | None = None
        self.parts = [Part() for _ in range(workers)]
        self.cut_short = False

    def play(self, interrupts: Interrupts, on_progress: OnProgress) -> None:
        """Go on until all parts are over, or somebody interrupts."""
        for number in range(len(self.parts)):
            self._start(number)
        told_at = time.monotonic()
        while self._at_work and not interrupts:
            said = self._children.next(self._grace)
            if said is not None and said[0] in self._at_work:
                self._hear(*said)
            if time.monotonic() - told_at > PROGRESS_S:
                told_at = time.monotonic()
                examples, calls = (
                    sum(getattr(part.coverage, count) for part in self.parts) for count in ("examples", "calls")
                )
                on_progress(examples, calls, sum(len(part.found) for part in self.parts))

    def _hear(self, child: Child, message: object) -> None:
        number = self._at_work[child]
        if isinstance(message, Loaded):
            self._loaded.add(child)
            self._started = self._started or time.monotonic()
        elif isinstance(message, Judged | Finding):
            self.parts[number].take(message)
        elif isinstance(message, Over):
            del self._at_work[child]
        elif isinstance(message, Ended):
            del self._at_work[child]
            self._lost(number, child, message)

    def _lost(self, number: int, child: Child, ended: Ended) -> None:
        """Note what the worker did last, and let another one go on."""
        part = self.parts[number]
        if child not in self._loaded:
            if self._started is None:
                raise WorkerDiedError(f"{self._name.name}: it ended the process while it was loaded ({ended.how})")
            self.cut_short = True
            return
        if not part.pending:
            part.take(self._unanswered(self._next(number), ended))
        part.pending.clear()  # they are made small in the end
        if part.endless < MOST_HANGS and not self._is_done(self._next(number)):
            self._start(number)

    def _unanswered(self, number: int, ended: Ended) -> Judged:
        if not self._makers:
            # Only now: the workers have shown that it can be loaded.
            targets = load_target(self._name)
            self._makers = [ExampleMaker(target.tools, self._spec.seed, texts=self._spec.texts) for target in targets]
        group = number % len(self._makers)
        example = self._makers[group].example(number)
        wanted = "ends" in self._spec.oracles
        hits = (hit(endless(ended), example, number, group, self._spec.hang_s),) if wanted else ()
        return Judged(number, counted(example, None), hits, ended=False)

    def _next(self, number: int) -> int:
        last = self.parts[number].last
        return number if last is None else last + len(self.parts)

    def _is_done(self, number: int) -> bool:
        spec = self._spec
        beyond = spec.examples is not None and number >= spec.examples
        return beyond or (spec.seconds is not None and self._seconds_left() <= 0)

    def _seconds_left(self) -> float:
        gone = 0.0 if self._started is None else time.monotonic() - self._started
        return (self._spec.seconds or 0.0) - gone

    def _start(self, number: int) -> None:
        part = self.parts[number]
        spec = self._spec
        if spec.seconds is not None:
            spec = replace(spec, seconds=self._seconds_left())
        task = _Task(
            self._name, spec, self._next(number), len(self.parts), frozenset(part.found), part.endless, self._folder
        )
        child = self._children.start(_work, task)
        self._at_work[child] = number


def _work(channel: Channel, task: _Task) -> None:
    session = Session(
        load_target(task.name),
        task.spec,
        first=task.first,
        step=task.step,
        known=task.known,
        endless=task.endless,
        left=("ends",),
        folder=task.folder,
        pulse=channel.pulse,
    )
    channel.send(Loaded())
    session.play(channel.send)
    channel.send(Over())


__all__ = ["OnProgress", "WorkerDiedError", "fuzz", "load_target"]
