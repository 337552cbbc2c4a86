"""Which kinds of input were tried, how often, and what became of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from harness.fuzz.examples import Example
from harness.fuzz.playing import Played
from harness.fuzz.tally import Row, Tally
from harness.fuzz.texts import FAMILIES
from harness.judge.invariants import runs_of

AXES = ("arguments", "name", "id", "example")
"""What a family is one of: of the arguments' text, of the call's name, of its id; or what an example is as a whole."""

LISTED = {"arguments": ("valid", "near_miss", *FAMILIES)}
"""Families that are told of also where they were never tried."""

OUTCOMES = ("ran", "refused", "unanswered")


@dataclass
class Coverage:
    """Counts by axis, family and outcome. *unanswered*: something was raised, or the pipeline did not end."""

    tally: Tally = field(default_factory=lambda: Tally(OUTCOMES))
    examples: int = 0
    calls: int = 0
    started: Counter[str] = field(default_factory=Counter)

    def note(self, example: Example, played: Played | None) -> None:
        """Count an example; None for one that did not end."""
        self.examples += 1
        answered = True
        for number, turn in enumerate(example.turns):
            step = played.steps[number] if played is not None and number < len(played.steps) else None
            for position, call in enumerate(turn.calls):
                self.calls += 1
                outcome = "unanswered"
                if step is not None and step.outcome is not None and position < len(step.plans):
                    outcome = "ran" if runs_of(step, position) else "refused"
                answered = answered and outcome != "unanswered"
                self.tally.add("arguments", call.family, outcome)
                self.tally.add("name", call.name_family, outcome)
                self.tally.add("id", call.id_family, outcome)
        kind = "cut stream" if any(turn.cut for turn in example.turns) else example.kind
        self.tally.add("example", kind, "ran" if answered else "unanswered")
        if played is not None:
            self.started.update(played.started)

    def add(self, other: Coverage) -> None:
        """Take the counts of another worker."""
        self.tally.update(other.tally)
        self.started.update(other.started)
        self.examples += other.examples
        self.calls += other.calls

    def rows(self) -> list[Row]:
        """All counts, those of texts that were never tried included."""
        return self.tally.rows(AXES, LISTED)


def total(parts: Iterable[Coverage]) -> Coverage:
    """All counts together."""
    whole = Coverage()
    for part in parts:
        whole.add(part)
    return whole
