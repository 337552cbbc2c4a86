"""Trials of tasks by several models: a cell says how many trials of a task a model passed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from harness.judge.verdict import Verdict
from harness.report.html.rows import Row
from harness.report.text import one_line


@dataclass(frozen=True, slots=True)
class TrialCell:
    """Trials passed and judged, and the number of the first case among them."""

    passed: int
    judged: int
    case: int


@dataclass(frozen=True, slots=True)
class TrialTable:
    """``rows`` hold a task with a cell for each of ``models``, None where the model did not do the task.

    Tasks on which the models differ come first.
    """

    models: tuple[str, ...]
    rows: tuple[tuple[str, tuple[TrialCell | None, ...]], ...]
    differing: int


def trial_table(rows: Sequence[Row], runs: pd.DataFrame) -> TrialTable | None:
    """The table of tasks; None where the runs are no trials, or all of one model and one trial a task.

    Trials that the infrastructure ended, or that were not judged, do not count.
    """
    verdicts = pd.DataFrame({"case": [row.number for row in rows], "verdict": [row.verdict for row in rows]})
    trials = runs[runs["task"].notna()].merge(verdicts, on="case")
    if trials.empty or (trials["model"].nunique() == 1 and trials["task"].is_unique):
        return None
    models = tuple(dict.fromkeys(trials.sort_values("case")["model"]))
    cells: dict[str, dict[str, TrialCell]] = {}
    for (task, model), group in trials.groupby(["task", "model"], sort=False):
        judged = group["verdict"].isin([str(Verdict.PASS), str(Verdict.FAIL)])
        passed = int((group["verdict"] == str(Verdict.PASS)).sum())
        cells.setdefault(str(task), {})[str(model)] = TrialCell(passed, int(judged.sum()), int(group["case"].min()))
    table = [(one_line(task), tuple(cells[task].get(model) for model in models)) for task in sorted(cells, key=_order)]
    differing = [row for row in table if _differs(row[1])]
    same = [row for row in table if not _differs(row[1])]
    return TrialTable(tuple(one_line(model) for model in models), (*differing, *same), len(differing))


def _differs(cells: Sequence[TrialCell | None]) -> bool:
    return len({cell.passed / cell.judged for cell in cells if cell is not None and cell.judged}) > 1


def _order(task: str) -> tuple[str, int, str]:
    head = task.rstrip("0123456789")
    return head, int(task[len(head) :] or 0), task
