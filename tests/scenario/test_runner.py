from __future__ import annotations

from pathlib import Path

import pytest

from harness.cassette.dialects import load_cassette
from harness.errors import InputError
from harness.judge.checks import judge_scenario
from harness.judge.verdict import Verdict
from harness.pipeline.loop import LoopStatus
from harness.play.script import ScriptedCall, ScriptedTurn, ScriptPlayer
from harness.play.server import LoopbackServer
from harness.scenario.format import load_scenario
from harness.scenario.portable import portable
from harness.scenario.recording import record_cassettes
from harness.scenario.runner import run_scenario
from harness.trace.folder import load_run, save_run
from harness.wire.rules import check_request
from tests.scenario.scenarios import ANSWER, READ_AND_ANSWER, scenario

ROOT = Path(__file__).resolve().parents[2]


def test_a_script_runs_through_the_pipeline_in_a_fresh_workspace() -> None:
    outcome = run_scenario(scenario(READ_AND_ANSWER))
    assert outcome.result is not None
    assert outcome.result.status is LoopStatus.ANSWERED
    assert outcome.files_before == outcome.files_after == {"a.txt": b"alpha\n"}
    assert not Path(outcome.root).exists()
    assert outcome.miss is None
    assert outcome.unused == []
    assert all(check_request(request) == [] for request in outcome.requests)


def test_what_the_script_holds_beyond_the_run_is_said_to_be_unused() -> None:
    outcome = run_scenario(scenario(ANSWER.replace("expect:", "    - text: More.\nexpect:")))
    assert outcome.unused == ["turn 2 of the script"]
    assert judge_scenario(outcome, "t.yaml").verdict is Verdict.FAIL


def test_a_script_that_is_too_short_is_a_miss_and_fails() -> None:
    text = READ_AND_ANSWER.replace("    - text: It says alpha.\n", "")
    case = judge_scenario(run_scenario(scenario(text)), "t.yaml")
    assert case.verdict is Verdict.FAIL
    assert case.first_line == "the script has 1 turns, the agent asked for one more"


def test_the_same_scenario_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    text = READ_AND_ANSWER.replace(
        "    - text: It", "    - calls: [{tool: Edit, arguments: {path: a.txt, old_string: alpha, new_string: beta}}]\n"
        "    - calls: [{tool: Bash, arguments: {command: pwd; cat a.txt}}]\n    - text: It",
    )  # fmt: skip
    folders = []
    for name in ("one", "two"):
        outcome = run_scenario(scenario(text))
        folders.append(save_run(outcome.run, tmp_path / name, portable(outcome.root)))
    for file in ("run.json", "events.jsonl", "exchanges.jsonl"):
        contents = [(folder / file).read_bytes() for folder in folders]
        assert contents[0] == contents[1], file
        assert b"/tmp" not in contents[0]
    assert b"/workspace" in (folders[0] / "run.json").read_bytes()
    assert load_run(folders[0]) == load_run(folders[1])


