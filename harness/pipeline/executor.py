"""One call through the gates: permission, optimistic lock, circuit breaker, run (seed 000, step 4).

Parsing and schema validation come before the gates; what they refuse is INVALID_PARAM and reaches no gate.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

from harness.pipeline.argument_policy import STRICT, ArgumentPolicy, ArgumentReading, read_arguments
from harness.pipeline.decision import Decision, Ruling
from harness.pipeline.names import unknown_tool_text
from harness.pipeline.permissions import AskPolicy, AskRequest, RiskClassifier, RuntimeMode, ask_denies
from harness.pipeline.registry import ToolRegistry
from harness.pipeline.result import ErrorCode, ToolResult, ToolStatus
from harness.pipeline.tool import Tool, ToolKind
from harness.pipeline.workspace import OutsideWorkspaceError, Workspace
from harness.seams import Clock, SystemClock


class GateMode(StrEnum):
    """ENFORCE applies what the gates decide; OBSERVE records it and lets the call run, for replay."""

    ENFORCE = "enforce"
    OBSERVE = "observe"


GateName = Literal["name", "arguments", "permission", "lock", "breaker", "run"]


@dataclass(frozen=True, slots=True)
class GateDecision:
    """What one gate decided about a call: ``outcome`` in one word, ``reason`` in words."""

    gate: GateName
    outcome: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Execution:
    """A call's result and the decisions on its way, in order."""

    result: ToolResult
    decisions: tuple[GateDecision, ...]

    @property
    def executed(self) -> bool:
        """Whether the tool itself ran."""
        return any(decision.gate == "run" for decision in self.decisions)


@dataclass(frozen=True, slots=True)
class _Call:
    name: str
    parameters: dict[str, Any]
    call_id: str


