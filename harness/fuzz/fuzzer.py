"""The fuzzer: example after example, each judged, each cause of a breach kept once and made small."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.errors import InputError
from harness.fuzz.coverage import Coverage
from harness.fuzz.examples import Example, ExampleMaker
from harness.fuzz.hangs import smallest_hang
from harness.fuzz.oracles import DUE, ORACLES, cut_short, judge, user_oracles
from harness.fuzz.parts import Finding, FuzzReport, Judged, Part, by_example, together
from harness.fuzz.playing import Played
from harness.fuzz.shrinking import MOST_TRIES, shrunk
from harness.fuzz.targets import LoadedTarget
from harness.fuzz.texts import FAMILIES
from harness.fuzz.timed import TimedStage
from harness.judge.invariants import Breach, decided, differ
from harness.scenario.children import Pulse

DEFAULT_EXAMPLES = 1000
HANG_S = 5.0
MOST_HANGS = 10
AGAIN = 8
"""How often an example is played again to see whether the decisions are the same."""

FEWER_TRIES = {"same_decision": 120}
"""Each try of these takes longer."""

PROGRESS_S = 0.5
_KINDS_OF_TEXT = {
    family: "the same object" if at < list(FAMILIES).index("empty") else "another text"
    for at, family in enumerate(FAMILIES)
}


@dataclass(frozen=True)
class FuzzSpec:
    """What to do: how many ``examples``, or for how many ``seconds``; ``oracles`` by name, ``own`` ones by function.

    ``texts`` makes every call one with a raw text. An example that takes longer than ``hang_s`` seconds has not ended.
    """

    seed: int = 0
    examples: int | None = DEFAULT_EXAMPLES
    seconds: float | None = None
    oracles: tuple[str, ...] = ORACLES
    own: tuple[str, ...] = ()
    texts: bool = False
    hang_s: float = HANG_S
    shrink: bool = True

    def __post_init__(self) -> None:
        for name in self.oracles:
            if name not in ORACLES:
                raise InputError(f"there is no oracle {name!r}; there are {', '.join(ORACLES)}")


class Session:
    """One worker's part of a run: every ``step``-th example from ``first`` on.

    A worker that goes on for another one knows the causes that it has met (``known``), and how many examples did not
    end (``endless``). Findings of the oracles ``left`` are not made small. ``folder`` and ``pulse`` see `TimedStage`.
    """

    def __init__(
        self,
        targets: Sequence[LoadedTarget],
        spec: FuzzSpec,
        *,
        first: int = 0,
        step: int = 1,
        known: Collection[tuple[object, ...]] = (),
        endless: int = 0,
        left: Collection[str] = (),
        folder: Path | None = None,
        pulse: Pulse | None = None,
    ) -> None:
        self._spec = spec
        self._numbers = first, step
        self._own = user_oracles(spec.own)
        self._targets = targets
        self._makers = [ExampleMaker(target.tools, spec.seed, texts=spec.texts) for target in targets]
        self._stages = [TimedStage(target.make, spec.hang_s, folder=folder, pulse=pulse) for target in targets]
        self._known = set(known)
        self._endless = endless
        self._left = left
        self._tell: Callable[[Judged | Finding], object] = lambda _: None

    def run(self, on_progress: Callable[[Coverage, int], None] = lambda *_: None) -> FuzzReport:
        """Go on until the examples or the time are used up, or somebody interrupts: what was found is kept."""
        part, told_at = Part(), time.monotonic()

        def tell(told: Judged | Finding) -> None:
            nonlocal told_at
            part.take(told)
            if time.monotonic() - told_at > PROGRESS_S:
                told_at = time.monotonic()
                on_progress(part.coverage, len(part.found))

        interrupted = False
        try:
            self.play(tell)
        except KeyboardInterrupt:
            interrupted = True
        report = together([part], interrupted=interrupted)
        report.findings = by_example(report.findings)
        return report

    def play(self, tell: Callable[[Judged | Finding], object]) -> None:
        """Play until the examples or the time are used up, and tell of each at once; then of each new finding, small.

        So many examples that do not end are enough to know it.
        """
        self._tell = tell
        started = time.monotonic()
        number, step = self._numbers
        try:
            while self._spec.examples is None or number < self._spec.examples:
                if self._endless >= MOST_HANGS:
                    break
                self._one(number)
                number += step
                if self._spec.seconds is not None and time.monotonic() - started > self._spec.seconds:
                    break
        finally:
            self.close()

    def close(self) -> None:
        """End the threads and remove the folders."""
        for stage in self._stages:
            stage.close()

    def shows(self, finding: Finding, candidate: Example, seconds: float | None = None) -> Breach | None:
        """The breach of the finding's cause, where the candidate has it too; ``seconds`` are how long it may take."""
        maker, stage = self._makers[finding.group], self._stages[finding.group]
        cause = cause_of(finding.breach)
        kept = candidate._replace(kind="twice") if cause[0] == "same_decision" else candidate
        found = self._all(kept, stage.play(kept, seconds), maker, stage)
        return next((breach for breach in found if cause_of(breach) == cause), None)

    def _one(self, number: int) -> None:
        group = number % len(self._targets)
        maker, stage = self._makers[group], self._stages[group]
        example = maker.example(number)
        played = stage.play(example)
        breaches = self._breaches(example, played, maker, stage)
        hits = tuple(hit(breach, example, number, group, self._spec.hang_s) for breach in breaches)
        self._endless += played is None
        self._tell(Judged(number, counted(example, played), hits, played is not None))
        for finding in hits:
            if finding.cause not in self._known:
                self._known.add(finding.cause)
                self._tell(self._smallest(finding))

    def _breaches(
        self, example: Example, played: Played | None, maker: ExampleMaker, stage: TimedStage
    ) -> Iterator[Breach]:
        """The breaches of an example, one of each cause."""
        seen: set[tuple[object, ...]] = set()
        for breach in self._all(example, played, maker, stage):
            if cause_of(breach) not in seen:
                seen.add(cause_of(breach))
                yield breach

    def _all(self, example: Example, played: Played | None, maker: ExampleMaker, stage: TimedStage) -> Iterator[Breach]:
        wanted = set(self._spec.oracles)
        if played is None:
            if "ends" in wanted:
                yield Breach("ends", 0, None, "", f"it did not end within {self._spec.hang_s:g} s")
            return
        if played.streamed:
            # A reader of streams may see through what a reader of arguments may not.
            wanted -= {"refuses_broken", "same_arguments"}
        names = [name for name in ORACLES if name in wanted]
        yield from judge(example, played, maker, names, self._own)
        if "cut_stream" in wanted:
            yield from cut_short(played, example)
        if example.kind == "twice" and "same_decision" in wanted:
            yield from self._decided_otherwise(example, played, stage)

    def _decided_otherwise(self, example: Example, played: Played, stage: TimedStage) -> Iterator[Breach]:
        first = decided(played.steps)
        for _ in range(AGAIN):
            again = stage.play(example)
            if again is not None and differ(decided(again.steps), first):
                yield Breach("same_decision", 0, None, "", "the same calls were decided in two ways")
                return

    def _smallest(self, finding: Finding) -> Finding:
        oracle = finding.breach.invariant
        if not self._spec.shrink or oracle in self._left:
            return finding
        last = finding.breach

        def fails(candidate: Example, seconds: float | None = None) -> bool:
            nonlocal last
            breach = self.shows(finding, candidate, seconds)
            last = breach or last
            return breach is not None

        if oracle == "ends":
            small = smallest_hang(finding.example, fails, finding.hang_s)
            return replace(finding, example=small, small=True)
        return made_small(finding, shrunk(finding.example, fails, FEWER_TRIES.get(oracle, MOST_TRIES)), last)


