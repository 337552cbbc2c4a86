"""Scenarios whose agent is a preset: named in the file, or by the user in place of the file's own."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.errors import InputError
from harness.judge.collecting import collect
from harness.judge.suite import judge_all
from harness.judge.verdict import Case, Verdict
from harness.scenario.agents.presets.finding import AGENT_PATH
from harness.scenario.format import load_scenario
from harness.scenario.policy import ReplayPolicy
from tests.command_line import command

# What a model says is done: read and bash are all that this agent can do.
AGENT = """
import json, os, subprocess, sys, urllib.request

def tool(name, parameter):
    schema = {"type": "object", "properties": {parameter: {"type": "string"}}, "required": [parameter]}
    return {"type": "function", "function": {"name": name, "parameters": schema}}

messages = [{"role": "user", "content": sys.argv[1]}]
tools = [tool("browse", "url")] if "--browser" in sys.argv else [tool("read_file", "path"), tool("bash", "command")]
tools = [] if "--mute" in sys.argv else tools
while True:
    body = {"model": sys.argv[2], "messages": messages, "tools": tools}
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode())
    with urllib.request.urlopen(request) as answer:
        message = json.load(answer)["choices"][0]["message"]
    messages.append(message)
    for call in message.get("tool_calls") or ():
        arguments = json.loads(call["function"]["arguments"])
        word = arguments.get("command") or "cat " + arguments["path"]
        done = subprocess.run(["bash", "-c", word], capture_output=True, text=True)
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": done.stdout + done.stderr})
    if not message.get("tool_calls"):
        print(message["content"])
        break
"""
EDIT = {"path": "a.txt", "old": "helo", "new": "hello"}
SCRIPT = [{"read": "a.txt"}, {"edit": EDIT}, {"bash": "wc -c ${CWD}/a.txt"}, {"finish": "Done."}]
EXPECT = {"files": {"a.txt": "hello\n"}, "final_text": "Done.", "steps": 4}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a preset, and its program on the agents' path."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "small-agent").write_text(f"#!{sys.executable}\n{AGENT}")
    (programs / "small-agent").chmod(0o755)
    monkeypatch.setenv(AGENT_PATH, str(programs))
    for name, option in (("small", ""), ("browser", ', "--browser"'), ("mute", ', "--mute"')):
        (tmp_path / f"{name}.toml").write_text(
            'title = "Small"\ntested = "1"\ninstall = "pip install small"\nprogram = "small-agent"\n'
            f'argv = ["${{PROGRAM}}", "${{PROMPT}}", "${{MODEL}}"{option}]\n'
        )
    return tmp_path


def scenario(folder: Path, **rest: Any) -> Path:
    document: dict[str, Any] = {
        "prompt": "Fix it.",
        "workspace": {"files": {"a.txt": "helo\n"}},
        "player": {"script": SCRIPT},
        "expect": EXPECT,
        **rest,
    }
    path = folder / "case.yaml"
    path.write_text(yaml.safe_dump(document))
    return path


def judged(path: Path, policy: ReplayPolicy | None = None) -> Case:
    (one,) = judge_all(collect([path]), None, policy)
    return one.case


def test_a_scenario_names_a_preset_beside_it(folder: Path) -> None:
    case = judged(scenario(folder, agent={"preset": "small.toml", "model": "tiny"}))
    assert case.verdict is Verdict.PASS, case.first_line
    assert (case.facts["model"], case.facts["tool_calls"]) == ("tiny", 3)


def test_the_user_names_another_agent_and_the_scenarios_own_settings_do_not_matter(folder: Path) -> None:
    path = scenario(folder, agent={"ask": "allow", "model": "tiny", "tools": ["Read"]})
    case = judged(path, ReplayPolicy(agent=str(folder / "small.toml")))
    assert case.verdict is Verdict.PASS, case.first_line
    assert case.facts["model"] == "tiny"


def test_an_agent_that_is_not_installed_is_an_error_that_says_how(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(AGENT_PATH)
    case = judged(scenario(folder, agent={"preset": "small.toml"}))
    assert case.verdict is Verdict.ERROR
    assert "Small is not installed: there is no small-agent" in case.first_line
    assert "pip install small" in case.first_line


@pytest.mark.parametrize(
    ("preset", "why"),
    [
        ("browser.toml", "turn 1 of the script: read a.txt: no tool of the request reads files (it offers browse)"),
        ("mute.toml", "no request offered tools, and the script has to use them"),
    ],
)
def test_a_script_that_cannot_be_put_to_the_agent_is_no_failure_of_the_agent(
    preset: str, why: str, folder: Path
) -> None:
    case = judged(scenario(folder, agent={"preset": preset}))
    assert case.verdict is Verdict.ERROR
    assert why in case.first_line


def test_a_preset_that_there_is_not_is_an_error(folder: Path) -> None:
    with pytest.raises(InputError, match="there is no preset 'other'"):
        judged(scenario(folder, agent={"preset": "other"}))


@pytest.mark.parametrize(
    ("agent", "why"),
    [
        ({"preset": "small.toml", "command": ["x"]}, "one of them"),
        (
            {"preset": "small.toml", "ask": "allow"},
            "ask is no setting of an agent that is a preset",
        ),
        ({"preset": "small.toml", "env": {"A": "b"}}, "env"),
    ],
)
def test_keys_of_another_kind_are_an_error(agent: dict[str, Any], why: str, folder: Path) -> None:
    with pytest.raises(InputError, match=why):
        load_scenario(scenario(folder, agent=agent))


def test_what_only_the_pipeline_can_do_is_not_put_to_another_agent(folder: Path) -> None:
    path = scenario(folder, prompt=None, prompts=["One.", "Two."])
    with pytest.raises(InputError, match="only the built-in pipeline holds a conversation"):
        load_scenario(path).with_preset("pi")


def test_harness_run_with_an_agent(
    folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    path = scenario(folder)
    run = command(capfd)
    done = run("run", "--agent", "small.toml", path, "--out", "out", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verdict"] == "PASS"
    done = run("run", "--agent", "small.toml", "--agent-bin", "./nothing", path, "--out", "out")
    assert done.returncode == 125
    assert "--agent-bin: ./nothing is no program" in done.stderr
    for words, why in (
        (("--agent", "smal", path), "there is no preset 'smal'"),
        (("--agent", "small.toml", "cassette.yaml"), "a cassette is replayed as it is"),
    ):
        (folder / "cassette.yaml").write_text("interactions: []\nversion: 1\n")
        done = run("run", *words, "--out", "out")
        assert done.returncode == 2
        assert why in done.stderr
