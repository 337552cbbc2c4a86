from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.scenario.agents.presets.finding import AGENT_PATH, find_program
from harness.scenario.agents.presets.preset import Preset

PRESET = Preset(
    name="mine", title="Mine", tested="1", install="pip install mine", program="mine-agent", argv=["${PROGRAM}"]
)


def program(folder: Path, name: str = "mine-agent") -> str:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


def test_the_named_folders_come_before_path(tmp_path: Path) -> None:
    first, second = program(tmp_path / "a"), program(tmp_path / "b")
    assert (
        find_program(PRESET, {AGENT_PATH: f"{tmp_path}/none{os.pathsep}{tmp_path}/a", "PATH": f"{tmp_path}/b"}) == first
    )
    assert find_program(PRESET, {"PATH": f"{tmp_path}/b"}) == second


def test_a_given_program_comes_before_all(tmp_path: Path) -> None:
    program(tmp_path / "a")
    other = program(tmp_path / "b", "other")
    assert find_program(PRESET, {"PATH": f"{tmp_path}/a"}, other) == other
    with pytest.raises(InputError, match=r"--agent-bin: .*nothing is no program"):
        find_program(PRESET, {"PATH": f"{tmp_path}/a"}, str(tmp_path / "nothing"))


def test_a_missing_agent_is_an_error_that_says_how_to_install_it(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"Mine is not installed: there is no mine-agent in .*pip install mine.*--agent-bin"
    ):
        find_program(PRESET, {"PATH": str(tmp_path)})
    with pytest.raises(InputError, match="not installed"):
        find_program(PRESET, {})


def test_a_library_is_found_in_the_python_that_can_import_it(tmp_path: Path) -> None:
    without = tmp_path / "without"
    without.mkdir()
    (without / "python3").write_text("#!/bin/sh\nexit 1\n")
    (without / "python3").chmod(0o755)
    right = tmp_path / "with"
    right.mkdir()
    (right / "python3").symlink_to(sys.executable)
    environment = {AGENT_PATH: f"{without}{os.pathsep}{right}"}
    library = PRESET.model_copy(update={"program": "python3", "module": "json"})
    assert find_program(library, environment) == str(right / "python3")
    missing = library.model_copy(update={"module": "no_such_module_anywhere"})
    with pytest.raises(InputError, match="no python3 that can import no_such_module_anywhere"):
        find_program(missing, environment)
