from __future__ import annotations

import math

import pandas as pd

from harness.judge.verdict import Attribution, Case, Check, Verdict
from harness.report.frames import cases_frame, checks_frame

CHECKS = (
    Check("finished", Verdict.PASS),
    Check("files", Verdict.FAIL, "differs", "one", "two", "a.txt"),
    Check("price", Verdict.INCONCLUSIVE, "no usage"),
)
CASES = [
    Case("a", "replay", "c/a.yaml", (), Verdict.PASS, facts={"steps": 3, "name": "inner", "share": 0.5}),
    Case("b", "scenario", "s/b.yaml", CHECKS, Verdict.FAIL, "a.txt: differs", facts={"share": 1, "ok": True, "n": [1]}),
]


def test_a_row_a_case_with_its_facts() -> None:
    frame = cases_frame(CASES)
    assert list(frame.columns) == [
        "name", "kind", "path", "verdict", "first_line", "checks", "failed_checks",
        "steps", "fact_name", "share", "ok", "n",
    ]  # fmt: skip
    assert frame["verdict"].tolist() == ["PASS", "FAIL"]
    assert frame["checks"].tolist() == [0, 3]
    assert frame["failed_checks"].tolist() == [0, 2]
    assert frame["share"].tolist() == [0.5, 1.0]
    assert frame.loc[1, "n"] == [1]


def test_missing_facts_are_missing_and_whole_numbers_stay_whole() -> None:
    frame = cases_frame(CASES)
    assert frame["steps"].isna().tolist() == [False, True]
    assert str(frame.loc[0, "steps"]) == "3"
    assert {column: str(frame[column].dtype) for column in ("steps", "share", "ok", "fact_name", "n")} == {
        "steps": "Int64", "share": "Float64", "ok": "boolean", "fact_name": "str", "n": "object",
    }  # fmt: skip


def test_facts_no_column_type_holds_stay_as_they_are() -> None:
    values: list[object] = [10**400, "text", math.inf, None, 2]
    frame = cases_frame([Case("c", "k", "p", (), Verdict.PASS, facts={"odd": value}) for value in values])
    assert frame["odd"].tolist() == values


def test_a_row_a_check_that_joins_to_its_case() -> None:
    frame = checks_frame(CASES)
    assert list(frame.columns) == [
        "case", "name", "kind", "path", "check", "verdict", "where", "message", "expected", "actual",
    ]  # fmt: skip
    assert frame["check"].tolist() == ["finished", "files", "price"]
    assert frame.to_dict("split")["data"][1] == [
        1, "b", "scenario", "s/b.yaml", "files", "FAIL", "a.txt", "differs", "one", "two",
    ]  # fmt: skip
    joined = frame.join(cases_frame(CASES)["failed_checks"], on="case")
    assert joined["failed_checks"].tolist() == [2, 2, 2]


def test_no_cases_give_empty_frames_with_the_same_columns() -> None:
    for empty, full in ((cases_frame([]), cases_frame(CASES)), (checks_frame([]), checks_frame(CASES))):
        assert empty.empty
        pd.testing.assert_series_equal(empty.dtypes, full.dtypes[empty.columns])


def test_lone_surrogates_become_escapes() -> None:
    case = Case("a\udcff", "k", "p", (), Verdict.PASS, facts={"f\ud800": "v\ud800"})
    frame = cases_frame([case])
    assert frame.loc[0, "name"] == "a\\udcff"
    assert frame.loc[0, "f\\ud800"] == "v\\ud800"


def test_the_frame_says_whose_doing_it_is_that_a_case_did_not_pass() -> None:
    good = Case("a", "scenario", "a.yaml", (), Verdict.PASS)
    bad = Case(
        "b", "scenario", "b.yaml", (), Verdict.FAIL, "differs", attribution=Attribution.MODEL, evidence="it said x"
    )
    assert cases_frame([good, bad])["attribution"].tolist()[1] == "model"
    assert "attribution" not in cases_frame([good]).columns
