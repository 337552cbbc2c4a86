"""The run: lanes of steps, each a model call with the tool calls it led to. Plain data, ready to be saved.

Every list of calls is in the order of the model's calls. Times and sizes are numbers with their unit in the name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.pipeline.budget import full_text
from harness.pipeline.loop import LoopResult, StepRecord
from harness.pipeline.result import tool_result_payload
from harness.wire.chat import ModelTurn
from harness.wire.exchange import Exchange

FORMAT = "harness-run"
VERSION = 1


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One call: what was asked (``arguments`` as received), how it was batched, what came back.

    ``batch`` counts batches from 0, None for a call that was in none. ``result`` is the payload before truncation is
    applied, without texts the observation already holds in full.

    Of an agent that is not the built-in pipeline only its requests are known: ``concurrency_safe``, ``executed`` and
    ``status`` are None then, and the observation is what the next request says, empty where there is none.
    """

    id: str
    received_id: str | None
    name: str
    arguments: Any
    parse_error: str | None
    batch: int | None
    concurrency_safe: bool | None
    executed: bool | None
    status: str | None
    error_code: str | None
    observation: str
    truncated_from_bytes: int | None = None
    full_result: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One model call. ``exchange`` is its position in the run's exchanges, None where there was no response.

    The last three are of imported trajectories, whose steps have no exchange: the messages that were said since the
    step before, results apart; the seconds that the answer took; and its price in US dollars, as recorded.
    """

    index: int
    exchange: int | None
    model: str | None
    tools: tuple[str, ...]
    messages_sent: int
    message: dict[str, Any] | None
    finish_reason: str | None
    status: str
    usage: dict[str, Any] | None
    anomalies: tuple[dict[str, Any], ...]
    calls: tuple[CallRecord, ...]
    error: str | None
    notes: tuple[str, ...]
    before: tuple[dict[str, Any], ...] = ()
    duration_s: float | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Trial:
    """Which attempt at which task a run is, for comparing models on the same tasks, and what was recorded of it.

    ``task`` is the same text for every model that did the task; ``number`` counts a model's attempts at it from 0.
    ``reward`` is the recorded one, None where nothing was graded. ``infrastructure_error`` says why the run tells
    nothing of the model; then the reward, if there is one, does not count. ``cost_usd`` (US dollars), ``duration_s``
    (seconds) and ``started`` (a date and time, as written in the source) are None where the source has none.
    """

    task: str
    number: int
    model: str
    reward: float | None = None
    infrastructure_error: str | None = None
    cost_usd: float | None = None
    duration_s: float | None = None
    started: str | None = None


@dataclass(slots=True)
class Lane:
    """One conversation; ``outcome`` and ``reason`` say how it ended.

    ``after`` is of imported trajectories: the messages behind the last step.
    """

    name: str
    steps: list[Step] = field(default_factory=list)
    outcome: str = ""
    reason: str = ""
    final_text: str | None = None
    after: tuple[dict[str, Any], ...] = ()


@dataclass(slots=True)
class Run:
    """Everything that happened: lanes, the exchanges they link to, and the pipeline's events in order.

    ``trial`` is for runs that are attempts at a task among others, None for the rest.
    """

    name: str
    kind: str
    source: str
    lanes: list[Lane] = field(default_factory=list)
    exchanges: list[Exchange] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    trial: Trial | None = None

    def lane(self, name: str) -> Lane:
        """Begin a lane."""
        lane = Lane(name)
        self.lanes.append(lane)
        return lane

    def add_step(self, lane: Lane, record: StepRecord, exchange: int | None) -> Step:
        """Take a finished step of the pipeline, with its events."""
        step = _step_of(record, exchange)
        lane.steps.append(step)
        self.events += _events_of(lane.name, record)
        return step

    def finish(self, lane: Lane, result: LoopResult) -> None:
        """Say how a lane ended."""
        lane.outcome, lane.reason, lane.final_text = result.status.value, result.reason, result.final_text


def _step_of(record: StepRecord, exchange: int | None) -> Step:
    return step_of(
        record.turn,
        index=record.index,
        exchange=exchange,
        tools=names_of(record.request.get("tools")),
        messages_sent=len(record.request["messages"]),
        calls=tuple(_calls_of(record)),
        error=record.error,
        notes=record.notes,
    )


def step_of(
    turn: ModelTurn | None,
    *,
    index: int,
    exchange: int | None,
    tools: tuple[str, ...],
    messages_sent: int,
    calls: tuple[CallRecord, ...],
    error: str | None,
    notes: tuple[str, ...] = (),
) -> Step:
    """The step of a turn; without one its status is ``error``, and ``error`` says why."""
    return Step(
        index=index,
        exchange=exchange,
        model=turn.model if turn else None,
        tools=tools,
        messages_sent=messages_sent,
        message=turn.message if turn else None,
        finish_reason=turn.finish_reason if turn else None,
        status=turn.status if turn else "error",
        usage=turn.usage if turn else None,
        anomalies=tuple(
            {"code": anomaly.code, "at": anomaly.at, "detail": anomaly.detail}
            for anomaly in (turn.anomalies if turn else ())
        ),
        calls=calls,
        error=error,
        notes=notes,
    )


def names_of(tools: object) -> tuple[str, ...]:
    """The names of the tools sent. Replay sends recorded ones, broken definitions included."""
    entries = [tool for tool in tools if isinstance(tool, Mapping)] if isinstance(tools, list) else []
    functions = [entry["function"] for entry in entries if isinstance(entry.get("function"), Mapping)]
    return tuple(str(function["name"]) for function in functions if "name" in function)


def _calls_of(record: StepRecord) -> list[CallRecord]:
    outcome = record.outcome
    if outcome is None:
        return []
    batch_of = {plan.position: number for number, batch in enumerate(outcome.batches) for plan in batch.calls}
    before = {cut.tool_call_id: cut.bytes_before for cut in reversed(outcome.truncations)}
    calls = []
    for plan, execution, observation in zip(outcome.plans, outcome.executions, outcome.observations, strict=True):
        calls.append(
            CallRecord(
                id=plan.tool_call_id,
                received_id=plan.received_id,
                name=plan.tool_name,
                arguments=plan.raw_arguments,
                parse_error=plan.parse_error,
                batch=batch_of.get(plan.position),
                concurrency_safe=plan.concurrency_safe,
                executed=execution.executed,
                status=observation.result.status.value,
                error_code=observation.result.error_code.value if observation.result.error_code else None,
                observation=observation.observation,
                truncated_from_bytes=before.get(plan.tool_call_id),
                full_result=full_text(observation.raw_result) if observation.truncated else None,
            )
        )
    return calls


def _events_of(lane: str, record: StepRecord) -> list[dict[str, Any]]:
    """What the pipeline did in a step, call by call in the order of the calls: the same run gives the same events."""
    head = {"lane": lane, "step": record.index}
    events: list[dict[str, Any]] = [{**head, "event": "request", "messages": len(record.request["messages"])}]
    if record.turn is not None:
        events.append({**head, "event": "turn", "status": record.turn.status, "calls": len(record.turn.tool_calls)})
    if record.outcome is not None:
        events += [
            {**head, "event": "plan", "call": plan.tool_call_id, "tool": plan.tool_name,
             "concurrency_safe": plan.concurrency_safe, "parse_error": plan.parse_error,
             **({} if plan.received_name is None else {"received_name": plan.received_name})}
            for plan in record.outcome.plans
        ]  # fmt: skip
        events += [
            {
                **head,
                "event": "batch",
                "concurrent": batch.concurrency_safe,
                "calls": [p.tool_call_id for p in batch.calls],
            }
            for batch in record.outcome.batches
        ]
        for plan, execution in zip(record.outcome.plans, record.outcome.executions, strict=True):
            events += [
                {**head, "event": "gate", "call": plan.tool_call_id, "gate": decision.gate,
                 "outcome": str(decision.outcome), "reason": str(decision.reason)}
                for decision in execution.decisions
            ]  # fmt: skip
            payload = tool_result_payload(execution.result)
            events.append({**head, "event": "result", "call": plan.tool_call_id, "status": payload["status"],
                           "error": payload.get("error"), "stats": payload["stats"]})  # fmt: skip
        events += [
            {**head, "event": "truncation", "call": cut.tool_call_id, "layer": cut.layer,
             "bytes_before": cut.bytes_before, "bytes_after": cut.bytes_after}
            for cut in record.outcome.truncations
        ]  # fmt: skip
    if record.error is not None:
        events.append({**head, "event": "error", "reason": record.error})
    return events
