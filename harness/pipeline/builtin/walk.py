"""The files of a workspace, as Glob and ListFiles show them."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from harness.pipeline.workspace import Workspace

GIT_FOLDER = ".git"
IGNORE_FILES = (".gitignore", ".ignore", ".rgignore")
_SUGGESTIONS = 3
_SEARCHED_FOR_SUGGESTIONS = 5_000
_COUNTED = 100_000


@dataclass(frozen=True, slots=True)
class Listing:
    """The first paths of a longer list: ``total`` is how many there are, at least so many where not ``exact``."""

    paths: list[str]
    total: int
    exact: bool

    @property
    def complete(self) -> bool:
        """Whether nothing is left out."""
        return self.exact and len(self.paths) == self.total

    @property
    def total_in_words(self) -> str:
        """The total as a person would write it."""
        return str(self.total) if self.exact else f"more than {self.total}"


def first_paths(paths: Iterator[str], limit: int) -> Listing:
    """The first ``limit`` of ``paths``, the rest counted as far as that is worth the time."""
    shown = list(islice(paths, limit))
    rest = sum(1 for _ in islice(paths, _COUNTED))
    return Listing(shown, len(shown) + rest, exact=rest < _COUNTED)


def walk_files(workspace: Workspace, folder: Path) -> Iterator[str]:
    """Paths of the files under the resolved ``folder``, relative to the workspace, in the order of their text.

    Left out: ``.git`` at any depth, the harness's own folder, linked folders, links that lead out of the workspace or
    nowhere, and folders that cannot be read.
    """
    base = "" if folder == workspace.root else f"{workspace.relative(folder)}/"
    pending = [base]
    while pending:
        path = pending.pop()
        if path and not path.endswith("/"):
            yield path
            continue
        pending.extend(sorted(_children(workspace, path), reverse=True))


def unusable_ignore_file(workspace: Workspace, folder: Path) -> str | None:
    """An ignore file under the resolved ``folder`` that must not be opened, or None: a pipe, a link that leads out.

    Opening a pipe waits for ever, and what a link leads to (a device without end) nobody chose as rules.
    """
    pending = ["" if folder == workspace.root else f"{workspace.relative(folder)}/"]
    while pending:
        path = pending.pop()
        try:
            with os.scandir(workspace.root / path) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        if entry.name != GIT_FOLDER:
                            pending.append(f"{path}{entry.name}/")
                    elif entry.name in IGNORE_FILES and not is_usable_file(workspace, f"{path}{entry.name}"):
                        return f"{path}{entry.name}"
        except OSError:
            continue
    return None


def is_usable_file(workspace: Workspace, path: str) -> bool:
    """Whether ``path`` is a regular file of the project, or a link to one."""
    try:
        target = workspace.resolve(path)
        return target.is_file() and not workspace.is_hidden(target)
    except (OSError, ValueError):
        return False


def near_names(workspace: Workspace, missing: Path) -> list[str]:
    """Up to three files that may have been meant by a missing one: same name elsewhere, then like names beside it."""
    name = missing.name.casefold()
    files = list(islice(walk_files(workspace, workspace.root), _SEARCHED_FOR_SUGGESTIONS))
    same = [file for file in files if file.rpartition("/")[2].casefold() == name]
    folder = workspace.relative(missing.parent)
    beside = {file.rpartition("/")[2]: file for file in files if (file.rpartition("/")[0] or ".") == folder}
    close = [beside[match] for match in difflib.get_close_matches(missing.name, beside, n=_SUGGESTIONS)]
    return list(dict.fromkeys(same + close))[:_SUGGESTIONS]


def _children(workspace: Workspace, path: str) -> Iterator[str]:
    """Entries of a folder as whole relative paths; folders end in a slash, which also sorts them as text does."""
    try:
        with os.scandir(workspace.root / path) as entries:
            for entry in entries:
                child = f"{path}{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    if entry.name != GIT_FOLDER and not workspace.is_hidden(workspace.root / child):
                        yield f"{child}/"
                elif entry.is_file(follow_symlinks=False) or (entry.is_symlink() and is_usable_file(workspace, child)):
                    yield child
    except OSError:
        return
