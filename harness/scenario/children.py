"""Child processes for what may never end, may hold the interpreter while it does not, or may end its process.

A child writes what comes of it to a pipe as it comes, and what has to end in time to memory that both share: neither
needs another thread of the child, which gets no turn while one of them holds the interpreter. The parent kills what
is overdue. A child ends with its parent, and an interrupt from the keyboard is the parent's alone.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from types import TracebackType
from typing import Any, Self

from harness.errors import HarnessError, InputError

_POLL_S = 0.1
_REAP_S = 5.0
_PR_SET_PDEATHSIG = 1


_GRACE_S = 0.5
_GRACE = 0.1


def grace_of(seconds: float) -> float:
    """How many seconds more a child has to notice by itself that what may take ``seconds`` does not end."""
    return _GRACE_S + _GRACE * seconds


class ChildFailedError(HarnessError):
    """The work of a child raised what nobody expected; the text is its traceback."""


class Pulse:
    """What a child has begun that has to end in so many seconds; read by its parent without a lock."""

    def __init__(self, context: Any) -> None:
        self._values = context.RawArray("d", 2)

    def begin(self, seconds: float) -> None:
        """From now on it may take so long."""
        self._values[0] = 0.0
        self._values[1] = seconds
        self._values[0] = time.monotonic()

    def end(self) -> None:
        """It has ended; what comes next may take as long as it likes."""
        self._values[0] = 0.0

    def overdue_s(self, grace: float) -> float | None:
        """How long it might take, where it takes longer by ``grace`` seconds; else None."""
        since, seconds = self._values[0], self._values[1]
        return seconds if since and time.monotonic() - since > seconds + grace else None


@dataclass(frozen=True, slots=True)
class Over:
    """What a child says when it has done what it was to do."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A child is no more.

    ``overdue_s`` is what it was killed for: how many seconds something might take. It is None for one that has ended by
    itself, with ``exit_code``, which is negative for a signal.
    """

    exit_code: int | None = None
    overdue_s: float | None = None

    @property
    def how(self) -> str:
        """The exit code or the signal, for people."""
        code = self.exit_code
        if code is None or code >= 0:
            return f"exit code {code}"
        with suppress(ValueError):
            return signal.Signals(-code).name
        return f"signal {-code}"

    @property
    def why(self) -> str:
        """What became of the work, as a sentence on it."""
        if self.overdue_s is not None:
            return f"it did not end within {self.overdue_s:g} s, and held the interpreter"
        return f"it ended the process ({self.how})"


class Channel:
    """A child's end: what it says to its parent, what it is told, and its pulse."""

    def __init__(self, connection: Any, pulse: Pulse) -> None:
        self._connection = connection
        self.pulse = pulse

    def send(self, message: object) -> None:
        """Written when this returns; without a parent to read it, the process ends."""
        try:
            self._connection.send(message)
        except OSError:
            os._exit(1)

    def receive(self) -> Any:
        """Wait for the parent to say something."""
        self.pulse.end()
        try:
            return self._connection.recv()
        except (EOFError, OSError):
            os._exit(0)


class Child:
    """A child process as its parent sees it."""

    def __init__(self, process: Any, connection: Any, pulse: Pulse) -> None:
        self._process = process
        self._connection = connection
        self.pulse = pulse
        self.overdue_s: float | None = None

    def send(self, message: object) -> None:
        """Tell the child something; one that is no more is not told."""
        with suppress(OSError):
            self._connection.send(message)

    def kill(self) -> None:
        """End it, and whatever it has started."""
        with suppress(OSError, AttributeError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()

    def read_into(self, inbox: queue.SimpleQueue[tuple[Child, object]]) -> None:
        """Put what it says there until it has ended, and then `Ended`."""
        with suppress(EOFError, OSError):
            while True:
                # What it has started may keep the pipe open after its end.
                while not self._connection.poll(_POLL_S):
                    if not self._process.is_alive() and not self._connection.poll(0):
                        raise EOFError
                inbox.put((self, self._connection.recv()))
        self._process.join(_REAP_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._connection.close()
        inbox.put((self, Ended(self._process.exitcode, self.overdue_s)))


class Children:
    """Some child processes, and what they say in the order of its coming; leaving the block ends them."""

    def __init__(self) -> None:
        self._context: Any = multiprocessing.get_context("spawn")
        self._inbox: queue.SimpleQueue[tuple[Child, object]] = queue.SimpleQueue()
        self._running: dict[Child, threading.Thread] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for child in self._running:
            child.kill()
        for reader in self._running.values():
            reader.join(_REAP_S)
        self._running.clear()

    def start(self, work: Callable[..., None], *arguments: object) -> Child:
        """Do ``work(channel, *arguments)`` in a process of its own; all of it has to be picklable."""
        pulse = Pulse(self._context)
        own, theirs = self._context.Pipe()
        process = self._context.Process(target=_begin, args=(os.getpid(), theirs, pulse, work, arguments))
        with _interrupts_held_back():
            process.start()
        theirs.close()
        child = Child(process, own, pulse)
        reader = threading.Thread(target=child.read_into, args=(self._inbox,), name="harness-child", daemon=True)
        self._running[child] = reader
        reader.start()
        return child

    def next(self, grace: float) -> tuple[Child, object] | None:
        """What a child says next, `Ended` as its last, or None for now; what is overdue by ``grace`` seconds is killed.

        Raises InputError where a child does, and ChildFailedError for any other error of a child.
        """
        for child in self._running:
            if child.overdue_s is None and (seconds := child.pulse.overdue_s(grace)) is not None:
                child.overdue_s = seconds
                child.kill()
        try:
            child, message = self._inbox.get(timeout=_POLL_S)
        except queue.Empty:
            return None
        if isinstance(message, InputError | ChildFailedError):
            raise message
        if isinstance(message, Ended):
            self._running.pop(child, None)
        return child, message


def _begin(
    parent: int, connection: Any, pulse: Pulse, work: Callable[..., None], arguments: tuple[object, ...]
) -> None:
    _leave_interrupts_to_the_parent()
    _end_with(parent)
    os.dup2(2, 1)  # what is under test may print, and stdout is the parent's
    channel = Channel(connection, pulse)
    try:
        work(channel, *arguments)
    except InputError as error:
        channel.send(error)
    except BaseException:  # noqa: BLE001  raised again by the parent
        channel.send(ChildFailedError(traceback.format_exc()))
    # Threads that never end would keep the process.
    os._exit(0)


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """A process that is started meanwhile is not interrupted until it says so; this one is, afterwards."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # which would let interrupts in
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _leave_interrupts_to_the_parent() -> None:
    if hasattr(os, "setsid"):
        os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    if hasattr(os, "setsid"):
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end_with(parent: int) -> None:
    """See to it that this process ends when its parent does, however that ends."""
    if sys.platform == "linux":
        # By the kernel: a thread of this process gets no turn while another one holds the interpreter.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
        return
    above = multiprocessing.parent_process()

    def watch() -> None:
        if above is not None:
            above.join()
        os._exit(1)

    threading.Thread(target=watch, name="harness-parent", daemon=True).start()
