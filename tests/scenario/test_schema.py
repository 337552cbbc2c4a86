"""The JSON Schema for editors: it takes what the harness takes, refuses what it can, and says what keys mean."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest

from harness.errors import InputError
from harness.scenario.format import load_scenario, parse_scenario
from harness.scenario.schema import descriptions, scenario_schema
from harness.scenario.source import parse_source, read_source
from tests.command_line import command
from tests.scenario.scenarios import ANSWER

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = sorted((ROOT / "scenarios").rglob("*.yaml"))
SCHEMA = scenario_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_the_file_in_the_documentation_is_up_to_date() -> None:
    shipped = json.loads((ROOT / "docs" / "scenario.schema.json").read_text("utf-8"))
    assert shipped == SCHEMA, "harness check --schema > docs/scenario.schema.json"


def test_the_command_prints_it_and_nothing_else(capfd: pytest.CaptureFixture[str]) -> None:
    done = command(capfd)("check", "--schema")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == SCHEMA


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_it_takes_every_shipped_scenario(path: Path) -> None:
    VALIDATOR.validate(read_source(path).data)


def test_it_takes_the_examples_of_the_documentation() -> None:
    text = (ROOT / "docs" / "scenarios.md").read_text("utf-8")
    blocks = re.findall(r"^```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    examples = [block for block in blocks if "player:" in block]
    assert len(examples) >= 4
    for example in examples:
        VALIDATOR.validate(parse_source(Path("t.yaml"), example).data)


BROKEN = [
    "workspce: {}\n" + ANSWER,
    "prompt: x\n",
    "player: {script: []}\n",
    "prompt: 1\nplayer: {script: []}\n",
    "prompt: ''\nplayer: {script: []}\n",
    "prompts: []\nplayer: {script: []}\n",
    "prompt: x\nplayer: {script: [{cals: []}]}\n",
    "prompt: x\nplayer: {script: [{error: {status: 200}}]}\n",
    "prompt: x\nplayer: {script: [], faults: [3]}\n",
    "prompt: x\nplayer: {cassette: [a, b]}\n",
    "agent: {ask: maybe}\n" + ANSWER,
    "agent: {mode: careful}\n" + ANSWER,
    "agent: {stream: 'yes please'}\n" + ANSWER,
    "workspace: {files: {a: {}}}\n" + ANSWER,
    "workspace: {files: {a: {text: b, link: c}}}\n" + ANSWER,
    "workspace: {git: {commits: [{files: {}}]}}\n" + ANSWER,
    "limits: {requests: 0}\n" + ANSWER,
    "events: [{write: {a: b}}]\n" + ANSWER,
    "matrix: [{agent: {}}]\n" + ANSWER,
    "matrix: [{name: a, playr: {}}]\n" + ANSWER,
    ANSWER + "  calls: [{tool: Read, error_code: NOPE}]\n",
    ANSWER + "  batches: [[{concurrent: [], serial: []}]]\n",
]


@pytest.mark.parametrize("text", BROKEN)
def test_it_refuses_broken_ones_as_the_harness_does(text: str) -> None:
    source = parse_source(Path("t.yaml"), text)
    with pytest.raises(InputError):
        parse_scenario(source)
    assert list(VALIDATOR.iter_errors(source.data))


def test_every_key_says_what_it_means_and_nothing_else_is_described() -> None:
    parts = {"Scenario": SCHEMA, **SCHEMA["$defs"]}
    keys = {(name, key) for name, part in parts.items() for key in part.get("properties", {})}
    described = {(name, key) for name, entry in descriptions().items() for key in entry}
    assert keys - described == set(), "describe them in harness/scenario/descriptions.toml"
    assert described - keys == set()
    for name, key in keys:
        assert parts[name]["properties"][key]["description"]


def test_what_the_model_holds_beside_the_file_is_no_key() -> None:
    assert not {"path", "variants"} & set(SCHEMA["properties"])
    assert load_scenario(SHIPPED[0]).path == SHIPPED[0]
