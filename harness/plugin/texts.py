"""A verdict as the text of a failed test."""

from __future__ import annotations

from collections.abc import Iterator

from harness.judge.verdict import Case, Check, Verdict
from harness.report.checks import is_told, not_passed
from harness.report.text import contrast, one_line, visible

_LINE_CHARACTERS = 2_000
_VALUE_CHARACTERS = 2_000
_VALUE_LINES = 30
_COLUMN = "\n" + " " * 12


def failure_text(case: Case) -> str:
    """What did not pass: the case's first line, which names the verdict where it is not FAIL, then the details."""
    verdict = "" if case.verdict is Verdict.FAIL else f"{case.verdict}: "
    lines = [verdict + one_line(case.first_line, _LINE_CHARACTERS)]
    for check in not_passed(case):
        lines += _check(check, case)
    return "\n".join(lines)


def _check(check: Check, case: Case) -> Iterator[str]:
    if not is_told(check, case):
        verdict = "" if check.verdict is case.verdict else f"{check.verdict} "
        where = f" (at {one_line(check.where)})" if check.where else ""
        message = "" if check.message in {"", check.name} else f": {one_line(check.message, _LINE_CHARACTERS)}"
        yield f"  - {verdict}{one_line(check.name)}{where}{message}"
    for line in check.details.splitlines():
        yield f"  {visible(line)}"
    if check.expected or check.actual:
        expected, actual = contrast(check.expected, check.actual, _VALUE_CHARACTERS, _VALUE_LINES)
        yield f"  expected: {_column(expected)}"
        yield f"  actual:   {_column(actual)}"


def _column(value: str) -> str:
    return (value or "(nothing)").replace("\n", _COLUMN)
