"""A comparison as pandas frames: what CSV and Parquet files hold, column by column in docs/comparing.md.

This module imports pandas, which takes a moment: import it only where frames are needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import pandas as pd

from harness.judge.comparison import RATES, RESOURCES, Comparison
from harness.measure.trial import TrialFigures
from harness.report.text import encodable

_FLOATS = frozenset({
    "cost_usd", "duration_s", "interval_low", "interval_high", "difference", "p_value", "p_adjusted",
    "smallest_difference", "mean_a", "mean_b",
})  # fmt: skip
_BOOLS = frozenset({"passed", "cost_listed", "solved_a", "solved_b"})
_FIGURES = tuple(field.name for field in fields(TrialFigures))


def comparison_frames(comparison: Comparison) -> dict[str, pd.DataFrame]:
    """All frames by the name of their file: trials, models, pass_k, pairs, resources, tasks."""
    return {
        "trials": trials_frame(comparison),
        "models": models_frame(comparison),
        "pass_k": pass_k_frame(comparison),
        "pairs": pairs_frame(comparison),
        "resources": resources_frame(comparison),
        "tasks": tasks_frame(comparison),
    }


def trials_frame(comparison: Comparison) -> pd.DataFrame:
    """A row a trial, in the order read, those that the infrastructure ended included."""
    rows = [
        {
            "model": result.model,
            "task": result.task,
            "trial": result.number,
            "passed": result.passed,
            "why": result.why,
            "infrastructure": result.infrastructure,
            "run": str(result.folder),
            **{name: getattr(result.figures, name) for name in _FIGURES},
        }
        for result in comparison.results
    ]
    texts = ("model", "task", "why", "infrastructure", "run")
    return _frame(rows, ("model", "task", "trial", "passed", "why", "infrastructure", "run", *_FIGURES), texts)


def models_frame(comparison: Comparison) -> pd.DataFrame:
    """A row a model: counts, means and rates; its pass^k are in `pass_k_frame`."""
    rows = [
        {
            "model": model.model,
            "tasks": model.tasks,
            "trials": model.trials,
            "infrastructure": model.infrastructure,
            "not_judged": model.not_judged,
            **model.means,
            **model.rates,
        }
        for model in comparison.models
    ]
    numbers = (*RESOURCES, *RATES)
    columns = ("model", "tasks", "trials", "infrastructure", "not_judged", *numbers)
    return _frame(rows, columns, ("model",), numbers)


def pass_k_frame(comparison: Comparison) -> pd.DataFrame:
    """A row a model and k."""
    rows = [row for model in comparison.models for row in model.pass_k()]
    shares = tuple(f"pass_{kind}{end}" for kind in ("hat", "at") for end in ("", "_low", "_high"))
    return _frame(rows, ("model", "k", "tasks", *shares), ("model",), shares)


def pairs_frame(comparison: Comparison) -> pd.DataFrame:
    """A row a pair."""
    rows = [
        {
            "a": pair.a,
            "b": pair.b,
            "conclusion": str(pair.conclusion),
            "tasks": len(pair.tasks),
            "both": pair.both,
            "only_a": pair.evidence.only_a,
            "only_b": pair.evidence.only_b,
            "neither": pair.neither,
            "difference": pair.difference,
            "interval_low": None if pair.interval is None else pair.interval[0],
            "interval_high": None if pair.interval is None else pair.interval[1],
            "p_value": pair.p_value,
            "p_adjusted": pair.evidence.p_adjusted,
            "smallest_difference": pair.evidence.smallest,
        }
        for pair in comparison.pairs
    ]
    columns = (
        "a", "b", "conclusion", "tasks", "both", "only_a", "only_b", "neither", "difference", "interval_low",
        "interval_high", "p_value", "p_adjusted", "smallest_difference",
    )  # fmt: skip
    return _frame(rows, columns, ("a", "b", "conclusion"))


def resources_frame(comparison: Comparison) -> pd.DataFrame:
    """A row a pair and resource that both models know."""
    rows = [
        {
            "a": pair.a,
            "b": pair.b,
            "resource": name,
            "tasks": figures.tasks,
            "mean_a": figures.a,
            "mean_b": figures.b,
            "difference": figures.difference,
            "interval_low": None if figures.interval is None else figures.interval[0],
            "interval_high": None if figures.interval is None else figures.interval[1],
        }
        for pair in comparison.pairs
        for name, figures in pair.resources.items()
    ]
    columns = ("a", "b", "resource", "tasks", "mean_a", "mean_b", "difference", "interval_low", "interval_high")
    return _frame(rows, columns, ("a", "b", "resource"))


def tasks_frame(comparison: Comparison) -> pd.DataFrame:
    """A row a pair and task that was judged for both, whether they differ or not."""
    rows = [
        {
            "a": pair.a,
            "b": pair.b,
            "task": task.task,
            "solved_a": task.solved_a,
            "solved_b": task.solved_b,
            "passed_a": task.passed_a,
            "trials_a": len(task.a),
            "passed_b": task.passed_b,
            "trials_b": len(task.b),
        }
        for pair in comparison.pairs
        for task in pair.tasks
    ]
    columns = ("a", "b", "task", "solved_a", "solved_b", "passed_a", "trials_a", "passed_b", "trials_b")
    return _frame(rows, columns, ("a", "b", "task"))


def _frame(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[str], texts: Sequence[str], floats: Sequence[str] = ()
) -> pd.DataFrame:
    """The rows with columns of one kind each: texts, yes or no, numbers; what is None is missing (NA)."""
    series = {}
    for name in columns:
        values = [row[name] for row in rows]
        if name in texts:
            series[name] = pd.Series([None if value is None else encodable(value) for value in values], dtype="str")
        elif name in _BOOLS:
            series[name] = pd.Series(values, dtype="boolean")
        else:
            series[name] = pd.Series(values, dtype="Float64" if name in floats or name in _FLOATS else "Int64")
    return pd.DataFrame(series)
