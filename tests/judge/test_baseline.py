from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import InputError
from harness.judge.baseline import Baseline, Change, Changed, Scope
from harness.judge.behaviour import Behaviour
from harness.judge.collecting import collect
from harness.judge.one_case import Judged
from harness.judge.suite import judge_all
from harness.judge.verdict import Case, Verdict
from tests.scenario.scenarios import ANSWER, READ_AND_ANSWER

PASS, FAIL, INCONCLUSIVE, ERROR = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.ERROR
SCOPE = Scope([Path("suite")])


def judged(
    name: str, verdict: Verdict = PASS, tokens: int | None = None, calls: str = "Read", marks: str = ""
) -> Judged:
    facts: dict[str, object] = {"model": "m", "steps": 1, "tool_calls": 1}
    facts |= ({} if tokens is None else {"prompt_tokens": tokens}) | ({"marks": marks} if marks else {})
    case = Case(
        name, "scenario", f"suite/{name}.yaml", (), verdict, "" if verdict is PASS else "it differs", facts=facts
    )
    return Judged(case, {}, Behaviour(calls, f"digest of {calls}"))


def accepted(*cases: Judged) -> Baseline:
    return Baseline(Path("baseline.json")).updated(cases, SCOPE)


@pytest.mark.parametrize(
    ("was", "now", "change", "verdict"),
    [
        (PASS, PASS, None, PASS),
        (PASS, FAIL, Change.NEWLY_FAILING, FAIL),
        (PASS, INCONCLUSIVE, Change.NOT_JUDGED, INCONCLUSIVE),
        (PASS, ERROR, Change.NOT_JUDGED, ERROR),
        (FAIL, PASS, Change.FIXED, PASS),
        (FAIL, FAIL, Change.STILL_FAILING, PASS),
        (FAIL, INCONCLUSIVE, Change.NOT_JUDGED, INCONCLUSIVE),
        (FAIL, ERROR, Change.NOT_JUDGED, ERROR),
        (None, PASS, Change.NEW, PASS),
        (None, FAIL, Change.NEW, FAIL),
        (None, INCONCLUSIVE, Change.NEW, INCONCLUSIVE),
        (None, ERROR, Change.NEW, ERROR),
        (PASS, None, Change.GONE, INCONCLUSIVE),
        (FAIL, None, Change.GONE, INCONCLUSIVE),
    ],
)
def test_what_became_of_a_case_decides(
    was: Verdict | None, now: Verdict | None, change: Change | None, verdict: Verdict
) -> None:
    other = judged("other")
    baseline = accepted(other, *([] if was is None else [judged("c", was)]))
    compared = baseline.compare([other, *([] if now is None else [judged("c", now)])], SCOPE)
    assert [(changed.case, changed.change) for changed in compared.changes] == (
        [] if change is None else [("suite/c.yaml", change)]
    )
    assert compared.verdict is verdict
    assert compared.accepted == (frozenset({"suite/c.yaml"}) if change is Change.STILL_FAILING else frozenset())


def test_another_behaviour_with_the_same_verdict_is_drift_and_no_failure() -> None:
    compared = accepted(judged("c", calls="Read Edit")).compare([judged("c", calls="Read*2 Edit")], SCOPE)
    assert compared.changes == (Changed("suite/c.yaml", Change.DRIFTED, "Read Edit", "Read*2 Edit"),)
    assert compared.verdict is PASS
    marked = accepted(judged("c")).compare([judged("c", marks="drift allowed in system")], SCOPE)
    assert (marked.changes[0].change, marked.changes[0].now) == (Change.DRIFTED, "drift allowed in system")


@pytest.mark.parametrize(
    ("was", "now", "tolerance", "change", "verdict"),
    [
        (100, 100, 0.0, None, PASS),
        (100, 120, None, Change.TOKENS_UP, PASS),
        (100, 120, 20.0, Change.TOKENS_UP, PASS),
        (100, 121, 20.0, Change.TOKENS_UP, FAIL),
        (100, 101, 0.0, Change.TOKENS_UP, FAIL),
        (100, 50, 0.0, Change.TOKENS_DOWN, PASS),
        (0, 1, 5.0, Change.TOKENS_UP, FAIL),
        (None, 9, 0.0, None, PASS),
        (9, None, 0.0, None, PASS),
    ],
)
def test_tokens_are_compared_within_a_tolerance(
    was: int | None, now: int | None, tolerance: float | None, change: Change | None, verdict: Verdict
) -> None:
    compared = accepted(judged("c", tokens=was)).compare([judged("c", tokens=now)], SCOPE, tolerance)
    assert [changed.change for changed in compared.changes] == ([] if change is None else [change])
    assert compared.verdict is verdict


