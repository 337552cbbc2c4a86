"""Expected calls, any of whose allowed values will do."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import InputError
from harness.judge.reference_calls import ReferenceCall, load_references, recorded_references, unmatched
from harness.trace.run import CallRecord
from tests.judge.trials import call, run


def made(*calls: tuple[str, Any]) -> list[CallRecord]:
    steps = [[call(name, arguments) for name, arguments in calls]] if calls else []
    return [each for step in run("t", steps).lanes[0].steps for each in step.calls]


@pytest.mark.parametrize(
    ("allowed", "arguments", "accepted"),
    [
        ({"path": ["a", "./a"]}, {"path": "./a"}, True),
        ({"path": ["a", "./a"]}, {"path": "b"}, False),
        ({"path": ["a"]}, {"path": "A"}, False),
        ({"path": ["a"]}, {"path": "a", "limit": 1}, False),
        ({"path": ["a"], "limit": [1, ""]}, {"path": "a"}, True),
        ({"path": ["a"], "limit": [1]}, {"path": "a"}, False),
        ({"n": [5]}, {"n": 5.0}, True),
        ({"n": [5]}, {"n": "5"}, False),
        ({"n": [1]}, {"n": True}, False),
        ({"flag": [True]}, {"flag": True}, True),
        ({"list": [[1, 2], [2, 1]]}, {"list": [2, 1]}, True),
        ({"list": [[1, 2]]}, {"list": [1, 2, 3]}, False),
        ({"place": [{"city": ["Dhaka", "dhaka"], "zip": ["1000", ""]}]}, {"place": {"city": "dhaka"}}, True),
        ({"place": [{"city": ["Dhaka"]}]}, {"place": {"city": ["Dhaka"]}}, True),
        ({"place": [{"city": ["Dhaka"]}]}, {"place": {"city": "Dhaka", "zip": "1"}}, False),
        ({}, {}, True),
        ({}, "", True),
        ({}, "{", False),
        ({"path": [None]}, {"path": None}, True),
    ],
)
def test_which_arguments_will_do(allowed: dict[str, Any], arguments: Any, accepted: bool) -> None:
    (actual,) = made(("Read", arguments))
    assert ReferenceCall("Read", allowed).accepts(actual) is accepted
    assert not ReferenceCall("Write", allowed).accepts(actual)


def test_as_many_as_possible_are_matched_where_the_first_choice_would_lose_one() -> None:
    expected = [ReferenceCall("f", {"x": [1, 2]}), ReferenceCall("f", {"x": [1]}), ReferenceCall("f", {"x": [2, 3]})]
    calls = made(("f", {"x": 1}), ("f", {"x": 2}), ("f", {"x": 3}))
    assert unmatched(expected, calls) == ([], [])
    assert unmatched(expected, calls[:2]) == ([2], [])
    assert unmatched(expected[1:2], calls) == ([], [1, 2])
    assert unmatched([], []) == ([], [])


@given(
    st.lists(st.sets(st.integers(0, 4), min_size=1, max_size=3), max_size=4),
    st.lists(st.integers(0, 4), max_size=4),
)
@settings(max_examples=100)
def test_the_matching_is_as_large_as_the_best_of_all(allowed: list[set[int]], values: list[int]) -> None:
    expected = [ReferenceCall("f", {"x": sorted(options)}) for options in allowed]
    calls = made(*(("f", {"x": value}) for value in values))
    missing, surplus = unmatched(expected, calls)
    places = [*values, *([-1] * len(allowed))]
    best = max(
        sum(value in options for value, options in zip(order, allowed, strict=False))
        for order in set(permutations(places, len(allowed)))
    )
    assert len(expected) - len(missing) == best == len(calls) - len(surplus)


def test_recorded_calls_have_one_value_for_each_argument() -> None:
    (one, bare) = recorded_references([{"name": "book", "arguments": {"id": "x"}}, {"name": "list", "arguments": None}])
    assert one.accepts(made(("book", {"id": "x"}))[0])
    assert not one.accepts(made(("book", {"id": "y"}))[0])
    assert bare.accepts(made(("list", {}))[0])
    assert str(one) == 'book(id="x")'


def test_a_file_is_a_mapping_or_lines_as_in_bfcl(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("read:\n  - Read: {path: [a, ./a]}\n7:\n  - Stop:\nnothing: []\n")
    found = load_references(tmp_path / "a.yaml")
    assert {task: [str(each) for each in calls] for task, calls in found.items()} == {
        "read": ['Read(path="a" or "./a")'], "7": ["Stop()"], "nothing": [],
    }  # fmt: skip
    line = {"id": "simple_0", "ground_truth": [{"area": {"base": [10], "unit": ["units", ""]}}]}
    (tmp_path / "b.json").write_text(json.dumps(line) + "\n" + json.dumps({**line, "id": "simple_1"}) + "\n")
    found = load_references(tmp_path / "b.json")
    assert list(found) == ["simple_0", "simple_1"]
    assert found["simple_0"][0].accepts(made(("area", {"base": 10}))[0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- 1\n", "each line has id and ground_truth"),
        ("{}", "a mapping of tasks"),
        ("t: 1", "x.yaml: t: a task has a list of calls"),
        ("t: [Read]", "x.yaml: t: a call is"),
        ("t: [{Read: {path: a}}]", "x.yaml: t: Read: each argument has a list"),
        ("t: [", "not YAML"),
    ],
)
def test_what_has_another_form_is_refused_with_its_task(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(InputError, match=message):
        load_references(tmp_path / "x.yaml")
    with pytest.raises(InputError, match="cannot be read"):
        load_references(tmp_path / "missing.yaml")


@pytest.mark.corpus
def test_the_answers_of_the_leaderboard_are_read(corpus_dir: Path) -> None:
    for path in sorted((corpus_dir / "bfcl" / "possible_answer").glob("*.json")):
        if "multi_turn" in path.name:
            continue  # those are programs
        assert load_references(path)
