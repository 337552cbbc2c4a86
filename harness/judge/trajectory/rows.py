"""Expected and made calls paired for a person, and drawn side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.judge.matching import aligned, maximum_matching
from harness.judge.trajectory.comparison import Comparison, Fit
from harness.judge.trajectory.texts import expected_text, shortened

SAME, DIFFERENT, MISSING, SURPLUS, BESIDE = "=", "≠", "-", "+", "·"
_COLUMN_CHARACTERS = 46
_CONTEXT = 2
_NO_CALL = "(no call)"


@dataclass(frozen=True, slots=True)
class Row:
    """A pair, or a call that has no other; positions count from 0. ``mark`` says how the two sides relate."""

    wanted: int | None
    found: int | None
    mark: str


def rows_in_order(comparison: Comparison, *, surplus: str = SURPLUS) -> list[Row]:
    """The longest alignment of both lists in their order; pairs of one tool that differ elsewhere stand together.

    ``surplus`` is the mark of calls that are not in the reference.
    """
    fully = min(len(comparison.expected), len(comparison.made)) + 1

    def weight(wanted: int, found: int) -> int:
        if comparison.fit(wanted, found):
            return fully
        return int(comparison.expected[wanted].tool == comparison.made[found].call.name)

    pairs = aligned(len(comparison.expected), len(comparison.made), weight)
    return [_row(comparison, wanted, found, MISSING, surplus) for wanted, found in pairs]


def rows_in_any_order(comparison: Comparison, *, missing: str = MISSING, surplus: str = SURPLUS) -> list[Row]:
    """As many pairs as there can be, in the order of the reference, then the calls that are left over.

    An expected call without its own is put beside a call of its tool that nothing else stands for.
    """
    count = len(comparison.expected)
    pairs = maximum_matching([comparison.fitting(wanted, Fit.UNKNOWN) for wanted in range(count)])
    taken = set(pairs.values())
    left = [wanted for wanted in range(count) if wanted not in pairs]
    near = maximum_matching([[at for at in comparison.same_tool(wanted) if at not in taken] for wanted in left])
    pairs |= {left[number]: found for number, found in near.items()}
    taken |= set(near.values())
    rows = [_row(comparison, wanted, pairs.get(wanted), missing, surplus) for wanted in range(count)]
    return rows + [Row(None, found, surplus) for found in range(len(comparison.made)) if found not in taken]


def side_by_side(comparison: Comparison, rows: Sequence[Row]) -> str:
    """The rows as two columns with their marks, what differs behind them; stretches that agree are folded."""
    texts = [_texts(comparison, row) for row in rows]
    width = max([len("expected"), *(len(left) for left, _, _ in texts)])
    lines = [f"± {'expected':<{width}}  actual"]
    folded = 0
    for number, (row, (left, right, note)) in enumerate(zip(rows, texts, strict=True)):
        around = rows[max(0, number - _CONTEXT) : number + _CONTEXT + 1]
        if all(other.mark in {SAME, BESIDE} for other in around):
            folded += 1
            continue
        lines += _fold(folded)
        folded = 0
        lines.append(f"{row.mark} {left:<{width}}  {right}{f'   {note}' if note else ''}".rstrip())
    return "\n".join(lines + _fold(folded))


def _fold(count: int) -> list[str]:
    return [f"… {count} more {'row' if count == 1 else 'rows'} without a difference"] if count else []


def _row(comparison: Comparison, wanted: int | None, found: int | None, missing: str, surplus: str) -> Row:
    if wanted is None:
        return Row(None, found, surplus)
    if found is None:
        return Row(wanted, None, missing)
    return Row(wanted, found, SAME if comparison.fit(wanted, found) else DIFFERENT)


def _texts(comparison: Comparison, row: Row) -> tuple[str, str, str]:
    left = _NO_CALL if row.wanted is None else expected_text(comparison.expected[row.wanted])
    right = _NO_CALL
    if row.found is not None:
        made = comparison.made[row.found]
        right = f"{made.at_step}: {made}"
    both = row.wanted is not None and row.found is not None
    note = comparison.problem(row.wanted or 0, row.found or 0) if both else ""
    return (
        shortened(left, _COLUMN_CHARACTERS),
        shortened(right, _COLUMN_CHARACTERS),
        shortened(note, 2 * _COLUMN_CHARACTERS),
    )
