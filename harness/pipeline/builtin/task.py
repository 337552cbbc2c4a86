"""Task: a question to a sub-agent, which looks around with its own context and sends back a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.pipeline.builtin.base import Arguments, BuiltinTool, CallError, counted
from harness.pipeline.loop import LoopResult, LoopStatus
from harness.pipeline.result import ErrorCode, ToolResult
from harness.pipeline.sub_agent import NoSubAgentError, SubAgentRun, SubAgents
from harness.pipeline.tool import ToolParameter
from harness.pipeline.workspace import Workspace


class TaskTool(BuiltinTool):
    """Starts a read-only sub-agent and waits for it.

    ``text`` is the sub-agent's last message; ``data``: ``sub_agent`` (its name, as that of its lane in a run),
    ``outcome``, ``steps`` and ``tool_calls``. PARTIAL for a report cut at the token limit. A sub-agent that ended in
    any other way than with an answer is EXECUTION_ERROR with the reason, and ``last_text`` is the last that it said.
    Its kind is OTHER: never run beside other calls, and neither shown nor allowed in read-only mode.
    """

    def __init__(self, workspace: Workspace, sub_agents: SubAgents) -> None:
        super().__init__(
            workspace,
            "Task",
            "Have a question about the project answered by a sub-agent. It reads and searches on its own, changes "
            "nothing, and sees nothing of this conversation. Use it where a search would take many calls.",
        )
        self._sub_agents = sub_agents

    def get_parameters(self) -> Sequence[ToolParameter]:
        """The task in short, and in full."""
        return (
            ToolParameter("description", "string", "The task in a few words.", extra={"minLength": 1}),
            ToolParameter(
                "prompt", "string", "All that the sub-agent has to know, and what to report.", extra={"minLength": 1}
            ),
        )

    def run_call(self, parameters: Mapping[str, Any], call_id: str) -> ToolResult:
        """`run`, with the id by which the sub-agent is known to belong to the call."""
        try:
            return self._ask(Arguments(parameters), call_id)
        except CallError as error:
            return ToolResult.error(error.code, str(error), error.data)

    def perform(self, arguments: Arguments) -> ToolResult:
        """Ask, for nobody's call."""
        return self._ask(arguments, "")

    def _ask(self, arguments: Arguments, call_id: str) -> ToolResult:
        arguments.text("description")
        prompt = arguments.text("prompt")
        if not prompt.strip():
            raise CallError(ErrorCode.INVALID_PARAM, "prompt is empty")
        try:
            return _report(self._sub_agents.run(prompt, call_id, self.name))
        except NoSubAgentError as error:
            raise CallError(ErrorCode.EXECUTION_ERROR, f"{error}; go on without a sub-agent") from error


def _report(run: SubAgentRun) -> ToolResult:
    result = run.result
    calls = sum(len(step.outcome.plans) for step in result.steps if step.outcome is not None)
    data: dict[str, Any] = {
        "sub_agent": run.name,
        "outcome": result.status.value,
        "steps": len(result.steps),
        "tool_calls": calls,
    }
    text = (result.final_text or "").strip()
    if result.status is LoopStatus.ANSWERED and text:
        return ToolResult.success(text, data)
    if result.status is LoopStatus.CUT and text:
        return ToolResult.partial(f"{text}\n\n[The report was cut at the sub-agent's token limit.]", data)
    if last := _last_text(result):
        data["last_text"] = last
    return ToolResult.error(ErrorCode.EXECUTION_ERROR, _failure(result), data)


def _failure(result: LoopResult) -> str:
    after = f"after {counted(len(result.steps), 'step', 'steps')}"
    if result.status is LoopStatus.STEP_LIMIT:
        return f"The sub-agent was stopped {after}, its limit, without a report. Ask for less, or look yourself."
    if result.status in (LoopStatus.ANSWERED, LoopStatus.CUT):
        return f"The sub-agent ended {after} with an empty report. Ask again, or look yourself."
    return f"The sub-agent ended {after} without a report: {result.reason}"


def _last_text(result: LoopResult) -> str:
    """The last that was said beside calls; the only trace of what was found when no report came."""
    said = (step.turn.content for step in reversed(result.steps) if step.turn is not None and step.turn.content)
    return next((text.strip() for text in said if text.strip()), "")
