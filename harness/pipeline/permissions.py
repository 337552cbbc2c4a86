"""Gate 1: whether a call may run (seed 000).

The classifier answers ALLOW, ASK or DENY; what ASK becomes is the policy's business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from harness.pipeline.decision import Decision, Ruling
from harness.pipeline.names import unknown_tool_text
from harness.pipeline.registry import ToolRegistry
from harness.pipeline.shell import classify_command
from harness.pipeline.tool import Tool, ToolKind
from harness.pipeline.workspace import OutsideWorkspaceError, Workspace


class RuntimeMode(StrEnum):
    """What the agent as a whole may do; a sub-agent that only looks runs READ_ONLY."""

    NORMAL = "normal"
    READ_ONLY = "read_only"


@dataclass(frozen=True, slots=True)
class AskRequest:
    """What somebody is asked: a call, and why it needs a yes."""

    tool_name: str
    parameters: Mapping[str, Any]
    reason: str


AskPolicy = Callable[[AskRequest], bool]
"""Answers an ASK: true lets the call run."""


def ask_denies(_: AskRequest) -> bool:
    """The default policy: nobody is there to say yes."""
    return False


def ask_allows(_: AskRequest) -> bool:
    """Say yes to everything that has to be asked for; DENY stays."""
    return True


def is_shown(tool: Tool, mode: RuntimeMode) -> bool:
    """Whether the model is told of the tool in this mode: a read-only agent is not shown what it may not use."""
    return mode is RuntimeMode.NORMAL or tool.read_only or tool.kind is ToolKind.SHELL


class RiskClassifier:
    """Rules on a call from the kind of its tool, its path, and for shells its command."""

    def __init__(self, registry: ToolRegistry, workspace: Workspace | None = None) -> None:
        self._registry = registry
        self._workspace = workspace

    def classify(self, name: str, parameters: Mapping[str, Any], mode: RuntimeMode = RuntimeMode.NORMAL) -> Ruling:
        """The ruling on one call; an unknown name is DENY (fail closed), with the known names in the reason."""
        tool = self._registry.get(name)
        if tool is None:
            return Ruling(Decision.DENY, unknown_tool_text(name, self._registry.names))
        if escape := self._escape(tool, parameters):
            return Ruling(Decision.DENY, escape)
        if tool.kind is ToolKind.READ:
            return Ruling(Decision.ALLOW, f"{name} only reads")
        if tool.kind is ToolKind.SHELL:
            ruling = classify_command(str(parameters.get("command", "")), self._leads_out)
            if mode is RuntimeMode.READ_ONLY and ruling.decision is not Decision.ALLOW:
                return Ruling(Decision.DENY, f"read-only mode: {ruling.reason}")
            return ruling
        if mode is RuntimeMode.READ_ONLY:
            return Ruling(Decision.DENY, f"{name} is not available in read-only mode")
        return Ruling(Decision.ALLOW, f"{name} is registered for this agent")

    def _escape(self, tool: Tool, parameters: Mapping[str, Any]) -> str | None:
        path = parameters.get(tool.path_parameter) if tool.path_parameter else None
        if self._workspace is None or not isinstance(path, str):
            return None
        try:
            self._workspace.resolve(path)
        except OutsideWorkspaceError as error:
            return str(error)
        return None

    def _leads_out(self, path: str) -> bool:
        if self._workspace is None:
            return False
        try:
            self._workspace.resolve(path)
        except OutsideWorkspaceError:
            return True
        return False
