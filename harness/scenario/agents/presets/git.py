"""A workspace as a repository: one commit of all its files."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from harness.errors import InputError

_COMMANDS = (
    ["init", "-q", "-b", "main"],
    ["add", "-A"],
    ["commit", "-q", "--allow-empty", "-m", "start"],
)


def commit_all(workspace: Path, environment: Mapping[str, str]) -> None:
    """Make the workspace a repository whose one commit has all files; one that is a repository stays as it is.

    The environment says who commits and when, so that the same files give the same hash. Raises InputError where git is
    missing or fails.
    """
    if (workspace / ".git").exists():
        return
    git = shutil.which("git", path=environment.get("PATH"))
    if git is None:
        raise InputError("the agent wants a repository, and git is not installed", where=str(workspace))
    for command in _COMMANDS:
        done = subprocess.run([git, *command], cwd=workspace, env=dict(environment), capture_output=True, check=False)
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip()
            raise InputError(f"git {command[0]} failed: {said}", where=str(workspace))
