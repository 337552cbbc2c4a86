"""Which version of a file the model has seen: the optimistic lock's memory (seed 000, gate 2).

A version is size, modification time and a hash of the content, so that a touched but unchanged file is no conflict
(bug report E01) and a change of the same size in the same clock tick is one (E14).
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

EXPECTED_MTIME = "expected_mtime_ms"
EXPECTED_SIZE = "expected_size_bytes"
EXPECTED_DIGEST = "expected_digest"
EXPECTED_KEYS = (EXPECTED_MTIME, EXPECTED_SIZE, EXPECTED_DIGEST)


@dataclass(frozen=True, slots=True)
class FileVersion:
    """One state of a file; ``digest`` is 16 hexadecimal digits of BLAKE2b over the bytes."""

    size: int
    mtime_ns: int
    digest: str

    @property
    def mtime_ms(self) -> int:
        """The modification time in whole milliseconds, as the seed's metadata has it."""
        return self.mtime_ns // 1_000_000

    def stats(self) -> dict[str, Any]:
        """The entries that Read and Edit put into a result's ``stats``; `from_stats` reads them back."""
        return {"file_mtime_ms": self.mtime_ms, "file_size_bytes": self.size, "file_digest": self.digest}

    def expected(self) -> dict[str, Any]:
        """The parameters that the lock injects into an Edit."""
        return {EXPECTED_MTIME: self.mtime_ms, EXPECTED_SIZE: self.size, EXPECTED_DIGEST: self.digest}

    @classmethod
    def from_stats(cls, stats: Mapping[str, Any]) -> FileVersion | None:
        """The version that a result's ``stats`` describe, or None where they describe none."""
        size, mtime, digest = (stats.get(key) for key in ("file_size_bytes", "file_mtime_ms", "file_digest"))
        if not (isinstance(size, int) and isinstance(mtime, int) and isinstance(digest, str)):
            return None
        return cls(size, mtime * 1_000_000, digest)

    def conflict_with(self, parameters: Mapping[str, Any]) -> str | None:
        """Why this state is not the expected one, in words, or None where it is or nothing is expected.

        A hash decides alone where one is expected. Without it (values given by the model) size and time decide.
        """
        digest = parameters.get(EXPECTED_DIGEST)
        if digest is not None:
            return None if digest == self.digest else "the content has changed since it was read"
        size, mtime = parameters.get(EXPECTED_SIZE), parameters.get(EXPECTED_MTIME)
        if size is not None and size != self.size:
            return f"the size is {self.size} bytes, {size} were expected"
        if mtime is not None and mtime != self.mtime_ms:
            return f"the modification time is {self.mtime_ms} ms, {mtime} was expected"
        return None


def read_versioned(path: Path) -> tuple[bytes, FileVersion]:
    """The bytes of a file and the version they are, both of one open file.

    Raises OSError as `open` does.
    """
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        content = file.read()
    return content, version_of(content, status.st_mtime_ns)


def version_of(content: bytes, mtime_ns: int) -> FileVersion:
    """The version that ``content`` with this modification time is."""
    return FileVersion(len(content), mtime_ns, hashlib.blake2b(content, digest_size=8).hexdigest())


class FileVersions:
    """The last version of each file that the model has read or written, by resolved path. Safe under threads."""

    def __init__(self) -> None:
        self._versions: dict[Path, FileVersion] = {}
        self._locks: dict[Path, threading.Lock] = {}
        self._guard = threading.Lock()

    def remember(self, path: Path, version: FileVersion) -> None:
        """The model has now seen ``version`` of the file at the resolved ``path``."""
        with self._guard:
            self._versions[path] = version

    def known(self, path: Path) -> FileVersion | None:
        """What the model last saw of the file, or None."""
        with self._guard:
            return self._versions.get(path)

    @contextmanager
    def writing(self, path: Path) -> Iterator[None]:
        """Held while a tool compares and writes a file, so that two edits of one file never interleave."""
        with self._guard:
            lock = self._locks.setdefault(path, threading.Lock())
        with lock:
            yield
