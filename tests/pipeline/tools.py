"""Small tools and strategies that several test modules of this folder share."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from harness.pipeline.builtin import BUILTIN_NAMES, builtin_tools
from harness.pipeline.circuit_breaker import CircuitBreaker
from harness.pipeline.executor import ToolExecutor
from harness.pipeline.file_versions import FileVersions
from harness.pipeline.orchestrator import ToolCallPlan, ToolOrchestrator
from harness.pipeline.permissions import ask_allows
from harness.pipeline.registry import ToolRegistry
from harness.pipeline.result import ToolResult
from harness.pipeline.tool import Tool, ToolKind, ToolParameter
from harness.pipeline.workspace import Workspace

Behaviour = Callable[[dict[str, Any]], Any]

WAIT_S = 10.0
"""How long a test waits for another thread before it counts as stuck; a passing test never waits so long."""


class SmallTool(Tool):
    """A tool whose behaviour the test gives, and which keeps the parameters of every run."""

    def __init__(
        self,
        name: str,
        behave: Behaviour = lambda _: ToolResult.success("done"),
        *,
        kind: ToolKind = ToolKind.OTHER,
        parameters: Sequence[ToolParameter] = (ToolParameter("value", "string", required=False),),
        path_parameter: str | None = None,
    ) -> None:
        super().__init__(name, f"{name} for tests")
        self.kind = kind
        self.path_parameter = path_parameter
        self.runs: list[dict[str, Any]] = []
        self._behave = behave
        self._parameters = parameters
        self._guard = threading.Lock()

    def get_parameters(self) -> Sequence[ToolParameter]:
        return self._parameters

    def run(self, parameters: Mapping[str, Any]) -> ToolResult:
        with self._guard:
            self.runs.append(json.loads(json.dumps(parameters)))
        result: ToolResult = self._behave(dict(parameters))
        return result


def registry_with(*tools: Tool, breaker: CircuitBreaker | None = None) -> ToolRegistry:
    registry = ToolRegistry(breaker)
    for tool in tools:
        registry.register_tool(tool)
    return registry


def orchestrator_with(*tools: Tool, workspace: Workspace | None = None, **options: Any) -> ToolOrchestrator:
    return ToolOrchestrator(ToolExecutor(registry_with(*tools), workspace, ask=ask_allows), **options)


def builtin_executor(root: Path, *, versions: FileVersions | None = None, **options: Any) -> ToolExecutor:
    """An executor with the built-in tools on a folder, and a breaker that stays out of the way."""
    workspace = Workspace(root)
    versions = FileVersions() if versions is None else versions
    registry = ToolRegistry(CircuitBreaker(1_000_000), versions)
    for tool in builtin_tools(workspace, versions, names=(*BUILTIN_NAMES, "MultiEdit")):
        registry.register_tool(tool)
    return ToolExecutor(registry, workspace, **options)


def flat(name: str, arguments: object = "{}", call_id: str | None = None) -> dict[str, Any]:
    """A call in the flat form of seed 000."""
    return {"id": call_id, "name": name, "arguments": arguments}


def plan(name: str = "Read", arguments: str = "{}", call_id: str = "call_1", position: int = 0) -> ToolCallPlan:
    """A plan whose arguments parse."""
    return ToolCallPlan(position, name, call_id, call_id, arguments, json.loads(arguments), None, concurrency_safe=True)


any_text = st.text(st.characters(exclude_categories=()), max_size=40)
"""Every code point, lone surrogates and control characters included."""

unicode_text = st.text(max_size=40)
"""Every character that UTF-8 can carry."""

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**80), 2**80) | st.floats(allow_nan=False, allow_infinity=False)
    | unicode_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(unicode_text, inner, max_size=4),
    max_leaves=12,
)  # fmt: skip

json_objects: st.SearchStrategy[dict[str, Any]] = st.dictionaries(unicode_text, json_values, max_size=4)
