"""The fuzzer: example after example, each judged, each cause of a breach kept once and made small."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.errors import InputError
from harness.fuzz.coverage import Coverage, total
from harness.fuzz.examples import Example, ExampleMaker
from harness.fuzz.oracles import DUE, ORACLES, UserOracle, cut_short, judge
from harness.fuzz.playing import Played
from harness.fuzz.shrinking import MOST_TRIES, shrunk
from harness.fuzz.targets import LoadedTarget
from harness.fuzz.texts import FAMILIES
from harness.fuzz.timed import TimedStage
from harness.judge.invariants import Breach, decided, differ
from harness.scenario.functions import FunctionError, load_function

DEFAULT_EXAMPLES = 1000
HANG_S = 5.0
MOST_HANGS = 10
AGAIN = 8
"""How often an example is played again to see whether the decisions are the same."""

_SHRINK_HANG_S = 0.5
_FEWER_TRIES = {"ends": 40, "same_decision": 120}
"""Each try of these takes longer."""

_PROGRESS_S = 0.5
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

    def user_oracles(self) -> list[tuple[str, UserOracle]]:
        """The functions of ``own``; raises InputError."""
        try:
            return [(name, load_function(name, Path.cwd())) for name in self.own]
        except FunctionError as error:
            raise InputError(str(error), where="--oracle", hint="module:function") from error


@dataclass(frozen=True)
class Finding:
    """A breach and the smallest example that shows it.

    ``number`` is the example that showed it first, ``times`` how many did, ``families`` the kinds of input by which.
    ``cause`` is what makes two breaches one: oracle, place and kind of input. ``group`` counts the parts of a target.
    """

    breach: Breach
    example: Example
    number: int
    cause: tuple[object, ...]
    families: tuple[str, ...] = ()
    times: int = 1
    group: int = 0

    @property
    def signature(self) -> tuple[object, ...]:
        """Equal for findings that are one."""
        turns = [
            (tuple((call.name, call.arguments) for call in turn.calls), tuple(map(repr, turn.before)), turn.cut)
            for turn in self.example.turns
        ]
        return self.breach.invariant, self.breach.place, tuple(turns)


@dataclass
class FuzzReport:
    """What came of a run; ``interrupted`` where it did not come to its end."""

    findings: list[Finding] = field(default_factory=list)
    coverage: Coverage = field(default_factory=Coverage)
    interrupted: bool = False


class Session:
    """One worker's part of a run: every ``step``-th example from ``first`` on."""

    def __init__(self, targets: Sequence[LoadedTarget], spec: FuzzSpec, *, first: int = 0, step: int = 1) -> None:
        self._spec = spec
        self._numbers = first, step
        self._own = spec.user_oracles()
        self._targets = targets
        self._makers = [ExampleMaker(target.tools, spec.seed, texts=spec.texts) for target in targets]
        self._stages = [TimedStage(target.make, spec.hang_s) for target in targets]
        self._found: dict[tuple[object, ...], Finding] = {}
        self.coverage = Coverage()
        self._endless = 0

    def run(self, on_progress: Callable[[Coverage, int], None] = lambda *_: None) -> FuzzReport:
        """Go on until the examples or the time are used up, or somebody interrupts: what was found is kept."""
        return together([self.part(on_progress)])

    def part(self, on_progress: Callable[[Coverage, int], None] = lambda *_: None) -> FuzzReport:
        """`run`, as a part that is still to be put `together` with those of other workers.

        So many examples that do not end are enough to know it.
        """
        started = told = time.monotonic()
        interrupted = False
        number, step = self._numbers
        try:
            while self._spec.examples is None or number < self._spec.examples:
                self._one(number)
                number += step
                now = time.monotonic()
                if now - told > _PROGRESS_S:
                    told = now
                    on_progress(self.coverage, len(self._found))
                if self._spec.seconds is not None and now - started > self._spec.seconds:
                    break
                if self._endless >= MOST_HANGS:
                    break
        except KeyboardInterrupt:
            interrupted = True
        finally:
            for stage in self._stages:
                stage.close()
        return FuzzReport(list(self._found.values()), self.coverage, interrupted)

    def _one(self, number: int) -> None:
        group = number % len(self._targets)
        maker, stage = self._makers[group], self._stages[group]
        example = maker.example(number)
        played = stage.play(example)
        self.coverage.note(example, played)
        self._endless += played is None
        for breach in self._breaches(example, played, maker, stage):
            family = _family(example, breach)
            key = (group, breach.invariant, breach.place, _kind_of(breach, family))
            known = self._found.get(key)
            if known is not None:
                families = tuple(sorted({*known.families, family}))
                self._found[key] = replace(known, times=known.times + 1, families=families)
                continue
            self._found[key] = self._smallest(
                Finding(breach, example, number, key, (family,), group=group), maker, stage
            )

    def _breaches(
        self, example: Example, played: Played | None, maker: ExampleMaker, stage: TimedStage
    ) -> Iterator[Breach]:
        """The breaches of an example, one of each cause."""
        seen: set[tuple[object, ...]] = set()
        for breach in self._all(example, played, maker, stage):
            if _cause(breach) not in seen:
                seen.add(_cause(breach))
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

    def _smallest(self, finding: Finding, maker: ExampleMaker, stage: TimedStage) -> Finding:
        cause = _cause(finding.breach)
        hangs = finding.breach.invariant == "ends"
        last = [finding.breach]

        def fails(candidate: Example) -> bool:
            kept = candidate._replace(kind="twice") if cause[0] == "same_decision" else candidate
            played = stage.play(kept, _SHRINK_HANG_S if hangs else None)
            for breach in self._all(kept, played, maker, stage):
                if _cause(breach) == cause:
                    last[0] = breach if not hangs else finding.breach
                    return True
            return False

        if not self._spec.shrink:
            return finding
        small = shrunk(finding.example, fails, _FEWER_TRIES.get(finding.breach.invariant, MOST_TRIES))
        if finding.breach.invariant == "same_decision":
            small = small._replace(kind="twice")
        return replace(finding, example=small, breach=last[0])


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """One finding for each cause, and for each smallest example; the earliest stands for all."""
    ordered = sorted(findings, key=lambda one: (one.number, one.breach.invariant, one.breach.place))
    causes: dict[object, Finding] = {}
    for finding in ordered:
        _take(causes, finding.cause, finding)
    smallest: dict[object, Finding] = {}
    for finding in causes.values():
        _take(smallest, finding.signature, finding)
    return list(smallest.values())


def _take(found: dict[object, Finding], key: object, finding: Finding) -> None:
    known = found.get(key)
    if known is None:
        found[key] = finding
    else:
        families = tuple(sorted({*known.families, *finding.families}))
        found[key] = replace(known, times=known.times + finding.times, families=families)


def together(reports: Sequence[FuzzReport]) -> FuzzReport:
    """The reports of several workers as one; a cause that several have met is that of the earliest example."""
    findings = [finding for report in reports for finding in report.findings]
    return FuzzReport(
        merged(findings), total(report.coverage for report in reports), any(report.interrupted for report in reports)
    )


def _kind_of(breach: Breach, family: str) -> str:
    """Which inputs may have one cause; what holds whatever is called does not depend on them."""
    if breach.invariant not in DUE:
        return ""
    return "another name" if family.startswith("name ") else _KINDS_OF_TEXT.get(family, family)


def _cause(breach: Breach) -> tuple[object, ...]:
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
