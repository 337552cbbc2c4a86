"""Calls and trajectories for tests, written down in a letter each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from harness.judge.functions import Functions
from harness.judge.trajectory.made import Made
from harness.judge.trajectory.modes import judge_trajectory
from harness.judge.verdict import Check
from harness.scenario.expectations import CallExpectation, TrajectoryExpectation, TrajectoryMode
from harness.trace.run import CallRecord

MODES: tuple[TrajectoryMode, ...] = ("strict", "ordered", "unordered", "subset", "superset")


def call(name: str, arguments: object = None, *, status: str | None = "success", observation: str = "") -> CallRecord:
    """A call that ran; with ``status`` None one of an agent that says nothing of it."""
    executed = None if status is None else True
    return CallRecord("call_1", "call_1", name, arguments, None, None, executed, executed, status, None, observation)


def made(calls: Iterable[CallRecord]) -> list[Made]:
    """Each in a step of its own."""
    return [Made(one, number + 1, 1) for number, one in enumerate(calls)]


def judged(mode: TrajectoryMode, expected: Sequence[CallExpectation], calls: Iterable[CallRecord]) -> Check:
    """The check of a trajectory."""
    reference = TrajectoryExpectation(mode=mode, calls=list(expected))
    return judge_trajectory(reference, made(calls), Functions(Path()))


def letters(mode: TrajectoryMode, expected: str, actual: str) -> Check:
    """The same where each letter is a tool."""
    return judged(mode, [CallExpectation(tool=tool) for tool in expected], map(call, actual))
