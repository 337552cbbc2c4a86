"""The calls of one step: plan, batch, run, truncate (seed 000, steps 3 to 6)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from harness.errors import HarnessError
from harness.pipeline.budget import REFUSAL_BYTES, BudgetPolicy, SpillStore, apply_budgets
from harness.pipeline.executor import Execution, ToolExecutor
from harness.pipeline.names import sendable_name
from harness.pipeline.observation import Serializer, ToolObservation
from harness.pipeline.result import ErrorCode, ToolResult, serialize_tool_result
from harness.seams import IdSource, RandomIds
from harness.wire.chat import ToolCall
from harness.wire.half_pairs import is_whole

MAX_WORKERS = 8

INTERRUPTED = "interrupted before this call was answered; whether it took effect is not known"


class TooManyCallsError(HarnessError):
    """A step holds more calls than can even be refused within the budget."""


@dataclass(frozen=True, slots=True)
class ToolCallPlan:
    """One call, ready to run.

    ``tool_name`` is the tool's own name, or one for an unknown tool that the history can hold; ``received_name`` is
    what the model sent where that is another. ``tool_call_id`` is unique in the step; ``received_id`` is what the
    model sent. ``parse_error`` is None or why the arguments are no object: such a plan is answered without being run.
    ``repairs`` says what was done to arguments that were no JSON.
    """

    position: int
    tool_name: str
    tool_call_id: str
    received_id: str | None
    raw_arguments: object
    parsed_input: dict[str, Any]
    parse_error: str | None
    concurrency_safe: bool
    received_name: str | None = None
    repairs: tuple[str, ...] = ()


@dataclass(slots=True)
class ToolBatch:
    """Neighbouring plans that run together (all safe) or one that runs alone."""

    concurrency_safe: bool
    calls: list[ToolCallPlan] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Truncation:
    """One cut: which call, in which layer of the budget, from and to how many bytes."""

    tool_call_id: str
    layer: int
    bytes_before: int
    bytes_after: int


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """Everything that became of a step's calls; all lists are in the order of the model's calls."""

    plans: tuple[ToolCallPlan, ...]
    batches: tuple[ToolBatch, ...]
    executions: tuple[Execution, ...]
    observations: tuple[ToolObservation, ...]
    truncations: tuple[Truncation, ...]


class ToolOrchestrator:
    """Runs the calls of a step through an executor.

    ``serializer`` makes the tool message's content, ``ids`` gives ids to calls without a usable one.
    """

    def __init__(
        self,
        executor: ToolExecutor,
        *,
        budget: BudgetPolicy | None = None,
        serializer: Serializer = serialize_tool_result,
        ids: IdSource | None = None,
        max_workers: int = MAX_WORKERS,
    ) -> None:
        self.executor = executor
        self.budget = budget or BudgetPolicy()
        self.serializer = serializer
        self._ids = ids or RandomIds()
        self._max_workers = max_workers
        self._spills = SpillStore(executor.workspace)

    def beside(self, executor: ToolExecutor, budget: BudgetPolicy) -> ToolOrchestrator:
        """An orchestrator of another executor, with this one's serializer and source of ids."""
        return ToolOrchestrator(
            executor, budget=budget, serializer=self.serializer, ids=self._ids, max_workers=self._max_workers
        )

    def run(self, tool_calls: Sequence[ToolCall | Mapping[str, Any]]) -> StepOutcome:
        """Plan, batch, execute and truncate; one observation for each call, in the order of the calls.

        Raises TooManyCallsError as `run_plans` does.
        """
        return self.run_plans(self.plan_tool_calls(tool_calls))

    def run_plans(
        self, plans: Sequence[ToolCallPlan], on_interruption: Callable[[StepOutcome], None] = lambda _: None
    ) -> StepOutcome:
        """`run` for calls that are planned already.

        Whatever interrupts the step (a user's Ctrl-C) goes on up; ``on_interruption`` gets what came of it first: the
        results there are, and CANCELLED for the calls without one (bug reports D06, D10). Raises TooManyCallsError,
        before anything runs, when the step has more calls than `BudgetPolicy` answers.
        """
        self._demand_answerable(plans)
        accepted = plans[: self.budget.max_calls]
        batches = self.partition_tool_calls(accepted)
        done: dict[int, Execution] = {}
        try:
            for batch in batches:
                self._run_batch(batch, done)
        except BaseException:
            unfinished = Execution(ToolResult.error(ErrorCode.CANCELLED, INTERRUPTED), ())
            on_interruption(self._outcome(plans, batches, [done.get(plan.position, unfinished) for plan in accepted]))
            raise
        return self._outcome(plans, batches, [done[plan.position] for plan in accepted])

    def _outcome(
        self, plans: Sequence[ToolCallPlan], batches: Sequence[ToolBatch], executions: Sequence[Execution]
    ) -> StepOutcome:
        accepted, surplus = plans[: len(executions)], plans[len(executions) :]
        answered = [self._observation(plan, done.result) for plan, done in zip(accepted, executions, strict=True)]
        refused = [self._too_many(plan) for plan in surplus]

        observations, truncations = self._within_budgets(answered, sum(item.size for item in refused))
        return StepOutcome(
            tuple(plans),
            tuple(batches),
            (*executions, *(Execution(item.result, ()) for item in refused)),
            (*observations, *refused),
            truncations,
        )

    def refuse(self, tool_calls: Sequence[ToolCall | Mapping[str, Any]], code: ErrorCode, reason: str) -> StepOutcome:
        """Answer every call once with the same refusal and run none, e.g. after the model hit its output limit.

        Raises TooManyCallsError as `run` does: the budgets hold for refusals too.
        """
        return self.refuse_plans(self.plan_tool_calls(tool_calls), code, reason)

    def refuse_plans(self, plans: Sequence[ToolCallPlan], code: ErrorCode, reason: str) -> StepOutcome:
        """`refuse` for calls that are planned already."""
        self._demand_answerable(plans)
        result = ToolResult.error(code, reason)
        observations, truncations = self._within_budgets([self._observation(plan, result) for plan in plans], 0)
        return StepOutcome(
            tuple(plans), (), tuple(Execution(result, ()) for _ in plans), tuple(observations), truncations
        )

    def plan_tool_calls(
        self, tool_calls: Iterable[ToolCall | Mapping[str, Any]], taken: Collection[str] = ()
    ) -> list[ToolCallPlan]:
        """Parse the calls: flat ``{id, name, arguments}`` or as the API sends them.

        A name becomes its tool's own (`ToolRegistry.resolve`), a missing one ``unknown_tool``; a missing, empty or
        repeated id becomes a fresh one (P02), and so does one that is ``taken`` by an earlier step (bug report A13) or
        holds half a surrogate pair, which could not be sent back.
        """
        plans: list[ToolCallPlan] = []
        used = set(taken)
        for position, call in enumerate(tool_calls):
            received_id, received_name, raw_arguments = _parts(call)
            call_id = received_id
            while not call_id or call_id in used or not is_whole(call_id):
                call_id = self._ids.call_id()
            used.add(call_id)
            known = self.executor.registry.resolve(received_name)
            name = known or sendable_name(received_name)
            reading = self.executor.read_arguments(known, raw_arguments)
            plans.append(
                ToolCallPlan(
                    position,
                    name,
                    call_id,
                    received_id,
                    raw_arguments,
                    reading.parameters,
                    reading.problem,
                    known is not None and self.is_concurrency_safe(name, reading.problem),
                    None if received_name == name else received_name,
                    reading.repairs,
                )
            )
        return plans

    def is_concurrency_safe(self, tool_name: str, parse_error: str | None) -> bool:
        """Whether a call may run beside others: its arguments parse and its tool only reads (P04, P05)."""
        tool = self.executor.registry.get(tool_name)
        return parse_error is None and tool is not None and tool.read_only

    def partition_tool_calls(self, plans: Iterable[ToolCallPlan]) -> list[ToolBatch]:
        """Neighbouring safe plans share a batch, every other plan has its own (P06)."""
        batches: list[ToolBatch] = []
        for plan in plans:
            if batches and plan.concurrency_safe and batches[-1].concurrency_safe:
                batches[-1].calls.append(plan)
            else:
                batches.append(ToolBatch(plan.concurrency_safe, [plan]))
        return batches

    def _run_batch(self, batch: ToolBatch, done: dict[int, Execution]) -> None:
        """Run the batch's calls and put what came of each into ``done``, by position, also when it is interrupted."""

        def execute(plan: ToolCallPlan) -> None:
            done[plan.position] = self._execute(plan)

        if not batch.concurrency_safe or len(batch.calls) == 1:
            for plan in batch.calls:
                execute(plan)
            return
        with ThreadPoolExecutor(min(self._max_workers, len(batch.calls)), "harness-tool") as pool:
            list(pool.map(execute, batch.calls))

    def _execute(self, plan: ToolCallPlan) -> Execution:
        """Run one plan; the arguments go as they came, and what does not parse is answered before any gate (P03)."""
        name = plan.tool_name if plan.received_name is None else plan.received_name
        return self.executor.execute_call(name, plan.raw_arguments, plan.tool_call_id)

    def _demand_answerable(self, plans: Sequence[ToolCallPlan]) -> None:
        if len(plans) > self.budget.most_calls_answered:
            raise TooManyCallsError(
                f"the model sent {len(plans)} calls in one step; "
                f"{self.budget.max_calls} are executed and up to {self.budget.most_calls_answered} answered"
            )

    def _within_budgets(
        self, observations: Sequence[ToolObservation], bytes_taken: int
    ) -> tuple[list[ToolObservation], tuple[Truncation, ...]]:
        truncations: list[Truncation] = []

        def note(before: ToolObservation, after: ToolObservation, layer: int) -> None:
            truncations.append(Truncation(before.tool_call_id, layer, before.size, after.size))

        fitting = apply_budgets(
            observations,
            self._spills,
            per_result_bytes=self.budget.per_result_bytes,
            total_bytes=self.budget.total_bytes - bytes_taken,
            serializer=self.serializer,
            on_truncation=note,
        )
        return fitting, tuple(truncations)

    def _observation(self, plan: ToolCallPlan, result: ToolResult) -> ToolObservation:
        return ToolObservation(plan.tool_call_id, plan.tool_name, result, result, self.serializer)

    def _too_many(self, plan: ToolCallPlan) -> ToolObservation:
        result = ToolResult.error(ErrorCode.TOO_MANY_CALLS, f"only {self.budget.max_calls} calls a step")
        observation = self._observation(plan, result)
        if observation.size > REFUSAL_BYTES:
            return ToolObservation(plan.tool_call_id, plan.tool_name, result, result)
        return observation


def _parts(call: ToolCall | Mapping[str, Any]) -> tuple[str | None, str, object]:
    if isinstance(call, ToolCall):
        return call.id, call.name or "", call.arguments
    function = call.get("function")
    inner = function if isinstance(function, Mapping) else call
    call_id, name = call.get("id"), inner.get("name")
    return (
        call_id if isinstance(call_id, str) else None,
        name if isinstance(name, str) else "",
        inner.get("arguments"),
    )
