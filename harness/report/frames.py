"""Cases and checks as pandas frames: what reports are drawn from, and what notebooks can take further.

This module imports pandas, which takes a moment: import it only where frames are needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from harness.judge.verdict import Case
from harness.report.checks import not_passed
from harness.report.text import encodable

_CASE_COLUMNS = ("name", "kind", "path", "verdict", "first_line", "checks", "failed_checks")
_CHECK_COLUMNS = ("case", "name", "kind", "path", "check", "verdict", "where", "message", "expected", "actual")


def cases_frame(cases: Sequence[Case]) -> pd.DataFrame:
    """A row a case, in the given order, labelled from 0.

    Columns: ``name``, ``kind``, ``path``, ``verdict``, ``first_line`` (text), ``checks`` and ``failed_checks``
    (numbers of checks; failed are all that did not pass), then one for each fact key, in order of first appearance,
    ``attribution`` among them where a case has one.
    A fact that a case lacks is missing (NA), and whole numbers stay whole. A fact with the name of another column
    gets ``fact_`` before it. Lone surrogates in texts become escapes, since Arrow-backed frames cannot hold them.
    """
    frame = pd.DataFrame(
        {
            **{name: _text([getattr(case, name) for case in cases]) for name in _CASE_COLUMNS[:5]},
            "checks": _numbers([len(case.checks) for case in cases]),
            "failed_checks": _numbers([len(not_passed(case)) for case in cases]),
        }
    )
    told = [_told(case) for case in cases]
    facts = {column: _facts([each.get(key) for each in told]) for key, column in _fact_columns(told).items()}
    return pd.concat([frame, pd.DataFrame(facts, index=frame.index)], axis="columns")


def checks_frame(cases: Sequence[Case]) -> pd.DataFrame:
    """A row a check, in the order of the cases and of each case's checks.

    Columns: ``case`` (the row label of its case in `cases_frame`), ``name``, ``kind``, ``path`` (of the case),
    ``check``, ``verdict``, ``where``, ``message``, ``expected``, ``actual`` (of the check, as text).
    """
    rows = [
        (number, case.name, case.kind, case.path, check.name, check.verdict, check.where, check.message, check.expected,
         check.actual)
        for number, case in enumerate(cases)
        for check in case.checks
    ]  # fmt: skip
    columns = list(zip(*rows, strict=True)) or [()] * len(_CHECK_COLUMNS)
    texts = zip(_CHECK_COLUMNS[1:], columns[1:], strict=True)
    return pd.DataFrame({"case": _numbers(columns[0]), **{name: _text(values) for name, values in texts}})


def _told(case: Case) -> dict[str, object]:
    """The facts of a case, and whose doing it is that it did not pass."""
    return dict(case.facts) if case.attribution is None else {**case.facts, "attribution": str(case.attribution)}


def _fact_columns(facts: Sequence[Mapping[str, object]]) -> dict[str, str]:
    columns: dict[str, str] = {}
    taken = set(_CASE_COLUMNS)
    for key in dict.fromkeys(key for each in facts for key in each):
        column = encodable(key)
        while column in taken:
            column = f"fact_{column}"
        taken.add(column)
        columns[key] = column
    return columns


def _text(values: Sequence[str]) -> pd.Series[Any]:
    return pd.Series([encodable(str(value)) for value in values], dtype="str")


def _numbers(values: Sequence[int]) -> pd.Series[Any]:
    return pd.Series(list(values), dtype="int64")


def _facts(values: Sequence[object]) -> pd.Series[Any]:
    """The facts of one key as the narrowest column that holds them all and their gaps; mixed ones as objects."""
    present = [value for value in values if value is not None]
    kinds = {type(value) for value in present}
    if present and all(isinstance(value, str) for value in present):
        return pd.Series([None if value is None else encodable(str(value)) for value in values], dtype="str")
    if kinds == {bool}:
        return pd.Series(values, dtype="boolean")
    if kinds and kinds <= {int, float} and all(_fits(value) for value in present):
        return pd.Series(values, dtype="Int64" if kinds == {int} else "Float64")
    return pd.Series([encodable(value) if isinstance(value, str) else value for value in values], dtype="object")


def _fits(value: object) -> bool:
    return isinstance(value, float) or (isinstance(value, int) and -(2**63) <= value < 2**63)
