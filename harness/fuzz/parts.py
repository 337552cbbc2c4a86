"""What one worker of a run has told so far: example by example, so that its end at any moment loses at most one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar

from harness.fuzz.coverage import Coverage, total
from harness.fuzz.examples import Example
from harness.judge.invariants import Breach

_Key = TypeVar("_Key")


@dataclass(frozen=True)
class Finding:
    """A breach and the smallest example that shows it.

    ``number`` is the example that showed it first, ``times`` how many did, ``families`` the kinds of input by which.
    ``cause`` is what makes two breaches one: oracle, place and kind of input. ``group`` counts the parts of a target.
    ``hang_s`` is how many seconds an example might take. ``small`` says that it has been made as small as it gets.
    """

    breach: Breach
    example: Example
    number: int
    cause: tuple[object, ...]
    families: tuple[str, ...] = ()
    times: int = 1
    group: int = 0
    hang_s: float = 0.0
    small: bool = False

    @property
    def signature(self) -> tuple[object, ...]:
        """Equal for findings that are one."""
        turns = [
            (tuple((call.name, call.arguments) for call in turn.calls), tuple(map(repr, turn.before)), turn.cut)
            for turn in self.example.turns
        ]
        return self.breach.invariant, self.breach.place, tuple(turns)


class Judged(NamedTuple):
    """An example that was played: how it counts, its breaches as findings, and whether it came to its end."""

    number: int
    coverage: Coverage
    hits: tuple[Finding, ...]
    ended: bool = True


@dataclass
class FuzzReport:
    """What came of a run; ``interrupted`` where it did not come to its end."""

    findings: list[Finding] = field(default_factory=list)
    coverage: Coverage = field(default_factory=Coverage)
    interrupted: bool = False


class Part:
    """The findings of a worker by cause, its coverage, and how many examples did not end.

    ``last`` is the number of the last example; ``pending`` are causes found in it whose finding is still to be told.
    """

    def __init__(self) -> None:
        self.found: dict[tuple[object, ...], Finding] = {}
        self.coverage = Coverage()
        self.endless = 0
        self.last: int | None = None
        self.pending: list[tuple[object, ...]] = []

    def take(self, told: Judged | Finding) -> list[Finding]:
        """Note an example, or what became of one of its findings by making it small; the findings that are new."""
        if isinstance(told, Finding):
            known = self.found[told.cause]
            self.found[told.cause] = replace(told, times=known.times, families=known.families)
            self.pending.remove(told.cause)
            return []
        self.last = told.number
        self.coverage.add(told.coverage)
        self.endless += not told.ended
        fresh = [hit for hit in told.hits if hit.cause not in self.found]
        self.pending = [hit.cause for hit in fresh]
        for hit in told.hits:
            _take(self.found, hit.cause, hit)
        return fresh


def by_cause(findings: Iterable[Finding]) -> list[Finding]:
    """One finding for each cause, the earliest, whichever worker met it."""
    causes: dict[object, Finding] = {}
    for finding in sorted(findings, key=lambda one: (one.number, one.breach.invariant, one.breach.place)):
        _take(causes, finding.cause, finding)
    return list(causes.values())


def by_example(findings: Iterable[Finding]) -> list[Finding]:
    """One finding for each smallest example, the first, of findings that are one a cause."""
    smallest: dict[object, Finding] = {}
    for finding in findings:
        _take(smallest, finding.signature, finding)
    return list(smallest.values())


def together(parts: Iterable[Part], *, interrupted: bool = False) -> FuzzReport:
    """What several workers have told, with one finding for each cause."""
    told = list(parts)
    findings = by_cause(finding for part in told for finding in part.found.values())
    return FuzzReport(findings, total(part.coverage for part in told), interrupted)


def _take(found: dict[_Key, Finding], key: _Key, finding: Finding) -> None:
    known = found.get(key)
    if known is None:
        found[key] = finding
    else:
        families = tuple(sorted({*known.families, *finding.families}))
        found[key] = replace(known, times=known.times + finding.times, families=families)