def test_the_model_sees_the_alias_and_may_use_it() -> None:
    outcome = run_scenario(scenario(READ_AND_ANSWER.replace("path: a.txt}", "path: /workspace/a.txt}")))
    observation = outcome.run.lanes[0].steps[0].calls[0].observation
    assert '"cwd": "/workspace"' in observation
    assert outcome.root not in observation


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        ("tools: [Teleport]", "no built-in 'Teleport'"),
        ("tools: [{type: function, function: {name: Teleport}}]", "no built-in 'Teleport'"),
        ("tools: [{function: {name: Read, parameters: {type: object, properties: []}}}]", r"\[\] stands where"),
        ("budget: {per_result_bytes: 10}", "per_result_bytes is 10"),
        ("breaker: {failure_threshold: 0}", "failure_threshold is 0"),
        ("tool_choice: Teleport", "tool_choice names 'Teleport'"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be_are_input_errors(agent: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        run_scenario(scenario(f"agent:\n  {agent}\n{ANSWER}"))


def test_files_outside_the_workspace_are_input_errors() -> None:
    with pytest.raises(InputError, match="outside the workspace"):
        run_scenario(scenario("workspace:\n  files: {../x: y}\n" + ANSWER))
    with pytest.raises(InputError, match="is no folder"):
        run_scenario(scenario("workspace:\n  folder: nowhere\n" + ANSWER))


def test_a_folder_is_copied_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "a.txt").write_text("alpha\n")
    text = """\
    workspace:
      folder: project
    prompt: Edit.
    player:
      script:
        - calls: [{tool: Edit, arguments: {path: a.txt, old_string: alpha, new_string: beta}}]
        - text: Done.
    expect:
      files: {a.txt: "beta\\n"}
    """
    outcome = run_scenario(scenario(text, str(tmp_path / "t.yaml")))
    assert judge_scenario(outcome, "t.yaml").verdict is Verdict.PASS
    assert (tmp_path / "project" / "a.txt").read_text() == "alpha\n"


RECORDED = """\
workspace:
  files:
    a.txt: "alpha\\n"
agent:
  model: live
  stream: {stream}
prompt: Read a.txt.
player:
  cassette: sub/live.yaml
expect:
  final_text: It says alpha.
  calls:
    - {{tool: Read, arguments: {{path: a.txt}}, status: success}}
    - {{tool: Bash, contains: /workspace}}
"""


TURNS = [
    ScriptedTurn(
        calls=(
            ScriptedCall("Read", '{"path": "a.txt"}', "call_1"),
            ScriptedCall("Bash", '{"command": "pwd"}', "call_2"),
        ),
        finish_reason="tool_calls",
    ),
    ScriptedTurn(text="It says alpha."),
]


@pytest.mark.parametrize("stream", ["true", "false"])
def test_recorded_from_a_live_model_it_passes_from_its_cassette(tmp_path: Path, stream: str) -> None:
    path = tmp_path / "live.yaml"
    path.write_text(RECORDED.format(stream=stream))
    with LoopbackServer(ScriptPlayer(TURNS)) as server:
        written = record_cassettes([path], {"live": server.base_url}, "secret-key")
    assert written == [tmp_path / "sub" / "live.yaml"]
    assert not list(tmp_path.rglob("*.partial"))
    text = written[0].read_text()
    assert "secret-key" not in text
    assert "/tmp" not in text
    assert all(exchange.response.chunks for exchange in load_cassette(written[0]).exchanges)

    for _ in range(2):
        from harness.scenario.format import load_scenario

        case = judge_scenario(run_scenario(load_scenario(path)), str(path))
        assert case.verdict is Verdict.PASS, case.first_line


def test_a_cassette_in_the_own_format_is_recorded_and_passes(tmp_path: Path) -> None:
    path = tmp_path / "live.yaml"
    path.write_text(RECORDED.format(stream="true").replace("sub/live.yaml", "live.cassette.jsonl"))
    with LoopbackServer(ScriptPlayer(TURNS)) as server:
        (written,) = record_cassettes([path], {"live": server.base_url}, "secret-key")
    cassette = load_cassette(written)
    assert (cassette.dialect, len(cassette.exchanges)) == ("harness", 2)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["live.cassette.jsonl", "live.yaml"]
    case = judge_scenario(run_scenario(load_scenario(path)), str(path))
    assert case.verdict is Verdict.PASS, case.first_line


def test_a_changed_prompt_does_not_get_the_old_answer(tmp_path: Path) -> None:
    path = tmp_path / "live.yaml"
    path.write_text(RECORDED.format(stream="false"))
    turns = [ScriptedTurn(text="It says alpha.")]
    with LoopbackServer(ScriptPlayer(turns)) as server:
        record_cassettes([path], {"live": server.base_url}, "k")
    changed = scenario(path.read_text().replace("Read a.txt.", "Read a.txt, please."), str(path))
    case = judge_scenario(run_scenario(changed), str(path))
    assert case.verdict is Verdict.FAIL
    assert "no recorded answer" in case.first_line


def test_a_failed_recording_leaves_the_old_cassette_alone(tmp_path: Path) -> None:
    path = tmp_path / "live.yaml"
    path.write_text(RECORDED.format(stream="false"))
    cassette = tmp_path / "sub" / "live.yaml"
    cassette.parent.mkdir()
    cassette.write_text("old")
    with (
        LoopbackServer(ScriptPlayer([ScriptedTurn(error_status=500, error_message="no")])) as server,
        pytest.raises(InputError, match="gave no usable answer"),
    ):
        record_cassettes([path], {"live": server.base_url}, "k")
    assert cassette.read_text() == "old"


@pytest.mark.parametrize(
    ("text", "endpoints", "message"),
    [
        (ANSWER, {"scripted": "http://127.0.0.1:1"}, "only a scenario with a cassette"),
        (RECORDED.format(stream="false"), {"other": "http://127.0.0.1:1"}, "no endpoint for 'live'"),
        (RECORDED.format(stream="false"), {"live": "http://127.0.0.1:1/v1"}, "no usable answer"),
    ],
)
def test_what_cannot_be_recorded_is_said(tmp_path: Path, text: str, endpoints: dict[str, str], message: str) -> None:
    path = tmp_path / "t.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        record_cassettes([path], endpoints, "k")
