from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cassette import own
from harness.cassette.dialects import load_cassette
from harness.errors import InputError
from harness.judge.checks import judge_scenario
from harness.judge.verdict import Case, Verdict
from harness.play.proxy import RecordingProxy
from harness.play.script import ScriptedCall, ScriptedTurn, ScriptPlayer
from harness.play.server import LoopbackServer
from harness.scenario.format import load_scenario
from harness.scenario.outcome import ScenarioRun
from harness.scenario.policy import ReplayPolicy
from harness.scenario.recording import record_cassettes
from harness.scenario.runner import run_scenario
from harness.wire.exchange import Request, Response
from tests.scenario.agents.playing import TESTS, function, judged, task

SCENARIO = """\
workspace:
  files:
    hello.txt: "helo\\n"
prompt: Fix the typo.
agent:
  command: ["${PYTHON}", "${SCENARIO}/tiny_agent.py", "${PROMPT}"]
  model: tiny
player:
  cassette: NAME
expect:
  final_text: Done.
  calls:
    - {tool: read_file, arguments: {path: /workspace/hello.txt}, contains: helo}
    - {tool: write_file, arguments: {path: /workspace/hello.txt, content: "hello\\n"}}
  files: {hello.txt: "hello\\n"}
"""


class Upstream:
    """A model that names the folder which the agent told it of, as real ones do."""

    def __init__(self) -> None:
        self.folder = ""

    def turns(self) -> list[ScriptedTurn]:
        path = f"{self.folder}/hello.txt"
        write = f'{{"path": "{path}", "content": "hello\\n"}}'
        calls = (ScriptedCall("read_file", f'{{"path": "{path}"}}', "a"), ScriptedCall("write_file", write, "b"))
        return [*(ScriptedTurn(None, (call,), "tool_calls") for call in calls), ScriptedTurn("Done.")]

    def answer(self, request: Request) -> Response:
        self.folder = request.json()["messages"][0]["content"].removeprefix("You work in ").removesuffix(".")
        number = sum(message["role"] == "assistant" for message in request.json()["messages"])
        return ScriptPlayer(self.turns()[number:]).answer(request)


def written(folder: Path, name: str) -> Path:
    folder.mkdir()
    shutil.copy(TESTS / "programs" / "tiny_agent.py", folder)
    path = folder / "fix.yaml"
    path.write_text(SCENARIO.replace("NAME", name), "utf-8")
    return path


def recorded(folder: Path, name: str) -> tuple[Path, Upstream]:
    path = written(folder, name)
    upstream = Upstream()
    with LoopbackServer(upstream) as live:
        record_cassettes([path], {"tiny": live.base_url}, "sk-of-the-user-0123456789abcdef")
    return path, upstream


def run(path: Path, policy: ReplayPolicy | None = None) -> tuple[ScenarioRun, Case]:
    outcome = run_scenario(load_scenario(path), policy)
    return outcome, judge_scenario(outcome, str(path))


@pytest.mark.parametrize("name", ["fix.cassette.jsonl", "fix.yaml.cassette"])
def test_a_recorded_agent_is_played_again_in_other_folders_and_never_in_the_recorded_ones(
    name: str, tmp_path: Path
) -> None:
    path, upstream = recorded(tmp_path / "case", name)
    kept = (path.parent / name).read_text("utf-8")
    assert upstream.folder.endswith("/workspace")
    assert upstream.folder not in kept
    assert "sk-of-the-user" not in kept
    Path(upstream.folder).mkdir(parents=True)  # as if the recorded folder were still there
    roots = []
    try:
        for _ in range(2):
            outcome, case = run(path)
            assert case.verdict is Verdict.PASS, case.first_line
            assert outcome.files_after == {"hello.txt": b"hello\n"}
            roots.append(outcome.root)
        assert list(Path(upstream.folder).iterdir()) == []
    finally:
        shutil.rmtree(Path(upstream.folder).parent)
    assert len({*roots, upstream.folder}) == 3


def test_a_recording_made_outside_of_a_scenario_maps_its_own_folders(tmp_path: Path) -> None:
    path = written(tmp_path / "case", "fix.cassette.jsonl")
    original, home = tmp_path / "original", tmp_path / "me"
    original.mkdir()
    (original / "hello.txt").write_text("helo\n")
    with (
        own.CassetteWriter(path.parent / "fix.cassette.jsonl", str(original), str(home)) as writer,
        LoopbackServer(Upstream()) as live,
        RecordingProxy(live.base_url, writer.add) as proxy,
    ):
        environment = {"OPENAI_BASE_URL": proxy.base_url, "OPENAI_API_KEY": "none", "HOME": str(home)}
        command = [sys.executable, str(path.parent / "tiny_agent.py"), "Fix the typo."]
        subprocess.run(command, cwd=original, env=environment, check=True, capture_output=True)
    (original / "hello.txt").write_text("as it was\n")
    outcome, case = run(path)
    assert case.verdict is Verdict.PASS, case.first_line
    assert outcome.files_after == {"hello.txt": b"hello\n"}
    assert (original / "hello.txt").read_text() == "as it was\n"


