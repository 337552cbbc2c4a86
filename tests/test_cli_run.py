"""What ``harness run`` and ``harness replay`` can be asked beside a verdict."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from harness.judge.results import load_results
from tests.command_line import Command, command
from tests.scenario.scenarios import ANSWER, READ_AND_ANSWER

run = pytest.fixture(command)

HARNESS = Path(sys.executable).parent / "harness"
WRONG = ANSWER.replace("final_text: Hello", "final_text: Bye")
USAGE = "      usage: {{prompt_tokens: {tokens}, completion_tokens: 1, total_tokens: {total}}}\nexpect:"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "scenarios").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(**scenarios: str) -> None:
    for name, text in scenarios.items():
        Path("scenarios", f"{name}.yaml").write_text(text)


def with_tokens(tokens: int) -> str:
    return ANSWER.replace("expect:", USAGE.format(tokens=tokens, total=tokens + 1))


def test_a_list_judges_nothing_and_writes_nothing(run: Command) -> None:
    write(one="tags: [fast]\n" + ANSWER, two=READ_AND_ANSWER)
    done = run("run", "--list")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "scenario  scenarios/one.yaml  one  [fast]\nscenario  scenarios/two.yaml  two\n"
    document = json.loads(run("run", "--list", "--json", "--tag", "fast").stdout)
    assert [case["name"] for case in document["cases"]] == ["one"]
    assert not Path("reports").exists()
    assert run("run", "--list", "-k", "three").returncode == 125


def test_a_selection_judges_only_its_cases_and_an_empty_one_is_no_pass(run: Command) -> None:
    write(one="tags: [fast]\n" + ANSWER, two=WRONG)
    assert run("run", "--tag", "fast").returncode == 0
    assert run("run", "--exclude-tag", "fast").returncode == 1
    assert run("run", "-k", "one", "--workers", "2").returncode == 0
    assert run("run", "--tag", "slow").returncode == 125


def test_a_baseline_fails_only_what_is_worse(run: Command) -> None:
    write(good=ANSWER, bad=WRONG)
    assert run("run", "--update-baseline").returncode == 2
    assert run("run", "--baseline", "b.json").returncode == 2
    first = run("run", "--baseline", "b.json", "--update-baseline")
    assert first.returncode == 0
    assert "baseline: 2 cases written to b.json (0 before)" in first.stderr
    before = Path("b.json").read_bytes()
    again = run("run", "--baseline", "b.json", "--json")
    assert again.returncode == 0
    document = json.loads(again.stdout)
    assert document["verdict"] == "FAIL", "the failure is accepted, not gone"
    assert document["baseline"]["verdict"] == "PASS"
    assert [change["change"] for change in document["baseline"]["changes"]] == ["still failing"]
    assert "PASS: 1 still failing (against b.json)" in again.stderr
    assert "still failing" in Path("reports/summary.md").read_text()
    write(good=WRONG)
    worse = run("run", "--baseline", "b.json")
    assert worse.returncode == 1
    assert "newly failing" in worse.stderr
    assert Path("b.json").read_bytes() == before
    Path("scenarios/good.yaml").unlink()
    assert run("run", "--baseline", "b.json").returncode == 125
    assert run("run", "--baseline", "b.json", "-k", "bad").returncode == 0
    write(bad=ANSWER)
    fixed = run("run", "--baseline", "b.json", "--update-baseline")
    assert fixed.returncode == 0
    assert "1 gone, 1 fixed" in fixed.stderr


def test_more_tokens_than_accepted_fail_beyond_the_tolerance(run: Command) -> None:
    write(a=with_tokens(100))
    assert run("run", "--baseline", "b.json", "--update-baseline").returncode == 0
    write(a=with_tokens(110))
    free = run("run", "--baseline", "b.json")
    assert free.returncode == 0
    assert "110 (+10.0%)" in free.stderr
    assert run("run", "--baseline", "b.json", "--token-tolerance", "10").returncode == 0
    assert run("run", "--baseline", "b.json", "--token-tolerance", "9").returncode == 1


def test_github_gets_annotations_and_a_summary(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    write(good=ANSWER, bad=WRONG)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(Path.cwd()))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(Path("page.md").resolve()))
    done = run("run", "--json")
    json.loads(done.stdout)
    lines = done.stderr.splitlines()
    stop = next(line for line in lines if line.startswith("::stop-commands::"))
    token = stop.removeprefix("::stop-commands::")
    at = lines.index(f"::{token}::")
    assert [line.partition(",title")[0] for line in lines[at + 1 :]] == ["::error file=scenarios/bad.yaml,line=6"]
    assert Path("page.md").read_text() == Path("reports/summary.md").read_text()


def test_attribution_and_line_are_in_every_report(run: Command) -> None:
    write(bad=WRONG)
    done = run("run", "--json")
    assert "attributed to: agent (" in done.stderr
    assert "Attributed to: agent (" in Path("reports/summary.md").read_text()
    (case,) = ET.parse("reports/junit.xml").getroot().iter("testcase")
    assert case.get("line") == "6"
    assert "attributed to: agent" in (case.findtext("failure") or "")
    (document,) = json.loads(done.stdout)["cases"]
    assert (document["attribution"], document["line"]) == ("agent", 6)
    (loaded,) = load_results(Path("reports"))
    assert (loaded.attribution, loaded.line) == ("agent", 6)


def test_an_interrupted_run_reports_what_there_is_and_can_be_resumed(tmp_path: Path) -> None:
    """Ctrl-C while a slow agent is at work: the cases before it are in the reports, which do not say PASS."""
    slow = "import pathlib, time\ndef run(context):\n    pathlib.Path('begun').touch()\n    time.sleep(60)\n"
    (tmp_path / "scenarios" / "agent.py").write_text(slow)
    write(a=ANSWER, b=ANSWER, c="agent: {python: 'agent.py:run'}\n" + ANSWER, d=ANSWER)
    # A shell gives a command that it starts in the background no SIGINT, and tests may run in one.
    listening = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code = listening + "from harness.cli import main\nmain(['run'])"
    started = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 60
    while not (tmp_path / "begun").exists() and time.monotonic() < until:
        assert started.poll() is None
        time.sleep(0.02)
    os.kill(started.pid, signal.SIGINT)
    _, said = started.communicate(timeout=60)
    assert started.returncode == 130, said
    assert "interrupted after 2 of 4; --resume goes on" in said
    assert "Traceback" not in said
    summary = (tmp_path / "reports" / "summary.md").read_text()
    assert summary.splitlines()[2].startswith("**INCONCLUSIVE**")
    assert "the run did not come to its end: 4 cases were to be judged" in summary
    (tmp_path / "scenarios" / "c.yaml").write_text(ANSWER)
    again = subprocess.run([HARNESS, "run", "--resume"], capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert "2 of 4 cases are from the interrupted run" in again.stderr
    assert [Path(case.path).stem for case in load_results(tmp_path / "reports")] == ["a", "b", "c", "d"]


def test_a_report_of_a_run_that_was_killed_says_so(run: Command) -> None:
    write(a=ANSWER, b=ANSWER)
    assert run("run").returncode == 0
    results = Path("reports/results.jsonl")
    whole = results.read_bytes()
    from harness.judge.partial import unfinished_case
    from harness.judge.results import case_line

    results.write_bytes(case_line(unfinished_case(2), Path("reports")) + whole.splitlines(keepends=True)[0])
    assert run("report", "reports").returncode == 0
    assert "did not come to its end" in Path("reports/report.html").read_text()


def test_progress_is_not_written_where_nobody_watches(run: Command) -> None:
    write(**{f"case{number}": ANSWER for number in range(3)})
    done = run("run", "--quiet")
    assert done.stderr.splitlines() == [
        "PASS  3 passed, 0 failed, 0 inconclusive, 0 errors",
        "report: reports/summary.md",
    ]


HALVES = r"""
prompt: Go on.
agent: {tools: [Read]}
player:
  script:
    - calls: [{tool: Read, arguments: "{\"path\": \"\uD83D\"}"}, {tool: "Re\uD83Dad"}]
    - text: "done \uD83D"
expect:
  final_text: "gone \uD83D"
  calls: [{tool: Read, arguments: {path: "a\uD83D"}}, {tool: "Re\uD83Dad"}]
"""


def test_half_a_surrogate_pair_is_an_escape_in_every_report(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    write(halves=HALVES)
    done = run("run", "--out", "out", "--json")
    assert done.returncode == 1
    assert r"\ud83d" in done.stderr
    (case,) = json.loads(done.stdout)["cases"]
    assert "\ud83d" in json.dumps(case, ensure_ascii=False)
    assert r"\ud83d" in Path("summary.md").read_text("utf-8")
    assert r"\ud83d" in ET.parse("out/junit.xml").getroot().findall(".//failure")[0].attrib["message"]
    (loaded,) = load_results(Path("out"))
    assert any("\ud83d" in check.actual for check in loaded.checks)
    assert run("report", "out", "--out", "page.html", "--frames", "tables").returncode == 0
    assert "ud83d" in Path("page.html").read_text("utf-8")
    assert run("tokens", "out", "--out", "tokens").returncode == 0
    annotated = run("run", "--out", "out")
    assert "::error" in annotated.stdout + annotated.stderr
