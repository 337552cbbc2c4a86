from __future__ import annotations

from pathlib import Path

import pytest

from harness.judge.collecting import collect
from harness.judge.selection import Selection, listed, selected
from tests.scenario.scenarios import ANSWER


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, tags in (("one", "[fast, gates]"), ("two", "[slow, gates]"), ("three", "[]")):
        (tmp_path / f"{name}.yaml").write_text(f"name: Case {name}\ntags: {tags}\n" + ANSWER)
    return tmp_path


@pytest.mark.parametrize(
    ("selection", "names"),
    [
        (Selection(), ["one", "three", "two"]),
        (Selection(tags=("gates",)), ["one", "two"]),
        (Selection(tags=("fast", "slow")), ["one", "two"]),
        (Selection(tags=("gates",), without=("slow",)), ["one"]),
        (Selection(without=("gates",)), ["three"]),
        (Selection(names=("CASE T",)), ["three", "two"]),
        (Selection(names=("*/one.yaml", "case two")), ["one", "two"]),
        (Selection(names=("one?yaml",)), []),
        (Selection(tags=("gates",), names=("three",)), []),
    ],
)
def test_cases_are_chosen_by_tag_and_name(folder: Path, selection: Selection, names: list[str]) -> None:
    assert [item.path.stem for item in selected(collect([folder]), selection)] == names


def test_a_file_that_cannot_be_read_is_always_judged(folder: Path) -> None:
    (folder / "broken.yaml").write_text("prompt: x\nplayer: {}\n")
    found = selected(collect([folder]), Selection(tags=("fast",)))
    assert [item.path.stem for item in found] == ["broken", "one"]
    assert listed(found)[0].document()["problem"]


def test_a_variant_of_a_matrix_is_chosen_by_its_name(tmp_path: Path) -> None:
    matrix = "matrix:\n  - {name: small, agent: {model: s}}\n  - {name: large, agent: {model: l}, tags: [big]}\n"
    (tmp_path / "t.yaml").write_text(ANSWER + matrix)
    items = collect([tmp_path])
    assert [entry.name for entry in listed(items)] == ["t[small]", "t[large]"]
    assert [item.variant for item in selected(items, Selection(names=("large",)))] == [1]
    assert [item.variant for item in selected(items, Selection(without=("big",)))] == [0]
