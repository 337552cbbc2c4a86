"""What one recorded trial of a task took, and how well its calls were made: the figures models are compared by.

A figure is None where the recording does not have it for the whole trial; nothing is estimated in its place.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import orjson

from harness.measure.overhead import StepOverhead, measure_task
from harness.measure.prices import price_of_usage
from harness.measure.task import read_tasks
from harness.measure.usage import RecordedUsage
from harness.pipeline.arguments import parse_tool_input
from harness.pipeline.result import ToolStatus
from harness.trace.run import CallRecord, Lane, Run, Step

_KNOWN = frozenset(status.value for status in ToolStatus)


@dataclass(frozen=True, slots=True)
class TrialFigures:
    """Counts over all lanes of a run.

    ``tokens`` are prompt and output tokens as reported, ``cost_usd`` the recorded price, else that of the price list
    for the reported tokens (then ``cost_listed``), ``duration_s`` the recorded seconds. Of ``calls``, ``malformed``
    had arguments that are no JSON object, ``repeated`` repeat an earlier call of their lane (name, arguments as JSON),
    ``parallel`` came with others in one answer; ``failed`` of the ``known`` results are errors. ``tools_tokens`` of
    ``counted_tokens`` were tool schemas, counted in the kept requests.
    """

    steps: int
    tokens: int | None
    cost_usd: float | None
    cost_listed: bool
    duration_s: float | None
    calls: int
    malformed: int
    repeated: int
    parallel: int
    known: int
    failed: int
    tools_tokens: int | None
    counted_tokens: int | None


def measure_trial(run: Run) -> TrialFigures:
    """The figures of a run; work is linear in it."""
    steps = [step for lane in run.lanes for step in lane.steps]
    calls = [call for step in steps for call in step.calls]
    results = [failed for call in calls if (failed := _failed(call, run.kind)) is not None]
    usages = [RecordedUsage.of(step.usage) for step in steps]
    requests = _requests(run)
    cost, listed = _cost(run, steps, usages, requests)
    return TrialFigures(
        steps=len(steps),
        tokens=_tokens(usages),
        cost_usd=cost,
        cost_listed=listed,
        duration_s=_duration(run, steps),
        calls=len(calls),
        malformed=sum(call.parse_error is not None for call in calls),
        repeated=sum(map(_repeated, run.lanes)),
        parallel=sum(len(step.calls) for step in steps if len(step.calls) > 1),
        known=len(results),
        failed=sum(results),
        tools_tokens=sum(step.tools for step in requests) if requests else None,
        counted_tokens=sum(step.total for step in requests) if requests else None,
    )


def _tokens(usages: Sequence[RecordedUsage]) -> int | None:
    found = [(usage.prompt, usage.output) for usage in usages]
    if not found or any(None in pair for pair in found):
        return None
    return sum((prompt or 0) + (output or 0) for prompt, output in found)


def _requests(run: Run) -> list[StepOverhead]:
    """What each kept request costs, counted once."""
    if not run.exchanges:
        return []
    return [step for task in read_tasks(run.exchanges).tasks for step in measure_task(task).own_steps]


def _cost(
    run: Run, steps: Sequence[Step], usages: Sequence[RecordedUsage], requests: Sequence[StepOverhead]
) -> tuple[float | None, bool]:
    """The price and whether it comes from the list. A recorder that knew no price writes 0, which is none."""
    recorded = run.trial.cost_usd if run.trial is not None else None
    if recorded is None:
        recorded = _sum(step.cost_usd for step in steps)
    if recorded:
        return recorded, False
    if requests:
        prices = [price_of_usage(one.step.model, one.step.usage, one.step.url) for one in requests]
    else:
        prices = [price_of_usage(step.model, usage) for step, usage in zip(steps, usages, strict=True)]
    total = _sum(None if price is None or price.estimate else price.total for price in prices)
    return total, total is not None


def _duration(run: Run, steps: Sequence[Step]) -> float | None:
    if run.trial is not None and run.trial.duration_s is not None:
        return run.trial.duration_s
    if not run.exchanges:
        return _sum(step.duration_s for step in steps)
    chunks = [exchange.response.chunks for exchange in run.exchanges if exchange.is_chat]
    return _sum(each[-1].time if each else None for each in chunks)


def _failed(call: CallRecord, kind: str) -> bool | None:
    """Whether the result is an error; None where nothing tells.

    A replayed result is what was recorded, whatever it means: only one of the harness' own form says its status.
    """
    status: object = call.status
    if kind == "replay":
        try:
            said = orjson.loads(call.observation)
        except orjson.JSONDecodeError:
            return None
        status = said.get("status") if isinstance(said, dict) else None
    return status == ToolStatus.ERROR.value if status in _KNOWN else None


def _repeated(lane: Lane) -> int:
    calls = [_key(call) for step in lane.steps for call in step.calls]
    return len(calls) - len(set(calls))


def _key(call: CallRecord) -> tuple[str, str]:
    parsed, problem = parse_tool_input(call.arguments)
    return call.name, str(call.arguments) if problem else json.dumps(parsed, sort_keys=True)


def _sum(values: Iterable[float | None]) -> float | None:
    """The sum, None where one is missing or there are none."""
    found = list(values)
    present = [value for value in found if value is not None]
    return sum(present) if found and len(present) == len(found) else None
