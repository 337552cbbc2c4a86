from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from harness.measure.spending import KINDS, spending_of
from harness.report.frame_files import write_frames
from harness.report.frames import cases_frame
from harness.report.html.page import render_page
from harness.report.run_frames import CALL_COLUMNS, RUN_COLUMNS, STEP_COLUMNS, RunFrames, RunOfCase
from harness.trace.run import Run, Trial
from tests.report.html.runs import saved_cases, two_step_run


def frames_of(run: Run) -> RunFrames:
    frames = RunFrames()
    frames.add(RunOfCase(4, run, spending_of(run)))
    return frames


def test_a_row_a_step_with_what_its_prompt_is_made_of() -> None:
    steps = frames_of(two_step_run()).steps()
    assert list(steps.columns) == list(STEP_COLUMNS)
    assert steps["case"].tolist() == [4, 4]
    assert steps["calls"].tolist() == [3, 0]
    assert steps["batches"].tolist() == [2, 0]
    assert (steps[list(KINDS)].sum(axis="columns") == steps["counted"]).all()
    assert steps["recorded_prompt"].tolist() == [100, 101]


def test_a_row_a_call_with_its_batch_gate_and_size() -> None:
    calls = frames_of(two_step_run()).calls()
    assert list(calls.columns) == list(CALL_COLUMNS)
    assert calls["beside"].tolist() == [1, 1, 0]
    assert calls["executed"].tolist() == [True, True, False]
    assert calls.loc[2, "permission"] == "deny"
    assert calls["truncated_from_bytes"].isna().tolist() == [True, False, True]


def test_a_row_a_run_with_its_trial() -> None:
    run = two_step_run()
    run.trial = Trial("airline/1", 2, "gpt", 0.5, None, 0.01, 3.5)
    [row] = frames_of(run).runs().to_dict("records")
    assert (row["task"], row["trial"], row["model"], row["reward"]) == ("airline/1", 2, "gpt", 0.5)
    assert (row["steps"], row["calls"], row["outcome"]) == (2, 3, "answered")


def test_frames_of_nothing_have_their_columns() -> None:
    frames = RunFrames()
    assert list(frames.runs().columns) == list(RUN_COLUMNS)
    assert frames.steps().empty
    assert frames.calls().empty


def test_csv_and_parquet_hold_the_same(tmp_path: Path) -> None:
    page = render_page(saved_cases(tmp_path), "t")
    write_frames(page.frames, tmp_path / "frames", parquet=True)
    for name, frame in page.frames.items():
        csv = pd.read_csv(tmp_path / "frames" / f"{name}.csv")
        parquet = pd.read_parquet(tmp_path / "frames" / f"{name}.parquet")
        assert list(csv.columns) == list(parquet.columns) == list(frame.columns)
        assert len(csv) == len(parquet) == len(frame)


def test_facts_of_several_kinds_are_text_in_parquet(tmp_path: Path) -> None:
    cases = saved_cases(tmp_path)
    cases[0].facts["odd"] = [1]
    cases[1].facts["odd"] = "text"
    write_frames({"cases": cases_frame(cases)}, tmp_path, parquet=True)
    assert pd.read_parquet(tmp_path / "cases.parquet")["odd"].tolist()[:2] == ["[1]", "text"]


@pytest.mark.parametrize(("name", "columns"), [("runs", RUN_COLUMNS), ("steps", STEP_COLUMNS), ("calls", CALL_COLUMNS)])
def test_every_column_is_documented(name: str, columns: dict[str, str]) -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "report.md").read_text("utf-8")
    section = text.split(f"### {name}.csv", 1)[1].split("###", 1)[0]
    for column in columns:
        assert f"`{column}`" in section, column
