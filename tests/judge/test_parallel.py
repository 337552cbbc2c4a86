from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.judge.collecting import Item, collect
from harness.judge.parallel import Work, judge_each
from harness.judge.suite import judge_suite
from harness.judge.verdict import Attribution, Verdict
from harness.report.files import write_reports
from tests.scenario.scenarios import ANSWER, READ_AND_ANSWER

DYING = "import os, signal\ndef run(context):\n    os.kill(os.getpid(), signal.SIGKILL)\n"


def _content(folder: Path) -> dict[Path, bytes]:
    return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_several_processes_give_the_same_bytes_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("suite").mkdir()
    for number in range(6):
        text = (ANSWER, READ_AND_ANSWER, ANSWER.replace("final_text: Hello", "final_text: Bye"))[number % 3]
        Path("suite", f"case-{number}.yaml").write_text(text)
    Path("suite", "broken.yaml").write_text("prompt: x\nplayer: {}\n")
    found = []
    for workers in (1, 2):
        outcome = judge_suite(collect([Path("suite")]), Path("reports"), workers=workers)
        write_reports(outcome.cases, Path("reports"), "title")
        found.append(_content(Path("reports")))
        Path("reports").rename(f"reports-{workers}")
    assert found[0] == found[1]
    assert len(found[0]) > 6 * 3


def test_a_process_that_dies_is_one_error_and_takes_no_other_case_along(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(DYING)
    for number in range(5):
        (tmp_path / f"case-{number}.yaml").write_text(ANSWER)
    (tmp_path / "dying.yaml").write_text("agent: {python: 'agent.py:run'}\n" + ANSWER)
    cases = {Path(case.path).name: case for case in judge_suite(collect([tmp_path]), tmp_path / "o", workers=2).cases}
    dying = cases.pop("dying.yaml")
    assert (dying.verdict, dying.attribution) == (Verdict.ERROR, Attribution.HARNESS)
    assert "ended by itself" in dying.first_line
    assert {case.verdict for case in cases.values()} == {Verdict.PASS}
    assert len(cases) == 5


def test_of_several_named_files_that_cannot_be_used_the_first_is_told(tmp_path: Path) -> None:
    for name in "abcd":
        (tmp_path / f"{name}.yaml").write_text(ANSWER if name in "ac" else "prompt: x\nplayer: {}\n")
    works = [Work(number, Item(tmp_path / f"{name}.yaml", "scenario", named=True), None)
             for number, name in enumerate("abcd")]  # fmt: skip
    with pytest.raises(InputError, match=r"b\.yaml"):
        list(judge_each(works, None, workers=2))


def test_no_two_cases_share_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a/b.yaml", "a--b.yaml", "a b.yaml", "a-b.yaml"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(ANSWER)
    outcome = judge_suite(collect([Path()]), Path("out"))
    folders = {case.run_folder for case in outcome.cases}
    assert len(folders) == len(outcome.cases) == 4


def test_a_file_named_twice_is_one_case(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(ANSWER)
    os.link(path, tmp_path / "b.yaml")
    items = collect([tmp_path, path, tmp_path / "." / "a.yaml"])
    assert [(item.path.name, item.named) for item in items] == [("a.yaml", True), ("b.yaml", False)]


def test_the_shipped_scenarios_come_out_alike_in_parallel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).resolve().parents[2])
    items = collect([Path("scenarios")])
    alone, together = (judge_suite(items, tmp_path / "out", workers=workers) for workers in (1, 2))
    assert len(alone.cases) >= len(items) > 30
    assert together.cases == alone.cases
    assert [judged.behaviour for judged in together.judged] == [judged.behaviour for judged in alone.judged]
    assert {case.verdict for case in alone.cases} == {Verdict.PASS}
