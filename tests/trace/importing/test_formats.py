"""Each format on a small example of its own, with what goes wrong in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.errors import InputError
from harness.trace.importing import KINDS, read_trajectories
from harness.trace.run import Run, Trial


def written(path: Path, document: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document if isinstance(document, str) else json.dumps(document), "utf-8")
    return path


def runs_of(kind: str, source: Path, model: str | None = None) -> list[Run]:
    return list(read_trajectories(kind, source, model))


def trial_of(run: Run) -> Trial:
    assert run.trial is not None
    return run.trial


CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": "x"}'}}
TALK: list[dict[str, Any]] = [
    {"role": "system", "content": "policy"},
    {"role": "user", "content": "hello"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "name": "look", "content": "Error: not found"},
    {"role": "assistant", "content": "There is none."},
]


def tau(**changes: Any) -> dict[str, Any]:
    info = {
        "task": {"actions": [{"name": "book", "kwargs": {"a": 1}}]},
        "user_cost": 0.5,
        "reward_info": {"reward": 1.0},
    }
    return {"task_id": 3, "trial": 1, "reward": 1.0, "info": info, "traj": TALK, **changes}


def test_tau_bench(tmp_path: Path) -> None:
    source = written(tmp_path / "gpt-4o-retail.json", [tau(), tau(trial=0, reward=0.0)])
    first, second = runs_of("tau-bench", source)
    assert first.trial == Trial("retail/3", 1, "gpt-4o", 1.0)
    assert second.trial == Trial("retail/3", 0, "gpt-4o", 0.0)
    assert first.facts["reference_calls"] == [{"name": "book", "arguments": {"a": 1}}]
    assert [step.model for step in first.lanes[0].steps] == ["gpt-4o", "gpt-4o"]
    assert first.lanes[0].steps[0].calls[0].status == "error"
    assert trial_of(runs_of("tau-bench", source, "mine")[0]).model == "mine"


def test_a_tau_bench_run_that_could_not_be_finished_is_infrastructure(tmp_path: Path) -> None:
    failed = tau(reward=0.0, info={"error": "rate limit", "traceback": "…"}, traj=[])
    (run,) = runs_of("tau-bench", written(tmp_path / "m.json", [failed]))
    assert trial_of(run).infrastructure_error == "rate limit"
    assert (run.lanes[0].steps, run.lanes[0].outcome) == ([], "ended")


def simulation(**changes: Any) -> dict[str, Any]:
    call = {"id": "c1", "name": "look", "arguments": {"at": "ü"}, "requestor": "assistant"}
    messages = [
        {"role": "assistant", "content": "Hi!", "timestamp": "2025-08-01T10:00:00", "raw_data": None},
        {"role": "user", "content": "hello", "timestamp": "2025-08-01T10:00:01"},
        {
            "role": "assistant", "content": None, "tool_calls": [call], "timestamp": "2025-08-01T10:00:03.500000",
            "usage": {"prompt_tokens": 9, "completion_tokens": 2}, "cost": 0.25,
        },
        {"role": "tool", "id": "c1", "content": "seen", "requestor": "assistant", "error": False},
        {"role": "assistant", "content": "Done.", "raw_data": {"finish_reason": "stop", "message": TALK[4]}},
        {"role": "user", "content": None, "tool_calls": [{"name": "toggle", "arguments": {}, "requestor": "user"}]},
        {"role": "tool", "id": "u1", "content": "toggled", "requestor": "user", "error": False},
    ]  # fmt: skip
    return {
        "task_id": "7", "trial": 2, "termination_reason": "user_stop", "agent_cost": 0.5, "duration": 12.5,
        "start_time": "2025-08-01T10:00:00", "reward_info": {"reward": 1.0}, "messages": messages, **changes,
    }  # fmt: skip


def tau2(*simulations: dict[str, Any]) -> dict[str, Any]:
    return {
        "info": {"agent_info": {"llm": "gpt-4.1"}, "environment_info": {"domain_name": "airline"}},
        "tasks": [
            {
                "id": "7",
                "evaluation_criteria": {
                    "actions": [
                        {"name": "look", "arguments": {"at": "ü"}, "requestor": "assistant"},
                        {"name": "toggle", "arguments": {}, "requestor": "user"},
                    ]
                },
            }
        ],
        "simulations": list(simulations),
    }


def test_tau2_bench(tmp_path: Path) -> None:
    (run,) = runs_of("tau2-bench", written(tmp_path / "r.json", tau2(simulation())))
    assert run.trial == Trial("airline/7", 2, "gpt-4.1", 1.0, None, 0.5, 12.5, "2025-08-01T10:00:00")
    assert run.facts["reference_calls"] == [{"name": "look", "arguments": {"at": "ü"}}]
    look, done = run.lanes[0].steps
    assert [message["content"] for message in look.before] == ["Hi!", "hello"], "the greeting is no step"
    assert (look.usage, look.cost_usd, look.duration_s) == ({"prompt_tokens": 9, "completion_tokens": 2}, 0.25, 2.5)
    (made,) = look.calls
    assert (made.name, made.arguments, made.status, made.parse_error) == ("look", '{"at": "ü"}', "success", None)
    assert done.finish_reason == "stop"
    assert [message["role"] for message in run.lanes[0].after] == ["user", "tool"], (
        "the user's calls are not the agent's"
    )


def test_a_tau2_bench_run_that_the_machine_ended_is_infrastructure(tmp_path: Path) -> None:
    broken = simulation(termination_reason="infrastructure_error", reward_info=None)
    (run,) = runs_of("tau2-bench", written(tmp_path / "r.json", tau2(broken)))
    assert trial_of(run).reward is None
    assert trial_of(run).infrastructure_error == "the simulation ended with infrastructure_error"
    (late,) = runs_of("tau2-bench", written(tmp_path / "r.json", tau2(simulation(termination_reason="max_steps"))))
    assert trial_of(late).infrastructure_error is None


def test_several_results_in_one_tau2_message(tmp_path: Path) -> None:
    whole = simulation()
    whole["messages"][3] = {"role": "tool", "tool_messages": [whole["messages"][3]]}
    (run,) = runs_of("tau2-bench", written(tmp_path / "r.json", tau2(whole)))
    assert run.lanes[0].steps[0].calls[0].observation == "seen"


def traj(**changes: Any) -> dict[str, Any]:
    history = [
        {"role": "system", "content": "s", "agent": "main"},
        {"role": "assistant", "content": "shown", "is_demo": True, "action": "ls"},
        {"role": "user", "content": "issue", "agent": "main"},
        {"role": "assistant", "content": "I look", "thought": "I look", "action": "find", "tool_calls": [CALL]},
        {"role": "tool", "content": "found", "tool_call_ids": ["c1"]},
        {"role": "assistant", "content": "I open", "action": "open a.py 5\n"},
        {"role": "user", "content": "[a.py]"},
        {"role": "assistant", "content": "I am done", "action": ""},
    ]
    info = {"exit_status": "submitted", "model_stats": {"instance_cost": 0.75, "api_calls": 3}}
    return {"history": history, "info": info, **changes}


def test_swe_agent(tmp_path: Path) -> None:
    config = json.dumps({"agent": {"model": {"name": "gpt-4o"}}})
    (run,) = runs_of("swe-agent", written(tmp_path / "task-1.traj", traj(replay_config=config)))
    assert run.trial == Trial("task-1", 0, "gpt-4o", cost_usd=0.75)
    called, wrote, said = run.lanes[0].steps
    assert [message["content"] for message in called.before] == ["s", "shown", "issue"], "a demonstration is no step"
    assert (called.calls[0].name, called.calls[0].observation) == ("look", "found")
    assert (wrote.calls[0].name, wrote.calls[0].arguments) == ("open", '{"command": "open a.py 5\\n"}')
    assert (wrote.calls[0].observation, wrote.notes) == ("[a.py]", ("the call was written as text",))
    assert said.calls == ()
    assert run.lanes[0].final_text == "I am done"


def test_a_swe_agent_model_stands_in_the_name_of_the_experiment(tmp_path: Path) -> None:
    folder = "claude__data__default__t-0.00__p-0.95__c-3.00__install-1"
    written(tmp_path / "a" / folder / "t.traj", traj())
    written(tmp_path / "b" / folder / "t.traj", traj(info={"exit_status": "exit_api"}))
    one, two = runs_of("swe-agent", tmp_path)
    assert (trial_of(one).model, trial_of(one).number) == ("claude", 0)
    assert (trial_of(two).model, trial_of(two).number) == ("claude", 1)
    assert trial_of(two).infrastructure_error == "the run ended with exit_api"


def log(messages: list[dict[str, Any]], answer: dict[str, Any], timestamp: float, **more: Any) -> dict[str, Any]:
    return {
        "messages": messages,
        "tools": [{"type": "function", "function": {"name": "look", "parameters": {}}}],
        "response": {
            "model": "sonnet",
            "choices": [{"finish_reason": "stop", "message": answer}],
            "usage": {"prompt_tokens": int(timestamp)},
        },
        "cost": 0.25,
        "latency_sec": 1.5,
        "timestamp": timestamp,
        **more,
    }


def test_openhands(tmp_path: Path) -> None:
    other = [{"role": "user", "content": "another talk"}]
    written(tmp_path / "job" / "b.json", log(TALK[:4], TALK[4], 20.0))
    written(tmp_path / "job" / "a.json", log(TALK[:2], TALK[2], 10.0))
    written(tmp_path / "job" / "c.json", log(other, TALK[4], 15.0))
    written(tmp_path / "job" / "settings.json", {"any": "thing"})
    talk, second = runs_of("openhands", tmp_path)
    assert talk.trial == Trial("job", 0, "sonnet", cost_usd=0.5, duration_s=3.0)
    assert trial_of(second).number == 1
    assert [step.usage for step in talk.lanes[0].steps] == [{"prompt_tokens": 10}, {"prompt_tokens": 20}]
    assert [step.messages_sent for step in talk.lanes[0].steps] == [2, 4]
    assert talk.lanes[0].steps[0].calls[0].observation == "Error: not found"
    assert talk.lanes[0].steps[0].tools == ("look",)
    assert talk.lanes[0].final_text == "There is none."


def test_prompted_calls_of_openhands_come_from_the_raw_messages(tmp_path: Path) -> None:
    as_text = [{"role": "user", "content": "hello"}]
    written(tmp_path / "1.json", log(as_text, TALK[2], 1.0, raw_messages=TALK[:2]))
    written(tmp_path / "2.json", log([*as_text, *as_text], TALK[4], 2.0, raw_messages=TALK[:4]))
    (run,) = runs_of("openhands", tmp_path)
    assert [len(step.calls) for step in run.lanes[0].steps] == [1, 0]
    assert run.lanes[0].steps[0].notes == ("the call was written as text",)
    assert run.lanes[0].steps[0].calls[0].observation == "Error: not found"


def test_a_request_that_was_sent_twice_is_a_conversation_of_its_own(tmp_path: Path) -> None:
    written(tmp_path / "1.json", log(TALK[:2], TALK[2], 1.0))
    written(tmp_path / "2.json", log(TALK[:2], TALK[4], 2.0))
    written(tmp_path / "3.json", log(TALK[:4], TALK[4], 3.0))
    assert [len(run.lanes[0].steps) for run in runs_of("openhands", tmp_path)] == [2, 1]


def test_messages_in_every_form(tmp_path: Path) -> None:
    plain = written(tmp_path / "plain.json", TALK)
    (run,) = runs_of("messages", plain, "m")
    assert run.trial == Trial("plain", 0, "m")
    graded = {"messages": TALK, "task": "t", "trial": 4, "model": "own", "reward": 0.5, "error": "disk", "cost_usd": 1,
              "duration_s": 2, "tools": [{"type": "function", "function": {"name": "look"}}]}  # fmt: skip
    (run,) = runs_of("messages", written(tmp_path / "graded.json", graded), "m")
    assert run.trial == Trial("t", 4, "own", 0.5, "disk", 1.0, 2.0)
    assert run.lanes[0].steps[0].tools == ("look",)
    several = runs_of("messages", written(tmp_path / "several.json", [graded, {"messages": TALK, "id": 0}]))
    assert [trial_of(run).task for run in several] == ["t", "0"]
    lines = "\n".join(json.dumps(each) for each in (TALK, TALK)) + "\n\n"
    assert [trial_of(run).number for run in runs_of("messages", written(tmp_path / "l.jsonl", lines))] == [0, 1]
    assert len(runs_of("messages", tmp_path)) == 6


def test_what_python_writes_and_json_has_not_is_read(tmp_path: Path) -> None:
    text = json.dumps([tau()]).replace('"Error: not found"', '"half \\ud800"').replace("0.5", "NaN")
    (run,) = runs_of("tau-bench", written(tmp_path / "m.json", text))
    assert run.lanes[0].steps[0].calls[0].observation == "half \ufffd"
    assert run.facts["user_cost"] is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("content", ["", "{", "5", "[5]", '{"messages": 5}', "[[]]", '{"a": [1]}', '"text"'])
def test_what_is_something_else_is_an_input_error(tmp_path: Path, kind: str, content: str) -> None:
    suffix = "traj" if kind == "swe-agent" else "json"
    source = written(tmp_path / f"x.{suffix}", content)
    with pytest.raises(InputError) as caught:
        runs_of(kind, source)
    assert str(source) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("document", "what"),
    [
        ([{"trial": 0, "traj": []}], "[0]: there is no task_id"),
        ([tau(traj=5)], "[0]: traj is a number"),
        ([tau(trial="x")], "[0]: trial is a text"),
        ([tau(trial=True)], "[0]: trial is true or false"),
        ([tau(), tau(info={"task": {"actions": [5]}})], "[1]: info: task[0]: an object was expected, not a number"),
    ],
)
def test_the_place_of_what_is_wrong_is_named(tmp_path: Path, document: Any, what: str) -> None:
    with pytest.raises(InputError, match=r"m\.json") as caught:
        runs_of("tau-bench", written(tmp_path / "m.json", document))
    assert what in str(caught.value)


def test_missing_files_and_kinds_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file or folder"):
        runs_of("tau-bench", tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"holds no file of \.traj"):
        runs_of("swe-agent", tmp_path)
    with pytest.raises(InputError, match="no kind of trajectory"):
        read_trajectories("nonsense", tmp_path)