def test_a_changed_prompt_is_a_miss_that_names_it(tmp_path: Path) -> None:
    path, _ = recorded(tmp_path / "case", "fix.cassette.jsonl")
    path.write_text(path.read_text("utf-8").replace("Fix the typo.", "Fix the typo, please."), "utf-8")
    outcome, case = run(path)
    assert case.verdict is Verdict.FAIL
    assert "please" in case.first_line
    assert outcome.files_after == {"hello.txt": b"helo\n"}
    assert outcome.run.lanes[0].outcome == "miss"


def test_allowed_drift_is_answered_and_marked(tmp_path: Path) -> None:
    path, _ = recorded(tmp_path / "case", "fix.cassette.jsonl")
    program = path.parent / "tiny_agent.py"
    program.write_text(program.read_text("utf-8").replace("You work in", "You toil in"), "utf-8")
    _, case = run(path)
    assert case.verdict is Verdict.FAIL
    outcome, case = run(path, ReplayPolicy(allow_drift=frozenset({"system"})))
    assert case.verdict is Verdict.PASS, case.first_line
    assert "drift allowed in system: the model was not asked again" in str(case.facts["marks"])
    assert [event["step"] for event in outcome.run.events if event["event"] == "drift"] == [0, 1, 2]


def test_what_is_left_in_the_cassette_fails(tmp_path: Path) -> None:
    path, _ = recorded(tmp_path / "case", "fix.cassette.jsonl")
    program = path.parent / "tiny_agent.py"
    program.write_text(program.read_text("utf-8").replace('if not message.get("tool_calls")', "if True"), "utf-8")
    _, case = run(path)
    assert case.verdict is Verdict.FAIL
    unused = [check.message for check in case.checks if check.name == "nothing unused"]
    assert unused[0].startswith("exchange 1 of fix.cassette.jsonl was never asked for")


def test_an_empty_cassette_passes_nothing(tmp_path: Path) -> None:
    path, _ = recorded(tmp_path / "case", "fix.cassette.jsonl")
    cassette = path.parent / "fix.cassette.jsonl"
    cassette.write_text(cassette.read_text("utf-8").splitlines()[0] + "\n", "utf-8")
    path.write_text(path.read_text("utf-8").partition("expect:")[0] + "expect: {files: {}}\n", "utf-8")
    _, case = run(path)
    assert case.verdict is Verdict.FAIL
    cassette.unlink()
    with pytest.raises(InputError, match="no such file"):
        run(path)


def test_a_recording_that_is_not_whole_replaces_nothing(tmp_path: Path) -> None:
    path = written(tmp_path / "case", "fix.cassette.jsonl")
    cassette = path.parent / "fix.cassette.jsonl"
    cassette.write_bytes(b"before")
    with LoopbackServer(ScriptPlayer([])) as live, pytest.raises(InputError, match="no usable answer"):
        record_cassettes([path], {"tiny": live.base_url}, "none")
    assert cassette.read_bytes() == b"before"


def test_a_recording_in_the_own_format_says_its_folders(tmp_path: Path) -> None:
    path, _ = recorded(tmp_path / "case", "fix.cassette.jsonl")
    cassette = load_cassette(path.parent / "fix.cassette.jsonl")
    assert (cassette.workspace, cassette.home) == ("/workspace", "/home/agent")


def test_faults_happen_to_other_agents_too() -> None:
    player = "script: [{text: Hello.}]\nfaults: ['disconnect:at=1']"
    outcome, case = judged(task(function("own_client"), player, "outcome: error"))
    assert outcome.faults
    assert case.verdict is Verdict.FAIL
    assert case.first_line.startswith("the agent raised APIConnectionError")
    assert any(event["event"] == "fault" for event in outcome.run.events)


def test_events_happen_and_limits_hold_for_other_agents_too() -> None:
    player = "script: [{calls: [{tool: note, arguments: {line: milk}}]}, {text: Noted.}]"
    more = "final_text: Noted.\n"
    events = "events: [{before_request: 2, write: {hello.txt: changed}}]"
    outcome, case = judged(task(function("sync_agent"), player, more, rest=events))
    assert case.verdict is Verdict.PASS, case.first_line
    assert outcome.files_after["hello.txt"] == b"changed"
    _, case = judged(task(function("sync_agent"), player, more, rest="limits: {requests: 1}"))
    assert case.verdict is Verdict.FAIL
    assert case.first_line == "limits.requests is 1, and the agent asked once more"
