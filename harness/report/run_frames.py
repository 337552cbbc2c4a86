"""Runs, steps and calls as pandas frames; ``case`` is in each the row label of its case in `cases_frame`.

This module imports pandas, which takes a moment: import it only where frames are needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from harness.measure.spending import Spending
from harness.report.text import encodable, value_text
from harness.trace.run import CallRecord, Lane, Run, Step

_TEXT, _FLAG, _SHARE = "str", "boolean", "Float64"
_WHOLE = "Int64"

RUN_COLUMNS: Mapping[str, str] = {
    "case": _WHOLE, "name": _TEXT, "kind": _TEXT, "lanes": _WHOLE, "steps": _WHOLE, "calls": _WHOLE,
    "outcome": _TEXT, "task": _TEXT, "trial": _WHOLE, "model": _TEXT, "reward": _SHARE, "infrastructure_error": _TEXT,
    "cost_usd": _SHARE, "duration_s": _SHARE,
}  # fmt: skip
STEP_COLUMNS: Mapping[str, str] = {
    "case": _WHOLE, "lane": _TEXT, "step": _WHOLE, "model": _TEXT, "status": _TEXT, "finish_reason": _TEXT,
    "messages_sent": _WHOLE, "tools_offered": _WHOLE, "calls": _WHOLE, "batches": _WHOLE, "system": _WHOLE,
    "tools": _WHOLE, "user": _WHOLE, "assistant": _WHOLE, "results": _WHOLE, "rest": _WHOLE, "counted": _WHOLE,
    "estimate": _FLAG, "recorded_prompt": _WHOLE, "recorded_completion": _WHOLE, "duration_s": _SHARE,
    "cost_usd": _SHARE, "error": _TEXT,
}  # fmt: skip
CALL_COLUMNS: Mapping[str, str] = {
    "case": _WHOLE, "lane": _TEXT, "step": _WHOLE, "call": _WHOLE, "id": _TEXT, "tool": _TEXT, "batch": _WHOLE,
    "beside": _WHOLE, "executed": _FLAG, "status": _TEXT, "error_code": _TEXT, "arguments": _TEXT,
    "parse_error": _TEXT, "result_bytes": _WHOLE, "truncated_from_bytes": _WHOLE, "permission": _TEXT,
    "permission_reason": _TEXT,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class RunOfCase:
    """A run with its case's row label, and what its prompts consist of by the position of the exchange."""

    case: int
    run: Run
    spending: Mapping[int, Spending]


class RunFrames:
    """Collects rows run by run, so that no run needs to stay in memory, and gives them as frames."""

    def __init__(self) -> None:
        self._runs: list[dict[str, Any]] = []
        self._steps: list[dict[str, Any]] = []
        self._calls: list[dict[str, Any]] = []

    def add(self, entry: RunOfCase) -> None:
        """Take the rows of a run."""
        run = entry.run
        steps = [(lane, step) for lane in run.lanes for step in lane.steps]
        self._runs.append(_run_row(entry.case, run, [step for _, step in steps]))
        self._steps += [_step_row(entry, lane, step) for lane, step in steps]
        decisions = {
            (event.get("lane"), event.get("step"), event.get("call")): event
            for event in run.events
            if event.get("event") == "gate" and event.get("gate") == "permission"
        }
        for lane, step in steps:
            sizes: dict[int, int] = {}
            for call in step.calls:
                if call.batch is not None:
                    sizes[call.batch] = sizes.get(call.batch, 0) + 1
            for position, call in enumerate(step.calls):
                decision = decisions.get((lane.name, step.index, call.id), {})
                place = {"case": entry.case, "lane": lane.name, "step": step.index, "call": position}
                self._calls.append(place | _call_row(call, sizes, decision))

    def runs(self) -> pd.DataFrame:
        """A row a run; ``task`` to ``duration_s`` are those of imported trials."""
        return _frame(self._runs, RUN_COLUMNS)

    def steps(self) -> pd.DataFrame:
        """A row a step. ``system`` to ``counted`` are prompt tokens as counted here, ``recorded_…`` the provider's."""
        return _frame(self._steps, STEP_COLUMNS)

    def calls(self) -> pd.DataFrame:
        """A row a call. ``beside`` is how many calls of its batch ran side by side with it."""
        return _frame(self._calls, CALL_COLUMNS)


def _run_row(case: int, run: Run, steps: Sequence[Step]) -> dict[str, Any]:
    trial = run.trial
    row: dict[str, Any] = {
        "case": case,
        "name": run.name,
        "kind": run.kind,
        "lanes": len(run.lanes),
        "steps": len(steps),
        "calls": sum(len(step.calls) for step in steps),
        "outcome": run.lanes[0].outcome if run.lanes else None,
        "model": next((step.model for step in steps if step.model), None),
    }
    if trial is not None:
        row |= {
            "task": trial.task,
            "trial": trial.number,
            "model": trial.model,
            "reward": trial.reward,
            "infrastructure_error": trial.infrastructure_error,
            "cost_usd": trial.cost_usd,
            "duration_s": trial.duration_s,
        }
    return row


def _step_row(entry: RunOfCase, lane: Lane, step: Step) -> dict[str, Any]:
    spent = entry.spending.get(step.exchange) if step.exchange is not None else None
    usage = step.usage or {}
    row: dict[str, Any] = {
        "case": entry.case,
        "lane": lane.name,
        "step": step.index,
        "model": step.model,
        "status": step.status,
        "finish_reason": step.finish_reason,
        "messages_sent": step.messages_sent,
        "tools_offered": len(step.tools),
        "calls": len(step.calls),
        "batches": len({call.batch for call in step.calls if call.batch is not None}),
        "recorded_prompt": _whole(usage.get("prompt_tokens")),
        "recorded_completion": _whole(usage.get("completion_tokens")),
        "duration_s": step.duration_s,
        "cost_usd": step.cost_usd,
        "error": step.error,
    }
    return row if spent is None else row | {**spent.tokens, "counted": spent.total, "estimate": spent.estimate}


def _call_row(call: CallRecord, sizes: Mapping[int, int], decision: Mapping[str, Any]) -> dict[str, Any]:
    together = call.batch is not None and call.concurrency_safe
    return {
        "id": call.id,
        "tool": call.name,
        "batch": call.batch,
        "beside": sizes[call.batch] - 1 if together and call.batch is not None else 0,
        "executed": call.executed,
        "status": call.status,
        "error_code": call.error_code,
        "arguments": value_text(call.arguments),
        "parse_error": call.parse_error,
        "result_bytes": len((call.observation or "").encode("utf-8", "surrogatepass")),
        "truncated_from_bytes": call.truncated_from_bytes,
        "permission": decision.get("outcome"),
        "permission_reason": decision.get("reason"),
    }


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63 else None


def _frame(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, str]) -> pd.DataFrame:
    rows = list(rows)
    return pd.DataFrame(
        {name: pd.Series([_plain(row.get(name)) for row in rows], dtype=kind) for name, kind in columns.items()}
    )


def _plain(value: object) -> object:
    return encodable(value) if isinstance(value, str) else value
