from __future__ import annotations

from harness.judge.verdict import Case, Check, Verdict
from harness.report.markdown import summary

PASSED = Case("short", "replay", "cassettes/short.yaml", (), Verdict.PASS, facts={"steps": 1200, "tool_calls": 20})
FAILED = Case(
    "a|b",
    "scenario",
    "scenarios/edit.yaml",
    (
        Check("finished", Verdict.PASS),
        Check("files", Verdict.FAIL, "a.txt differs", "```\nold", "new", "a.txt"),
        Check("calls", Verdict.FAIL, "# wrong\n1. <b>", "Edit", "", "step 3"),
    ),
    Verdict.FAIL,
    "a.txt: a.txt differs",
    description="Edits a file.",
    facts={"steps": 2, "calls": 1},
    run_folder="runs/edit",
)


def test_the_summary_has_headline_table_and_a_section_for_what_did_not_pass() -> None:
    assert summary([PASSED, FAILED], "Nightly <run>") == (
        """\
# Nightly &lt;run&gt;

**FAIL** 1 of 2 passed, 1 failed, 0 inconclusive, 0 errors (1,202 steps, 21 calls)

| verdict | kind | case | steps | calls | note |
|---|---|---|--:|--:|---|
| FAIL | scenario | a\\|b | 2 | 1 | a.txt: a.txt differs |
| PASS | replay | short | 1,200 | 20 |  |

## FAIL: a\\|b

File: `scenarios/edit.yaml`

Edits a file.

**a.txt: a.txt differs**

FAIL files, at `a.txt`

Expected:

````text
```
old
````

Actual:

```text
new
```

FAIL calls, at `step 3`

\\# wrong<br>
1\\. &lt;b&gt;

Expected:

```text
Edit
```

Actual: (nothing)

Run: `runs/edit`
"""
    )


def test_all_passed_is_a_headline_and_a_table() -> None:
    text = summary([PASSED] * 17, "t")
    assert "**PASS** 17 of 17 passed, 0 failed, 0 inconclusive, 0 errors (20,400 steps, 340 calls)" in text
    assert "##" not in text


def test_nothing_collected_is_no_pass() -> None:
    assert summary([], "t") == "# t\n\n**INCONCLUSIVE** nothing was collected\n"


def test_a_code_span_holds_backticks() -> None:
    text = summary([Case("c", "scenario", "odd`` `name", (), Verdict.ERROR)], "t")
    assert "File: ``` odd`` `name ```" in text


def test_very_many_failures_stay_below_what_github_accepts() -> None:
    checks = tuple(Check(f"c{n}", Verdict.FAIL, "m", "é" * 5000, "è" * 5000) for n in range(30))
    cases = [Case(f"case {n}", "scenario", f"{n}.yaml", checks, Verdict.FAIL, "m") for n in range(300)]
    text = summary(cases, "t")
    assert len(text.encode()) < 1024 * 1024
    assert "10 more checks did not pass." in text
    shown = text.count("\n## FAIL: ")
    assert 0 < shown < 300
    assert text.endswith(f"\nThe details of {300 - shown} more cases that did not pass are left out here.\n")
    assert text.count("\n| FAIL | ") == 300
