from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.errors import InputError
from harness.judge.suite import collect, judge_all
from harness.judge.verdict import Verdict
from harness.play.neutral.actions import EditFile, RawCall, ReadFile, RunCommand
from harness.play.neutral.turn import NeutralTurn
from harness.play.script import ScriptedTurn
from harness.scenario.format import Scenario, TurnSpec, load_scenario
from harness.scenario.turns import script_turn

ROOT = Path(__file__).resolve().parents[2]


def scenario(tmp_path: Path, *script: dict[str, Any], **rest: Any) -> Path:
    path = tmp_path / "case.yaml"
    path.write_text(yaml.safe_dump({"prompt": "Go.", "player": {"script": list(script)}, **rest}, sort_keys=False))
    return path


def loaded(tmp_path: Path, *script: dict[str, Any]) -> Scenario:
    return load_scenario(scenario(tmp_path, *script))


def turn_of(tmp_path: Path, turn: dict[str, Any], folder: str | None = None) -> object:
    script = loaded(tmp_path, turn).player.script
    assert script is not None
    return script_turn(script[0], 1, folder)


def test_one_or_several_of_each_action_in_the_order_of_the_keys(tmp_path: Path) -> None:
    edit = {"path": "a.py", "old": "x", "new": "y"}
    turn = turn_of(
        tmp_path,
        {
            "bash": ["ls", "pwd"],
            "edit": [edit, {**edit, "all": True}],
            "read": "a.py",
            "calls": [{"tool": "Glob", "arguments": {"pattern": "*"}}],
            "text": "Now.",
        },
        "/w",
    )
    assert isinstance(turn, NeutralTurn)
    assert turn.actions == (
        ReadFile("a.py"),
        EditFile("a.py", "x", "y"),
        EditFile("a.py", "x", "y", everywhere=True),
        RunCommand("ls"),
        RunCommand("pwd"),
        RawCall("Glob", '{"pattern": "*"}', "call_2_6"),
    )
    assert (turn.form.text, turn.form.calls, turn.folder) == ("Now.", (), "/w")


def test_raw_calls_alone_stay_what_they_are(tmp_path: Path) -> None:
    turn = turn_of(tmp_path, {"calls": [{"tool": "Read", "arguments": {"path": "a.py"}}]})
    assert isinstance(turn, ScriptedTurn)
    assert [(call.name, call.id) for call in turn.calls] == [("Read", "call_2_1")]
    assert turn.finish_reason == "tool_calls"


def test_a_raw_call_that_names_the_folder_waits_for_the_request(tmp_path: Path) -> None:
    turn = turn_of(tmp_path, {"calls": [{"tool": "Read", "arguments": {"path": "${CWD}/a.py"}, "id": "mine"}]}, "/w")
    assert isinstance(turn, NeutralTurn)
    (call,) = turn.scripted({}, 0).calls
    assert (call.arguments, call.id) == ('{"path": "/w/a.py"}', "mine")


@pytest.mark.parametrize(
    ("turn", "why"),
    [
        ({"finish": "Done.", "bash": "ls"}, "a turn that finishes does nothing else"),
        ({"finish": "Done.", "text": "x"}, "a turn that finishes does nothing else"),
        ({"finish": "Done.", "calls": [{"tool": "Read"}]}, "a turn that finishes does nothing else"),
        ({"edit": {"path": "a.py", "old": "", "new": "y"}}, "edit.old: String should have at least 1 character"),
        ({"edit": {"path": "a.py", "old": "x", "new": "x"}}, "old and new are the same text"),
        ({"edit": {"path": "a.py", "old": "x"}}, "new: missing"),
        ({"read": ""}, "script.0.read: String should have at least 1 character"),
        ({"read": {"path": "a.py"}}, "script.0.read: Input should be a valid string"),
        ({"edits": []}, "edits: unknown key"),
    ],
)
def test_what_a_turn_cannot_be_is_said_with_its_place(turn: dict[str, Any], why: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=why) as raised:
        loaded(tmp_path, turn)
    assert raised.value.where.startswith(str(tmp_path / "case.yaml"))


def test_the_rest_of_a_turn_stays() -> None:
    turn = script_turn(TurnSpec.model_validate({"bash": "ls", "cut": True, "fragment": 3, "usage": {"a": 1}}), 0, None)
    assert isinstance(turn, NeutralTurn)
    assert (turn.form.done, turn.form.finish_reason, turn.form.fragment, turn.form.usage) == (False, None, 3, {"a": 1})
    stopped = script_turn(TurnSpec.model_validate({"bash": "ls", "finish_reason": "stop"}), 0, None)
    assert isinstance(stopped, NeutralTurn)
    assert stopped.finish_reason == "stop"


def test_the_scenario_for_all_agents_passes_with_the_pipeline_too() -> None:
    (judged,) = judge_all(collect([ROOT / "scenarios" / "agents" / "fix-the-typo.yaml"]), None)
    assert judged.case.verdict is Verdict.PASS, judged.case.first_line
    assert judged.case.facts["tool_calls"] == 3


def test_a_script_that_cannot_be_put_to_its_agent_is_an_error_also_for_a_named_file(tmp_path: Path) -> None:
    path = scenario(tmp_path, {"bash": "ls"}, {"finish": "Done."}, agent={"tools": ["Read"]}, expect={})
    (judged,) = judge_all(collect([path]), None)
    assert judged.case.verdict is Verdict.ERROR
    assert (
        judged.case.first_line
        == "turn 1 of the script: bash ls: no tool of the request runs shell commands (it offers Read)"
    )
