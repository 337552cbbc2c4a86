"""Trials made up for comparisons: as results, and as saved runs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.judge.trials import TrialResult
from harness.measure.trial import TrialFigures
from harness.trace.collection import save_runs
from harness.trace.importing.conversation import fill_lane, said_of
from harness.trace.run import Run, Trial

FIGURES = TrialFigures(
    steps=2, tokens=100, cost_usd=0.01, cost_listed=False, duration_s=1.0, calls=4, malformed=0, repeated=0, parallel=0,
    known=4, failed=0, tools_tokens=None, counted_tokens=None,
)  # fmt: skip


def result(
    model: str,
    task: str,
    number: int = 0,
    *,
    passed: bool | None = True,
    infrastructure: str | None = None,
    figures: TrialFigures = FIGURES,
) -> TrialResult:
    """One trial."""
    folder = Path("runs") / f"{model}--{task}--{number}"
    return TrialResult(model, task, number, folder, passed, "" if passed else "no", infrastructure, figures)


def results(model: str, outcomes: Mapping[str, str]) -> list[TrialResult]:
    """The trials of a model by task: a ``+`` for each that passed, ``-`` for the others, ``?`` not judged."""
    return [
        result(model, task, number, passed={"+": True, "-": False, "?": None}[sign])
        for task, signs in outcomes.items()
        for number, sign in enumerate(signs)
    ]


def call(name: str, arguments: Any = None, call_id: str = "c") -> dict[str, Any]:
    """A call as it stands in an assistant's message; texts as arguments stay as they are."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}


def run(
    task: str,
    steps: Sequence[Sequence[dict[str, Any]]] = (),
    *,
    model: str = "m",
    number: int = 0,
    reward: float | None = None,
    error: str | None = None,
    facts: dict[str, Any] | None = None,
) -> Run:
    """An imported run that makes some calls in each step and then answers."""
    made = Run(f"{task} #{number}", "imported", f"{task}.json", facts=facts or {})
    made.trial = Trial(task, number, model, reward, error)
    messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    for position, calls in enumerate(steps):
        named = [{**each, "id": f"c{position}-{at}"} for at, each in enumerate(calls)]
        messages.append({"role": "assistant", "content": None, "tool_calls": named})
        messages += [{"role": "tool", "tool_call_id": each["id"], "content": "ok"} for each in named]
    messages.append({"role": "assistant", "content": "done"})
    fill_lane(made.lane("main"), map(said_of, messages))
    return made


def save(runs: Iterable[Run], out: Path) -> Path:
    """The runs as a collection."""
    save_runs(runs, out)
    return out
