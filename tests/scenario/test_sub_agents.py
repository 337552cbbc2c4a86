"""Sub-agents in scenarios: their lanes in the run, recorded, replayed, and missed."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import InputError
from harness.judge.checks import judge_scenario
from harness.judge.verdict import Verdict
from harness.play.script import ScriptedCall, ScriptedTurn, ScriptPlayer
from harness.play.server import LoopbackServer
from harness.scenario.format import load_scenario
from harness.scenario.portable import portable
from harness.scenario.recording import record_cassettes
from harness.scenario.runner import run_scenario
from harness.trace.folder import load_run, save_run
from tests.scenario.scenarios import scenario

SETTING = """\
workspace:
  files: {a.txt: "alpha\\n"}
agent:
  tools: [Read, Task]
prompt: Find alpha.
"""

SCRIPT = """\
player:
  script:
    - calls: [{tool: Task, arguments: {description: find, prompt: Where is alpha?}}]
    - calls: [{tool: Read, arguments: {path: a.txt}}]
    - text: In a.txt.
    - text: It is in a.txt.
"""

EXPECT = """\
expect:
  final_text: It is in a.txt.
  calls: [{tool: Task, status: success, contains: In a.txt.}]
  lanes:
    task-1: {final_text: In a.txt., calls: [{tool: Read, status: success}]}
"""


def test_a_sub_agent_is_a_lane_whose_steps_link_to_their_own_exchanges(tmp_path: Path) -> None:
    outcome = run_scenario(scenario(SETTING + SCRIPT))
    run = load_run(save_run(outcome.run, tmp_path / "run", portable(outcome.root)))
    assert [(lane.name, lane.outcome, lane.final_text) for lane in run.lanes] == [
        ("main", "answered", "It is in a.txt."),
        ("task-1", "answered", "In a.txt."),
    ]
    assert [[step.exchange for step in lane.steps] for lane in run.lanes] == [[0, 3], [1, 2]]
    started = [event for event in run.events if event["event"] == "sub_agent"]
    assert started == [{"lane": "main", "step": 0, "event": "sub_agent", "call": "call_1_1", "sub_lane": "task-1"}]
    lasts = [request["messages"] for request in outcome.requests]
    assert [messages[-1]["role"] for messages in lasts if isinstance(messages, list)] == [
        "user",
        "user",
        "tool",
        "tool",
    ]


def test_its_lane_is_judged_by_name() -> None:
    assert judge_scenario(run_scenario(scenario(SETTING + SCRIPT + EXPECT)), "t.yaml").verdict is Verdict.PASS
    for wrong, why in (
        ("task-1: {final_text: In b.txt.}", "final_text: the text differs"),
        ("task-1: {steps: 1}", "steps is 2, expected 1"),
        ("task-2: {}", r"there is no lane task-2 (sub-agents: task-1)"),
    ):
        text = f"{SETTING}{SCRIPT}expect:\n  lanes:\n    {wrong}\n"
        case = judge_scenario(run_scenario(scenario(text)), "t.yaml")
        assert case.verdict is Verdict.FAIL
        assert why in case.first_line


def test_recorded_with_its_sub_agent_it_passes_from_the_cassette(tmp_path: Path) -> None:
    path = tmp_path / "live.yaml"
    path.write_text(
        SETTING.replace("agent:", "agent:\n  model: live") + "player: {cassette: live.cassette.jsonl}\n" + EXPECT
    )
    task = ScriptedCall("Task", '{"description": "find", "prompt": "Where is alpha?"}', "call_1")
    turns = [
        ScriptedTurn(calls=(task,), finish_reason="tool_calls"),
        ScriptedTurn(calls=(ScriptedCall("Read", '{"path": "a.txt"}', "call_2"),), finish_reason="tool_calls"),
        ScriptedTurn(text="In a.txt."),
        ScriptedTurn(text="It is in a.txt."),
    ]
    with LoopbackServer(ScriptPlayer(turns)) as server:
        record_cassettes([path], {"live": server.base_url}, "k")
    outcome = run_scenario(load_scenario(path))
    case = judge_scenario(outcome, str(path))
    assert case.verdict is Verdict.PASS, case.first_line
    assert [len(lane.steps) for lane in outcome.run.lanes] == [2, 2]

    changed = load_scenario(path).model_copy(deep=True)
    changed.agent.sub_agent.__dict__["system"] = "Look around."
    missed = run_scenario(changed)
    assert missed.miss is not None
    assert "system" in missed.miss
    assert judge_scenario(missed, str(path)).verdict is Verdict.FAIL


def test_a_request_of_the_sub_agent_that_nothing_answers_ends_the_run() -> None:
    text = SETTING + SCRIPT.replace("    - text: In a.txt.\n    - text: It is in a.txt.\n", "")
    outcome = run_scenario(scenario(text))
    assert outcome.miss == "the script has 2 turns, the agent asked for one more"
    assert [lane.outcome for lane in outcome.run.lanes] == ["miss", "miss"]
    assert len(outcome.requests) == 2, "nothing is asked after a miss"


def test_a_frozen_definition_of_task_runs_the_built_in() -> None:
    frozen = (
        "tools: [Read, {type: function, function: {name: Task, description: Ask., parameters: {type: object, "
        "properties: {description: {type: string}, prompt: {type: string}}}}}]"
    )
    outcome = run_scenario(scenario(SETTING.replace("tools: [Read, Task]", frozen) + SCRIPT + EXPECT))
    assert judge_scenario(outcome, "t.yaml").verdict is Verdict.PASS
    assert [event["call"] for event in outcome.run.events if event["event"] == "sub_agent"] == ["call_1_1"]


def test_the_optional_tools_are_offered_only_by_name() -> None:
    offered = run_scenario(scenario(SETTING.replace("  tools: [Read, Task]", "  model: m") + SCRIPT)).run.lanes[0]
    assert offered.steps[0].tools == ("Bash", "Edit", "Glob", "Grep", "ListFiles", "Read")
    assert offered.steps[0].calls[0].error_code == "UNKNOWN_TOOL"


def test_a_budget_that_cannot_hold_is_an_input_error() -> None:
    text = SETTING.replace("agent:", "agent:\n  sub_agent: {budget: {per_result_bytes: 1}}") + SCRIPT
    with pytest.raises(InputError, match=r"agent\.sub_agent\.budget: per_result_bytes is 1"):
        run_scenario(scenario(text))
