"""A preset's agent against the server, with a program of the tests in the place of a real one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.play.script import ScriptedTurn, ScriptPlayer
from harness.play.server import LoopbackServer
from harness.scenario.agents.agent import AgentEnd, AgentUnavailableError
from harness.scenario.agents.context import AgentContext
from harness.scenario.agents.environment import COMMITS
from harness.scenario.agents.presets.agent import PresetAgent
from harness.scenario.agents.presets.git import commit_all
from harness.scenario.agents.presets.preset import Preset

ASK = """
import json, os, sys, urllib.request
body = {"model": sys.argv[1], "messages": [{"role": "user", "content": sys.argv[2]}]}
request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode())
with urllib.request.urlopen(request) as answer:
    print(json.load(answer)["choices"][0]["message"]["content"], os.getcwd(), os.environ["HOME"], os.environ["OWN"])
"""
PRESET = Preset(
    name="mine",
    title="Mine",
    tested="1",
    install="pip install mine",
    program="python3",
    argv=["${PROGRAM}", "${HOME}/ask.py", "${MODEL}", "${PROMPT}"],
    env={"OWN": "${API_KEY}"},
    files={"${HOME}/ask.py": ASK},
)


def run(preset: Preset, root: Path, timeout_s: float = 60.0) -> tuple[AgentEnd, LoopbackServer]:
    for name in ("repo", "home"):
        (root / name).mkdir(parents=True)
    (root / "repo" / "a.txt").write_text("a\n")
    with LoopbackServer(ScriptPlayer([ScriptedTurn(text="Hello.")])) as server:
        context = AgentContext("Hi", root / "repo", root / "home", server.base_url, "m", timeout_s=timeout_s)
        return PresetAgent(preset, sys.executable).run(context), server


def program(text: str) -> list[str]:
    return ["${PROGRAM}", "-c", text]


def test_an_agent_asks_the_server_from_folders_of_its_own(tmp_path: Path) -> None:
    end, server = run(PRESET, tmp_path)
    assert end.stdout == f"Hello. {tmp_path}/repo {tmp_path}/home dummy\n", end.stderr
    assert end.exit_code == 0
    (exchange,) = server.exchanges
    assert exchange.request.json() == {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}


def test_the_commands_before_run_first(tmp_path: Path) -> None:
    sets_up = program("import os; open(os.environ['HOME'] + '/ask.py', 'a').write('print(1)')")
    end, _ = run(PRESET.model_copy(update={"before": [sets_up]}), tmp_path)
    assert end.stdout.endswith("/home dummy\n1\n")


def test_an_agent_that_cannot_be_set_up_is_unavailable(tmp_path: Path) -> None:
    failing = PRESET.model_copy(update={"before": [program("raise SystemExit('not today')")]})
    with pytest.raises(AgentUnavailableError, match=r"Mine cannot be set up: -c .* ended with 1: not today"):
        run(failing, tmp_path / "a")
    slow = PRESET.model_copy(update={"before": [program("import time; time.sleep(600)")]})
    with pytest.raises(AgentUnavailableError, match="took longer than 1 s"):
        run(slow, tmp_path / "b", timeout_s=1.0)
    unwritable = PRESET.model_copy(update={"files": {"${PROGRAM}/x": "a program is no folder"}})
    with pytest.raises(AgentUnavailableError, match="Mine cannot be set up: "):
        run(unwritable, tmp_path / "c")


def test_an_agent_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    end, _ = run(PRESET.model_copy(update={"argv": program("import time; time.sleep(600)")}), tmp_path, timeout_s=1.0)
    assert (end.exit_code, end.timed_out) == (None, True)


def test_a_repository_has_the_same_hash_whoever_makes_it_and_when(tmp_path: Path) -> None:
    hashes = set()
    for name in ("one", "two"):
        run(PRESET.model_copy(update={"git": True}), tmp_path / name)
        command = ["git", "log", "--format=%H %an %aI", "--", "a.txt"]
        shown = subprocess.run(command, cwd=tmp_path / name / "repo", capture_output=True, text=True, check=True)
        hashes.add(shown.stdout)
    (only,) = hashes
    assert only.endswith((" harness 2020-01-01T00:00:00+00:00\n", " harness 2020-01-01T00:00:00Z\n"))


def test_a_repository_stays_as_it_is_and_a_failure_of_git_is_told(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    commit_all(tmp_path, {})
    assert list((tmp_path / ".git").iterdir()) == []
    (tmp_path / "other").mkdir()
    with pytest.raises(InputError, match="git is not installed"):
        commit_all(tmp_path / "other", {"PATH": str(tmp_path)})
    environment = {**COMMITS, "PATH": os.environ["PATH"], "GIT_AUTHOR_DATE": "no date", "HOME": str(tmp_path)}
    with pytest.raises(InputError, match=r"git commit failed: .*date"):
        commit_all(tmp_path / "other", environment)
