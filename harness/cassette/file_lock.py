"""One writer for a file at a time, held by the operating system, so that a killed writer leaves nothing locked."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from harness.errors import InputError

# msvcrt locks bytes and keeps readers out of them: one far behind any content.
_LOCKED_BYTE = 2**62
_BINARY = getattr(os, "O_BINARY", 0)
_ATTEMPTS = 10


def open_locked(path: Path) -> int:
    """Open or create a file for reading and appending, locked; returns the descriptor.

    The lock ends when the descriptor is closed, by the process or by its end. Raises InputError that names the one who
    has it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    for _ in range(_ATTEMPTS):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | _BINARY, 0o666)
        try:
            _lock(descriptor)
        except OSError as error:
            holder = _holder(descriptor)
            os.close(descriptor)
            raise InputError(
                f"{holder} is writing this file",
                where=str(path),
                hint="wait for it, or record to another file: one file for each worker",
            ) from error
        if _is_at(path, descriptor):
            return descriptor
        os.close(descriptor)
    raise InputError("others remove this file all the time", where=str(path))


def _is_at(path: Path, descriptor: int) -> bool:
    """Whether the locked file is still the one of that name: who had it before may have removed it."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        # flock belongs to the open file, so that it also holds between two writers of one process.
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _holder(descriptor: int) -> str:
    """Who has the lock, as far as the system says: Linux lists locks by inode."""
    inode = str(os.fstat(descriptor).st_ino)
    try:
        lines = Path("/proc/locks").read_text("ascii").splitlines()
    except (OSError, ValueError):
        lines = []
    for fields in (line.split() for line in lines):
        if "FLOCK" in fields and "->" not in fields:
            process, place = fields[fields.index("FLOCK") + 3 :][:2]
            if place.rpartition(":")[2] == inode and int(process) > 0:
                return "this process" if int(process) == os.getpid() else f"process {process}"
    return "another process"
