"""One tool call through all gates of the pipeline, with the built-in tools, outside of any conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import InputError
from harness.pipeline.argument_policy import STRICT, ArgumentPolicy
from harness.pipeline.budget import BudgetPolicy
from harness.pipeline.builtin import builtin_tools
from harness.pipeline.decision import Decision
from harness.pipeline.executor import Execution, GateDecision, ToolExecutor
from harness.pipeline.observation import ToolObservation
from harness.pipeline.orchestrator import ToolCallPlan, ToolOrchestrator
from harness.pipeline.permissions import AskPolicy, RuntimeMode, ask_denies
from harness.pipeline.registry import ToolRegistry
from harness.pipeline.result import ToolResult
from harness.pipeline.tool import Tool, ToolParameter
from harness.pipeline.workspace import Workspace
from harness.seams import SequentialIds


@dataclass(frozen=True, slots=True)
class OneCall:
    """What became of a call: its plan, the decisions on its way, the answer.

    ``known`` is whether there is such a tool. ``dry_run`` ran the gates alone: the answer of a call that they let
    through is then a stand-in's.
    """

    plan: ToolCallPlan
    execution: Execution
    answer: ToolObservation
    budget: BudgetPolicy
    known: bool
    dry_run: bool

    @property
    def decision(self) -> Decision:
        """The permission gate's own; DENY for arguments that kept the call from reaching it."""
        return next((Decision(gate.outcome) for gate in self.decisions if gate.gate == "permission"), Decision.DENY)

    @property
    def reason(self) -> str:
        """Why, from the gate that decided."""
        decided = self.gate("permission") or self.gate("arguments")
        return "" if decided is None else str(decided.reason)

    @property
    def decisions(self) -> tuple[GateDecision, ...]:
        """The gates in the order in which the call came to them, a dry run's stand-in left out."""
        return tuple(gate for gate in self.execution.decisions if not (self.dry_run and gate.gate == "run"))

    @property
    def executed(self) -> bool:
        """Whether the tool itself ran."""
        return self.gate("run") is not None

    @property
    def refused(self) -> bool:
        """Whether a gate, or the arguments, kept the tool from being run."""
        return not self.execution.executed

    def gate(self, name: str, outcome: str | None = None) -> GateDecision | None:
        """The gate's first decision, or its decision of that outcome; None where the call did not reach it.

        What was repaired or coerced is told by outcome only: it decides nothing.
        """
        for found in self.decisions:
            wanted = found.outcome not in ("repaired", "coerced") if outcome is None else found.outcome == outcome
            if found.gate == name and wanted:
                return found
        return None

    def document(self) -> dict[str, object]:
        """What ``harness call --json`` prints."""
        result = self.answer.result
        told = self.executed or self.refused
        return {
            "decision": self.decision.value,
            "reason": self.reason,
            "concurrency_safe": self.plan.concurrency_safe,
            "executed": self.executed,
            "status": result.status.value if told else None,
            "error_code": result.error_code.value if told and result.error_code else None,
            "observation": None if self.dry_run else self.answer.observation,
            "tool": self.plan.tool_name,
            "arguments": self.plan.parsed_input if self.plan.parse_error is None else None,
            "repaired": self.gate("arguments", "repaired") is not None,
            "coerced": self.gate("arguments", "coerced") is not None,
            "gates": [
                {"gate": gate.gate, "outcome": str(gate.outcome), "reason": str(gate.reason)} for gate in self.decisions
            ],
        }


def call_once(
    tool: str,
    arguments: str,
    folder: Path,
    *,
    mode: RuntimeMode = RuntimeMode.NORMAL,
    ask: AskPolicy = ask_denies,
    policy: ArgumentPolicy = STRICT,
    dry_run: bool = False,
) -> OneCall:
    """Send one call of a built-in tool through the gates in ``folder``; raises InputError where there is no folder.

    ``arguments`` is the raw text, as a model would send it. In a dry run nothing runs and nothing is written.
    """
    try:
        workspace = Workspace(folder)
    except NotADirectoryError as error:
        raise InputError(str(error), where="--workspace", hint="name the folder in which the tool works") from error
    registry = ToolRegistry()
    for builtin in builtin_tools(workspace, registry.versions):
        registry.register_tool(_StandIn(builtin) if dry_run else builtin)
    executor = ToolExecutor(registry, workspace, mode=mode, ask=ask, arguments=policy)
    orchestrator = ToolOrchestrator(executor, ids=SequentialIds())
    outcome = orchestrator.run([{"id": "call_1", "name": tool, "arguments": arguments}])
    plan = outcome.plans[0]
    known = registry.resolve(tool) is not None
    return OneCall(plan, outcome.executions[0], outcome.observations[0], orchestrator.budget, known, dry_run)


class _StandIn(Tool):
    """Passes the gates as the tool that it stands for, and does nothing."""

    def __init__(self, tool: Tool) -> None:
        super().__init__(tool.name, tool.description)
        self.kind = tool.kind
        self.path_parameter = tool.path_parameter
        self._tool = tool

    def get_parameters(self) -> Sequence[ToolParameter]:
        return self._tool.get_parameters()

    def parameters_schema(self) -> dict[str, Any]:
        return self._tool.parameters_schema()

    def run(self, parameters: Mapping[str, Any]) -> ToolResult:  # noqa: ARG002  nothing is done with them
        return ToolResult.success("")
