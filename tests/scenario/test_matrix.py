"""One file, several test cases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import InputError
from harness.judge.checks import judge_scenario
from harness.judge.verdict import Verdict
from harness.play.script import ScriptedTurn, ScriptPlayer
from harness.play.server import LoopbackServer
from harness.scenario.format import load_scenario
from harness.scenario.matrix import expand
from harness.scenario.recording import record_cassettes
from harness.scenario.runner import run_scenario
from harness.scenario.variants import merged
from tests.scenario.scenarios import ANSWER, READ_AND_ANSWER, scenario

MATRIX = (
    READ_AND_ANSWER
    + """\
matrix:
  - name: plain
  - name: streamed
    agent: {stream: true}
  - name: other
    tags: [x]
    workspace: {files: {b.txt: beta}}
    prompts: [Read it., And now?]
    player: {script: [{text: A}, {text: B}]}
    expect: {calls: [], steps: 2, final_text: B}
"""
)


def test_a_scenario_without_a_matrix_is_one() -> None:
    one = scenario(ANSWER)
    assert expand(one) == [one]


def test_each_variant_is_the_files_scenario_with_what_it_says() -> None:
    whole = scenario(MATRIX, "t.yaml")
    assert whole.name == "t"
    plain, streamed, other = expand(whole)
    assert [variant.name for variant in (plain, streamed, other)] == ["t[plain]", "t[streamed]", "t[other]"]
    assert (plain.agent.stream, streamed.agent.stream) == (False, True)
    assert set(other.workspace.files) == {"a.txt", "b.txt"}
    assert [turn.text for turn in other.user_turns] == ["Read it.", "And now?"]
    assert other.prompt is None
    assert streamed.expect == plain.expect
    for variant in (plain, streamed, other):
        case = judge_scenario(run_scenario(variant), "t.yaml")
        assert case.verdict is Verdict.PASS, case.first_line


def test_a_matrix_is_never_run_as_its_first_variant_alone() -> None:
    with pytest.raises(InputError, match="the scenario is several: plain, streamed, other"):
        run_scenario(scenario(MATRIX))


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ("matrix: []\n", r"t\.yaml:8: matrix: a list of named variants"),
        ("matrix: {a: b}\n", "a list of named variants"),
        ("matrix:\n  - {agent: {}}\n", r"t\.yaml:9: matrix\.0\.name: missing"),
        ("matrix:\n  - name: a\n  - name: a\n", r"t\.yaml:10: matrix: two variants are named 'a'"),
        ("matrix:\n  - name: a\n    agnt: {}\n", r"t\.yaml:10: matrix\.0\.agnt: unknown key \(did you mean agent\?\)"),
        (
            "matrix:\n  - name: a\n  - name: b\n    agent:\n      strem: true\n",
            r"t\.yaml:12: agent\.strem: unknown key \(in the variant 'b'\) \(did you mean stream\?\)",
        ),
        ("matrix:\n  - name: a\n    expect: {steps: x}\n", r"t\.yaml:10: expect\.steps.*in the variant 'a'"),
        ("matrix:\n  - name: a\n    player: {script: null}\n", r"player: a player is a script.*in the variant 'a'"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_variant_is_said_with_its_line(matrix: str, message: str) -> None:
    text = "prompt: Say hello.\nplayer:\n  script:\n    - text: Hello.\n\n\n\n"
    with pytest.raises(InputError, match=message) as caught:
        scenario(text + matrix, "t.yaml")
    assert "\n" not in str(caught.value)


def test_what_is_wrong_in_the_file_itself_is_said_there() -> None:
    with pytest.raises(InputError, match=r"t\.yaml:1: agent\.strem: unknown key"):
        scenario("agent: {strem: true}\n" + ANSWER + "matrix: [{name: a}]\n", "t.yaml")


def test_one_scenario_with_a_cassette_for_each_model(tmp_path: Path) -> None:
    path = tmp_path / "both.yaml"
    path.write_text("""\
prompt: Say hello.
player:
  cassette: {one: one.cassette.jsonl, two: two.cassette.jsonl}
expect: {final_text: {matches: Hello}}
matrix:
  - {name: one, agent: {model: one}}
  - {name: two, agent: {model: two}}
""")
    whole = load_scenario(path)
    assert [cassette.name for cassette in whole.cassettes] == ["one.cassette.jsonl", "two.cassette.jsonl"]
    for model in ("one", "two"):
        with LoopbackServer(ScriptPlayer([ScriptedTurn(text=f"Hello from {model}.")])) as server:
            written = record_cassettes([path], {model: server.base_url}, "k")
        assert written == [tmp_path / f"{model}.cassette.jsonl"]
    with pytest.raises(InputError, match=r"no endpoint for 'one' \(given: three\)"):
        record_cassettes([path], {"three": "http://127.0.0.1:9/v1"}, "k")
    for variant in expand(whole):
        outcome = run_scenario(variant)
        assert outcome.result is not None
        assert outcome.result.final_text == f"Hello from {variant.agent.model}."
        assert judge_scenario(outcome, str(path)).verdict is Verdict.PASS
    third = expand(whole)[0].model_copy(update={"agent": whole.agent.model_copy(update={"model": "three"})})
    with pytest.raises(InputError, match=r"none for the model 'three' \(there is one for: one, two\)"):
        run_scenario(third)


def test_variants_that_would_record_over_each_other_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_text(
        "agent: {model: m}\nprompt: x\nplayer: {cassette: c.cassette.jsonl}\n"
        "matrix: [{name: a}, {name: b, agent: {stream: true}}]\n"
    )
    with pytest.raises(InputError, match=r"t\[a\] and t\[b\] have the same cassette, c\.cassette\.jsonl"):
        record_cassettes([path], {"m": "http://127.0.0.1:9/v1"}, "k")


json_values = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
mappings = st.dictionaries(st.sampled_from("abc"), json_values, max_size=3)


@given(mappings, mappings)
def test_merging_changes_what_is_named_and_nothing_else(base: dict[str, Any], overrides: dict[str, Any]) -> None:
    whole = merged(base, overrides)
    assert set(whole) == {key for key in {*base, *overrides} if key not in overrides or overrides[key] is not None}
    for key, value in whole.items():
        if key not in overrides:
            assert value == base[key]
        elif isinstance(overrides[key], dict):
            inner = base.get(key)
            assert value == merged(inner if isinstance(inner, dict) else {}, overrides[key])
        else:
            assert value == overrides[key]
    assert merged(whole, overrides) == whole
    assert merged(base, {}) == base


def test_null_takes_a_key_away() -> None:
    assert merged({"a": 1, "b": {"c": 2, "d": 3}}, {"a": None, "b": {"c": None}}) == {"b": {"d": 3}}
