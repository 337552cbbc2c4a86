"""pass^k and pass@k against what they stand for: drawing k of the trials without putting any back."""

from __future__ import annotations

from itertools import combinations, pairwise
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.judge.statistics.pass_k import pass_at_k, pass_hat_k


@given(st.lists(st.booleans(), min_size=1, max_size=7), st.data())
def test_both_are_the_mean_over_all_ways_to_draw_k_trials(outcomes: list[bool], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(outcomes)))
    draws = list(combinations(outcomes, k))
    passed = sum(outcomes)
    assert pass_hat_k(passed, len(outcomes), k) == pytest.approx(fmean(all(draw) for draw in draws))
    assert pass_at_k(passed, len(outcomes), k) == pytest.approx(fmean(any(draw) for draw in draws))


@given(st.integers(1, 50), st.data())
def test_they_part_as_k_grows_and_meet_at_one(trials: int, data: st.DataObject) -> None:
    passed = data.draw(st.integers(0, trials))
    hat = [pass_hat_k(passed, trials, k) for k in range(1, trials + 1)]
    at = [pass_at_k(passed, trials, k) for k in range(1, trials + 1)]
    assert hat[0] == pytest.approx(at[0]) == pytest.approx(passed / trials)
    assert hat == sorted(hat, reverse=True)
    assert all(later >= earlier - 1e-12 for earlier, later in pairwise(at))


@pytest.mark.parametrize(("passed", "trials", "k"), [(1, 2, 3), (1, 2, 0), (3, 2, 1), (-1, 2, 1), (0, 0, 1)])
def test_what_cannot_be_drawn_is_refused(passed: int, trials: int, k: int) -> None:
    for estimate in (pass_hat_k, pass_at_k):
        with pytest.raises(ValueError, match="trials"):
            estimate(passed, trials, k)
