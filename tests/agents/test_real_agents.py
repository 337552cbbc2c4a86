"""Real agents, where they are installed: one script for all of them, recorded, played again elsewhere, and missed.

HARNESS_AGENT_PATH names the folders of their programs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.cassette import own
from harness.errors import InputError
from harness.judge.serving import judge_session
from harness.judge.verdict import Case, Verdict
from harness.play.proxy import RecordingProxy
from harness.play.server import LoopbackServer
from harness.play.sessions import MakePlayer, Sessions
from harness.scenario.agents.agent import AgentEnd
from harness.scenario.agents.context import AgentContext
from harness.scenario.agents.presets.agent import PresetAgent
from harness.scenario.agents.presets.finding import find_program
from harness.scenario.agents.presets.preset import load_preset, preset_names
from harness.scenario.expectations import FileExpectation
from harness.scenario.format import Scenario, load_scenario
from harness.scenario.serving import ServingPolicy, players_of_cassette, players_of_scenario
from harness.scenario.world import FileSpec

ROOT = Path(__file__).resolve().parents[2]
NEUTRAL = ROOT / "scenarios" / "agents" / "fix-the-typo.yaml"
AIDER = """\
description: aider has no tools; the model answers with the whole file, then with a commit message.
workspace:
  files:
    hello.py: |
      print('helo')
    README.md: |
      A greeting.
prompt: Fix the typo in hello.py so that it prints hello.
player:
  script:
    - text: |
        hello.py
        ```
        print('hello')
        ```
    - text: "fix: print hello"
expect:
  files:
    hello.py: |
      print('hello')
    README.md: {unchanged: true}
"""
RUN_S, MISS_S = 180.0, 60.0
REQUESTS = 50

pytestmark = pytest.mark.agents


@dataclass(frozen=True)
class Played:
    """A session, judged, and the folder in which its agent worked."""

    end: AgentEnd
    case: Case
    root: Path
    asked: int

    @property
    def workspace(self) -> Path:
        return self.root / "repo"

    def why(self) -> str:
        checks = [(check.name, check.message, check.details) for check in self.case.checks if check.verdict != "PASS"]
        return f"{checks}\nexit {self.end.exit_code}\n{self.end.output[-5000:]}"


@dataclass(frozen=True)
class Agent:
    name: str
    program: str
    scenario: Scenario


def scenario_of(name: str, folder: Path) -> Scenario:
    """The one script for all of them; aider has no tools, and gets a text in its listing format."""
    if name != "aider":
        return load_scenario(NEUTRAL)
    (folder / "aider.yaml").write_text(AIDER, "utf-8")
    return load_scenario(folder / "aider.yaml")


@pytest.fixture(scope="module", params=preset_names())
def agent(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Agent:
    name = str(request.param)
    try:
        return Agent(
            name, find_program(load_preset(name), os.environ), scenario_of(name, tmp_path_factory.mktemp("scenario"))
        )
    except InputError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def recorded(agent: Agent, tmp_path_factory: pytest.TempPathFactory) -> tuple[Played, Path]:
    """The scripted session of an agent, with its recording by the proxy in front of the script."""
    root = folders(agent.scenario, tmp_path_factory.mktemp(f"{agent.name}-first"))
    cassette = root / "session.cassette.jsonl"
    make = players_of_scenario(agent.scenario.path, ServingPolicy(present=present(root)))
    return play(agent, root, make, record_to=cassette), cassette


def folders(scenario: Scenario, root: Path) -> Path:
    for name in ("repo", "home"):
        (root / name).mkdir(parents=True)
    for name, content in scenario.workspace.files.items():
        raw = content.content() if isinstance(content, FileSpec) else content.encode()
        (root / "repo" / name).write_bytes(raw)
    return root


def present(root: Path) -> Mapping[str, str]:
    return {"workspace": str(root / "repo"), "home": str(root / "home")}


def play(
    agent: Agent,
    root: Path,
    make: MakePlayer,
    *,
    prompt: str | None = None,
    limit: float = RUN_S,
    record_to: Path | None = None,
) -> Played:
    with LoopbackServer(Sessions(make, max_requests=REQUESTS)) as server:
        session = server.sessions.open("default")

        def run(base_url: str) -> AgentEnd:
            context = AgentContext(
                prompt or agent.scenario.only_prompt,
                root / "repo",
                root / "home",
                base_url,
                "mock-model",
                timeout_s=limit,
            )
            return PresetAgent(load_preset(agent.name), agent.program).run(context)

        if record_to is None:
            end = run(server.base_url)
        else:
            folder = present(root)
            with own.CassetteWriter(record_to, workspace=folder["workspace"], home=folder["home"]) as writer:
                with RecordingProxy(server.base_url, writer.add) as proxy:
                    end = run(proxy.base_url)
                assert not proxy.lost
                assert not proxy.problems
        return Played(end, judge_session(session, agent.name), root, session.requests)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def as_expected(scenario: Scenario, workspace: Path) -> None:
    assert scenario.expect is not None
    for name, wanted in scenario.expect.files.items():
        found = (workspace / name).read_text("utf-8")
        if isinstance(wanted, FileExpectation):
            assert wanted.unchanged
            assert found == scenario.workspace.files[name]
        else:
            assert found == wanted


def test_an_agent_does_what_the_script_says(agent: Agent, recorded: tuple[Played, Path]) -> None:
    played, _ = recorded
    assert played.case.verdict is Verdict.PASS, played.why()
    assert played.end.exit_code == 0, played.why()
    as_expected(agent.scenario, played.workspace)


@pytest.mark.parametrize("elsewhere", ["again", "a-folder-with-a-much-longer-name"])
def test_a_recorded_session_plays_in_another_folder_and_leaves_the_first_alone(
    agent: Agent, recorded: tuple[Played, Path], elsewhere: str, tmp_path: Path
) -> None:
    first, cassette = recorded
    before = contents(first.workspace)
    root = folders(agent.scenario, tmp_path / elsewhere)
    played = play(agent, root, players_of_cassette(cassette, ServingPolicy(present=present(root))))
    assert played.case.verdict is Verdict.PASS, played.why()
    assert played.asked == first.asked
    as_expected(agent.scenario, played.workspace)
    assert contents(first.workspace) == before


def test_a_changed_prompt_is_a_miss_that_names_it_and_the_agent_ends(
    agent: Agent, recorded: tuple[Played, Path], tmp_path: Path
) -> None:
    first, cassette = recorded
    before = contents(first.workspace)
    root = folders(agent.scenario, tmp_path)
    make = players_of_cassette(cassette, ServingPolicy(present=present(root)))
    played = play(agent, root, make, prompt=f"Kindly {agent.scenario.only_prompt}", limit=MISS_S)
    assert played.case.verdict is Verdict.FAIL, played.why()
    (miss,) = [check for check in played.case.checks if check.name == "every request answered"]
    assert "message" in miss.message or "system prompt" in miss.message
    assert "Kindly" in miss.message + miss.details
    assert played.end.timed_out or played.asked < REQUESTS
    assert (played.workspace / "hello.py").read_text("utf-8") == agent.scenario.workspace.files["hello.py"]
    assert contents(first.workspace) == before
