"""The folder an agent works in, and the one rule for paths: resolved, and inside it."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

SPILL_FOLDER = ".harness"
"""Folder inside the workspace for spilled output; hidden from Glob, Grep and file checks, readable with Read."""


MAX_PATH_BYTES = 4096
"""No system takes a longer path, and resolving one takes time that grows with the square of its length."""

_ENDS = r"(?![\w-]|\.\w)"
"""Behind a folder's name: not the rest of a longer one."""


class OutsideWorkspaceError(ValueError):
    """A path that leads out of the workspace, or that no file can have."""


class Workspace:
    """A root folder. Raises NotADirectoryError when there is none.

    ``alias`` is an absolute path under which the model knows the folder, where its real name must not reach it (a
    test's temporary folder, say): results say the alias, and paths under it are understood.
    """

    def __init__(self, root: Path | str, alias: str | None = None) -> None:
        self.root = Path(root).resolve()
        self.alias = alias.rstrip("/") if alias else None
        if not self.root.is_dir():
            raise NotADirectoryError(f"{root} is not a folder")

    def resolve(self, path: str) -> Path:
        """The one identity of a file however it is spelled: absolute, links followed, compared by components.

        Raises OutsideWorkspaceError when it leads out (``..``, an absolute path elsewhere, a linked parent or a
        dangling link), holds a NUL character or half a surrogate pair, or has more than MAX_PATH_BYTES.
        """
        if "\0" in path:
            raise OutsideWorkspaceError("the path holds a NUL character")
        if self.alias and (path == self.alias or path.startswith(f"{self.alias}/")):
            path = "." + path[len(self.alias) :]
        try:
            if len(os.fsencode(path)) > MAX_PATH_BYTES:
                raise OutsideWorkspaceError(f"the path has more than {MAX_PATH_BYTES} bytes")
            resolved = (self.root / path).resolve()
        except (OSError, RuntimeError, UnicodeEncodeError) as error:
            raise OutsideWorkspaceError(f"{path!r} cannot be resolved: {error}") from error
        if not resolved.is_relative_to(self.root):
            raise OutsideWorkspaceError(f"{path} is outside the workspace")
        return resolved

    def real_paths(self, command: str) -> str:
        """A shell command with the folder's real name where it says the alias.

        Only a path of its own is one: ``src/workspace`` and ``$HOME/workspace`` are other folders.
        """
        root = str(self.root)
        if self.alias is None or shlex.quote(root) != root:
            return command
        return re.sub(rf"(?<![\w.~/)}}*?-]){re.escape(self.alias)}{_ENDS}", lambda _: root, command)

    def shown_paths(self, output: str) -> str:
        """What a program has printed, with the alias where it says the folder's real name."""
        if self.alias is None or str(self.root) not in output:
            return output
        alias = self.alias
        return re.sub(f"{re.escape(str(self.root))}{_ENDS}", lambda _: alias, output)

    @property
    def shown_root(self) -> str:
        """The folder's name as results tell it."""
        return self.alias or str(self.root)

    def relative(self, path: Path) -> str:
        """``path`` as a person in the workspace would write it."""
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else str(path)

    @property
    def spill_folder(self) -> Path:
        """Where the full content of truncated results is kept."""
        return self.root / SPILL_FOLDER / "spill"

    def is_hidden(self, path: Path) -> bool:
        """Whether a resolved path belongs to the harness rather than to the project."""
        return path.is_relative_to(self.root / SPILL_FOLDER)
