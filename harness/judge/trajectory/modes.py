"""The five ways in which a run's calls may have to relate to a reference, each judged exactly."""

from __future__ import annotations

from collections.abc import Sequence

from harness.judge.functions import BrokenCheckError, Functions
from harness.judge.matching import maximum_matching
from harness.judge.trajectory.comparison import Comparison, Fit
from harness.judge.trajectory.made import Made
from harness.judge.trajectory.rows import (
    BESIDE,
    DIFFERENT,
    MISSING,
    SURPLUS,
    Row,
    rows_in_any_order,
    rows_in_order,
    side_by_side,
)
from harness.judge.trajectory.texts import expected_text
from harness.judge.verdict import Check, Verdict
from harness.scenario.expectations import TrajectoryExpectation, TrajectoryMode

NO_CALL = "no call"
_BAD: dict[TrajectoryMode, frozenset[str]] = {
    "ordered": frozenset({MISSING, DIFFERENT}),
    "unordered": frozenset({MISSING, DIFFERENT, SURPLUS}),
    "subset": frozenset({DIFFERENT, SURPLUS}),
    "superset": frozenset({MISSING, DIFFERENT}),
}
"""The marks of rows that break a mode; the strict one is judged by places."""


def judge_trajectory(expected: TrajectoryExpectation, made: Sequence[Made], functions: Functions) -> Check:
    """One check: what the mode demands holds, does not, or cannot be told from what the run knows of its calls."""
    name = f"trajectory: {expected.mode}"
    comparison = Comparison(expected.calls, made, functions)
    try:
        if holds(expected.mode, comparison, Fit.YES):
            wanted = ", ".join(expected_text(call) for call in expected.calls)
            return Check(name, Verdict.PASS, "", wanted, f"{len(made)} calls")
        if holds(expected.mode, comparison, Fit.UNKNOWN):
            return _not_known(name, expected.mode, comparison)
        return _parted(name, expected.mode, comparison)
    except BrokenCheckError as error:
        return Check(name, Verdict.ERROR, str(error))


def holds(mode: TrajectoryMode, comparison: Comparison, least: Fit) -> bool:
    """Whether the mode's demand is met by pairs that fit at least that well."""
    wanted, found = len(comparison.expected), len(comparison.made)
    if mode == "strict":
        return wanted == found and all(comparison.fit(at, at) >= least for at in range(wanted))
    if mode == "ordered":
        return _is_subsequence(comparison, least)
    if mode == "unordered" and wanted != found:
        return False
    pairs = maximum_matching([comparison.fitting(at, least) for at in range(wanted)])
    return len(pairs) == (found if mode == "subset" else wanted)


def _is_subsequence(comparison: Comparison, least: Fit) -> bool:
    """Taking the first call that fits is exact for this question: it leaves the most calls for what comes after."""
    at = 0
    for found in range(len(comparison.made)):
        if at < len(comparison.expected) and comparison.fit(at, found) >= least:
            at += 1
    return at == len(comparison.expected)


def _rows(mode: TrajectoryMode, comparison: Comparison) -> list[Row]:
    if mode == "strict":
        return rows_in_order(comparison)
    if mode == "ordered":
        return rows_in_order(comparison, surplus=BESIDE)
    return rows_in_any_order(
        comparison, missing=BESIDE if mode == "subset" else MISSING, surplus=BESIDE if mode == "superset" else SURPLUS
    )


def _not_known(name: str, mode: TrajectoryMode, comparison: Comparison) -> Check:
    rows = _rows(mode, comparison)
    for row in rows:
        if row.wanted is not None and row.found is not None and comparison.fit(row.wanted, row.found) is Fit.UNKNOWN:
            made = comparison.made[row.found]
            problem = comparison.problem(row.wanted, row.found)
            return Check(name, Verdict.INCONCLUSIVE, problem, expected_text(comparison.expected[row.wanted]), str(made),
                         made.where, side_by_side(comparison, rows))  # fmt: skip
    return Check(name, Verdict.INCONCLUSIVE, "the run does not tell enough of its calls")


def _parted(name: str, mode: TrajectoryMode, comparison: Comparison) -> Check:
    rows = _rows(mode, comparison)
    details = side_by_side(comparison, rows)
    if mode == "strict":
        return parting_by_place(name, comparison, details)
    at = next(number for number, row in enumerate(rows) if row.mark in _BAD[mode])
    row = rows[at]
    if row.found is not None and (row.wanted is None or mode == "subset"):
        return _unexpected(name, comparison, row.wanted, row.found, details)
    before = next((comparison.made[one.found] for one in reversed(rows[:at]) if one.found is not None), None)
    where = before.at_step if before is not None and mode == "ordered" else ""
    return _not_made(name, comparison, row, where, details)


def _unexpected(name: str, comparison: Comparison, wanted: int | None, found: int, details: str) -> Check:
    made = comparison.made[found]
    if wanted is not None:
        expected = expected_text(comparison.expected[wanted])
        message = f"{made} is not in the reference: {comparison.problem(wanted, found)}"
        return Check(name, Verdict.FAIL, message, expected, str(made), made.where, details)
    known = any(comparison.fit(one, found) for one in range(len(comparison.expected)))
    message = f"{made} is made more often than the reference has it" if known else f"{made} is not in the reference"
    return Check(name, Verdict.FAIL, message, NO_CALL, str(made), made.where, details)


def _not_made(name: str, comparison: Comparison, row: Row, where: str, details: str) -> Check:
    """``where`` is the step behind which the call was due, where the mode knows of one."""
    wanted = row.wanted or 0
    expected = expected_text(comparison.expected[wanted])
    elsewhere = comparison.fitting(wanted, Fit.UNKNOWN)
    place = f"it is {comparison.made[elsewhere[0]].where}, so the order or the number differs" if elsewhere else ""
    if row.found is not None:
        made = comparison.made[row.found]
        message = f"{comparison.problem(wanted, row.found)}{f'; {place}' if place else ''}"
        return Check(name, Verdict.FAIL, message, expected, str(made), made.where, details)
    message = f"{expected} was not made{f' in its place: {place}' if place else ''}"
    return Check(name, Verdict.FAIL, message, expected, NO_CALL, where, details)


def parting_by_place(name: str, comparison: Comparison, details: str) -> Check:
    """The first place where two lists that must be the same are not."""
    expected, made = comparison.expected, comparison.made
    both = min(len(expected), len(made))
    at = next((place for place in range(both) if not comparison.fit(place, place)), both)
    due = expected[at].tool if at < len(expected) else NO_CALL
    found = made[at].call.name if at < len(made) else NO_CALL
    if at < both and due == found:
        message = comparison.problem(at, at)
        where = made[at].where
    else:
        message = f"call {at + 1} is {found}, expected {due}{_elsewhere(comparison, at)}"
        where = made[min(at, len(made) - 1)].at_step if made else "step 1"
    wanted = expected_text(expected[at]) if at < len(expected) else NO_CALL
    return Check(name, Verdict.FAIL, message, wanted, str(made[at]) if at < len(made) else NO_CALL, where, details)


def _elsewhere(comparison: Comparison, at: int) -> str:
    """Where the call that is due is instead: most often two have changed places, or one is gone."""
    if at >= len(comparison.expected):
        return ""
    later = [found for found in comparison.fitting(at, Fit.UNKNOWN) if found > at]
    if later:
        return f" ({comparison.expected[at].tool} comes as call {later[0] + 1})"
    return "" if comparison.same_tool(at) else f" ({comparison.expected[at].tool} is never called)"
