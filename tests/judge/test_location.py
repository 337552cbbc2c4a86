from __future__ import annotations

from pathlib import Path

import pytest

from harness.judge.collecting import collect
from harness.judge.location import line_of
from harness.judge.suite import judge_all
from harness.judge.verdict import Case, Check, Verdict

TEXT = """\
workspace:
  files: {a.txt: "alpha"}
prompt: Read a.txt.
player:
  script:
    - calls: [{tool: Read, arguments: {path: a.txt}}]
    - text: It says alpha.
expect:
  steps: 2
  final_text: It says alpha.
  calls:
    - tool: Read
      status: success
  files:
    b.txt: {absent: true}
    a.txt: alpha
"""


@pytest.mark.parametrize(
    ("was", "now", "line"),
    [
        ("steps: 2", "steps: 3", 9),
        ("final_text: It says alpha.", "final_text: It says beta.", 10),
        ("status: success", "status: error", 11),
        ("- tool: Read\n", "- tool: Grep\n", 11),
        ("    a.txt: alpha", "    a.txt: beta", 16),
        ("b.txt: {absent: true}", "a.txt: {absent: true}", 16),
        ("    - text: It says alpha.", "    - text: It says alpha.\n    - text: Once more.", 4),
        ("prompt:", "prmpt:", 3),
        ("a.txt: alpha\n", "a.txt: alpha\nmore: [\n", 18),
    ],
)
def test_the_line_is_that_of_what_was_not_met(tmp_path: Path, was: str, now: str, line: int) -> None:
    assert was in TEXT
    text = TEXT.replace("    a.txt: alpha\n", "") if now.startswith("a.txt: {") else TEXT
    (tmp_path / "t.yaml").write_text(text.replace(was, now))
    (judged,) = judge_all(collect([tmp_path]), None)
    expected = 15 if now.startswith("a.txt: {") else line
    assert judged.case.verdict is not Verdict.PASS
    assert judged.case.line == expected, judged.case.first_line


@pytest.mark.parametrize(
    "case",
    [
        Case("a", "scenario", "t.yaml", (), Verdict.PASS),
        Case("a", "scenario", "", (), Verdict.FAIL),
        Case("a", "scenario", "missing.yaml", (), Verdict.FAIL),
        Case("a", "replay", "c.yaml", (Check("drift: tools", Verdict.FAIL),), Verdict.FAIL),
    ],
)
def test_where_there_is_no_line_none_is_named(case: Case) -> None:
    assert line_of(case) == 0


def test_without_expectations_it_is_the_first_line(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(TEXT.partition("expect:")[0])
    (judged,) = judge_all(collect([tmp_path]), None)
    assert (judged.case.verdict, judged.case.line) == (Verdict.INCONCLUSIVE, 1)
