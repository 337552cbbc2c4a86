"""Opening and replacing files below a root, so that nobody can put a link into their path in the meantime.

`Workspace.resolve` decides on a path, and the file is opened later; a folder on the way may have become a link by then.
Here each folder is opened from the one before it and no link is followed, so what is opened is what was decided on.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_BY_FOLDER = os.open in os.supports_dir_fd
"""Where a system cannot open by folder (Windows), files are opened by their path, and the promise does not hold."""

_COMMON = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
_FOLDER = _COMMON | getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0)
# Without O_NONBLOCK, opening a pipe that nobody writes to would wait for ever.
_READ = _COMMON | os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_CREATE = _COMMON | os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


class PathChangedError(OSError):
    """The path is no longer what it was when it was resolved: a link stands in it, or no regular file at its end."""


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """The bytes of a regular file and what the system said of it, both of one open file."""

    content: bytes
    status: os.stat_result


def read_contained(root: Path, resolved: Path, *, limit: int) -> OpenedFile:
    """Read at most ``limit`` bytes of the regular file at ``resolved``, which lies below the resolved ``root``.

    Raises PathChangedError where a link or no regular file is met, and OSError as `open` does.
    """
    with _folder_of(root, resolved) as folder:
        descriptor = _opened(_name(resolved, folder), _READ, folder)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise PathChangedError(errno.EINVAL, "is no regular file")
            return OpenedFile(file.read(limit), status)


def replace_contained(root: Path, resolved: Path, content: bytes, confirm: Callable[[], None]) -> os.stat_result:
    """Put a new file with ``content`` in the place of a regular file; its mode stays, its owner where allowed.

    ``confirm`` is called when all is ready but the renaming, and may raise to leave the old file as it is. Returns
    what the system says of the new file. Raises as `read_contained` does; the old file is then untouched.
    """
    with _folder_of(root, resolved) as folder:
        name = _name(resolved, folder)
        old = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if not stat.S_ISREG(old.st_mode):
            raise PathChangedError(errno.EINVAL, "is no regular file")
        temporary = _name(resolved.with_name(f".harness-{secrets.token_hex(8)}.tmp"), folder)
        descriptor = os.open(temporary, _CREATE, 0o600, dir_fd=folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                new = os.fstat(descriptor)
                if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
                    with suppress(PermissionError):
                        os.fchown(descriptor, old.st_uid, old.st_gid)
                os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
                status = os.fstat(descriptor)
            confirm()
            os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=folder)
            raise
    return status


@contextmanager
def _folder_of(root: Path, resolved: Path) -> Iterator[int | None]:
    """A descriptor of the folder that holds ``resolved``, reached from ``root`` without following a link, or None."""
    parts = resolved.relative_to(root).parts
    if not parts:
        raise PathChangedError(errno.EISDIR, "is no regular file")
    if not _BY_FOLDER:
        yield None
        return
    descriptor = os.open(root, _FOLDER)
    try:
        for name in parts[:-1]:
            inner = _opened(name, _FOLDER, descriptor)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def _name(resolved: Path, folder: int | None) -> str:
    return resolved.name if folder is not None else str(resolved)


def _opened(name: str, flags: int, folder: int | None) -> int:
    try:
        return os.open(name, flags, dir_fd=folder)
    except OSError as error:
        # A link is ELOOP as a file and ENOTDIR as a folder; a pipe's writing end or a socket is ENXIO.
        if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.ENXIO):
            raise PathChangedError(error.errno, "was changed while it was used") from error
        raise