class ToolExecutor:
    """Runs calls of one agent. Safe to use from several threads at once.

    ``require_read`` refuses an Edit of a file that the model has not read; the seed allows it, so it is off.
    ``arguments`` says whether arguments are repaired and coerced.
    """

    def __init__(
        self,
        registry: ToolRegistry,
        workspace: Workspace | None = None,
        *,
        mode: RuntimeMode = RuntimeMode.NORMAL,
        ask: AskPolicy = ask_denies,
        gates: GateMode = GateMode.ENFORCE,
        require_read: bool = False,
        arguments: ArgumentPolicy = STRICT,
        clock: Clock | None = None,
        classifier: RiskClassifier | None = None,
    ) -> None:
        self.registry = registry
        self.workspace = workspace
        self.mode = mode
        self.gates = gates
        self._ask = ask
        self._require_read = require_read
        self._argument_policy = arguments
        self._clock = clock or SystemClock()
        self._classifier = classifier or RiskClassifier(registry, workspace)

    def read_only(self, registry: ToolRegistry) -> ToolExecutor:
        """An executor of another registry in the same workspace, in read-only mode, where nothing is asked."""
        return ToolExecutor(
            registry,
            self.workspace,
            mode=RuntimeMode.READ_ONLY,
            gates=self.gates,
            arguments=self._argument_policy,
            clock=self._clock,
        )

    def execute(self, name: str, input_text: object) -> ToolResult:
        """Run one call; ``input_text`` is the arguments text or an object. Never raises for what a tool does."""
        return self.execute_call(name, input_text).result

    def execute_call(self, name: str, input_text: object, call_id: str = "") -> Execution:
        """`execute`, with every decision on the way. ``call_id`` reaches the tools that ask for it."""
        known = self.registry.resolve(name)
        reading = self.read_arguments(known, input_text)
        given = copy.deepcopy(reading.parameters)
        decisions: list[GateDecision] = []
        if known is not None and known != name:
            decisions.append(GateDecision("name", "resolved", f"{name[:80]!r} is {known}"))
        started = self._clock.monotonic()
        call = _Call(name if known is None else known, reading.parameters, call_id)
        result = self._through_gates(call, reading, decisions)
        context = {"params_input": given, **reading.context()}
        return Execution(self._completed(result, context, started), tuple(decisions))

    def read_arguments(self, tool_name: str | None, raw: object) -> ArgumentReading:
        """The arguments of a call as this executor's policy reads them; ``tool_name`` is None for an unknown tool."""
        tool = None if tool_name is None else self.registry.get(tool_name)
        return read_arguments(raw, None if tool is None else self.registry.validator(tool), self._argument_policy)

    def _through_gates(self, call: _Call, reading: ArgumentReading, decisions: list[GateDecision]) -> ToolResult:
        name, parameters = call.name, call.parameters
        tool = self.registry.get(name)
        if tool is not None and (refusal := self._arguments(tool, reading, decisions)):
            return refusal
        if refusal := self._permission(name, parameters, decisions):
            return refusal
        if tool is None:
            return ToolResult.error(ErrorCode.UNKNOWN_TOOL, unknown_tool_text(name, self.registry.names))
        path = self._resolved(tool, parameters)
        if tool.kind is ToolKind.EDIT:
            refusal, parameters = self._lock(path, parameters, decisions)
            if refusal:
                return refusal
        result = self._admitted_run(tool, parameters, call.call_id, decisions)
        if tool.kind is ToolKind.READ and result.status is not ToolStatus.ERROR:
            self.registry.cache_read_result(path, result)
        return result

    def _arguments(self, tool: Tool, reading: ArgumentReading, decisions: list[GateDecision]) -> ToolResult | None:
        for outcome, steps in (("repaired", reading.repairs), ("coerced", reading.coercions)):
            if steps:
                decisions.append(GateDecision("arguments", outcome, "; ".join(steps)))
        problem = reading.problem or self.registry.problem_with(tool, reading.parameters)
        if problem is None:
            return None
        decisions.append(GateDecision("arguments", "invalid", problem))
        return ToolResult.error(ErrorCode.INVALID_PARAM, problem) if self.gates is GateMode.ENFORCE else None

    def _admitted_run(
        self, tool: Tool, parameters: Mapping[str, Any], call_id: str, decisions: list[GateDecision]
    ) -> ToolResult:
        breaker = self.registry.breaker
        permit = breaker.admit(tool.name)
        decisions.append(GateDecision("breaker", breaker.state(tool.name), "" if permit else "refused"))
        if permit is None and self.gates is GateMode.ENFORCE:
            return self.registry.create_circuit_open_result(tool.name)
        try:
            result = _run(tool, parameters, call_id)
        except BaseException:
            if permit is not None:
                breaker.release(permit)
            raise
        decisions.append(GateDecision("run", result.status, result.error_code or ""))
        if permit is not None:
            breaker.record(permit, result)
        return result

    def _permission(self, name: str, parameters: Mapping[str, Any], decisions: list[GateDecision]) -> ToolResult | None:
        ruling = self._ruling(name, parameters)
        decisions.append(GateDecision("permission", ruling.decision, ruling.reason))
        if self.gates is GateMode.OBSERVE or ruling.decision is Decision.ALLOW:
            return None
        if ruling.decision is Decision.ASK:
            return self._asked(name, parameters, ruling, decisions)
        code = ErrorCode.PERMISSION_DENIED if self.registry.get(name) else ErrorCode.UNKNOWN_TOOL
        return ToolResult.error(code, f"denied: {ruling.reason}")

    def _ruling(self, name: str, parameters: Mapping[str, Any]) -> Ruling:
        try:
            return self._classifier.classify(name, parameters, self.mode)
        except Exception as error:  # noqa: BLE001  fail closed: what could not be judged does not run
            return Ruling(Decision.DENY, f"the call could not be judged: {_describe(error)}")

    def _asked(
        self, name: str, parameters: Mapping[str, Any], ruling: Ruling, decisions: list[GateDecision]
    ) -> ToolResult | None:
        answer = "the answer to the question"
        try:
            granted = self._ask(AskRequest(name, parameters, ruling.reason))
        except Exception as error:  # noqa: BLE001  a question that fails is no yes, and costs no other call its answer
            granted, answer = False, f"the question failed: {_describe(error)}"
        decisions.append(GateDecision("permission", "granted" if granted else "refused", answer))
        if granted:
            return None
        return ToolResult.error(ErrorCode.PERMISSION_DENIED, f"needs approval, which was not given: {ruling.reason}")

    def _lock(
        self, path: Path | None, parameters: dict[str, Any], decisions: list[GateDecision]
    ) -> tuple[ToolResult | None, dict[str, Any]]:
        if self.gates is GateMode.OBSERVE:
            decisions.append(GateDecision("lock", "observed"))
            return None, parameters
        injected = self.registry.inject_optimistic_lock_params(path, parameters)
        if injected != parameters:
            decisions.append(GateDecision("lock", "injected", "expected values of the last Read"))
        elif path is not None and self.registry.versions.known(path) is None:
            decisions.append(GateDecision("lock", "unread", "the file has not been read"))
            if self._require_read:
                return ToolResult.error(ErrorCode.CONFLICT, "the file has not been read; Read it, then edit"), injected
        else:
            decisions.append(GateDecision("lock", "given", "the model gave expected values itself"))
        return None, injected

    def _resolved(self, tool: Tool, parameters: Mapping[str, Any]) -> Path | None:
        path = parameters.get(tool.path_parameter) if tool.path_parameter else None
        if self.workspace is None or not isinstance(path, str):
            return None
        try:
            return self.workspace.resolve(path)
        except OutsideWorkspaceError:
            return None

    def _completed(self, result: ToolResult, context: Mapping[str, Any], started: float) -> ToolResult:
        """The result with what every result carries: how long it took, where it ran, what it was given (T06)."""
        elapsed_ms = round((self._clock.monotonic() - started) * 1000)
        if self.workspace is not None:
            context = {"cwd": self.workspace.shown_root, **context}
        return replace(
            result,
            stats={"time_ms": elapsed_ms, **result.stats},
            context={**context, **result.context},
        )


def _run(tool: Tool, parameters: Mapping[str, Any], call_id: str) -> ToolResult:
    """Run the tool; whatever it raises or returns becomes a ToolResult, so that no call is left without an answer.

    A tool that is cancelled or calls ``sys.exit`` fails alone (bug report D06), the first with a code that no breaker
    counts (G05); an interrupt by the user goes on up.
    """
    try:
        result = tool.run_call(parameters, call_id)
    except (asyncio.CancelledError, concurrent.futures.CancelledError) as error:
        return ToolResult.error(ErrorCode.CANCELLED, f"{tool.name} raised {_describe(error)}")
    except (Exception, SystemExit) as error:  # noqa: BLE001  a tool may raise anything
        return ToolResult.error(ErrorCode.EXECUTION_ERROR, f"{tool.name} raised {_describe(error)}")
    if not isinstance(result, ToolResult):
        return ToolResult.error(
            ErrorCode.INTERNAL_ERROR,
            f"{tool.name} returned {type(result).__name__}; every tool returns a ToolResult",
        )
    return result


def _describe(error: BaseException) -> str:
    """Class and text of an error; some say nothing, and some fail when asked (bug report D05)."""
    try:
        text = str(error).strip()
    except Exception:  # noqa: BLE001  the error's own code may raise anything
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
