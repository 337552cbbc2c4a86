"""The tools of a scenario's agent: built-ins, and built-ins under a frozen definition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.errors import InputError
from harness.pipeline.builtin import BUILTIN_NAMES, OPTIONAL_NAMES, builtin_tools
from harness.pipeline.registry import SchemaTool, ToolRegistry
from harness.pipeline.result import ToolResult
from harness.pipeline.sub_agent import SubAgents
from harness.pipeline.tool import Tool
from harness.pipeline.workspace import Workspace
from harness.scenario.format import AgentSpec


class FrozenTool(SchemaTool):
    """A built-in that is shown to the model as a scenario froze it.

    A later change of its description or schema does not make the scenario's cassette stale.
    """

    def __init__(self, definition: Mapping[str, Any], inner: Tool) -> None:
        super().__init__(definition, inner.run, inner.kind)
        self.path_parameter = inner.path_parameter
        self._inner = inner

    def run_call(self, parameters: Mapping[str, Any], call_id: str) -> ToolResult:
        """The built-in's own."""
        return self._inner.run_call(parameters, call_id)

    @classmethod
    def of(cls, definition: Mapping[str, Any], builtins: Mapping[str, Tool]) -> FrozenTool:
        """Bind a definition to the built-in of its name; raises InputError where there is none."""
        function = definition.get("function")
        name = function.get("name") if isinstance(function, Mapping) else None
        inner = builtins.get(str(name))
        if inner is None:
            raise InputError(f"agent.tools: no built-in {name!r}; the built-ins are {', '.join(sorted(builtins))}")
        return cls(definition, inner)


def register_tools(
    registry: ToolRegistry, agent: AgentSpec, workspace: Workspace, sub_agents: SubAgents | None = None
) -> None:
    """Put the agent's tools into the registry; raises InputError for an unknown name or a definition without one."""
    available = builtin_tools(
        workspace,
        registry.versions,
        names=(*BUILTIN_NAMES, *OPTIONAL_NAMES),
        bash_timeout_s=agent.bash_timeout_s,
        sub_agents=sub_agents,
    )
    builtins = {tool.name: tool for tool in available}
    for entry in BUILTIN_NAMES if agent.tools is None else agent.tools:
        if isinstance(entry, Mapping):
            registry.register_schema_tool(FrozenTool.of(entry, builtins))
        elif entry in builtins:
            registry.register_tool(builtins[entry])
        else:
            raise InputError(f"agent.tools: no built-in {entry!r}; the built-ins are {', '.join(sorted(builtins))}")
