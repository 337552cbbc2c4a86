from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.judge.checks import judge_scenario
from harness.judge.verdict import Verdict
from harness.play.faulty_player import FaultyPlayer
from harness.play.script import ScriptedCall, ScriptedTurn, ScriptPlayer
from harness.play.server import LoopbackServer
from harness.play.strict_player import StrictPlayer
from harness.scenario.policy import ReplayPolicy
from harness.scenario.runner import record_scenario, run_scenario
from harness.trace.folder import load_run, save_run
from harness.wire.faults import parse_faults
from tests.scenario.scenarios import ANSWER, READ_AND_ANSWER, scenario

ROOT = Path(__file__).resolve().parents[2]
HARNESS = Path(sys.executable).parent / "harness"
STREAMED = "agent: {stream: true, retries: 1}\n" + READ_AND_ANSWER
E02 = """\
agent: {tools: [ListFiles]}
prompt: List the files.
player:
  strict: true
  script: [{text: Done.}]
expect:
  final_text: Done.
"""


def with_faults(text: str, *faults: str) -> str:
    return text.replace("player:\n", f"player:\n  faults: [{', '.join(faults)}]\n")


@pytest.mark.parametrize(
    ("faults", "message"),
    [
        ("[ct]", r"t\.yaml:\d: player\.faults\.0: no fault 'ct' \(did you mean cut\?\)"),
        ("[gzip, {cut: {evnt: 1}}]", r"t\.yaml:\d: player\.faults\.1: cut: no setting 'evnt' \(did you mean event\?\)"),
        ("[{status: 200}]", r"t\.yaml:\d: player\.faults\.0: status: status is 200"),
        ("{cut: 1}", r"t\.yaml:\d: player\.faults: "),
    ],
)
def test_a_wrong_fault_is_one_line_with_file_line_and_key(faults: str, message: str) -> None:
    text = ANSWER.replace("player:\n", f"player:\n  faults: {faults}\n")
    with pytest.raises(InputError, match=message) as caught:
        scenario(text, "t.yaml")
    assert "\n" not in str(caught.value)


def test_a_fault_is_noted_at_its_step_as_an_event_and_as_a_mark(tmp_path: Path) -> None:
    outcome = run_scenario(scenario(with_faults(STREAMED, "{disconnect: {event: 2}, at: 2}")))
    case = judge_scenario(outcome, "t.yaml")
    assert case.verdict is Verdict.PASS, case.first_line
    assert case.facts["marks"] == "faults injected: disconnect:event=2,at=2"
    first, second = outcome.run.lanes[0].steps
    assert first.notes == ()
    assert second.notes[-1] == (
        "fault disconnect:event=2,at=2 at answer 2: cut after 2 of 5 events, "
        "the connection closed before the body was whole"
    )
    names = [(event["step"], event["event"]) for event in outcome.run.events]
    assert names.index((1, "fault")) == names.index((1, "request")) + 1
    (event,) = [event for event in outcome.run.events if event["event"] == "fault"]
    assert (event["fault"], event["exchange"]) == ("disconnect:event=2,at=2", 1)
    saved = load_run(save_run(outcome.run, tmp_path / "run"))
    assert saved.facts["faults"] == ["disconnect:event=2,at=2"]
    assert event in saved.events


def test_a_fault_of_a_further_try_is_noted_at_the_step_that_tried() -> None:
    outcome = run_scenario(scenario(with_faults(STREAMED, "status=503")))
    first, second = outcome.run.lanes[0].steps
    assert "fault status=503 at answer 1: HTTP 503 in place of an answer" in first.notes
    assert second.notes == ()
    assert (first.exchange, second.exchange) == (1, 2)


def test_a_fault_that_changed_nothing_proves_nothing() -> None:
    case = judge_scenario(run_scenario(scenario(with_faults(STREAMED, "broken=99"))), "t.yaml")
    assert case.verdict is Verdict.INCONCLUSIVE
    assert case.first_line == "the fault broken=99 changed no answer: it tested nothing"


def test_a_run_without_faults_says_nothing_of_them() -> None:
    outcome = run_scenario(scenario(STREAMED))
    case = judge_scenario(outcome, "t.yaml")
    assert (outcome.faults, outcome.idle_faults) == ([], [])
    assert "faults" not in outcome.run.facts
    assert "marks" not in case.facts


