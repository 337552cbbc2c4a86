"""A program run in a group of its own, for as long as it may take, with what it said kept within bounds."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from harness.errors import InputError

KEPT_BYTES = 65_536
"""How much of each output is kept: as much from its beginning as from its end."""

MARK = "HARNESS_PROCESS"
"""A variable by which a program's descendants are known, also those that left its group."""

_PROC = Path("/proc")
_DYING_S = 10.0


@dataclass(frozen=True, slots=True)
class ProcessOutcome:
    """How a program ended.

    ``exit_code`` is as a shell gives it: 128 and the signal's number where a signal ended it; None where the harness
    did, because it took longer than it may. ``left_behind`` counts the processes it had started that were ended then.
    """

    exit_code: int | None
    stdout: str
    stderr: str
    left_behind: int = 0

    @property
    def timed_out(self) -> bool:
        """Whether the harness ended it."""
        return self.exit_code is None


def run_process(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout_s: float,
    stdin: bytes = b"",
) -> ProcessOutcome:
    """Run a program to its end, or for ``timeout_s`` seconds; nothing that it started is alive afterwards.

    Raises InputError for a program that cannot be started.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as given:
        given.write(stdin)
        given.seek(0)
        mark = f"{os.getpid()}-{os.urandom(8).hex()}"
        try:
            process = subprocess.Popen(
                argv, cwd=cwd, env={**env, MARK: mark}, stdin=given, stdout=out, stderr=err, start_new_session=True
            )
        except (OSError, ValueError) as error:
            raise InputError(f"cannot be started: {error}", where=argv[0]) from error
        code: int | None = None
        try:
            with suppress(subprocess.TimeoutExpired):
                code = process.wait(timeout_s)
        finally:
            left = _end(process, mark)
        exit_code = code if code is None or code >= 0 else 128 - code
        return ProcessOutcome(exit_code, _kept(out), _kept(err), left)


def _end(process: subprocess.Popen[bytes], mark: str) -> int:
    """End the group, then what left it; how many there were beside the program itself."""
    others = [pid for pid in _marked(mark) if pid != process.pid]
    with suppress(ProcessLookupError, PermissionError):  # the group is empty
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    again = others
    while again:  # what is being ended may start another one first
        for pid in again:
            _kill(pid)
        again = [pid for pid in _marked(mark) if pid not in again]
        others += again
    return len(set(others))


def _kill(pid: int) -> None:
    """End a process that is nobody's child here, and wait until it is gone."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:  # it has ended by itself
        return
    try:
        with suppress(ProcessLookupError, PermissionError):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
            select.select([handle], [], [], _DYING_S)
    finally:
        os.close(handle)


def _marked(mark: str) -> Iterator[int]:
    """The live processes with that mark; none where the system does not tell (outside Linux)."""
    wanted = f"{MARK}={mark}".encode()
    for folder in _PROC.glob("[0-9]*"):
        try:
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                yield int(folder.name)
        except OSError:  # it has ended, or belongs to somebody else
            continue


def _kept(file: IO[bytes]) -> str:
    """The beginning and the end of an output, and how much was left out between them."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    if size <= KEPT_BYTES:
        return file.read().decode("utf-8", "replace")
    half = KEPT_BYTES // 2
    head = file.read(half)
    file.seek(size - half)
    tail = file.read(half)
    left_out = f"\n… {size - 2 * half} bytes left out …\n"
    return head.decode("utf-8", "replace") + left_out + tail.decode("utf-8", "replace")
