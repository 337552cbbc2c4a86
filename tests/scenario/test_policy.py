"""What a run does where its requests and its cassette part."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import InputError
from harness.judge.checks import judge_scenario
from harness.judge.verdict import Case, Verdict
from harness.play.script import ScriptedCall, ScriptedTurn, ScriptPlayer
from harness.play.server import LoopbackServer
from harness.scenario.policy import ReplayPolicy
from harness.scenario.recording import record_cassettes
from harness.scenario.runner import run_scenario
from tests.scenario.scenarios import scenario

TEXT = """\
agent: {model: live}
prompt: Say hello.
player:
  cassette: c.yaml
  script:
    - text: Hello from the script.
expect:
  final_text: {contains: Hello}
"""


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    path = tmp_path / "t.yaml"
    path.write_text(TEXT)
    with LoopbackServer(ScriptPlayer([ScriptedTurn(text="Hello from the model.")])) as server:
        record_cassettes([path], {"live": server.base_url}, "k")
    return path


def judged(path: Path, policy: ReplayPolicy, prompt: str = "Say hello.") -> Case:
    changed = scenario(TEXT.replace("Say hello.", prompt), str(path))
    return judge_scenario(run_scenario(changed, policy), str(path))


def test_an_exact_replay_has_no_marks(recorded: Path) -> None:
    for policy in (ReplayPolicy(), ReplayPolicy(frozenset({"history"}), "script")):
        case = judged(recorded, policy)
        assert case.verdict is Verdict.PASS
        assert "marks" not in case.facts


def test_a_miss_stops_and_fails_with_one_finding(recorded: Path) -> None:
    case = judged(recorded, ReplayPolicy(), "Say goodbye.")
    assert case.verdict is Verdict.FAIL
    assert "user message 1 changed" in case.first_line
    assert len(case.checks) == 1


def test_allowed_drift_passes_and_is_marked(recorded: Path) -> None:
    case = judged(recorded, ReplayPolicy(frozenset({"history"})), "Say goodbye.")
    assert case.verdict is Verdict.PASS
    assert case.facts["marks"] == "drift allowed in history: the model was not asked again"
    other = judged(recorded, ReplayPolicy(frozenset({"tools", "system"})), "Say goodbye.")
    assert other.verdict is Verdict.FAIL


def test_going_on_with_the_script_never_passes(recorded: Path) -> None:
    case = judged(recorded, ReplayPolicy(on_miss="script"), "Say goodbye.")
    assert case.verdict is Verdict.INCONCLUSIVE
    assert case.facts["marks"] == "after a miss the script has answered"
    assert "user message 1 changed" in case.first_line
    assert [check.name for check in case.checks if check.verdict is Verdict.PASS].count("final_text") == 1


def test_going_on_with_a_live_model_asks_only_the_endpoint_given(recorded: Path) -> None:
    with LoopbackServer(ScriptPlayer([ScriptedTurn(text="Hello, live.")])) as server:
        policy = ReplayPolicy(on_miss="live", endpoints={"live": server.base_url})
        case = judged(recorded, policy, "Say goodbye.")
        assert len(server.exchanges) == 1
    assert case.verdict is Verdict.INCONCLUSIVE
    with pytest.raises(InputError, match="no endpoint for 'live'"):
        judged(recorded, ReplayPolicy(on_miss="live"), "Say goodbye.")


@pytest.mark.parametrize(
    ("drift", "miss", "line"),
    [("tools,colour", "stop", "no class 'colour'"), ("", "guess", "no policy 'guess'")],
)
def test_words_that_there_are_not_are_input_errors(drift: str, miss: str, line: str) -> None:
    with pytest.raises(InputError, match=line):
        ReplayPolicy.parse(drift, miss)


def test_the_words_of_the_command_line() -> None:
    policy = ReplayPolicy.parse(" tools, system ,", "live", {"m": "http://127.0.0.1:1/v1"}, "key")
    assert policy.allow_drift == {"tools", "system"}
    assert (policy.on_miss, policy.endpoints, policy.api_key) == ("live", {"m": "http://127.0.0.1:1/v1"}, "key")


def test_a_recording_in_which_a_secret_was_scrubbed_is_matched_by_the_session_that_meets_it_again(
    tmp_path: Path,
) -> None:
    secret = "sk-" + "proj-" + "A1b2C3d4E5f6G7h8" * 2
    text = f"""\
workspace:
  files: {{.env: "KEY={secret}\\n"}}
agent: {{model: live}}
prompt: Read the key.
player: {{cassette: c.yaml}}
expect:
  final_text: Read.
  calls: [{{tool: Read, contains: {secret}}}]
"""
    path = tmp_path / "t.yaml"
    path.write_text(text)
    turns = [
        ScriptedTurn(calls=(ScriptedCall("Read", '{"path": ".env"}', "call_1"),), finish_reason="tool_calls"),
        ScriptedTurn(text="Read."),
    ]
    with LoopbackServer(ScriptPlayer(turns)) as server:
        record_cassettes([path], {"live": server.base_url}, "k")
    assert secret not in (tmp_path / "c.yaml").read_text()
    case = judge_scenario(run_scenario(scenario(text, str(path))), str(path))
    assert case.verdict is Verdict.PASS, case.first_line
