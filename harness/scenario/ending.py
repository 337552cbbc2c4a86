"""Work that has to come to its end in time: done in a thread of its own, which is left behind where it does not."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from concurrent.futures import thread as pools
from contextlib import suppress
from typing import TypeVar

from harness.errors import HarnessError
from harness.scenario.guard import release

_T = TypeVar("_T")

_TRIES = 50
_BETWEEN_TRIES_S = 0.1

_left_behind: list[threading.Thread] = []


class Abandoned(BaseException):
    """Raised in a thread whose work is waited for no longer.

    Not SystemExit: an executor takes that for a tool's failure and goes on with the next call.
    """


class EndlessError(HarnessError):
    """Something did not end in time."""


def within(seconds: float, work: Callable[[], _T]) -> _T:
    """What ``work`` gives or raises. Raises EndlessError where it takes longer; its threads are asked to stop."""
    results: list[_T] = []
    errors: list[BaseException] = []

    def do() -> None:
        with suppress(Abandoned):  # what asks it to stop may come when the work has ended by itself
            try:
                results.append(work())
            except BaseException as error:  # noqa: BLE001  raised again by whoever waits
                errors.append(error)

    before = set(threading.enumerate())
    thread = threading.Thread(target=do, name="harness-timed", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        leave_behind(thread, before)
        raise EndlessError(f"it did not end within {seconds:g} s")
    if errors:
        raise errors[0]
    return results[0]


def leave_behind(worker: threading.Thread, before: set[threading.Thread]) -> None:
    """Stop ``worker``, and ask all others that were not there ``before``; one that waits for a lock never does.

    A guarded block that they are in holds no longer: it would hold for everything that comes after them.
    """
    release()
    for thread in set(threading.enumerate()) - before:
        _left_behind.append(thread)
        if thread is not worker:
            _raise_in(thread, SystemExit)  # which ends any thread in silence
    threading.Thread(target=_stop, args=(worker,), name="harness-stopper", daemon=True).start()


def _stop(worker: threading.Thread) -> None:
    """Once is not enough: what is raised may meet a callback of the garbage collector, where Python drops it."""
    for _ in range(_TRIES):
        _raise_in(worker, Abandoned)
        worker.join(_BETWEEN_TRIES_S)
        if not worker.is_alive():
            return


def _raise_in(thread: threading.Thread, reason: type[BaseException]) -> None:
    """Raise it there, as soon as the thread runs Python code again."""
    if thread.ident is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(reason))


def is_held_up() -> bool:
    """Whether threads that were left behind would keep this process from ending; those of pools do, daemons or not."""
    pooled = getattr(pools, "_threads_queues", {})
    return any(thread.is_alive() and (not thread.daemon or thread in pooled) for thread in _left_behind)
