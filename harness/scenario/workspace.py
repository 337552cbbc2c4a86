"""The folder of a scenario: made fresh, watched, and compared at the end."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from harness.errors import InputError
from harness.pipeline.workspace import Workspace
from harness.scenario.format import EventSpec, FileSpec, Scenario
from harness.seams import ManualClock

ALIAS = "/workspace"
"""The name under which the model sees the folder, whatever it is called on this machine."""

FIXED_MTIME_NS = 1_577_836_800_000_000_000
"""2020-01-01T00:00:00Z: what every file of a fresh workspace says, so that the same run gives the same bytes."""


def lay_out(scenario: Scenario, root: Path) -> Workspace:
    """Fill the empty folder ``root`` with the scenario's files; raises InputError for a path that leads out of it."""
    spec = scenario.workspace
    if spec.folder is not None:
        source = scenario.beside(spec.folder)
        if not source.is_dir():
            raise InputError(f"workspace.folder: {spec.folder} is no folder", where=str(scenario.path))
        shutil.copytree(source, root, dirs_exist_ok=True, symlinks=True)
    workspace = Workspace(root, alias=ALIAS)
    for name, content in spec.files.items():
        path = _inside(workspace, name, scenario)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.content() if isinstance(content, FileSpec) else content.encode())
    for path in sorted(root.rglob("*")):
        if not path.is_symlink():
            os.utime(path, ns=(FIXED_MTIME_NS, FIXED_MTIME_NS))
    return workspace


def happen(event: EventSpec, workspace: Workspace, clock: ManualClock) -> None:
    """Let somebody else change the world: files, then time."""
    for name, text in event.write.items():
        path = workspace.resolve(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    for name in event.touch:
        workspace.resolve(name).touch()
    for name in event.delete:
        workspace.resolve(name).unlink(missing_ok=True)
    clock.advance(event.advance_s)


def contents(workspace: Workspace) -> dict[str, bytes]:
    """The bytes of all files by their path in the workspace; what the harness keeps there itself is left out."""
    return {
        workspace.relative(path): path.read_bytes()
        for path in sorted(workspace.root.rglob("*"))
        if path.is_file() and not workspace.is_hidden(path)
    }


def _inside(workspace: Workspace, name: str, scenario: Scenario) -> Path:
    try:
        return workspace.resolve(name)
    except ValueError as error:
        raise InputError(f"workspace.files: {error}", where=str(scenario.path)) from error
