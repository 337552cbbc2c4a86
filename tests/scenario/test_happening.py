"""What happens between turns: several things that the user says, outside events, failing tools, faults."""

from __future__ import annotations

import pytest

from harness.errors import InputError
from harness.judge.checks import judge_scenario
from harness.judge.verdict import Case, Verdict
from harness.pipeline.result import ErrorCode
from harness.play.faulty_player import FaultyPlayer
from harness.play.script import ScriptedTurn, ScriptPlayer
from harness.scenario.failing import Failures
from harness.scenario.runner import ScenarioRun, run_scenario
from harness.scenario.world import FailureSpec
from harness.wire.exchange import Request, Response
from harness.wire.faults import parse_fault
from harness.wire.rules import check_request
from tests.scenario.scenarios import ANSWER, READ_AND_ANSWER, scenario

TURNS = """\
workspace: {files: {a.txt: "1\\n"}}
agent: {system: Be brief.}
prompts:
  - First.
  - text: Second.
    before: [{write: {a.txt: "2\\n"}}]
  - Third.
player:
  script:
    - text: One.
    - calls: [{tool: Read, arguments: {path: a.txt}}]
    - text: Two.
    - text: Three.
expect:
  final_text: Three.
  steps: 4
  calls: [{tool: Read, contains: "2"}]
"""


def judged(text: str) -> tuple[ScenarioRun, Case]:
    outcome = run_scenario(scenario(text, "t.yaml"))
    return outcome, judge_scenario(outcome, "t.yaml")


def test_the_user_goes_on_in_the_same_conversation() -> None:
    outcome, case = judged(TURNS)
    assert case.verdict is Verdict.PASS, case.first_line
    roles = [message["role"] for message in outcome.requests[-1]["messages"]]  # type: ignore[attr-defined]
    assert roles == ["system", "user", "assistant", "user", "assistant", "tool", "assistant", "user"]
    assert all(check_request(request) == [] for request in outcome.requests)
    assert [lane.name for lane in outcome.run.lanes] == ["main"]
    assert len(outcome.run.lanes[0].steps) == 4


def test_the_step_limit_is_of_each_turn_of_the_user() -> None:
    outcome, case = judged(TURNS.replace("{system: Be brief.}", "{step_limit: 2}"))
    assert case.verdict is Verdict.PASS, case.first_line
    outcome, case = judged(TURNS.replace("{system: Be brief.}", "{step_limit: 1}"))
    assert case.verdict is Verdict.FAIL
    assert "turn 3 of the user" in outcome.unused


