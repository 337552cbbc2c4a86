"""Counts of what was tried: by what it is one of, which one it is, and what became of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Row(NamedTuple):
    """A line of a coverage table: how often a family of an axis was ``tried``, and with what outcome."""

    axis: str
    family: str
    tried: int
    outcomes: dict[str, int]


@dataclass
class Tally:
    """Counts by axis, family and outcome, one of ``outcomes``."""

    outcomes: Sequence[str]
    counts: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    def add(self, axis: str, family: str, outcome: str) -> None:
        """Count one."""
        self.counts[axis, family, outcome] += 1

    def update(self, other: Tally) -> None:
        """Take the counts of another worker."""
        self.counts.update(other.counts)

    def rows(self, axes: Sequence[str], listed: Mapping[str, Sequence[str]]) -> list[Row]:
        """Axis by axis: families ``listed`` for it, also those that were never tried, then others by name."""
        found: list[Row] = []
        for axis in axes:
            tried = {family for kind, family, _ in self.counts if kind == axis}
            named = listed.get(axis, ())
            for family in [*named, *sorted(tried.difference(named))]:
                by = {outcome: self.counts[axis, family, outcome] for outcome in self.outcomes}
                found.append(Row(axis, family, sum(by.values()), by))
        return found
