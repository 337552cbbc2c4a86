"""The calls that a run made, with their places."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from harness.judge.trajectory.texts import arguments_text
from harness.trace.run import CallRecord, Lane


@dataclass(frozen=True, slots=True)
class Made:
    """A call with its step and its position in it, both from 1; ``lane`` only where calls of several are told apart."""

    call: CallRecord
    step: int
    number: int
    lane: str = ""

    @property
    def at_step(self) -> str:
        """The step, for a person."""
        return f"{f'lane {self.lane} ' if self.lane else ''}step {self.step}"

    @property
    def where(self) -> str:
        """The place and the tool, for a person."""
        return f"{self.at_step} call {self.number} ({self.call.name})"

    def __str__(self) -> str:
        """The call as a person would write it."""
        return f"{self.call.name}({arguments_text(self.call.arguments)})"


def made_calls(lanes: Iterable[Lane], *, name_lanes: bool = False) -> list[Made]:
    """The calls of the lanes, one lane after the other, each in the order of its calls."""
    return [
        Made(call, step.index + 1, number + 1, lane.name if name_lanes else "")
        for lane in lanes
        for step in lane.steps
        for number, call in enumerate(step.calls)
    ]
