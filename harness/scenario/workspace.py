"""The folder of a scenario: made fresh, watched, and compared at the end."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from harness.errors import InputError
from harness.pipeline.workspace import OutsideWorkspaceError, Workspace
from harness.scenario.format import Scenario
from harness.scenario.git_state import make_repository, settle
from harness.scenario.world import EventSpec, FileSpec, file_spec
from harness.seams import ManualClock

ALIAS = "/workspace"
"""The name under which the model sees the folder, whatever it is called on this machine."""

FIXED_MTIME_NS = 1_577_836_800_000_000_000
"""2020-01-01T00:00:00Z: what every file of a fresh workspace says, so that the same run gives the same bytes."""

GIT_FOLDER = ".git"

_EXECUTABLE = 0o111


def lay_out(scenario: Scenario, root: Path) -> Workspace:
    """Fill the empty folder ``root`` with what the scenario says: its git state, its folder, its files.

    Raises InputError for a path that leads out of it, and for what there is not.
    """
    spec = scenario.workspace
    try:
        if spec.git is not None:
            make_repository(spec.git, root, scenario.beside)
        if spec.folder is not None:
            _copy(scenario.beside(spec.folder), spec.folder, root)
        workspace = Workspace(root, alias=ALIAS)
        write_files(workspace, spec.files)
        for name in spec.delete:
            _remove(workspace, name)
        for path in sorted(_files_under(root)):
            os.utime(path, ns=(FIXED_MTIME_NS, FIXED_MTIME_NS), follow_symlinks=False)
        if spec.git is not None:
            settle(spec.git, root)
    except InputError as error:
        where = f"{scenario.path}: {error.where}" if error.where else str(scenario.path)
        raise InputError(error.what, where=where, hint=error.hint) from error
    except OutsideWorkspaceError as error:
        raise InputError(f"workspace.files: {error}", where=str(scenario.path)) from error
    except OSError as error:
        raise InputError(f"workspace: {error}", where=str(scenario.path)) from error
    return workspace


def happen(event: EventSpec, workspace: Workspace, clock: ManualClock) -> None:
    """Let somebody else change the world: files, then time. Raises InputError for a path that leads out of it."""
    try:
        times = _times(workspace, event) if event.keep_times else {}
        write_files(workspace, event.write)
        for path, time_ns in times.items():
            os.utime(path, ns=(time_ns, time_ns))
        for name in event.touch:
            workspace.resolve(name).touch()
        for name in event.delete:
            _remove(workspace, name, missing_ok=True)
    except OSError as error:
        raise InputError(f"an event of the scenario could not happen: {error}") from error
    except OutsideWorkspaceError as error:
        raise InputError(f"an event of the scenario names a file outside: {error}") from error
    clock.advance(event.advance_s)


def _times(workspace: Workspace, event: EventSpec) -> dict[Path, int]:
    """When the files that are about to be written were modified, those that there are."""
    paths = [workspace.resolve(name) for name in event.write]
    return {path: path.stat().st_mtime_ns for path in paths if path.exists()}


def write_files(workspace: Workspace, files: Mapping[str, str | FileSpec]) -> None:
    """Write files as a scenario has them, folders included; what stood there is replaced."""
    for name, content in files.items():
        spec = file_spec(content)
        if spec.link is not None:
            path = _place(workspace, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            path.symlink_to(spec.link)
            continue
        path = workspace.resolve(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(spec.content())
        if spec.executable:
            path.chmod(path.stat().st_mode | _EXECUTABLE)


def contents(workspace: Workspace) -> dict[str, bytes]:
    """The bytes of all files by their path in the workspace.

    What the harness keeps there itself, and what git does in ``.git``, is left out.
    """
    return {
        workspace.relative(path): path.read_bytes()
        for path in sorted(_files_under(workspace.root))
        if path.is_file() and not workspace.is_hidden(path)
    }


def _files_under(root: Path) -> list[Path]:
    """Files, folders and links, without git's own."""
    own = root / GIT_FOLDER
    return [path for path in root.rglob("*") if path != own and own not in path.parents]


def _copy(source: Path, name: str, root: Path) -> None:
    if not source.is_dir():
        raise InputError(f"workspace.folder: {name} is no folder")
    shutil.copytree(source, root, dirs_exist_ok=True, symlinks=True)


def _place(workspace: Workspace, name: str) -> Path:
    """Where a file stands, without following it if it is a link itself."""
    given = Path(name)
    return workspace.resolve(str(given.parent)) / given.name


def _remove(workspace: Workspace, name: str, *, missing_ok: bool = False) -> None:
    path = _place(workspace, name)
    if path.is_dir() and not path.is_symlink():
        if path == workspace.root:
            raise InputError(f"workspace.delete: {name} is the workspace itself")
        shutil.rmtree(path)
        return
    try:
        path.unlink()
    except FileNotFoundError:
        if not missing_ok:
            raise InputError(f"workspace.delete: there is no {name}") from None
