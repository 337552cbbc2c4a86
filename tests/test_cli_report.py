from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.judge.results import save_results
from harness.trace.collection import save_runs
from harness.trace.run import Run, Trial
from tests.command_line import Command, command
from tests.report.html.runs import saved_cases
from tests.report.html.test_comparison import CONTRACT

__all__ = ["harness"]
SCRIPTED = """\
name: greet
player:
  script:
    - text: Hello.
prompt: Say hello.
expect:
  final_text: {contains: Hello}
"""


@pytest.fixture
def harness(capfd: pytest.CaptureFixture[str]) -> Command:
    return command(capfd)


def test_run_writes_a_page_that_report_makes_again(harness: Command, tmp_path: Path) -> None:
    (tmp_path / "greet.yaml").write_text(SCRIPTED, "utf-8")
    assert harness("run", tmp_path / "greet.yaml", "--out", tmp_path / "out").returncode == 0
    written = (tmp_path / "out" / "report.html").read_bytes()
    assert b"All done" not in written
    assert b"Hello." in written
    done = harness("report", tmp_path / "out", "--title", "harness run", "--out", tmp_path / "again.html", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout) == {"report": str(tmp_path / "again.html"), "cases": 1, "verdict": "PASS"}
    assert done.stderr == f"report: {tmp_path / 'again.html'}\n"
    assert (tmp_path / "again.html").read_bytes() == written


def test_the_page_is_written_beside_the_results_by_default(harness: Command, tmp_path: Path) -> None:
    save_results(saved_cases(tmp_path), tmp_path)
    done = harness("report", tmp_path)
    assert done.stdout == ""
    assert (tmp_path / "report.html").is_file()


def test_tables_are_written_where_wanted(harness: Command, tmp_path: Path) -> None:
    save_results(saved_cases(tmp_path), tmp_path)
    assert harness("report", tmp_path, "--frames", tmp_path / "frames", "--parquet").returncode == 0
    names = ["calls", "cases", "checks", "runs", "steps"]
    assert sorted(path.name for path in (tmp_path / "frames").iterdir()) == sorted(
        f"{name}.{suffix}" for name in names for suffix in ("csv", "parquet")
    )


def test_a_suite_and_what_compare_wrote_are_one_page(harness: Command, tmp_path: Path) -> None:
    save_results(saved_cases(tmp_path), tmp_path / "out")
    runs = [
        Run("r", "imported", "s", trial=Trial(f"t/{task}", 0, model, float(task % 2 or model == "a")))
        for task in range(4)
        for model in "ab"
    ]
    save_runs(runs, tmp_path / "models")
    done = harness("compare", tmp_path / "models", "--out", tmp_path / "out", "--quiet")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "compare" / "report.html").is_file()
    done = harness("report", tmp_path / "out", "--json")
    assert json.loads(done.stdout) == {"report": str(tmp_path / "out" / "report.html"), "cases": 11, "verdict": "FAIL"}
    html = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "8 recorded trials: 6 passed, 2 failed" in html
    assert 'id="comparison"' in html
    assert "The models differ on 2 of 4 tasks" in html


def test_a_comparison_alone_is_a_page(harness: Command, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(json.dumps(CONTRACT), "utf-8")
    done = harness("report", tmp_path / "c.json", "--out", tmp_path / "c.html", "--json")
    assert json.loads(done.stdout)["verdict"] is None
    assert "no difference shown" in (tmp_path / "c.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["missing"], "missing: there are no results and no saved runs here (name a folder that --out made)"),
        (["c.json", "d.json"], "d.json: a page has one comparison"),
        (["broken.json"], "broken.json: not valid JSON"),
        (["list.json"], "list.json: this is no comparison: not a JSON object"),
        (["c.json", "--parquet"], "--parquet: there is no folder to write to (--frames DIR)"),
    ],
)
def test_bad_input_is_one_line(
    harness: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in {"c": json.dumps(CONTRACT), "d": json.dumps(CONTRACT), "broken": "{", "list": "[]"}.items():
        (tmp_path / f"{name}.json").write_text(text, "utf-8")
    done = harness("report", *words)
    assert done.returncode == 2
    assert done.stderr.startswith(f"harness: {line}")
    assert done.stderr.count("\n") == 1
