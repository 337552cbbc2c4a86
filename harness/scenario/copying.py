"""A folder as the workspace of a scenario: small ones written into the file, others copied beside it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.cassette.scrubbing import Scrubber
from harness.errors import InputError
from harness.pipeline.workspace import SPILL_FOLDER
from harness.scenario.workspace import GIT_FOLDER

INLINE_FILES, INLINE_BYTES = 20, 32_768
"""Up to so many files and bytes of text stand in the scenario itself."""

MOST_FILES, MOST_BYTES = 2_000, 20_000_000

_LEFT_OUT = (GIT_FOLDER, SPILL_FOLDER)


@dataclass(frozen=True, slots=True)
class CopiedFile:
    """A file of the folder: its bytes, or where it leads if it is a link."""

    path: str
    content: bytes
    executable: bool = False
    link: str | None = None

    @property
    def text(self) -> str | None:
        """The content as text, None where it is none."""
        try:
            text = self.content.decode()
        except UnicodeDecodeError:
            return None
        return None if "\0" in text else text


@dataclass(frozen=True, slots=True)
class CopiedFolder:
    """The files of a folder, without secrets. ``had_git`` says that its repository was left out."""

    files: tuple[CopiedFile, ...]
    had_git: bool = False

    @property
    def is_small(self) -> bool:
        """Whether a reader of the scenario would rather have the files in it."""
        texts = all(file.link is not None or file.text is not None for file in self.files)
        return texts and len(self.files) <= INLINE_FILES and sum(len(f.content) for f in self.files) <= INLINE_BYTES

    def inline(self) -> dict[str, Any]:
        """The files as ``workspace.files`` has them."""
        return {file.path: _inline(file) for file in self.files}

    def write(self, folder: Path) -> None:
        """Write the files to a folder of their own."""
        folder.mkdir(parents=True, exist_ok=True)
        for file in self.files:
            path = folder / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            if file.link is not None:
                path.symlink_to(file.link)
                continue
            path.write_bytes(file.content)
            if file.executable:
                path.chmod(path.stat().st_mode | 0o111)


def copied(folder: Path, scrubber: Scrubber) -> CopiedFolder:
    """Read a folder, its secrets replaced; raises InputError where there is none, or one too large to be a test's.

    A git repository's ``.git`` and what the harness keeps for itself are left out.
    """
    if not folder.is_dir():
        raise InputError("no such folder", where=f"--workspace {folder}")
    files: list[CopiedFile] = []
    size = 0
    for path in _walk(folder):
        files.append(_copied(path, path.relative_to(folder).as_posix(), scrubber))
        size += len(files[-1].content)
        if len(files) > MOST_FILES or size > MOST_BYTES:
            raise InputError(
                f"more than {MOST_FILES:,} files or {MOST_BYTES // 1_000_000} MB",
                where=f"--workspace {folder}",
                hint="name a smaller folder, or write the scenario with workspace.git and record that",
            )
    return CopiedFolder(tuple(files), (folder / GIT_FOLDER).exists())


def _walk(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name in _LEFT_OUT:
            continue
        if path.is_dir() and not path.is_symlink():
            yield from _walk(path)
        elif path.is_symlink() or path.is_file():
            yield path


def _copied(path: Path, name: str, scrubber: Scrubber) -> CopiedFile:
    if path.is_symlink():
        return CopiedFile(name, b"", link=os.fspath(path.readlink()))
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(path)) from error
    file = CopiedFile(name, content, os.access(path, os.X_OK))
    if (text := file.text) is None:
        return file
    return CopiedFile(name, scrubber.text(text).encode(), file.executable)


def _inline(file: CopiedFile) -> Any:
    if file.link is not None:
        return {"link": file.link}
    return {"text": file.text, "executable": True} if file.executable else file.text
