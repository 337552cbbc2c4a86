from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import InputError
from harness.judge.comparison import Comparison
from harness.judge.results import (
    RESULTS,
    case_of_trial,
    cases_of_comparison,
    find_cases,
    load_results,
    save_results,
    without_trials,
)
from harness.judge.trials import TrialResult, judge_trials
from harness.judge.verdict import Case, Check, Verdict
from harness.trace.collection import save_runs
from harness.trace.folder import save_run
from harness.trace.run import Lane, Run, Trial

TEXTS = st.text(st.characters(), max_size=12)
CHECKS = st.builds(Check, TEXTS, st.sampled_from(Verdict), TEXTS, TEXTS, TEXTS, TEXTS, TEXTS)
CASES = st.builds(
    Case,
    name=TEXTS,
    kind=TEXTS,
    path=TEXTS,
    checks=st.lists(CHECKS, max_size=3).map(tuple),
    verdict=st.sampled_from(Verdict),
    first_line=TEXTS,
    description=TEXTS,
    tags=st.lists(TEXTS, max_size=2).map(tuple),
    facts=st.dictionaries(TEXTS, st.none() | st.booleans() | st.integers() | TEXTS, max_size=3),
)


@given(st.lists(CASES, max_size=3))
@settings(max_examples=40)
def test_cases_come_back_as_they_were(tmp_path_factory: pytest.TempPathFactory, cases: list[Case]) -> None:
    folder = tmp_path_factory.mktemp("results")
    save_results(cases, folder)
    assert load_results(folder) == cases


def test_runs_are_found_again_where_the_folder_was_moved(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    case = Case("c", "scenario", "c.yaml", (), Verdict.PASS, run_folder=str(tmp_path / "out" / "runs" / "c"))
    elsewhere = Case("d", "scenario", "d.yaml", (), Verdict.PASS, run_folder="/elsewhere/d")
    save_results([case, elsewhere], tmp_path / "out")
    (tmp_path / "out").rename(tmp_path / "moved")
    found = load_results(tmp_path / "moved")
    assert [entry.run_folder for entry in found] == [str(tmp_path / "moved" / "runs" / "c"), "/elsewhere/d"]


def test_a_relative_run_is_seen_from_the_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save_results([Case("c", "trial", "", (), Verdict.PASS, run_folder="runs/c")], Path("reports/compare"))
    assert json.loads((tmp_path / "reports/compare" / RESULTS).read_text())["run"] == "../../runs/c"
    assert load_results(Path("reports/compare"))[0].run_folder == "runs/c"


def test_an_unfinished_last_line_is_left_out_and_a_broken_one_refused(tmp_path: Path) -> None:
    cases = [Case(name, "scenario", "", (), Verdict.PASS) for name in "ab"]
    path = save_results(cases, tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    assert load_results(tmp_path) == cases[:1]
    path.write_bytes(b"{}\n" + whole)
    with pytest.raises(InputError, match=r"results\.jsonl:1: not a judged case: KeyError: 'format'"):
        load_results(tmp_path)
    path.write_bytes(whole.replace(b'"version": 1', b'"version": 2'))
    with pytest.raises(InputError, match="the case has version 2, this harness reads 1"):
        load_results(tmp_path)


@pytest.mark.parametrize(
    ("reward", "error", "verdict", "why"),
    [
        (1.0, None, Verdict.PASS, ""),
        (0.5, None, Verdict.FAIL, "the recorded reward is 0.5, not 1"),
        (None, None, Verdict.INCONCLUSIVE, "no reward was recorded"),
        (1.0, "the server stopped", Verdict.ERROR, "the server stopped"),
    ],
)
def test_a_trial_has_the_verdict_of_its_reward(
    reward: float | None, error: str | None, verdict: Verdict, why: str
) -> None:
    case = case_of_trial(Trial("t", 2, "m", reward, error), Path("runs/x"))
    assert (case.verdict, case.first_line, case.name) == (verdict, why, "t #2 (m)")
    assert without_trials([case]) == []


def test_cases_are_found_behind_every_kind_of_path(tmp_path: Path) -> None:
    plain = Run("plain", "scenario", "p.yaml", [Lane("main")])
    save_run(plain, tmp_path / "runs" / "b")
    save_run(plain, tmp_path / "runs" / "a")
    save_runs([Run("t", "imported", "s", trial=Trial("t", 0, "m", 1.0))], tmp_path / "collection")
    save_results([Case("judged", "scenario", "", (), Verdict.FAIL)], tmp_path / "out")
    assert [case.run_folder for case in find_cases(tmp_path / "runs")] == [
        str(tmp_path / "runs" / "a"), str(tmp_path / "runs" / "b"),
    ]  # fmt: skip
    [alone] = find_cases(tmp_path / "runs" / "a")
    assert (alone.verdict, alone.first_line) == (Verdict.INCONCLUSIVE, "a saved run alone has no verdict")
    assert [case.verdict for case in find_cases(tmp_path / "collection")] == [Verdict.PASS]
    assert [case.name for case in find_cases(tmp_path / "out")] == ["judged"]
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(InputError, match="no results and no saved runs"):
            find_cases(path)


def test_compared_trials_keep_the_verdict_that_counted(tmp_path: Path) -> None:
    trials = [
        Trial("t", 0, "m", 1.0),
        Trial("u", 0, "m", 0.0),
        Trial("v", 0, "m", None),
        Trial("w", 0, "m", 1.0, "the server stopped"),
    ]
    save_runs([Run("r", "imported", "s", [Lane("main")], trial=trial) for trial in trials], tmp_path / "c")
    results: list[TrialResult] = judge_trials([tmp_path / "c"])
    cases = cases_of_comparison(Comparison((), (), tuple(results)))
    assert [case.verdict for case in cases] == [Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.ERROR]
    assert cases[3].first_line == "the server stopped"
