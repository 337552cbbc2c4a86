from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.judge.verdict import Case, Check, Verdict, exit_code, judged, overall

PASS, FAIL, INCONCLUSIVE, ERROR = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.ERROR


def case(verdict: Verdict) -> Case:
    return Case("n", "scenario", "p", (), verdict)


@pytest.mark.parametrize(
    ("verdicts", "expected", "code"),
    [
        ([], INCONCLUSIVE, 125),
        ([PASS], PASS, 0),
        ([PASS, INCONCLUSIVE], INCONCLUSIVE, 125),
        ([PASS, ERROR, INCONCLUSIVE], ERROR, 125),
        ([PASS, ERROR, INCONCLUSIVE, FAIL], FAIL, 1),
    ],
)
def test_the_whole_is_as_bad_as_its_worst_case(verdicts: list[Verdict], expected: Verdict, code: int) -> None:
    for order in itertools.permutations(verdicts):
        assert overall(case(verdict) for verdict in order) is expected
    assert exit_code(expected) == code


def test_nothing_checked_is_not_passed() -> None:
    verdict, line = judged([])
    assert verdict is INCONCLUSIVE
    assert "nothing was checked" in line


def test_the_first_line_is_of_the_first_check_that_decides() -> None:
    checks = [
        Check("a", PASS),
        Check("b", INCONCLUSIVE, "cannot tell"),
        Check("c", FAIL, "it differs", where="step 2"),
        Check("d", FAIL, "later"),
    ]
    assert judged(checks) == (FAIL, "step 2: it differs")


@given(st.lists(st.sampled_from(list(Verdict)), min_size=1))
def test_a_case_passes_only_when_every_check_does(verdicts: list[Verdict]) -> None:
    verdict, line = judged([Check("n", found) for found in verdicts])
    assert (verdict is PASS) == all(found is PASS for found in verdicts)
    assert bool(line) == (verdict is not PASS)
