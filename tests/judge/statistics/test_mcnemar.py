"""McNemar's exact test against worked examples, the binomial distribution, and its promised size."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.judge.statistics.mcnemar import mcnemar_exact


@pytest.mark.parametrize(
    ("only_a", "only_b", "expected"),
    [
        (6, 16, 0.0525),  # Wikipedia, McNemar's test: 6 and 16 give 0.053
        (0, 6, 2 / 64),
        (0, 5, 2 / 32),
        (3, 3, 1.0),
        (0, 0, 1.0),
    ],
)
def test_worked_examples(only_a: int, only_b: int, expected: float) -> None:
    assert mcnemar_exact(only_a, only_b) == pytest.approx(expected, abs=5e-5)


@given(st.integers(0, 60), st.integers(0, 60))
def test_it_is_twice_the_smaller_tail_of_fair_coins(only_a: int, only_b: int) -> None:
    tosses = only_a + only_b
    tail = sum(comb(tosses, heads) for heads in range(min(only_a, only_b) + 1)) / 2**tosses
    assert mcnemar_exact(only_a, only_b) == pytest.approx(min(1.0, 2 * tail))
    assert mcnemar_exact(only_a, only_b) == pytest.approx(mcnemar_exact(only_b, only_a))


def test_negative_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        mcnemar_exact(-1, 2)


@pytest.mark.parametrize("trials", [1, 4, 5])
def test_equal_models_are_told_apart_no_more_often_than_it_says(trials: int) -> None:
    """Also with several trials a task, of which more than half have to pass."""
    draws = np.random.default_rng(22)
    false = 0
    for _ in range(1_000):
        chance = draws.beta(0.7, 0.7, 40)
        a, b = (2 * draws.binomial(trials, chance) > trials for _ in range(2))
        false += mcnemar_exact(int((a & ~b).sum()), int((b & ~a).sum())) <= 0.05
    assert false / 1_000 <= 0.05 + 0.014  # two standard errors
