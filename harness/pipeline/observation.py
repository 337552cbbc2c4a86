"""What of a result enters the history, made at construction (seed 000, step 6)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import InitVar, dataclass, field
from functools import cached_property

from harness.pipeline.result import ToolResult, serialize_tool_result

Serializer = Callable[[ToolResult], str]
"""Gives the content of the tool message; the seed's JSON by default, `verbatim` for replay."""


@dataclass(frozen=True)
class ToolObservation:
    """A call's answer: ``result`` as the model gets it, ``raw_result`` before truncation, ``observation`` the text."""

    tool_call_id: str
    tool_name: str
    result: ToolResult
    raw_result: ToolResult
    serializer: InitVar[Serializer] = serialize_tool_result
    observation: str = field(init=False)

    def __post_init__(self, serializer: Serializer) -> None:
        object.__setattr__(self, "observation", serializer(self.result))

    @cached_property
    def size(self) -> int:
        """Bytes of the observation in UTF-8; the unit of both budgets."""
        return len(self.observation.encode("utf-8"))

    @property
    def truncated(self) -> bool:
        """Whether something was cut."""
        return self.result is not self.raw_result
