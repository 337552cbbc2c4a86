"""Small sound tools, and the pipeline that all sound twins are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.pipeline.circuit_breaker import CircuitBreaker
from harness.pipeline.executor import ToolExecutor
from harness.pipeline.orchestrator import ToolOrchestrator
from harness.pipeline.registry import ToolRegistry
from harness.pipeline.result import ErrorCode, ToolResult
from harness.pipeline.tool import Tool, ToolKind, ToolParameter
from harness.pipeline.workspace import Workspace
from harness.seams import Clock, SequentialIds

RECORD = {
    "type": "function",
    "function": {
        "name": "record",
        "description": "Keep anything.",
        "parameters": {"type": "object", "properties": {"id": {"type": "integer"}, "content": {"type": "string"}}},
    },
}
MOST_REPEATS = 100_000


class Find(Tool):
    """Looks something up; what it does not know is an error."""

    kind = ToolKind.READ

    def __init__(self) -> None:
        super().__init__("find", "Look a word up.")

    def get_parameters(self) -> Sequence[ToolParameter]:
        return (ToolParameter("word", "string"), ToolParameter("limit", "integer", required=False))

    def run(self, parameters: Mapping[str, Any]) -> ToolResult:
        word = parameters["word"]
        if word[:1] in "bcdefgmnopqrstuvwxyzBCDEFGMNOP[{":
            return ToolResult.error(ErrorCode.NOT_FOUND, f"there is no {word!r}")
        return ToolResult.success(f"found {word!r} {parameters.get('limit')}")


class Save(Tool):
    """Changes something."""

    def __init__(self) -> None:
        super().__init__("save", "Save a text under a name.")

    def get_parameters(self) -> Sequence[ToolParameter]:
        return (
            ToolParameter("name", "string"),
            ToolParameter("content", "string"),
            ToolParameter("size", "integer", required=False),
        )

    def run(self, parameters: Mapping[str, Any]) -> ToolResult:
        return ToolResult.success(f"saved {parameters['name']!r}")


class Stop(Tool):
    """Takes nothing."""

    def __init__(self) -> None:
        super().__init__("stop", "Stop everything.")

    def get_parameters(self) -> Sequence[ToolParameter]:
        return ()

    def run(self, parameters: Mapping[str, Any]) -> ToolResult:
        return ToolResult.success("stopped")


class Repeat(Tool):
    """Gives large results."""

    kind = ToolKind.READ

    def __init__(self) -> None:
        super().__init__("repeat", "Repeat a text.")

    def get_parameters(self) -> Sequence[ToolParameter]:
        times = {"minimum": 0, "maximum": MOST_REPEATS}
        return (ToolParameter("text", "string"), ToolParameter("times", "integer", extra=times))

    def run(self, parameters: Mapping[str, Any]) -> ToolResult:
        return ToolResult.success((parameters["text"][:2] or "x") * int(parameters["times"]))


class Run(Tool):
    """Runs commands; in a fuzz run it is a spy."""

    kind = ToolKind.SHELL

    def __init__(self) -> None:
        super().__init__("run", "Run a command.")

    def get_parameters(self) -> Sequence[ToolParameter]:
        return (ToolParameter("command", "string"),)

    def run(self, parameters: Mapping[str, Any]) -> ToolResult:
        raise AssertionError("a fuzz run executes no shell")


def small_tools() -> list[Tool]:
    return [Find(), Save(), Stop(), Repeat(), Run()]


def pipeline(
    workspace: Workspace,
    clock: Clock,
    *,
    tools: Sequence[Tool] | None = None,
    executor: type[ToolExecutor] = ToolExecutor,
    orchestrator: type[ToolOrchestrator] = ToolOrchestrator,
    registry: ToolRegistry | None = None,
) -> ToolOrchestrator:
    """A pipeline of the small tools, with parts of it replaced."""
    kept = registry or ToolRegistry(CircuitBreaker(clock=clock))
    for tool in small_tools() if tools is None else tools:
        kept.register_tool(tool)
    if tools is None:
        kept.register_definition(RECORD, lambda parameters: ToolResult.success(f"kept {len(parameters)}"))
    return orchestrator(executor(kept, workspace, clock=clock), ids=SequentialIds())


def sound(workspace: Workspace, clock: Clock) -> ToolOrchestrator:
    """The twin of every faulty executor that works with the small tools."""
    return pipeline(workspace, clock)
