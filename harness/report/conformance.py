"""The table of ``harness stream --conformance``, as Markdown: for a terminal, a log and a page of documentation."""

from __future__ import annotations

from harness.judge.conformance import Comparison, Outcome
from harness.report.markdown import inline


def conformance_table(comparison: Comparison) -> str:
    """A row for each stream, a column for each assembler, and the sums."""
    head = ["stream", "report", *map(inline, comparison.assemblers)]
    lines = [_row(head), _row(["---"] * len(head))]
    for case, results in comparison.rows:
        lines.append(_row([inline(case.name), case.origin, *(_cell(result.outcome) for result in results)]))
    sums = (" / ".join(str(comparison.count(name, outcome)) for outcome in Outcome) for name in comparison.assemblers)
    lines.append(_row(["right / wrong / crash", "", *sums]))
    return "\n".join(lines) + "\n"


def _cell(outcome: Outcome) -> str:
    return outcome if outcome is Outcome.RIGHT else f"**{outcome}**"


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