def test_a_user_who_is_not_answered_says_nothing_more_and_the_run_is_partial() -> None:
    outcome, case = judged(TURNS.replace("- text: One.", "- {text: One., cut: true}") + "  outcome: error\n")
    assert case.verdict is Verdict.FAIL
    assert outcome.unused[:2] == ["turn 2 of the user", "turn 3 of the user"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prompt: a\nprompts: [b]\nplayer: {script: []}\n", "a prompt or prompts, not both"),
        ("prompts: []\nplayer: {script: []}\n", r"t\.yaml:1: prompts: "),
        ("prompts: ['']\nplayer: {script: []}\n", "prompts: a user says something"),
        ("prompts: [{text: ''}]\nplayer: {script: []}\n", r"prompts\.0\.text: "),
        ("player: {script: []}\n", "prompt: missing"),
        ("agent: {command: [x]}\nprompts: [a, b]\nplayer: {script: []}\n", "only the built-in pipeline holds"),
        (
            "agent: {command: [x]}\nprompt: a\nplayer: {script: [{before: [{fail: {tool: Bash}}]}]}\n",
            "the tools of this agent are its own",
        ),
        (
            "prompt: a\nplayer: {script: []}\nevents: [{before_request: 1, fail: {tool: Teleport}}]\n",
            "fail: the agent has no tool 'Teleport'",
        ),
        ("prompt: a\nplayer: {script: []}\nevents: [{before_request: 0}]\n", r"t\.yaml:3: events\.0\.before_request"),
        ("prompt: a\nplayer: {script: []}\nevents: [{before_request: 1, faults: [cutt]}]\n", "did you mean cut"),
        ("prompt: a\nplayer: {script: [{before: [{faults: [cut]}]}]}\n", r"before\.0\.faults: unknown key"),
        (
            "prompt: a\nplayer: {script: [{text: b}]}\nevents: [{before_request: 1, write: {../x: y}}]\n",
            "names a file outside",
        ),
    ],
)  # fmt: skip
def test_what_cannot_happen_is_an_input_error(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        run_scenario(scenario(text, "t.yaml"))


def test_events_happen_before_their_request_whoever_answers() -> None:
    text = READ_AND_ANSWER.replace("contains: alpha", "contains: omega")
    event = "events:\n  - before_request: 1\n    write: {a.txt: omega}\n    advance_s: 5\n"
    outcome, case = judged(text + event)
    assert case.verdict is Verdict.PASS, case.first_line
    assert outcome.files_after == {"a.txt": b"omega"}
    _, case = judged(text + event.replace("before_request: 1", "before_request: 2"))
    assert case.verdict is Verdict.FAIL


def test_an_event_whose_request_never_comes_makes_the_run_partial() -> None:
    outcome, case = judged(ANSWER + "events: [{before_request: 9, touch: [a]}]\n")
    assert outcome.unused == ["what happens before request 9"]
    assert case.verdict is Verdict.FAIL


def test_a_failing_tool_does_not_run_and_the_next_run_does() -> None:
    text = """\
    prompt: x
    events: [{before_request: 1, fail: [{tool: Bash, error_code: TIMEOUT, message: too slow}]}]
    player:
      script:
        - calls:
            - {tool: Bash, arguments: {command: touch one}}
            - {tool: Bash, arguments: {command: touch two}}
        - text: Done.
    agent: {ask: allow}
    expect:
      calls:
        - {tool: Bash, status: error, error_code: TIMEOUT, contains: too slow}
        - {tool: Bash, status: success}
    """
    outcome, case = judged(text)
    assert case.verdict is Verdict.PASS, case.first_line
    assert set(outcome.files_after) == {"two"}


def test_a_frozen_tool_can_fail_and_failures_count_for_the_breaker() -> None:
    text = """\
    prompt: x
    agent:
      breaker: {failure_threshold: 2}
      tools:
        - type: function
          function: {name: Read, parameters: {type: object, properties: {path: {type: string}}}}
    player:
      script:
        - before: [{fail: {tool: Read, times: 2}}]
          calls: [{tool: Read, arguments: {path: a}}]
        - calls: [{tool: Read, arguments: {path: b}}]
        - text: Gone.
    expect:
      calls: [{tool: Read, error_code: EXECUTION_ERROR}, {tool: Read, error_code: EXECUTION_ERROR}]
      tools: [{step: 2, shown: [Read]}, {step: 3, hidden: [Read]}]
    """
    _, case = judged(text)
    assert case.verdict is Verdict.PASS, case.first_line


def test_a_failure_that_never_came_about_makes_the_run_partial() -> None:
    outcome, case = judged(ANSWER + "events: [{before_request: 1, fail: {tool: Read, times: 2}}]\n")
    assert outcome.unused == ["a failure of Read", "a failure of Read"]
    assert case.verdict is Verdict.FAIL


def test_failures_are_taken_in_the_order_in_which_they_were_armed() -> None:
    failures = Failures()
    failures.arm(FailureSpec(tool="A", error_code=ErrorCode.TIMEOUT, message="one", times=2))
    failures.arm(FailureSpec(tool="A", message="two"))
    codes = [result.error_code if (result := failures.take("A")) else None for _ in range(4)]
    assert codes == [ErrorCode.TIMEOUT, ErrorCode.TIMEOUT, ErrorCode.EXECUTION_ERROR, None]
    assert failures.take("B") is None


def test_faults_of_an_event_count_from_the_next_answer() -> None:
    text = TURNS.replace("{system: Be brief.}", "{retries: 2}").replace(
        "before: [{write", "before: [{faults: ['status=503,times=2,retry_after=0'], write"
    )
    outcome, case = judged(text)
    assert case.verdict is Verdict.PASS, case.first_line
    assert [exchange.response.status for exchange in outcome.run.exchanges] == [200, 503, 503, 200, 200, 200]
    assert outcome.faults == ["status=503,retry_after=0,at=2,times=2"]


@pytest.mark.parametrize(
    ("fault", "hit"),
    [
        ("cut:event=0", [3]),
        ("cut:event=0,at=2", [4]),
        ("cut:event=0,times=2", [3, 4]),
        ("cut:event=0,at=all", [3, 4, 5]),
    ],
)
def test_a_fault_added_on_the_way(fault: str, hit: list[int]) -> None:
    player = FaultyPlayer(ScriptPlayer([ScriptedTurn(text=str(n)) for n in range(5)]), [])

    def ask(number: int) -> Response:
        body = b'{"model": "m", "stream": true, "messages": [{"role": "user", "content": "%d"}]}' % number
        return player.answer(Request("POST", "http://x/v1/chat/completions", (), body))

    ask(1), ask(2)
    player.add(parse_fault(fault))
    for number in (3, 4, 5):
        ask(number)
    assert [incident.answer for incident in player.incidents] == hit
