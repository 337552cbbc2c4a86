"""Executors whose faults need several calls to show: order, pairing, threads, what is kept from call to call."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from typing import Any

from harness.pipeline.argument_policy import ArgumentReading
from harness.pipeline.executor import Execution, ToolExecutor
from harness.pipeline.observation import ToolObservation
from harness.pipeline.orchestrator import StepOutcome, ToolBatch, ToolCallPlan, ToolOrchestrator
from harness.pipeline.result import ErrorCode, ToolResult, ToolStatus
from harness.pipeline.tool import Tool, ToolKind, ToolParameter
from harness.pipeline.workspace import Workspace
from harness.seams import Clock
from tests.fuzz.faulty.tools import Find, Save, pipeline


class _NoIdOnErrors(ToolOrchestrator):
    """The branch for errors builds an answer without an id."""

    def run_plans(self, plans: Sequence[ToolCallPlan], *rest: Any) -> StepOutcome:
        outcome = super().run_plans(plans, *rest)
        answers = [
            ToolObservation("", "", item.result, item.raw_result) if item.result.status is ToolStatus.ERROR else item
            for item in outcome.observations
        ]
        return replace(outcome, observations=tuple(answers))


class _FirstInFirstOut(ToolOrchestrator):
    """Results of a batch are paired with its calls in the order in which they come."""

    def _run_batch(self, batch: ToolBatch, done: dict[int, Execution]) -> None:
        with ThreadPoolExecutor(8, "harness-tool") as pool:
            waiting = [pool.submit(self._execute, plan) for plan in batch.calls]
            came = [future.result() for future in as_completed(waiting)]
        for plan, execution in zip(batch.calls, came, strict=True):
            done[plan.position] = execution


class _IdsOfOneTurn(ToolOrchestrator):
    """Ids are taken for unique for ever."""

    def plan_tool_calls(self, tool_calls: Iterable[Any], taken: Collection[str] = ()) -> list[ToolCallPlan]:
        return super().plan_tool_calls(tool_calls)


class _CachesById(ToolExecutor):
    """A call whose id is known is answered from memory."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._known: dict[str, Execution] = {}

    def execute_call(self, name: str, input_text: object, call_id: str = "") -> Execution:
        if call_id not in self._known:
            self._known[call_id] = super().execute_call(name, input_text, call_id)
        return self._known[call_id]


class _IdsFromNames(ToolOrchestrator):
    """A call without an id gets one from its tool's name."""

    def plan_tool_calls(self, tool_calls: Iterable[Any], taken: Collection[str] = ()) -> list[ToolCallPlan]:
        plans = super().plan_tool_calls(tool_calls, taken)
        return [plan if plan.received_id else replace(plan, tool_call_id=f"call_{plan.tool_name}") for plan in plans]


class _OneFailsAll(ToolOrchestrator):
    """After a failure the rest of the step is cancelled."""

    def _execute(self, plan: ToolCallPlan) -> Execution:
        if plan.position == 0:
            self._failed = False
        if self._failed:
            return Execution(ToolResult.error(ErrorCode.CANCELLED, "cancelled with its sibling"), ())
        done = super()._execute(plan)
        self._failed = done.executed and done.result.status is ToolStatus.ERROR
        return done

    _failed = False


class _Waiting(Tool):
    """Is cancelled now and then."""

    kind = ToolKind.READ

    def __init__(self) -> None:
        super().__init__("wait", "Wait for something.")

    def get_parameters(self) -> Sequence[ToolParameter]:
        return (ToolParameter("seconds", "integer"),)

    def run(self, parameters: Mapping[str, Any]) -> ToolResult:
        if parameters["seconds"] > 100:
            raise asyncio.CancelledError
        return ToolResult.success("waited")


class _LetsOutCancelled(ToolExecutor):
    """Catches Exception, and no more."""

    def execute_call(self, name: str, input_text: object, call_id: str = "") -> Execution:
        done = super().execute_call(name, input_text, call_id)
        if done.result.error_code is ErrorCode.CANCELLED:
            raise asyncio.CancelledError
        return done


class _AllAtOnce(ToolOrchestrator):
    """Every call is thought safe to run beside others."""

    def is_concurrency_safe(self, tool_name: str, parse_error: str | None) -> bool:
        return parse_error is None


class _TriesAgain(ToolExecutor):
    """A call that failed is made once more."""

    def execute_call(self, name: str, input_text: object, call_id: str = "") -> Execution:
        done = super().execute_call(name, input_text, call_id)
        if done.executed and done.result.status is ToolStatus.ERROR:
            return super().execute_call(name, input_text, call_id)
        return done


class _KeepsTheLock(ToolExecutor):
    """The lock of a tool is not given back where it fails."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._locks: dict[str, threading.Lock] = {}

    def execute_call(self, name: str, input_text: object, call_id: str = "") -> Execution:
        lock = self._locks.setdefault(name, threading.Lock())
        lock.acquire()
        done = super().execute_call(name, input_text, call_id)
        if not (done.executed and done.result.status is ToolStatus.ERROR):
            lock.release()
        return done


class _RemembersParameters(ToolExecutor):
    """What one call has given is the next one's default."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._last: dict[str | None, dict[str, Any]] = {}

    def read_arguments(self, tool_name: str | None, raw: object) -> ArgumentReading:
        reading = super().read_arguments(tool_name, raw)
        if reading.problem is None and tool_name == "save":
            self._last[tool_name] = self._last.get(tool_name, {}) | reading.parameters
            return ArgumentReading(dict(self._last[tool_name]), None)
        return reading


def a13(workspace: Workspace, clock: Clock) -> ToolOrchestrator:
    return pipeline(workspace, clock, executor=_CachesById, orchestrator=_IdsOfOneTurn)


def a39(workspace: Workspace, clock: Clock) -> ToolOrchestrator:
    return pipeline(workspace, clock, orchestrator=_IdsFromNames)


def d05(workspace: Workspace, clock: Clock) -> ToolOrchestrator:
    return pipeline(workspace, clock, orchestrator=_NoIdOnErrors)


def d06(workspace: Workspace, clock: Clock) -> ToolOrchestrator:
    return pipeline(workspace, clock, tools=[_Waiting(), Find()], executor=_LetsOutCancelled)


def d06_sound(workspace: Workspace, clock: Clock) -> ToolOrchestrator:
    return pipeline(workspace, clock, tools=[_Waiting(), Find()])


def d06_lock(workspace: Workspace, clock: Clock) -> ToolOrchestrator:
    return pipeline(workspace, clock, tools=[Find(), Save()], executor=_KeepsTheLock)


def d10(workspace: Workspace, clock: Clock) -> ToolOrchestrator:
    return pipeline(workspace, clock, executor=_TriesAgain)


def d11(workspace: Workspace, clock: Clock) -> ToolOrchestrator:
    return pipeline(workspace, clock, orchestrator=_FirstInFirstOut)


def d11_defaults(workspace: Workspace, clock: Clock) -> ToolOrchestrator:
    return pipeline(workspace, clock, executor=_RemembersParameters)


def d12(workspace: Workspace, clock: Clock) -> ToolOrchestrator:
    return pipeline(workspace, clock, orchestrator=_OneFailsAll)


def p05(workspace: Workspace, clock: Clock) -> ToolOrchestrator:
    return pipeline(workspace, clock, orchestrator=_AllAtOnce)
