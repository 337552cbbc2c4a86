"""Which kinds of input an agent was given, how often, and what became of them."""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.fuzz.coverage import LISTED
from harness.fuzz.examples import Example
from harness.fuzz.tally import Row, Tally
from harness.fuzz.wire.agent import OUTCOMES, WireOutcome


def fault_kind(fault: str) -> str:
    """The name of a fault without its place; ``none`` for none."""
    return fault.partition(":")[0].partition("=")[0] or "none"


@dataclass
class WireCoverage:
    """Counts of calls by axis, family and outcome; a fault is counted with the calls of its answer."""

    tally: Tally = field(default_factory=lambda: Tally(OUTCOMES))
    examples: int = 0
    calls: int = 0

    def note(self, example: Example, outcome: WireOutcome) -> None:
        """Count an example."""
        self.examples += 1
        for turn, answers in zip(example.turns, outcome.answers, strict=True):
            for call, became in zip(turn.calls, answers, strict=True):
                self.calls += 1
                self.tally.add("arguments", call.family, became)
                self.tally.add("name", call.name_family, became)
                self.tally.add("id", call.id_family, became)
                self.tally.add("fault", fault_kind(turn.fault), became)

    def rows(self) -> list[Row]:
        """All counts, those of texts that were never tried included."""
        return self.tally.rows(("arguments", "name", "id", "fault"), LISTED)
