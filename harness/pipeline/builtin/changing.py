"""What the tools that change a file share: one identity, the lock, and a write that loses nobody's work."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.pipeline.builtin.base import Arguments, BuiltinTool, CallError, echo
from harness.pipeline.builtin.walk import GIT_FOLDER
from harness.pipeline.contained import replace_contained
from harness.pipeline.file_versions import FileVersion, FileVersions, version_of
from harness.pipeline.result import ErrorCode
from harness.pipeline.tool import ToolKind
from harness.pipeline.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Change:
    """A file that was changed: its path relative to the workspace, old and new bytes, the version it is now."""

    path: str
    before: bytes
    after: bytes
    version: FileVersion


class ChangingTool(BuiltinTool):
    """A tool that changes one existing file, named by ``path``."""

    kind = ToolKind.EDIT
    path_parameter = "path"

    def __init__(self, workspace: Workspace, versions: FileVersions, name: str, description: str) -> None:
        super().__init__(workspace, name, description)
        self._versions = versions

    def change(self, arguments: Arguments, changed: Callable[[bytes, str], bytes]) -> Change:
        """Replace the file's content with ``changed(content, name)``, where it is the version that was expected.

        Raises CallError: CONFLICT where the file is not as expected or is changed by somebody else meanwhile,
        ACCESS_DENIED for what is not the project's, and what ``changed`` raises; nothing is written then.
        """
        path = self.locate(arguments.text("path"))
        name = echo(self.workspace.relative(path))
        self._demand_editable(path, name)
        with self._versions.writing(path):
            content, current = self.read_file(path)
            if (conflict := current.conflict_with(arguments.values)) is not None:
                raise CallError(ErrorCode.CONFLICT, f"{name} was not changed: {conflict}. Read it again, then edit")
            result = changed(content, name)
            version = self._write(path, name, content, result)
        return Change(self.workspace.relative(path), content, result, version)

    def _demand_editable(self, path: Path, name: str) -> None:
        if self.workspace.is_hidden(path):
            raise CallError(ErrorCode.ACCESS_DENIED, f"{name} is kept by the harness: it may be read, not edited")
        # Git runs what its configuration and hooks say, also for commands that only read.
        if GIT_FOLDER in path.relative_to(self.workspace.root).parts:
            raise CallError(ErrorCode.ACCESS_DENIED, f"{name} belongs to git: it may be read, not edited")

    def _write(self, path: Path, name: str, before: bytes, after: bytes) -> FileVersion:
        # Renaming a new file into place would pass over the old one's write protection.
        if not os.access(path, os.W_OK):
            raise CallError(ErrorCode.ACCESS_DENIED, f"{name} is write-protected")

        def confirm() -> None:
            """Somebody outside the pipeline may have written while the change was worked out."""
            if not path.exists() or self.read_file(path)[0] != before:
                text = f"{name} was not changed: somebody else has just changed it. Read it again, then edit"
                raise CallError(ErrorCode.CONFLICT, text)

        status = replace_contained(self.workspace.root, path, after, confirm)
        version = version_of(after, status.st_mtime_ns)
        self._versions.remember(path, version)
        return version
