"""Running a command in a process group of its own, with bounded time and memory."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_CHUNK_BYTES = 65_536
_LONGEST_NAP_MS = 20
_QUIET_MS = 100
"""A shell that has ended may have children that still write (process substitution); so long a silence is their end."""

_LONGEST_DRAIN_S = 0.5


@dataclass(frozen=True, slots=True)
class Finished:
    """How a command ended. ``exit_code`` is the shell's, 128 + n for signal n, None after a timeout.

    ``head`` and ``tail`` are the two ends of the output and ``dropped`` the bytes between them that were not kept;
    ``stopped_background`` says that children were still running when the shell ended, and were killed.
    """

    exit_code: int | None
    head: bytes
    tail: bytes
    dropped: int
    stopped_background: bool


class HeadAndTail:
    """The first and the last bytes of a stream, ``limit`` at most, whatever its length."""

    def __init__(self, limit: int) -> None:
        self._head_limit = limit // 2
        self._tail_limit = limit - limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    def add(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self._total += len(chunk)
        room = self._head_limit - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        self._tail += chunk
        # Cutting at twice the limit copies each byte once on average.
        if len(self._tail) > 2 * self._tail_limit:
            del self._tail[: -self._tail_limit]

    def ends(self) -> tuple[bytes, bytes, int]:
        """Head, tail, and how many bytes between them are missing."""
        tail = bytes(self._tail[max(0, len(self._tail) - self._tail_limit) :])
        return bytes(self._head), tail, self._total - len(self._head) - len(tail)


def run_group(
    command: Sequence[str], *, cwd: Path, env: Mapping[str, str], timeout_s: float, limit_bytes: int
) -> Finished:
    """Run ``command`` without input, output and errors as one stream in the order in which they were written.

    Returns soon after the command itself ends, even if children of it keep the stream open; these are killed, and so
    is the whole group after ``timeout_s``. A child that leaves the group (``setsid``) is out of reach. Raises OSError
    when the command cannot be started.
    """
    with subprocess.Popen(
        command,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        bufsize=0,
    ) as process:
        if process.stdout is None:
            raise OSError("the command has no output stream")
        output = _Output(process.stdout.fileno(), HeadAndTail(limit_bytes))
        ended = False
        try:
            ended = _collect_until_end(process, output, time.monotonic() + timeout_s)
            if ended:
                output.drain(_QUIET_MS)
        finally:
            left_over = _kill_group(process.pid)
        code = process.wait()
        if left_over:
            output.drain(_QUIET_MS)
    head, tail, dropped = output.kept.ends()
    exit_code = (128 - code if code < 0 else code) if ended else None
    return Finished(exit_code, head, tail, dropped, stopped_background=ended and left_over)


class _Output:
    """The reading end of the stream."""

    def __init__(self, descriptor: int, kept: HeadAndTail) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)
        self.kept = kept
        self.open = True

    def read(self, timeout_ms: float) -> bool:
        """Wait for output and keep it; false where there was none in this time, or no more will come."""
        if not self._poll.poll(timeout_ms):
            return False
        try:
            chunk = os.read(self._descriptor, _CHUNK_BYTES)
        except BlockingIOError:
            return False
        self.open = bool(chunk)
        self.kept.add(chunk)
        return self.open

    def drain(self, quiet_ms: float) -> None:
        """Read until the end, a silence, or for as long as a command that has ended may still take."""
        end = time.monotonic() + _LONGEST_DRAIN_S
        while self.open and time.monotonic() < end and self.read(quiet_ms):
            pass


def _collect_until_end(process: subprocess.Popen[bytes], output: _Output, deadline: float) -> bool:
    """Read until the process ends; false where the deadline came first."""
    nap_ms = 1
    while process.poll() is None:
        remaining_s = deadline - time.monotonic()
        if remaining_s <= 0:
            return False
        if not output.open:
            try:
                process.wait(remaining_s)
            except subprocess.TimeoutExpired:
                return False
        elif output.read(min(nap_ms, remaining_s * 1000)):
            nap_ms = 1
        else:
            nap_ms = min(2 * nap_ms, _LONGEST_NAP_MS)
    return True


def _kill_group(group: int) -> bool:
    """Kill what is left of the group; false where nothing was. A group that has members keeps its number reserved."""
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return False
    return True
