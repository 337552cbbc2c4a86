from __future__ import annotations

import io
import subprocess
import sys

from rich.console import Console

from harness.judge.verdict import Case, Check, Verdict
from harness.report.terminal import print_cases


def printed(cases: list[Case], *, quiet: bool = False, terminal: bool = False, width: int = 40) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=terminal, color_system=None, legacy_windows=False)
    print_cases(cases, console, quiet=quiet)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def replay(name: str, folder: str = "cassettes", verdict: Verdict = Verdict.PASS) -> Case:
    check = Check("every chat exchange replayed", verdict, "" if verdict is Verdict.PASS else "2 of 3", "3", "2")
    line = "" if verdict is Verdict.PASS else "2 of 3"
    return Case(name, "replay", f"{folder}/{name}.yaml", (check,), verdict, line, facts={"steps": 2, "tool_calls": 3})


def failing(number_of_checks: int, value: str = "Bash") -> Case:
    checks = tuple(
        Check(f"check {n}", Verdict.FAIL, f"message {n}", "Edit", value, f"step {n}") for n in range(number_of_checks)
    )
    return Case("edit", "scenario", "scenarios/edit.yaml", checks, Verdict.FAIL, "step 0: message 0")


def test_a_piped_list_has_a_line_a_case_and_tells_what_failed() -> None:
    assert printed([replay("short"), failing(2)]) == (
        """\
PASS          short  2 steps, 3 calls, 1 check
FAIL          edit   2 of 2 checks did not pass

FAIL  edit  (scenarios/edit.yaml)
  step 0: message 0
  - check 0
    expected: Edit
    actual:   Bash
  - check 1 (at step 1): message 1
    expected: Edit
    actual:   Bash

FAIL  1 passed, 1 failed, 0 inconclusive, 0 errors
"""
    )


def test_the_last_line_of_a_good_run() -> None:
    lines = printed([replay(str(n)) for n in range(17)]).splitlines()
    assert lines[-1] == "PASS  17 passed, 0 failed, 0 inconclusive, 0 errors"


def test_nothing_collected_is_no_pass() -> None:
    assert printed([]) == "INCONCLUSIVE  nothing was collected\n"


def test_quiet_keeps_what_did_not_pass() -> None:
    lines = printed([replay("short"), failing(1)], quiet=True).splitlines()
    assert lines[0] == "FAIL  edit  (scenarios/edit.yaml)"
    assert lines[-1].startswith("FAIL  1 passed")
    assert printed([replay("short")], quiet=True) == "PASS  1 passed, 0 failed, 0 inconclusive, 0 errors\n"


def test_user_text_is_never_markup_emoji_or_control() -> None:
    for terminal in (False, True):
        text = printed([failing(1, "[red]x[/red] :smile: \x1b[2J [/nothing]")], terminal=terminal, width=120)
        assert "[red]x[/red] :smile: \\x1b[2J [/nothing]" in text
        assert "\x1b" not in text


def test_a_terminal_gets_a_table_within_its_width() -> None:
    case = Case("a name that is longer than it should be", "scenario", "s.yaml", (), Verdict.PASS)
    text = printed([case], terminal=True)
    assert text.splitlines()[0].split() == ["verdict", "case", "what"]
    assert all(len(line) <= 40 for line in text.split("\n\n")[0].splitlines())


def test_checks_and_values_are_limited() -> None:
    text = printed([failing(9, "\n".join(str(n) for n in range(1000)))])
    assert text.count("    expected: Edit") == 5
    assert "  … 4 more checks did not pass" in text
    assert "7… (3,874 more characters)" in text
    assert len(text.splitlines()) < 70


def test_many_passing_replays_are_one_row_a_folder() -> None:
    many = [replay(f"s{n}", f"cassettes/{n % 2}") for n in range(220)]
    lone = replay("lone", "elsewhere")
    bad = replay("bad", "cassettes/0", Verdict.FAIL)
    scenario = Case("told", "scenario", "cassettes/0/told.yaml", (), Verdict.PASS)
    assert printed([*many, lone, bad, scenario]).splitlines()[:6] == [
        "PASS          cassettes/0/  110 cases, 220 steps, 330 calls",
        "PASS          cassettes/1/  110 cases, 220 steps, 330 calls",
        "PASS          lone          2 steps, 3 calls, 1 check",
        "FAIL          bad           2 steps, 3 calls, 1 of 1 check did not pass",
        "PASS          told          0 checks",
        "",
    ]
    assert printed(many[:40]).count("\nPASS  ") == 40


def test_many_failures_end_with_a_line_each() -> None:
    lines = printed([replay(f"s{n}", verdict=Verdict.FAIL) for n in range(100)], quiet=True).splitlines()
    assert lines.count("    expected: 3") == 20
    assert lines[-3] == "FAIL  s99  2 of 3"


def test_an_encoding_without_the_signs_gets_escapes() -> None:
    raw = io.BytesIO()
    console = Console(file=io.TextIOWrapper(raw, encoding="ascii"), width=80)
    print_cases([failing(1, "naïve ↯")], console)
    console.file.flush()
    assert b"na\\xefve \\u21af" in raw.getvalue()


def test_the_terminal_needs_no_pandas() -> None:
    program = "import harness.report.terminal, harness.report.junit, sys; sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
