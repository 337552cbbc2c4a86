"""The page on checks shows failures as they are, and its truth table is the tested one."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from harness.judge.checks import judge_scenario
from harness.judge.verdict import Verdict
from harness.report.terminal import print_cases
from harness.scenario.runner import run_scenario
from tests.judge.calls import MODES, letters
from tests.scenario.scenarios import scenario

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "checks.md").read_text("utf-8")


def block(kind: str) -> str:
    found = re.search(rf"^```{kind}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def test_the_failure_that_the_page_shows_is_the_one_that_is_printed() -> None:
    changed = block("yaml").replace(
        "{tool: Read, arguments: {path: app.py}}]", "{tool: Read, arguments: {path: notes.md}}]"
    )
    case = judge_scenario(run_scenario(scenario(changed, "fix.yaml")), "fix.yaml")
    console = Console(file=io.StringIO(), width=200)
    print_cases([case], console, quiet=True)
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue().startswith(block("text"))


ROWS = re.findall(r"^\| (none|[ABC](?: [ABC])*) \|(.*)\|$", PAGE, re.MULTILINE)


@pytest.mark.parametrize(("calls", "marks"), ROWS)
def test_the_truth_table_of_the_page_is_true(calls: str, marks: str) -> None:
    actual = "" if calls == "none" else calls.replace(" ", "")
    passed = [mark.strip() == "✓" for mark in marks.split("|")]
    assert passed == [letters(mode, "AB", actual).verdict is Verdict.PASS for mode in MODES]


def test_the_table_was_found() -> None:
    assert len(ROWS) == 9
