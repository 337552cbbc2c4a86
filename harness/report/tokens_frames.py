"""Counted tokens as pandas frames: a row a step, a row a tool; what CSV and Parquet files hold.

This module imports pandas, which takes a moment: import it only where frames are needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from harness.judge.tokens import Measured
from harness.measure.prices import price_of
from harness.report.text import encodable

_ROLES = ("user", "assistant", "tool")


def steps_frame(measured: Measured) -> pd.DataFrame:
    """A row for each step of each task, in order; steps that two tasks share stand in both, ``told`` in the later.

    Tokens are whole numbers; what no answer reported is missing (NA), as is the price of an unknown model. ``other``
    in the columns ``history_…`` holds all roles but user, assistant and tool.
    """
    rows: list[dict[str, Any]] = []
    for picture, task in enumerate(measured.tasks, 1):
        for position, step in enumerate(task.steps):
            usage, price = step.step.usage, price_of(step.step)
            rows.append(
                {
                    "task": picture,
                    "file": encodable(task.task.file),
                    "conversation": task.task.number,
                    "step": step.number,
                    "told": position < task.task.told,
                    "exchange": step.step.exchange,
                    "model": None if step.step.model is None else encodable(step.step.model),
                    "system": step.system,
                    "tools": step.tools,
                    **{f"history_{role}": step.history.get(role, 0) for role in _ROLES},
                    "history_other": sum(tokens for role, tokens in step.history.items() if role not in _ROLES),
                    "other": step.other,
                    "counted": step.total,
                    "new": step.new,
                    "alone": step.alone,
                    "cumulated": step.cumulated,
                    "tools_share": step.tools_share,
                    "estimate": step.step.count.estimate,
                    "recorded_prompt": usage.prompt,
                    "recorded_cached": usage.cached,
                    "recorded_completion": usage.output,
                    "calls": len(step.step.calls),
                    "results": step.step.results,
                    "prefix_break": step.prefix_break.kind if step.prefix_break else None,
                    "tokens_after_break": step.prefix_break.tokens_after if step.prefix_break else None,
                    "price_usd": price.total if price else None,
                }
            )
    kinds = {
        "told": "boolean",
        "estimate": "boolean",
        "tools_share": "Float64",
        "price_usd": "Float64",
        **dict.fromkeys(("file", "model", "prefix_break"), "str"),
    }
    return _frame(rows, _STEP_COLUMNS, kinds)


def tools_frame(measured: Measured) -> pd.DataFrame:
    """A row for each tool: its size, times sent and called, tokens sent, and those sent where it was never called."""
    rows = [
        {
            "name": encodable(tool.name),
            "tokens": tool.tokens,
            "description_tokens": tool.description_tokens,
            "sent": tool.sent,
            "called": tool.called,
            "sent_tokens": tool.sent_tokens,
            "unused_tokens": tool.unused_tokens,
        }
        for tool in measured.tools
    ]
    columns = ("name", "tokens", "description_tokens", "sent", "called", "sent_tokens", "unused_tokens")
    return _frame(rows, columns, {"name": "str"})


_STEP_COLUMNS = (
    "task", "file", "conversation", "step", "told", "exchange", "model", "system", "tools", "history_user",
    "history_assistant", "history_tool", "history_other", "other", "counted", "new", "alone", "cumulated",
    "tools_share", "estimate", "recorded_prompt", "recorded_cached", "recorded_completion", "calls", "results",
    "prefix_break", "tokens_after_break", "price_usd",
)  # fmt: skip


def _frame(rows: Sequence[dict[str, Any]], columns: Sequence[str], kinds: dict[str, str]) -> pd.DataFrame:
    return pd.DataFrame(
        {name: pd.Series([row[name] for row in rows], dtype=kinds.get(name, "Int64")) for name in columns}
    )