def made_small(finding: Finding, example: Example, breach: Breach) -> Finding:
    """The finding with the smallest example that shows it, and the breach that it shows."""
    if breach.invariant == "same_decision":
        example = example._replace(kind="twice")
    return replace(finding, example=example, breach=breach, small=True)


def counted(example: Example, played: Played | None) -> Coverage:
    """The coverage of one example; None for one that did not end."""
    coverage = Coverage()
    coverage.note(example, played)
    return coverage


def hit(breach: Breach, example: Example, number: int, group: int, hang_s: float) -> Finding:
    """A breach as the finding of the example that shows it."""
    family = _family(example, breach)
    cause = (group, breach.invariant, breach.place, _kind_of(breach, family))
    return Finding(breach, example, number, cause, (family,), group=group, hang_s=hang_s)


def _kind_of(breach: Breach, family: str) -> str:
    """Which inputs may have one cause; what holds whatever is called does not depend on them."""
    if breach.invariant not in DUE:
        return ""
    return "another name" if family.startswith("name ") else _KINDS_OF_TEXT.get(family, family)


def cause_of(breach: Breach) -> tuple[object, ...]:
    """What two breaches of one example have in common that are one."""
    return breach.invariant, breach.place


def _family(example: Example, breach: Breach) -> str:
    """By which kind of input: of the call that it is about, or of the example where it is about no single one."""
    if breach.call is not None and breach.step < len(example.turns):
        call = example.turns[breach.step].calls[breach.call]
        if call.name_family != "known":
            return f"name {call.name_family}"
        if call.id_family != "fresh" and breach.invariant == "one_answer":
            return f"id {call.id_family}"
        return call.family
    return "cut stream" if any(turn.cut for turn in example.turns) else example.kind