def test_only_what_the_run_covers_can_be_gone() -> None:
    baseline = accepted(judged("a"), judged("b"))
    here = [judged("a")]
    assert baseline.compare(here, Scope([Path("suite/a.yaml")])).changes == ()
    assert baseline.compare(here, Scope([Path("suite")], selected=True)).changes == ()
    assert [changed.case for changed in baseline.compare(here, SCOPE).changes] == ["suite/b.yaml"]
    assert set(baseline.updated(here, SCOPE).entries) == {"suite/a.yaml"}
    assert set(baseline.updated(here, Scope([Path("suite")], selected=True)).entries) == {
        "suite/a.yaml",
        "suite/b.yaml",
    }


def test_what_was_not_judged_cannot_be_accepted() -> None:
    baseline = accepted(judged("a")).updated([judged("a", ERROR), judged("b", INCONCLUSIVE)], SCOPE)
    assert {key: entry.verdict for key, entry in baseline.entries.items()} == {"suite/a.yaml": PASS}
    assert baseline.compare([judged("a", ERROR)], SCOPE).verdict is ERROR


def test_nothing_at_all_is_no_pass() -> None:
    assert Baseline(Path("b.json")).compare([], SCOPE).verdict is INCONCLUSIVE


def test_the_file_is_small_sorted_and_the_same_every_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("suite").mkdir()
    Path("suite/b.yaml").write_text(ANSWER)
    Path("suite/a.yaml").write_text(READ_AND_ANSWER)
    Path("suite/c.yaml").write_text("name: Another name\n" + ANSWER.replace("final_text: Hello", "final_text: Bye"))
    texts = []
    for suite in (Path("suite"), tmp_path / "suite"):
        baseline = Baseline(Path("baseline.json")).updated(judge_all(collect([suite]), None), Scope([suite]))
        baseline.save()
        texts.append(Path("baseline.json").read_text("utf-8"))
        Path("baseline.json").unlink()
    assert texts[0] == texts[1]
    assert str(tmp_path) not in texts[0]
    lines = texts[0].splitlines()
    assert [line.split('"')[1] for line in lines[4:7]] == [
        "suite/a.yaml", "suite/b.yaml", "suite/c.yaml::Another name"
    ]  # fmt: skip
    assert len(lines) == 9
    assert json.loads(lines[4].split(": ", 1)[1].rstrip(","))["calls"] == "Read"


def test_a_baseline_moves_with_its_project(tmp_path: Path) -> None:
    (tmp_path / "one" / "suite").mkdir(parents=True)
    (tmp_path / "one" / "suite" / "a.yaml").write_text(ANSWER)
    first = judge_all(collect([tmp_path / "one" / "suite"]), None)
    Baseline(tmp_path / "one" / "baseline.json").updated(first, Scope([tmp_path / "one"])).save()
    (tmp_path / "one").rename(tmp_path / "two")
    again = judge_all(collect([Path(os.path.relpath(tmp_path / "two"))]), None)
    compared = Baseline.load(tmp_path / "two" / "baseline.json").compare(again, Scope([tmp_path / "two"]))
    assert (compared.changes, compared.verdict) == ((), PASS)


TEXTS = st.text(max_size=12)
JUDGED = st.builds(
    lambda name, verdict, tokens, calls, marks, line: replace(
        (made := judged(name, verdict, tokens, calls, marks)), case=replace(made.case, first_line=line)
    ),
    st.text("abc", min_size=1, max_size=3), st.sampled_from([PASS, FAIL]), st.none() | st.integers(0, 10**6), TEXTS,
    TEXTS, TEXTS,
)  # fmt: skip


@given(st.lists(JUDGED, max_size=4))
def test_what_was_accepted_comes_back_and_nothing_has_changed(
    tmp_path_factory: pytest.TempPathFactory, cases: list[Judged]
) -> None:
    folder = tmp_path_factory.mktemp("baseline")
    cases = [replace(each, case=replace(each.case, path=str(folder / each.case.path))) for each in cases]
    scope = Scope([folder])
    baseline = Baseline(folder / "b.json").updated(cases, scope)
    baseline.save()
    loaded = Baseline.load(folder / "b.json")
    assert loaded.entries == baseline.entries
    left = {changed.change for changed in loaded.compare(cases, scope, 0.0).changes}
    assert left <= {Change.STILL_FAILING}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not a baseline"),
        ("[]", "not a baseline"),
        ('{"format": "x", "version": 1, "cases": {}}', "the format is 'x'"),
        ('{"format": "harness-baseline", "version": 9, "cases": {}}', "version 9"),
        ('{"format": "harness-baseline", "version": 1, "cases": {"a": {"verdict": "ERROR"}}}', "not ERROR"),
        ('{"format": "harness-baseline", "version": 1, "cases": {"a": {}}}', "verdict"),
    ],
)
def test_what_is_no_baseline_is_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "b.json").write_text(content)
    with pytest.raises(InputError, match=message):
        Baseline.load(tmp_path / "b.json")


def test_a_missing_baseline_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--update-baseline"):
        Baseline.load(tmp_path / "b.json")
    assert Baseline.load(tmp_path / "b.json", new=True).entries == {}
