from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.judge.suite import collect, judge_all
from harness.judge.verdict import Verdict
from harness.trace.folder import load_run
from tests.scenario.scenarios import ANSWER

CASSETTES = Path(__file__).resolve().parents[2] / "cassettes"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "b.yaml").write_text(ANSWER)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.yml").write_text(ANSWER.replace("Hello.\nexpect", "Bye.\nexpect"))
    (tmp_path / "notes.yaml").write_text("just: data\n")
    (tmp_path / "c.yaml.gz").write_bytes(gzip.compress((CASSETTES / "weather.yaml").read_bytes()))
    shutil.copy(CASSETTES / "weather.yaml", tmp_path / "d.yaml")
    return tmp_path


def test_folders_are_searched_in_order_and_other_files_passed_over(folder: Path) -> None:
    items = collect([folder])
    assert [(item.path.name, item.kind) for item in items] == [
        ("b.yaml", "scenario"),
        ("c.yaml.gz", "replay"),
        ("d.yaml", "replay"),
        ("a.yml", "scenario"),
    ]
    assert [item.path.name for item in collect([folder], ["replay"])] == ["c.yaml.gz", "d.yaml"]


def test_cases_are_judged_and_their_runs_saved(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    cases = [judged.case for judged in judge_all(collect([folder]), out)]
    assert [case.verdict for case in cases] == [Verdict.PASS, Verdict.PASS, Verdict.PASS, Verdict.FAIL]
    assert len({case.run_folder for case in cases}) == 4
    for case in cases:
        assert load_run(Path(case.run_folder)).lanes[0].steps


def test_a_missing_path_is_an_input_error() -> None:
    with pytest.raises(InputError, match="no such file or folder"):
        collect([Path("nowhere")])


@pytest.mark.parametrize("content", ["just: data\n", "a: [1\n", "", "interactions: 7\n"])
def test_a_named_file_that_is_neither_is_an_input_error(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(content)
    with pytest.raises(InputError, match=r"x\.yaml"):
        judge_all(collect([path]), None)


def test_a_bad_file_in_a_folder_is_an_error_and_loses_nothing(folder: Path) -> None:
    (folder / "bad.yaml").write_text("prompt: x\nplayer: {}\n")
    (folder / "torn.yaml").write_text("interactions:\n- request: {body: 'x\n")
    cases = {Path(judged.case.path).name: judged.case for judged in judge_all(collect([folder]), None)}
    assert cases["bad.yaml"].verdict is Verdict.ERROR
    assert "a script or a cassette" in cases["bad.yaml"].first_line
    assert cases["torn.yaml"].verdict is Verdict.ERROR
    assert cases["b.yaml"].verdict is Verdict.PASS
