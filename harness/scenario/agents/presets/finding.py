"""Finding an installed agent, or saying how to install it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from harness.errors import InputError
from harness.scenario.agents.presets.preset import Preset

AGENT_PATH = "HARNESS_AGENT_PATH"
"""The variable with folders of agents' programs, looked through before PATH; separated as PATH is."""

_ASK_S = 30.0


def find_program(preset: Preset, environment: Mapping[str, str], given: str | None = None) -> str:
    """The absolute path of the agent's program: ``given`` where the user names it, else the first one found.

    Raises InputError that says how to install the agent where it is not there.
    """
    if given is not None:
        found = shutil.which(given, path=environment.get("PATH"))
        if found is None:
            raise InputError(f"{given} is no program", where="--agent-bin")
        return str(Path(found).absolute())
    for candidate in _candidates(preset.program, environment):
        if preset.module is None or _imports(candidate, preset.module, environment):
            return candidate
    what = preset.program if preset.module is None else f"{preset.program} that can import {preset.module}"
    raise InputError(
        f"{preset.title} is not installed: there is no {what} in {AGENT_PATH} or PATH",
        hint=f"{preset.install}; or name the program with --agent-bin",
    )


def _candidates(program: str, environment: Mapping[str, str]) -> Iterator[str]:
    folders = os.pathsep.join(filter(None, (environment.get(AGENT_PATH), environment.get("PATH"))))
    for folder in folders.split(os.pathsep):
        found = shutil.which(program, path=folder) if folder else None
        if found is not None:
            yield str(Path(found).absolute())


def _imports(python: str, module: str, environment: Mapping[str, str]) -> bool:
    program = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    try:
        done = subprocess.run(
            [python, "-c", program], env=dict(environment), timeout=_ASK_S, capture_output=True, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
