"""Which checks of a case a report tells about."""

from __future__ import annotations

from harness.judge.verdict import Case, Check, Verdict


def not_passed(case: Case) -> list[Check]:
    """The checks of a case that did not pass, in their order."""
    return [check for check in case.checks if check.verdict is not Verdict.PASS]


def is_told(check: Check, case: Case) -> bool:
    """Whether the case's first line says already where this check failed and why."""
    return bool(check.message) and case.first_line == f"{check.where + ': ' if check.where else ''}{check.message}"
