"""Examples played with an eye on the clock: what does not end is left behind, and the next one begins afresh."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from harness.fuzz.examples import Example
from harness.fuzz.playing import Played, Stage, prepare
from harness.scenario.children import Pulse
from harness.scenario.ending import Abandoned, leave_behind
from harness.scenario.target import Target

BETWEEN_PLAYS_S = 60.0
"""How long it may take to judge a play and to think of the next one."""


class TimedStage:
    """A stage in a thread of its own. ``play`` gives None for an example that did not end within ``seconds``.

    A thread that holds the interpreter keeps the clock from being looked at too: in a child process, ``pulse`` lets the
    parent see to that. ``folder`` is where workspaces are made.
    """

    def __init__(
        self, target: Target, seconds: float, *, folder: Path | None = None, pulse: Pulse | None = None
    ) -> None:
        self._target = target
        self._seconds = seconds
        self._folder = folder
        self._pulse = pulse
        self._worker: _Worker | None = None

    def play(self, example: Example, seconds: float | None = None) -> Played | None:
        """What was seen of the example; raises what `Stage.play` raises."""
        if self._worker is None:
            self._worker = _Worker(Stage(self._target, self._folder))
        prepare(example)
        seconds = seconds or self._seconds
        if self._pulse is not None:
            self._pulse.begin(seconds)
        found = self._worker.play(example, seconds)
        if self._pulse is not None:
            self._pulse.begin(BETWEEN_PLAYS_S)
        if found is None:
            self._worker.abandon()
            self._worker = None
            return None
        if isinstance(found, BaseException):
            raise found
        return found

    def close(self) -> None:
        """End the thread and remove its folder."""
        if self._worker is not None:
            self._worker.end()
            self._worker = None


class _Worker:
    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._wanted: queue.SimpleQueue[Example | None] = queue.SimpleQueue()
        self._found: queue.SimpleQueue[Played | BaseException] = queue.SimpleQueue()
        self._before = set(threading.enumerate())
        self._thread = threading.Thread(target=self._work, name="harness-fuzz", daemon=True)
        self._thread.start()

    def play(self, example: Example, seconds: float) -> Played | BaseException | None:
        self._wanted.put(example)
        try:
            return self._found.get(timeout=seconds)
        except queue.Empty:
            return None

    def end(self) -> None:
        self._wanted.put(None)
        self._thread.join()
        self._stage.close()

    def abandon(self) -> None:
        """Ask the thread, and those that it has started, to stop."""
        self._wanted.put(None)
        leave_behind(self._thread, self._before)
        self._stage.close()

    def _work(self) -> None:
        done: Callable[[Played | BaseException], None] = self._found.put
        with suppress(Abandoned):  # what asks it to stop may come when the example has ended by itself
            while (example := self._wanted.get()) is not None:
                try:
                    done(self._stage.play(example))
                except BaseException as error:  # noqa: BLE001  raised again by whoever asked
                    done(error)
