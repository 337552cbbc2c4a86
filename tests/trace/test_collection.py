"""Many runs in one folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.trace.collection import load_entries, load_runs, save_runs
from harness.trace.folder import save_run
from harness.trace.run import Run, Trial


def run(model: str = "m", task: str = "t", number: int = 0, reward: float | None = 1.0) -> Run:
    made = Run(f"{task} #{number}", "imported", f"{model}.json", trial=Trial(task, number, model, reward))
    made.lane("main").outcome = "answered"
    return made


def test_saved_runs_are_loaded_in_order(tmp_path: Path) -> None:
    runs = [run("b", "z/1"), run("a", "z/1"), run("a", "z/1", 1, None)]
    entries = save_runs(runs, tmp_path / "out")
    assert load_entries(tmp_path / "out") == entries
    assert [entry.folder for entry in entries] == ["runs/b--z-1--0", "runs/a--z-1--0", "runs/a--z-1--1"]
    loaded = list(load_runs([tmp_path / "out"]))
    assert [each for _, each in loaded] == runs
    assert [each for _, each in load_runs([loaded[0][0], tmp_path / "out"])] == [runs[0], *runs]


def test_the_same_runs_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        save_runs([run(), run(number=1)], tmp_path / name)
    files = sorted(path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*") if path.is_file())
    assert len(files) == 7
    for file in files:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_names_that_look_alike_get_folders_of_their_own(tmp_path: Path) -> None:
    entries = save_runs([run("a:b"), run("a/b"), run("A-B"), run("..", "../.."), run("", "x" * 500)], tmp_path)
    folders = [entry.folder for entry in entries]
    assert folders[:4] == ["runs/a-b--t--0", "runs/a-b--t--0-2", "runs/A-B--t--0-3", "runs/none--none--0"]
    assert all((tmp_path / folder / "run.json").resolve().is_relative_to(tmp_path.resolve()) for folder in folders)
    assert len({trial.model for _, each in load_runs([tmp_path]) if (trial := each.trial)}) == 5


def test_a_trial_that_comes_twice_is_refused_and_leaves_no_collection(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="trial 0 of t by m is there twice"):
        save_runs([run(), run()], tmp_path / "out")
    with pytest.raises(InputError, match="no collection of runs here"):
        load_entries(tmp_path / "out")
    with pytest.raises(InputError, match="no trial"):
        save_runs([Run("n", "scenario", "s")], tmp_path / "other")


def test_only_an_earlier_collection_is_replaced(tmp_path: Path) -> None:
    save_runs([run(), run(number=1)], tmp_path / "out")
    (tmp_path / "out" / "mine.txt").write_text("keep")
    with pytest.raises(InputError, match="--force"):
        save_runs([run()], tmp_path / "out")
    save_runs([run()], tmp_path / "out", force=True)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["manifest.json", "mine.txt", "runs"]
    assert [path.name for path in (tmp_path / "out" / "runs").iterdir()] == ["m--t--0"]
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("keep")
    with pytest.raises(InputError, match="no collection of runs here"):
        save_runs([run()], tmp_path / "other", force=True)
    with pytest.raises(InputError, match="this is a file"):
        save_runs([run()], tmp_path / "other" / "mine.txt", force=True)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"version": 2}, "version 2"),
        ({"format": "other"}, "'other'"),
        ({"runs": 5}, "no list of runs"),
        ({"runs": [{"folder": "../x", "task": "t", "number": 0, "model": "m"}]}, "leads out"),
        ({"runs": [{"folder": "x"}]}, "no list of runs"),
    ],
)
def test_another_manifest_is_bad_input(tmp_path: Path, change: dict[str, object], what: str) -> None:
    save_runs([run()], tmp_path)
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InputError, match=what):
        list(load_runs([tmp_path]))


def test_a_run_without_a_trial_is_saved_as_ever(tmp_path: Path) -> None:
    save_run(Run("n", "scenario", "s"), tmp_path)
    assert "trial" not in json.loads((tmp_path / "run.json").read_text())
