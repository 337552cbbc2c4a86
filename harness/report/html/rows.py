"""The table of cases, made from the frame of cases and that of steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from harness.judge.results import TRIAL
from harness.judge.verdict import Case, Verdict
from harness.report.counts import CALLS, STEPS, count_fact
from harness.report.names import labels
from harness.report.text import one_line, value_text

ORDER = (Verdict.FAIL, Verdict.ERROR, Verdict.INCONCLUSIVE, Verdict.PASS)


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table. ``tokens`` are prompt tokens, None where nothing is known of them.

    ``note`` says why the case did not pass or what marks it, ``about`` what it tests.
    """

    number: int
    verdict: str
    kind: str
    name: str
    path: str
    tags: tuple[str, ...]
    model: str
    steps: int | None
    calls: int | None
    tokens: int | None
    note: str
    about: str


def rows_of(cases: Sequence[Case], cases_frame: pd.DataFrame, runs: pd.DataFrame, steps: pd.DataFrame) -> list[Row]:
    """A row a case, recorded trials last, what did not pass first, else in the given order.

    What a case did not count itself is taken from its run; tokens are the reported ones, else those counted here.
    """
    by_run = runs.set_index("case")
    tokens = steps["recorded_prompt"].fillna(steps["counted"]).groupby(steps["case"]).sum(min_count=1)
    names = labels(cases)
    rank = {str(verdict): position for position, verdict in enumerate(ORDER)}
    ordered = (
        cases_frame[["verdict", "kind"]]
        .assign(trial=cases_frame["kind"] == TRIAL, rank=cases_frame["verdict"].map(rank))
        .sort_values(["trial", "rank"], kind="stable")
    )
    found = []
    for number in ordered.index:
        case = cases[number]
        run: Any = by_run.loc[number] if number in by_run.index else {}
        found.append(
            Row(
                number=number,
                verdict=str(case.verdict),
                kind=one_line(case.kind),
                name=names[number],
                path=one_line(case.path),
                tags=tuple(one_line(tag) for tag in case.tags),
                model=one_line(value_text(case.facts.get("model")) or _text(run.get("model"))),
                steps=_count(count_fact(case, STEPS), run.get("steps")),
                calls=_count(count_fact(case, CALLS), run.get("calls")),
                tokens=_count(None, tokens.get(number)),
                note=one_line(case.first_line or value_text(case.facts.get("marks")), 300),
                about=one_line(" ".join(case.description.split()), 160),
            )
        )
    return found


def _count(told: int | None, found: Any) -> int | None:
    if told is not None:
        return told
    return None if found is None or pd.isna(found) else int(found)


def _text(value: Any) -> str:
    return "" if value is None or pd.isna(value) else str(value)
