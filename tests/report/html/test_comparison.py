from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.errors import InputError
from harness.judge.results import case_of_trial
from harness.report.html.comparison import comparison_of
from harness.report.html.page import render_page
from harness.trace.folder import save_run
from harness.trace.run import Run, Trial
from tests.report.html.runs import HOSTILE

CONTRACT: dict[str, Any] = {
    "models": [
        {"model": "a", "tasks": 20, "trials": 80, "pass_hat_k": {"1": 0.5, "2": 0.25}, "interval": [0.3, 0.7]},
        {"model": "b<b>", "tasks": 20, "trials": 80, "pass_hat_k": {"1": 0.65, "2": None}, "interval": None},
    ],
    "pairs": [
        {"a": "a", "b": "b<b>", "both": 8, "only_a": 2, "only_b": 5, "neither": 5, "p_value": 0.453125,
         "conclusion": "no difference shown"},
    ],
}  # fmt: skip


def test_the_contract_alone_is_enough() -> None:
    view = comparison_of(CONTRACT)
    assert view.models.columns == ("model", "tasks", "trials", "pass^1", "pass^2", "interval of pass^1")
    assert view.models.rows == (
        ("a", "20", "80", "0.500", "0.250", "0.300 to 0.700"),
        ("b<b>", "20", "80", "0.650", "-", "-"),
    )
    [pair] = view.pairs
    assert dict(pair.counts)["p value (exact McNemar)"] == "0.453"
    assert pair.picture.count("<rect") == 4
    html = render_page([], "t", view).html
    assert "no difference shown" in html
    assert "b<b>" not in html
    assert "b&lt;b&gt;" in html


def test_whatever_else_the_document_says_is_shown_under_its_name() -> None:
    document = {
        **CONTRACT,
        "models": [{**CONTRACT["models"][0], "pass_at_k": {"1": 0.5}, "parallel_share": 0.125, "tokens": 12345.6}],
        "pairs": [
            {**CONTRACT["pairs"][0], "p_adjusted": 0.9, "notes": [HOSTILE],
             "resources": {"steps": {"a": 3.0, "b": 4.5, "interval": [0.1, 2.0]}},
             "costs": {"usd": {"mean": 1.5}}, "rates": {"malformed_rate": 0.01}}
        ],
        "excluded": [{"task": "x", "why": HOSTILE}],
    }  # fmt: skip
    view = comparison_of(document)
    assert view.models.columns[-3:] == ("pass@1", "parallel share", "tokens")
    assert view.models.rows[0][-3:] == ("0.500", "12.5%", "12,346")
    [pair] = view.pairs
    assert ("p adjusted", "0.900") in pair.counts
    assert pair.resources is not None
    assert pair.resources.rows == (("steps", "3.000", "4.500", "0.100 to 2.000"),)
    assert [extra.name for extra in pair.extras] == ["notes", "costs", "rates"]
    html = render_page([], "t", view).html
    assert "<img" not in html
    assert "&lt;img" in html


def test_tasks_that_differ_lead_to_their_runs(tmp_path: Path) -> None:
    cases = []
    for model in "ab":
        trial = Trial("airline/2", 0, model, 1.0 if model == "a" else 0.0)
        folder = save_run(Run("r", "imported", "s", trial=trial), tmp_path / model)
        cases.append(case_of_trial(trial, folder))
    entry = {"task": "airline/2", "passed_a": 1, "trials_a": 1, "runs_a": [str(tmp_path / "a")],
             "passed_b": 0, "trials_b": 1, "runs_b": [str(tmp_path / "elsewhere")]}  # fmt: skip
    document = {**CONTRACT, "pairs": [{**CONTRACT["pairs"][0], "differing": [entry]}]}
    view = comparison_of(document, [case.run_folder for case in cases])
    [(task, first, second)] = view.pairs[0].differing
    assert (task, first.text, first.case, second.text, second.case) == ("airline/2", "1 of 1", 0, "0 of 1", None)
    html = render_page(cases, "t", view).html
    assert html.count('href="#case-0"') == 2
    assert "The models differ on 1 of 1 tasks" in html


@pytest.mark.parametrize("document", [{}, {"models": 1, "pairs": []}, {"models": [{"model": "a"}], "pairs": []}])
def test_what_is_no_comparison_is_refused(document: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="no comparison"):
        comparison_of(document)
