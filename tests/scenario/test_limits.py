"""What a run may use: each limit lets a run through that keeps it and fails one that does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import InputError
from harness.judge.checks import judge_scenario
from harness.judge.verdict import Case, Verdict
from harness.play.script import ScriptedCall, ScriptedTurn, ScriptPlayer, render_turn
from harness.play.server import LoopbackServer
from harness.scenario.guards import GuardedPlayer
from harness.scenario.limits import LimitError, RequestLimits
from harness.scenario.recording import record_cassettes
from harness.scenario.runner import run_scenario
from harness.scenario.world import LimitsSpec
from harness.seams import ManualClock
from harness.wire.exchange import Request
from tests.scenario.scenarios import ANSWER, READ_AND_ANSWER, scenario

WITH_USAGE = READ_AND_ANSWER.replace("    - calls:", "    - usage: {total_tokens: 70}\n      calls:").replace(
    "    - text:", "    - usage: {prompt_tokens: 20, completion_tokens: 10}\n      text:"
)


def judged(text: str) -> Case:
    return judge_scenario(run_scenario(scenario(text, "t.yaml")), "t.yaml")


@pytest.mark.parametrize("limits", ["{requests: 2}", "{steps: 2}", "{tokens: 71}", "{wall_s: 300}", "{}"])
def test_a_run_within_its_limits_passes(limits: str) -> None:
    case = judged(WITH_USAGE + f"limits: {limits}\n")
    assert case.verdict is Verdict.PASS, case.first_line


@pytest.mark.parametrize(
    ("limits", "first_line"),
    [
        ("{requests: 1}", "limits.requests is 1, and the agent asked once more"),
        ("{tokens: 70}", "limits.tokens is 70, 70 are used, and the agent asked once more"),
        ("{steps: 1}", "the run ended as step_limit: 1 steps without an answer"),
        ("{wall_s: 1.0e-9}", "limits.wall_s is 1e-09, and the agent asked once more after that"),
    ],
)
def test_a_run_beyond_a_limit_fails_and_says_which(limits: str, first_line: str) -> None:
    case = judged(WITH_USAGE + f"limits: {limits}\n")
    assert case.verdict is Verdict.FAIL
    assert case.first_line == first_line


def test_tokens_that_nobody_reports_are_not_taken_for_none() -> None:
    case = judged(READ_AND_ANSWER + "limits: {tokens: 1000}\n")
    assert case.verdict is Verdict.FAIL
    assert case.first_line == "limits.tokens is 1000, and answer 1 reports no usage"


@pytest.mark.parametrize("limits", ["{requests: 0}", "{wall_s: 0}", "{tokens: -1}", "{steps: x}", "{time: 3}"])
def test_limits_that_cannot_be_are_input_errors(limits: str) -> None:
    with pytest.raises(InputError, match=r"t\.yaml:1: limits\."):
        scenario(f"limits: {limits}\n" + ANSWER, "t.yaml")


def request(*, tools: bool = False, chat: bool = True) -> Request:
    path = "chat/completions" if chat else "models"
    return Request("POST", f"http://x/v1/{path}", (), b'{"tools": [{}]}' if tools else b"{}")


def test_a_limit_that_is_reached_stays_reached() -> None:
    limits = RequestLimits(LimitsSpec(requests=1), ManualClock())
    limits.before_request(request())
    for _ in range(2):
        with pytest.raises(LimitError, match=r"limits\.requests is 1"):
            limits.before_request(request())
    assert limits.requests == 1


def test_steps_of_other_agents_are_requests_that_offer_tools() -> None:
    limits = RequestLimits(LimitsSpec(steps=1), ManualClock(), count_steps=True)
    limits.before_request(request(tools=True))
    limits.before_request(request())
    with pytest.raises(LimitError, match=r"limits\.steps is 1"):
        limits.before_request(request(tools=True))


def test_only_chat_requests_count_and_time_is_the_clocks() -> None:
    clock = ManualClock()
    limits = RequestLimits(LimitsSpec(requests=1, wall_s=10), clock)
    for _ in range(3):
        limits.before_request(request(chat=False))
    clock.advance(10)
    limits.before_request(request())
    clock.advance(0.5)
    limits.exceeded = None
    limits.requests = 0
    with pytest.raises(LimitError, match=r"limits\.wall_s is 10"):
        limits.before_request(request())


def test_usage_of_errors_does_not_count_against_the_limit() -> None:
    limits = RequestLimits(LimitsSpec(tokens=10), ManualClock())
    turns = [ScriptedTurn(error_status=500), ScriptedTurn(text="x", usage={"total_tokens": 4})]
    player = GuardedPlayer(ScriptPlayer(turns), (limits,))
    player.answer(request())
    player.answer(request())
    assert (limits.tokens, limits.exceeded) == (4, None)
    limits.after_answer(request(chat=False), render_turn(turns[1], 0, {}))
    assert limits.tokens == 4


def test_a_recording_keeps_the_limits_too(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_text("agent: {model: m}\nprompt: x\nplayer: {cassette: t.cassette.jsonl}\nlimits: {requests: 1}\n")
    turns = [ScriptedTurn(calls=(ScriptedCall("Glob", '{"pattern": "*"}', "c"),), finish_reason="tool_calls")] * 2
    with (
        LoopbackServer(ScriptPlayer(turns)) as server,
        pytest.raises(InputError, match=r"gave no usable answer: limits\.requests is 1"),
    ):
        record_cassettes([path], {"m": server.base_url}, "k")
    assert not (tmp_path / "t.cassette.jsonl").exists()


AGENT = """\
import json
import urllib.request

def ask(context):
    said = []
    for number in range(3):
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": str(number)}]}).encode()
        url, headers = context.base_url + "/chat/completions", {"content-type": "application/json"}
        request = urllib.request.Request(url, body, headers)
        try:
            with urllib.request.urlopen(request) as answer:
                said.append(json.load(answer)["choices"][0]["message"]["content"])
        except OSError:
            said.append("refused")
    (context.workspace / "said").write_text(" ".join(said))
"""


def test_any_other_agent_is_held_to_limits_and_sees_the_events(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    text = """\
    agent: {python: "agent.py:ask"}
    prompt: x
    events: [{before_request: 2, write: {seen: "2"}}]
    player: {script: [{text: a}, {text: b}, {text: c}]}
    expect: {files: {said: a b c, seen: "2"}}
    """
    run = scenario(text, str(tmp_path / "t.yaml"))
    case = judge_scenario(run_scenario(run), "t.yaml")
    assert case.verdict is Verdict.PASS, case.first_line
    tight = scenario(text + "limits: {requests: 2}\n", str(tmp_path / "t.yaml"))
    outcome = run_scenario(tight)
    case = judge_scenario(outcome, "t.yaml")
    assert case.verdict is Verdict.FAIL
    assert "limits.requests is 2" in case.first_line
    assert outcome.files_after["said"] == b"a b refused"


def test_recording_any_other_agent_keeps_the_limits(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    path = tmp_path / "t.yaml"
    path.write_text(
        'agent: {python: "agent.py:ask", model: m}\nprompt: x\nplayer: {cassette: t.cassette.jsonl}\n'
        "limits: {requests: 2}\n"
    )
    player = ScriptPlayer([ScriptedTurn(text=letter) for letter in "abc"])
    with LoopbackServer(player) as server, pytest.raises(InputError, match=r"limits\.requests is 2"):
        record_cassettes([path], {"m": server.base_url}, "k")
    assert player.played == 2
    assert not (tmp_path / "t.cassette.jsonl").exists()
