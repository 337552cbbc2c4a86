"""What Python code does to the world while it is tested: files outside its folder, and programs that it starts.

Python tells an audit hook of every file that is opened and every process that is started. Programs see no hook, so
that starting one is refused where that is asked for.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_STARTS = frozenset(
    {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.startfile", "pty.spawn"}
)
_CHANGES = {
    "os.remove": (0,), "os.rename": (0, 1), "os.mkdir": (0,), "os.rmdir": (0,), "os.chmod": (0,), "os.chown": (0,),
    "os.truncate": (0,), "os.link": (0, 1), "os.symlink": (1,), "os.utime": (0,), "shutil.rmtree": (0,),
}  # fmt: skip
_LOOKS = frozenset({"os.listdir", "os.scandir", "os.chdir"})
_WRITING_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_SECRETS = ("/etc/passwd", "/etc/hostname", "/etc/shadow")
_SYSTEM = ("/dev/", "/proc/")

OUTSIDE = "outside.txt"
"""A file beside the workspace that no tool has any business with; so are folders whose names begin as its own."""


class ProcessRefusedError(PermissionError):
    """A program was to be started where none may be."""


@dataclass(slots=True)
class Guarded:
    """What was seen: ``touched`` are paths outside the workspace, ``started`` programs that were refused."""

    root: str
    refuse_processes: bool
    touched: list[str] = field(default_factory=list)
    started: list[str] = field(default_factory=list)

    def take_touched(self) -> tuple[str, ...]:
        """The paths since the last time, each once."""
        found = tuple(dict.fromkeys(self.touched))
        self.touched.clear()
        return found


_guarded: Guarded | None = None
_installed = False
_free = threading.local()


@contextmanager
def guarded(root: Path, *, refuse_processes: bool) -> Iterator[Guarded]:
    """Look at what this process does until the end of the block, or until `release`. Blocks do not nest."""
    global _guarded, _installed  # noqa: PLW0603  an audit hook is one for the process and stays
    if not _installed:
        sys.addaudithook(_hook)
        _installed = True
    now = Guarded(str(root), refuse_processes)
    _guarded = now
    try:
        yield now
    finally:
        if _guarded is now:  # a block that was left behind in a thread that hangs may end at any time
            _guarded = None


def release() -> None:
    """Look no longer: the block that was entered last has been left behind, and its end may never come."""
    global _guarded  # noqa: PLW0603  an audit hook is one for the process
    _guarded = None


@contextmanager
def may_start_programs() -> Iterator[None]:
    """For what is known to start no shell, in this thread."""
    before = getattr(_free, "now", False)
    _free.now = True
    try:
        yield
    finally:
        _free.now = before


def plant_outside(root: Path) -> None:
    """Put beside the folder what nobody may look at."""
    (root.parent / OUTSIDE).write_text("nobody's business\n", "utf-8")
    sibling = root.parent / f"{root.name}-old"
    sibling.mkdir(exist_ok=True)
    (sibling / OUTSIDE).write_text("nobody's business either\n", "utf-8")


def _hook(event: str, arguments: Sequence[Any]) -> None:
    now = _guarded
    if now is None or not event.startswith(("open", "os.", "subprocess.", "shutil.", "pty.")):
        return
    if event in _STARTS:
        if now.refuse_processes and not getattr(_free, "now", False):
            now.started.append(str(arguments[0])[:200] if arguments else event)
            raise ProcessRefusedError("a test of tools starts no programs")
    elif event == "open":
        _opened(now, *arguments)
    elif event in _CHANGES:
        # A name may count from an open folder, whose descriptor is the last argument.
        from_folder = bool(arguments) and isinstance(arguments[-1], int) and arguments[-1] != -1
        for position in _CHANGES[event]:
            if from_folder and not os.path.isabs(os.fsdecode(arguments[position])):  # noqa: PTH117  as bytes too
                continue
            _note(now, arguments[position] if position < len(arguments) else None, changing=True)
    elif event in _LOOKS:
        _note(now, arguments[0] if arguments else None, changing=False)


def _opened(now: Guarded, path: Any, mode: Any, flags: Any) -> None:
    # `os.open` may count from an open folder, which the event does not tell.
    if mode is None and not (isinstance(path, str | bytes) and os.path.isabs(path)):  # noqa: PTH117  as bytes too
        return
    writing = bool(flags & _WRITING_FLAGS) if isinstance(flags, int) else False
    _note(now, path, changing=writing)


def _note(now: Guarded, path: Any, *, changing: bool) -> None:
    if not isinstance(path, str | bytes | os.PathLike):
        return
    full = os.path.normpath(os.path.abspath(os.fsdecode(path)))  # noqa: PTH100  nothing is looked up in a hook
    if full == now.root or full.startswith(now.root + os.sep):
        return
    around = os.path.dirname(now.root)  # noqa: PTH120  nothing is looked up in a hook
    beside = full.startswith(around + os.sep) and full != around
    if beside or full in _SECRETS:
        now.touched.append(_shown(full, around))
    elif changing and not ((full + os.sep).startswith((*_SYSTEM, tempfile.gettempdir() + os.sep)) or ".pyc" in full):
        now.touched.append(full)


def _shown(full: str, around: str) -> str:
    """Without the name of a temporary folder."""
    return f"..{full[len(around) :]}" if full.startswith(around + os.sep) else full
