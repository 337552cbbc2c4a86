"""A scenario that has to end in time, run in a child process first: what it does to the process, the child bears.

What holds the interpreter, or ends the process, cannot be told by the process that it happens to.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.errors import InputError
from harness.scenario.children import Channel, ChildFailedError, Children, Ended, Over, grace_of
from harness.scenario.format import Scenario
from harness.scenario.policy import ReplayPolicy


@dataclass(frozen=True, slots=True)
class Endless:
    """A turn of the user that does not come to its end, and why."""

    turn: int
    why: str


@dataclass(frozen=True, slots=True)
class Begun:
    """The trial is under way; ``turn`` of the user has begun, None where none has."""

    turn: int | None = None


Run = Callable[[Scenario, ReplayPolicy, Channel], object]
"""Runs a scenario and tells the channel of its turns; a function of a module."""


def is_needed(scenario: Scenario, policy: ReplayPolicy) -> bool:
    """Whether the scenario has to end in time; never where a live model would be asked twice."""
    return _within_s(scenario) is not None and not scenario.player.live and policy.on_miss != "live"


def dry_trial(scenario: Scenario, policy: ReplayPolicy, run: Run) -> Endless | None:
    """What does not end in a trial run of the scenario, None where it ends, with whatever outcome.

    Raises InputError for a pipeline that ends the process before the first turn, while it is made.
    """
    seconds = _within_s(scenario) or 0.0
    turn: int | None = None
    begun = False
    with tempfile.TemporaryDirectory(prefix="harness-", ignore_cleanup_errors=True) as folder, Children() as children:
        children.start(_try, scenario, policy, run, Path(folder))
        while True:
            try:
                said = children.next(grace_of(seconds))
            except (InputError, ChildFailedError):
                return None  # it is told by the run that counts
            match said:
                case (_, Begun(number)):
                    begun, turn = True, number
                case (_, Endless() as endless):
                    return endless
                case (_, Over()):
                    return None
                case (_, Ended() as ended):
                    # Where it has not begun, no child can be had here: a script without the guard of its main module.
                    if begun and turn is None:
                        raise InputError(f"agent: {ended.why} while it was made", where=str(scenario.path))
                    return Endless(turn or 0, ended.why) if begun else None


def _within_s(scenario: Scenario) -> float | None:
    expected = None if scenario.expect is None else scenario.expect.pipeline
    return None if expected is None else expected.within_s


def _try(channel: Channel, scenario: Scenario, policy: ReplayPolicy, run: Run, folder: Path) -> None:
    tempfile.tempdir = str(folder)  # removed by the parent, whatever becomes of this process
    channel.send(Begun())
    run(scenario, policy, channel)
    channel.send(Over())
