"""The tools of real agents, as they were sent: neutral actions become the calls that those agents carried out."""

from __future__ import annotations

import json
import posixpath
import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from harness.play.neutral.actions import Action, EditFile, ReadFile, RunCommand
from harness.play.neutral.filling import SAID
from harness.play.neutral.folder import folder_said
from harness.play.neutral.offered import offered_tools
from harness.play.neutral.turn import NeutralTurn

pytestmark = pytest.mark.corpus

AGENTS = ("cline", "kilo", "msa", "mycodeagent", "oa_agents", "opencode", "pi", "pydantic_ai", "qwen")
SAY_THEIR_FOLDER = {"cline", "kilo", "opencode", "pi", "qwen"}
ACTIONS: tuple[Action, ...] = (
    ReadFile("hello.py"),
    EditFile("hello.py", "print('helo')", "print('hello')"),
    RunCommand("python3 hello.py"),
)


def requests_of(shared: Path, agent: str) -> list[dict[str, Any]]:
    """The bodies of an agent's main conversation."""
    lines = (shared / "agents" / f"{agent}.jsonl").read_text("utf-8").splitlines()
    bodies = [json.loads(line)["body"] for line in lines]
    return [body for body in (json.loads(b) if isinstance(b, str) else b for b in bodies) if body.get("tools")]


def carried_out(body: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    calls = [call["function"] for message in body["messages"] for call in message.get("tool_calls") or ()]
    return [(call["name"], json.loads(call["arguments"])) for call in calls]


def comparable(arguments: Any, folder: str) -> Any:
    """Arguments with paths in the folder relative to it, and without the explanations."""
    if isinstance(arguments, dict):
        kept = {name: value for name, value in arguments.items() if name != "description"}
        return {name: comparable(value, folder) for name, value in kept.items()}
    if isinstance(arguments, list):
        return [comparable(value, folder) for value in arguments]
    in_folder = isinstance(arguments, str) and arguments.startswith(f"{folder}/")
    return posixpath.relpath(arguments, folder) if in_folder else arguments


def folder_in(body: dict[str, Any]) -> str:
    found = re.search(r"/home/dev/w/[^/\"\\]+/repo", json.dumps(body))
    return found[0] if found else "/home/dev/w/unknown/repo"


@pytest.mark.parametrize("agent", AGENTS)
def test_actions_become_the_calls_that_the_agent_once_carried_out(agent: str, shared_dir: Path) -> None:
    first, *_, last = requests_of(shared_dir, agent)
    folder = folder_in(last)
    turns = [NeutralTurn((action,), folder=folder).scripted(first, n) for n, action in enumerate(ACTIONS)]
    made = [(call.name, json.loads(call.arguments or "")) for turn in turns for call in turn.calls]
    found = [(name, comparable(arguments, folder)) for name, arguments in made]
    wanted = [(name, comparable(arguments, folder)) for name, arguments in carried_out(last)]
    if agent == "msa":  # it edited with sed, which does not say whether the text stood there
        assert [name for name, _ in found] == ["bash"] * 3
        del found[1], wanted[1]
    assert found == wanted


@pytest.mark.parametrize("agent", AGENTS)
def test_the_calls_fit_the_schemas(agent: str, shared_dir: Path) -> None:
    first = requests_of(shared_dir, agent)[0]
    schemas = {tool.name: tool.schema for tool in offered_tools(first)}
    for action in ACTIONS:
        (call,) = NeutralTurn((action,), folder="/home/dev/w").scripted(first, 0).calls
        validator = jsonschema_rs.validator_for(dict(schemas[call.name or ""]))
        errors = [error.message for error in validator.iter_errors(json.loads(call.arguments or ""))]
        if (agent, call.name) == ("mycodeagent", "Edit"):  # it declares strings and takes only objects
            assert all('is not of type "string"' in error for error in errors)
        else:
            assert not errors


@pytest.mark.parametrize("agent", AGENTS)
def test_the_folder_that_an_agent_names_is_its_own(agent: str, shared_dir: Path) -> None:
    first = requests_of(shared_dir, agent)[0]
    assert folder_said(first) == (folder_in(first) if agent in SAY_THEIR_FOLDER else None)


@pytest.mark.parametrize("agent", AGENTS)
def test_only_mini_swe_agent_ends_by_a_call(agent: str, shared_dir: Path) -> None:
    turn = NeutralTurn(finish="Done.").scripted(requests_of(shared_dir, agent)[0], 3)
    assert bool(turn.calls) is (agent == "msa")


def test_explanations_are_given_only_where_they_are_required(shared_dir: Path) -> None:
    for agent in AGENTS:
        first = requests_of(shared_dir, agent)[0]
        (call,) = NeutralTurn((RunCommand("ls"),), folder="/w").scripted(first, 0).calls
        required = next(tool.required for tool in offered_tools(first) if tool.name == call.name)
        assert (SAID in (call.arguments or "")) is ("description" in required)
