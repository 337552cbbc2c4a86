from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli.defaults import commands, defaults
from harness.cli.main import app
from harness.configuration import _READERS, Configuration, load_configuration
from harness.errors import InputError
from tests.command_line import Command, command
from tests.scenario.scenarios import ANSWER

run = pytest.fixture(command)


def configured(folder: Path, text: str) -> Configuration:
    (folder / "pyproject.toml").write_text(text, "utf-8")
    return load_configuration(folder)


def test_settings_are_read_with_paths_as_seen_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    found = configured(
        tmp_path,
        '[tool.harness]\npaths = ["scenarios", "/elsewhere"]\nout = "out"\nworkers = 2\nseed = 7\nallow_drift = '
        '"system, tools"\nsecrets = ["a+"]\nbaseline = "b.json"\ntoken_tolerance = 5\nendpoints = {m = "http://h/v1"}\n',
    )
    assert found == Configuration(
        Path("../pyproject.toml"),
        paths=(Path("../scenarios"), Path("/elsewhere")),
        out=Path("../out"),
        workers=2,
        seed=7,
        allow_drift=("system", "tools"),
        secrets=("a+",),
        baseline=Path("../b.json"),
        token_tolerance=5.0,
        endpoints={"m": "http://h/v1"},
    )


@pytest.mark.parametrize("text", ["", "[tool]\n", "[tool.other]\nworkers = 3\n", "[project]\nname = 'x'\n"])
def test_without_a_table_nothing_is_set(tmp_path: Path, text: str) -> None:
    assert configured(tmp_path, text) == Configuration()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("workrs = 2", r"pyproject\.toml: tool\.harness\.workrs: unknown key \(did you mean workers\?\)"),
        ("zzz = 2", r"tool\.harness\.zzz: unknown key \(the keys are paths, out, "),
        ("workers = 0", r"tool\.harness\.workers: this is no whole number from 1 on"),
        ("workers = true", "whole number"),
        ("workers = '2'", "whole number"),
        ("seed = -1", "from 0 on"),
        ("out = 3", r"tool\.harness\.out: this is no text"),
        ("paths = 3", "no list of texts"),
        ("paths = [3]", "no text"),
        ("token_tolerance = -1", "percentage"),
        ("token_tolerance = nan", "percentage"),
        ("endpoints = 'x'", "table"),
        ("endpoints = {m = 3}", "no text"),
        ("workers = ", "not valid TOML"),
    ],
)
def test_what_is_wrong_is_told_with_file_and_key(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        configured(tmp_path, f"[tool.harness]\n{text}\n")


def test_a_table_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"tool\.harness: this is no table"):
        configured(tmp_path, "[tool]\nharness = 3\n")


def test_every_setting_has_a_field_and_reaches_a_command() -> None:
    import typer

    fields = set(Configuration.__dataclass_fields__) - {"file"}
    assert fields == set(_READERS)
    everything = Configuration(
        Path("p"), paths=(Path("a"),), out=Path("o"), workers=2, seed=1, allow_drift=("tools",), on_miss="stop",
        secrets=("s",), baseline=Path("b"), token_tolerance=1.0, tags=("t",), exclude_tags=("u",),
        endpoints={"m": "http://h"}, api_key_env="KEY",
    )  # fmt: skip
    found = defaults(everything, commands(typer.main.get_command(app)))
    assert found["run"] == {
        "paths": ["a"], "tag": ["t"], "exclude_tag": ["u"], "endpoint": ["m=http://h"], "out": "o", "baseline": "b",
        "allow_drift": "tools", "workers": 2, "seed": 1, "on_miss": "stop", "token_tolerance": 1.0,
        "api_key_env": "KEY",
    }  # fmt: skip
    assert found["check"]["secret"] == ["s"]
    assert found["report"] == {"paths": ["o"]}
    assert "baseline" not in found["compare"], "there it is a model's name"
    assert found["tokens"]["out"] == found["compare"]["out"] == found["replay"]["out"] == "o"


def test_the_command_line_wins_over_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "t.yaml").write_text(ANSWER)
    (tmp_path / "other.yaml").write_text(ANSWER)
    configured(tmp_path, '[tool.harness]\npaths = ["mine"]\nout = "configured"\n')
    assert "report: configured/summary.md" in run("run").stderr
    assert "mine/t.yaml" in (tmp_path / "configured" / "results.jsonl").read_text()
    assert "report: given/summary.md" in run("run", "other.yaml", "--out", "given").stderr
    assert "mine" not in (tmp_path / "given" / "results.jsonl").read_text()


def test_a_wrong_configuration_is_one_line_and_exit_2_but_for_help(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("[tool.harness]\nworkrs = 2\n")
    done = run("run")
    assert done.returncode == 2
    assert done.stderr == "harness: pyproject.toml: tool.harness.workrs: unknown key (did you mean workers?)\n"
    assert run("--help").returncode == 0
    assert run("run", "--bisect").returncode == 125


def test_reading_it_loads_nothing_heavy() -> None:
    code = (
        "import sys; import harness.configuration\n"
        "loaded = {'typer', 'pydantic', 'yaml', 'openai', 'pandas', 'rich', 'pytest'} & set(sys.modules)\n"
        "assert not loaded, loaded\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_documentation_shows_every_setting(tmp_path: Path) -> None:
    page = (Path(__file__).resolve().parent.parent / "docs" / "ci.md").read_text("utf-8")
    shown = page.split("```toml\n")[1].split("```")[0]
    found = configured(tmp_path, shown)
    assert [key for key in _READERS if getattr(found, key) is None] == []
