"""Which kinds of input a fuzz run has tried, how often, with what outcome: as a table, as Markdown, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.table import Table

from harness.fuzz.tally import Row

_HEAD = ("of", "family", "tried")


def coverage_table(rows: Sequence[Row]) -> Table:
    """For a terminal."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in (*_HEAD, *_outcomes(rows)):
        table.add_column(name, justify="left" if name in _HEAD[:2] else "right")
    for row in rows:
        table.add_row(row.axis, row.family, f"{row.tried:,}", *(f"{number:,}" for number in row.outcomes.values()))
    return table


def coverage_markdown(rows: Sequence[Row]) -> list[str]:
    """The lines of a section."""
    names = [*_HEAD, *_outcomes(rows)]
    lines = ["## Coverage", "", f"| {' | '.join(names)} |", f"|{'---|' * len(names)}"]
    for row in rows:
        cells = [row.axis, row.family, str(row.tried), *map(str, row.outcomes.values())]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def coverage_document(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """A document for each row."""
    return [{"of": row.axis, "family": row.family, "tried": row.tried, **row.outcomes} for row in rows]


def _outcomes(rows: Sequence[Row]) -> list[str]:
    return list(rows[0].outcomes) if rows else []