@pytest.mark.parametrize("fault", ["rechunk=1", "gzip", "drop=done", "drop=finish_reason", "content_type=text/html"])
def test_the_policys_faults_come_on_top(fault: str) -> None:
    policy = ReplayPolicy(faults=parse_faults([fault]), seed=4)
    outcome = run_scenario(scenario(STREAMED), policy)
    case = judge_scenario(outcome, "t.yaml")
    assert case.verdict is Verdict.PASS, case.first_line
    assert outcome.faults == [fault]


def test_a_recording_may_be_played_with_faults() -> None:
    from harness.scenario.format import load_scenario

    path = ROOT / "scenarios" / "recorded" / "smollm2-read-streamed.yaml"
    policy = ReplayPolicy(faults=parse_faults(["rechunk=1", "gzip"]))
    case = judge_scenario(run_scenario(load_scenario(path), policy), "t.yaml")
    assert case.verdict is Verdict.PASS, case.first_line
    cut = judge_scenario(
        run_scenario(load_scenario(path), ReplayPolicy(faults=parse_faults(["cut:event=3"]))), "t.yaml"
    )
    assert cut.verdict is Verdict.FAIL
    assert "broke off" in cut.first_line


# E02


@pytest.mark.seed("E02")
def test_e02_the_verdict_names_the_gateway_and_the_place() -> None:
    outcome = run_scenario(scenario(with_faults(E02, "gateway=request")))
    case = judge_scenario(outcome, "t.yaml")
    assert case.verdict is Verdict.FAIL
    assert case.first_line == (
        'the run ended as error: HTTP 400: Invalid JSON schema: [] is not of type "object" '
        "(the request as sent has {}, the provider read []: a gateway re-encoded the body, "
        "{} became [] at $.tools[0].function.parameters.properties)"
    )
    # What the agent itself sent is right: the fault is not its own.
    assert not [check for check in case.checks if check.name.startswith("protocol: ")]


@pytest.mark.seed("E02")
def test_e02_over_http_the_run_names_a_fault_it_was_not_told_of() -> None:
    turns = [ScriptedTurn(calls=(ScriptedCall("ListFiles", "{}", "c"),)), ScriptedTurn(text="Done.")]
    player = FaultyPlayer(StrictPlayer(ScriptPlayer(turns)), parse_faults(["gateway=request"]))
    with LoopbackServer(player) as server:
        outcome = record_scenario(scenario(E02), server.base_url, "k", lambda _: None)
    case = judge_scenario(outcome, "t.yaml")
    assert "a gateway re-encoded the body, {} became [] at $.tools[0].function.parameters" in case.first_line
    assert [exchange.response.status for exchange in server.exchanges] == [400]


def test_a_strict_player_answers_what_a_right_agent_sends() -> None:
    case = judge_scenario(run_scenario(scenario(E02)), "t.yaml")
    assert case.verdict is Verdict.PASS, case.first_line


# The command line


def harness(*words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([HARNESS, *words], cwd=cwd, capture_output=True, text=True, check=False)


def test_run_with_faults_marks_its_outputs(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(STREAMED)
    done = harness("run", "t.yaml", "--fault", "rechunk", "--fault", "gzip", "--seed", "7", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (case,) = json.loads(done.stdout)["cases"]
    assert case["facts"]["marks"] == "faults injected: rechunk + gzip"
    assert "faults injected: rechunk + gzip" in done.stderr
    assert "faults injected" in (tmp_path / "reports" / "summary.md").read_text("utf-8")
    cut = harness("run", "t.yaml", "--fault", "cut:event=2", cwd=tmp_path)
    assert cut.returncode == 1
    assert "broke off" in cut.stderr


def test_run_says_what_it_cannot_inject(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(STREAMED)
    cassette = ROOT / "cassettes" / "weather.yaml"
    for words, line in (
        (["t.yaml", "--fault", "ct"], "no fault 'ct' (did you mean cut?)"),
        ([str(cassette), "--fault", "gzip"], "a cassette is replayed as it is"),
    ):
        done = harness("run", *words, cwd=tmp_path)
        assert done.returncode == 2
        assert done.stderr.startswith("harness: ")
        assert len(done.stderr.splitlines()) == 1
        assert line in done.stderr
    (tmp_path / "cassettes").mkdir()
    (tmp_path / "cassettes" / "w.yaml").write_bytes(cassette.read_bytes())
    nothing = harness("run", "--fault", "gzip", cwd=tmp_path)
    assert nothing.returncode == 125
