from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.scenario.agents.presets.preset import (
    Preset,
    Situation,
    load_preset,
    parse_preset,
    preset_names,
)

MINIMAL = """
title = "Mine"
tested = "1.0"
install = "pip install mine"
program = "mine"
argv = ["${PROGRAM}", "--model", "${MODEL}", "${PROMPT}"]
"""
SITUATION = Situation(
    base_url="http://127.0.0.1:1/v1",
    workspace="/tmp/x/repo",
    home="/tmp/x/home",
    prompt='Fix "it" in ${HOME}\n\\',
    model="mock",
    program="/opt/mine",
)


def parsed(text: str = MINIMAL) -> Preset:
    return parse_preset("mine", text, where="mine.toml")


def test_every_shipped_preset_says_what_it_was_tried_with_and_keeps_to_its_folders() -> None:
    assert preset_names() == (
        "aider", "cline", "kilo", "mini-swe-agent", "mycodeagent", "openai-agents", "opencode", "pi", "pydantic-ai",
        "qwen",
    )  # fmt: skip
    for name in preset_names():
        preset = load_preset(name)
        prepared = preset.prepared(SITUATION)
        assert preset.tested
        assert preset.install
        assert prepared.argv[0] == SITUATION.program
        assert SITUATION.prompt in prepared.argv
        assert all(str(path).startswith(SITUATION.home) for path in prepared.files)
        told = json.dumps([sorted(prepared.env.items()), prepared.before, prepared.argv])
        told += b"".join(prepared.files.values()).decode()
        assert SITUATION.base_url in told or "OPENAI_BASE_URL" in told
        for path, content in prepared.files.items():
            if path.suffix == ".json":
                json.loads(content)
            elif path.suffix == ".py":
                compile(content, str(path), "exec")


def test_a_mapping_is_written_as_json_whatever_stands_for_its_placeholders(tmp_path: Path) -> None:
    text = (
        MINIMAL
        + '[files."${HOME}/a/b.json"]\nnote = "${PROMPT}"\nmodels = { "${MODEL}" = { limits = [1, "${CWD}"] } }\n'
    )
    situation = Situation("u", "/w", str(tmp_path), SITUATION.prompt, "m", "p")
    prepared = parsed(text).prepared(situation)
    prepared.write_files()
    written = json.loads((tmp_path / "a" / "b.json").read_bytes())
    assert written == {"note": SITUATION.prompt, "models": {"m": {"limits": [1, "/w"]}}}


def test_what_stands_for_a_placeholder_is_not_looked_at_again() -> None:
    assert parsed().prepared(SITUATION).argv == ("/opt/mine", "--model", "mock", SITUATION.prompt)


def test_the_environment_is_the_presets_own() -> None:
    env = parsed(MINIMAL + '[env]\nCI = "0"\nKEY = "${API_KEY}"\n').prepared(SITUATION).env
    assert env == {"CI": "0", "KEY": "dummy"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("title = ", "is not TOML"),
        (MINIMAL.replace('program = "mine"', ""), "program: Field required"),
        (MINIMAL + "colour = 1\n", "colour: Extra inputs"),
        (MINIMAL.replace('["${PROGRAM}", "--model", "${MODEL}", "${PROMPT}"]', "[]"), "argv: List should have"),
        (MINIMAL + '[env]\nA = "${WORKSPACE}"\n', r"\$\{WORKSPACE\} stands for nothing .*\$\{CWD\}"),
        (MINIMAL + '[files]\n"${HOMES}/a" = "x"\n', r"\$\{HOMES\} stands for nothing"),
    ],
)
def test_a_wrong_preset_is_an_error_with_its_place(text: str, why: str) -> None:
    with pytest.raises(InputError, match=why) as raised:
        parsed(text)
    assert raised.value.where == "mine.toml"


def test_a_preset_is_found_by_name_or_by_file(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(MINIMAL)
    assert load_preset(str(tmp_path / "mine.toml")).name == "mine"
    with pytest.raises(InputError, match=r"there is no preset 'mine'.*one of aider, cline"):
        load_preset("mine")
    with pytest.raises(InputError, match="cannot be read"):
        load_preset(str(tmp_path / "other.toml"))
