"""Tools that fail when a scenario says so, whatever they are: the failure takes the place of the tool's own run."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness.errors import InputError
from harness.pipeline.registry import SchemaTool, ToolRegistry
from harness.pipeline.result import ToolResult
from harness.pipeline.tool import Tool, ToolParameter
from harness.scenario.world import FailureSpec


class Failures:
    """The failures that are still to come, by tool; safe under threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._due: dict[str, deque[ToolResult]] = {}

    def arm(self, spec: FailureSpec) -> None:
        """Let the tool fail so many more times, after those it is to fail already."""
        result = ToolResult.error(spec.error_code, spec.message)
        with self._lock:
            self._due.setdefault(spec.tool, deque()).extend([result] * spec.times)

    def take(self, tool: str) -> ToolResult | None:
        """The tool's next failure, if it is to fail."""
        with self._lock:
            due = self._due.get(tool)
            return due.popleft() if due else None

    @property
    def left(self) -> list[str]:
        """The failures that never came about, one entry each."""
        with self._lock:
            return [f"a failure of {tool}" for tool, due in sorted(self._due.items()) for _ in due]


def let_fail(registry: ToolRegistry, names: Iterable[str], failures: Failures) -> None:
    """Have the tools of these names ask ``failures`` before each run; raises InputError for one that there is not."""
    for name in sorted(set(names)):
        tool = registry.get(name)
        if tool is None:
            known = ", ".join(registry.names)
            raise InputError(f"fail: the agent has no tool {name!r} (it has: {known})")
        if isinstance(tool, SchemaTool):
            registry.register_schema_tool(_FailingSchemaTool(tool, failures), replace=True)
        else:
            registry.register_tool(_FailingTool(tool, failures), replace=True)


class _FailingTool(Tool):
    def __init__(self, inner: Tool, failures: Failures) -> None:
        super().__init__(inner.name, inner.description)
        self.kind = inner.kind
        self.path_parameter = inner.path_parameter
        self._inner = inner
        self._failures = failures

    def get_parameters(self) -> Sequence[ToolParameter]:
        return self._inner.get_parameters()

    def parameters_schema(self) -> dict[str, Any]:
        return self._inner.parameters_schema()

    def run(self, parameters: Mapping[str, Any]) -> ToolResult:
        return self._failures.take(self.name) or self._inner.run(parameters)

    def run_call(self, parameters: Mapping[str, Any], call_id: str) -> ToolResult:
        return self._failures.take(self.name) or self._inner.run_call(parameters, call_id)


class _FailingSchemaTool(SchemaTool):
    def __init__(self, inner: SchemaTool, failures: Failures) -> None:
        super().__init__(inner.definition, inner.run, inner.kind)
        self.path_parameter = inner.path_parameter
        self._inner = inner
        self._failures = failures

    def run_call(self, parameters: Mapping[str, Any], call_id: str) -> ToolResult:
        return self._failures.take(self.name) or self._inner.run_call(parameters, call_id)
