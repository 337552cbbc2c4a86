"""What must hold inside a tool pipeline, as a scenario says it (see docs/fuzzing.md)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from harness.scenario.functions import FORM
from harness.scenario.part import Part


class ToolRunExpectation(Part):
    """A run of a tool, and the parameters that came to it."""

    tool: str
    parameters: dict[str, Any] | None = None


class PipelineExpectation(Part):
    """What must hold of the pipeline and its tools, seen from outside.

    ``holds`` are invariants by name. ``runs`` are all runs of tools, in any order. The run ends ``within_s`` seconds.
    ``again`` is how many more times it is run, each with the same decisions. ``oracles`` are functions that are given
    the steps that were seen.
    """

    holds: list[str] = Field(default_factory=list)
    runs: list[ToolRunExpectation] | None = None
    within_s: float | None = Field(default=None, gt=0)
    again: int = Field(default=0, ge=0)
    oracles: list[Annotated[str, Field(pattern=rf"^{FORM}$")]] = Field(default_factory=list)
