"""What would differ from run to run, made injectable: time and fresh identifiers."""

from __future__ import annotations

import itertools
import threading
import time
import uuid
from typing import Protocol


class Clock(Protocol):
    """Seconds that only ever grow; differences are durations."""

    def monotonic(self) -> float:
        """Seconds since an arbitrary start."""
        ...


class SystemClock:
    """The machine's monotonic clock."""

    def monotonic(self) -> float:
        """Seconds since an arbitrary start."""
        return time.monotonic()


class ManualClock:
    """A clock that moves only when told to, for tests and for runs that must give the same bytes twice."""

    def __init__(self, start: float = 0.0) -> None:
        self._now = start
        self._lock = threading.Lock()

    def monotonic(self) -> float:
        """Seconds since the clock's zero."""
        with self._lock:
            return self._now

    def advance(self, seconds: float) -> None:
        """Move the clock forward by ``seconds``; raises ValueError when negative."""
        if seconds < 0:
            raise ValueError(f"a monotonic clock cannot go back ({seconds} s)")
        with self._lock:
            self._now += seconds


class IdSource(Protocol):
    """Fresh identifiers for calls that arrived without a usable one."""

    def call_id(self) -> str:
        """An identifier never returned before by this source."""
        ...


class RandomIds:
    """Identifiers of the seed's form, ``call_`` and 32 hexadecimal digits."""

    def call_id(self) -> str:
        """An identifier never returned before by this source."""
        return f"call_{uuid.uuid4().hex}"


class SequentialIds:
    """Identifiers counted up, so that the same run gives the same bytes."""

    def __init__(self, prefix: str = "call_fresh_") -> None:
        self._prefix = prefix
        self._count = itertools.count(1)

    def call_id(self) -> str:
        """An identifier never returned before by this source."""
        return f"{self._prefix}{next(self._count):04d}"
