from __future__ import annotations

import io

import pytest
from rich.console import Console

from harness.judge.verdict import Case, Verdict
from harness.report.progress import CaseProgress


def shown(*, terminal: bool, quiet: bool, total: int = 2) -> str:
    file = io.StringIO()
    console = Console(file=file, force_terminal=terminal, width=100, color_system=None)
    with CaseProgress(console, total, quiet=quiet) as progress:
        for name in ("one", "[red]two"):
            progress.advance(Case(name, "scenario", "p", (), Verdict.FAIL))
    return file.getvalue()


def test_a_terminal_sees_how_far_it_is_and_what_did_not_pass() -> None:
    text = shown(terminal=True, quiet=False)
    assert "2/2" in text
    assert "2 did not pass  [red]two" in text


@pytest.mark.parametrize(
    ("terminal", "quiet", "total"), [(False, False, 2), (True, True, 2), (False, True, 2), (True, False, 1)]
)
def test_nobody_else_sees_anything(terminal: bool, quiet: bool, total: int) -> None:
    assert shown(terminal=terminal, quiet=quiet, total=total).strip("\n") == ""
