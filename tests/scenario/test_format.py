from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import InputError
from harness.pipeline.loop import LoopStatus
from harness.scenario.format import load_scenario
from harness.scenario.world import FileSpec
from tests.scenario.scenarios import ANSWER, scenario

SHIPPED = sorted((Path(__file__).resolve().parents[2] / "scenarios").rglob("*.yaml"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_every_shipped_scenario_is_read_and_described(path: Path) -> None:
    loaded = load_scenario(path)
    assert loaded.name == path.stem
    assert loaded.description
    assert loaded.expect is not None


def test_there_are_scenarios_enough() -> None:
    assert len([path for path in SHIPPED if "recorded" not in path.parts]) >= 12
    assert len([path for path in SHIPPED if "recorded" in path.parts]) >= 4


def test_the_name_is_the_files_where_none_is_given() -> None:
    assert scenario(ANSWER, "folder/greet.yaml").name == "greet"
    assert scenario("name: other\n" + ANSWER, "folder/greet.yaml").name == "other"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("workspce: {}\n" + ANSWER, r"t\.yaml:1: workspce: unknown key \(did you mean workspace\?\)"),
        ("prompt: x\n", r"player: missing"),
        ("prompt: ''\nplayer: {script: []}\n", r"t\.yaml:1: prompt: "),
        ("prompt: x\nplayer: {}\n", r"t\.yaml:2: player: a player is a script or a cassette"),
        ("prompt: x\nplayer:\n  script:\n    - cals: []\n", r"t\.yaml:4: player\.script\.0\.cals: unknown key"),
        ("prompt: x\nplayer: {script: []}\nagent:\n  ask: maybe\n", r"t\.yaml:4: agent\.ask: "),
        ("prompt: x\nplayer: {script: []}\nexpect:\n  calls:\n    - {tool: Read, error_code: NOPE}\n", r"t\.yaml:5: "),
        ("prompt: x\nplayer: {script: []}\nexpect: {batches: [[{concurrent: [], serial: []}]]}\n", "concurrent or"),
        ("prompt: x\nplayer: {script: []}\nworkspace:\n  files:\n    a: {times: 2}\n", r"either text or base64"),
        ("path: /etc\n" + ANSWER, r"path: unknown key"),
        ("- 1\n", r"a scenario is a mapping"),
        ("", r"a scenario is a mapping"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line_with_file_line_and_key(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        scenario(text, "t.yaml")
    assert "\n" not in str(caught.value)


def test_file_contents_are_text_or_base64_repeated() -> None:
    assert FileSpec(text="é", times=2).content() == "éé".encode()
    assert FileSpec(base64="AP8=").content() == b"\x00\xff"


def test_arguments_of_a_scripted_call_are_an_object_raw_text_or_nothing() -> None:
    text = """\
    prompt: x
    player:
      script:
        - calls:
            - {tool: A, arguments: {b: é}}
            - {tool: A, arguments: '{"b": '}
            - {tool: A, arguments: null}
            - {tool: A}
    """
    turns = scenario(text).player.script
    assert turns is not None
    assert [call.arguments_text() for call in turns[0].calls] == ['{"b": "é"}', '{"b": ', None, "{}"]


def test_one_outcome_or_several_that_will_do() -> None:
    several = scenario(ANSWER + "  outcome: [cut, answered]\n").expect
    one = scenario(ANSWER + "  outcome: cut\n").expect
    default = scenario(ANSWER).expect
    assert several is not None
    assert one is not None
    assert default is not None
    assert several.outcomes == (LoopStatus.CUT, LoopStatus.ANSWERED)
    assert one.outcomes == (LoopStatus.CUT,)
    assert default.outcomes == (LoopStatus.ANSWERED,)
