"""Interrupts asked for when it suits: the first is noted, the second ends what is under way at once."""

from __future__ import annotations

import signal
import threading
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any, Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """Whether somebody has interrupted this block, or asked this process to end. A second time is KeyboardInterrupt.

    In any thread but the main one nothing is noted: Python gives signals to that one alone.
    """

    def __init__(self) -> None:
        self._times = 0
        self._before: dict[signal.Signals, Any] = {}

    def __bool__(self) -> bool:
        return self._times > 0

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._note) for number in _SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            with suppress(TypeError):  # None is a handler that Python has not set and cannot set again
                signal.signal(number, handler)

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self._times += 1
        if self._times > 1:
            raise KeyboardInterrupt
