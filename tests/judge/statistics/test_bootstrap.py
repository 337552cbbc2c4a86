"""The bootstrap against scipy's, and its coverage."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from harness.judge.statistics.bootstrap import expanded, mean_interval


@pytest.mark.parametrize("tasks", [12, 40, 300])
def test_the_limits_are_scipys_percentiles_for_the_expanded_confidence(tasks: int) -> None:
    values = np.random.default_rng(tasks).lognormal(1, 0.8, tasks)
    theirs = stats.bootstrap(
        (values,),
        np.mean,
        confidence_level=expanded(tasks, 0.95),
        n_resamples=20_000,
        method="percentile",
        rng=np.random.default_rng(1),
    ).confidence_interval
    ours = mean_interval(list(values), 2, resamples=20_000)
    assert ours == pytest.approx((theirs.low, theirs.high), rel=0.03)


def test_it_comes_out_near_students_interval_where_that_holds() -> None:
    values = np.random.default_rng(4).normal(5, 2, 15)
    mean, error = float(values.mean()), float(stats.sem(values))
    ours = mean_interval(list(values), 2)
    assert ours == pytest.approx(stats.t.interval(0.95, 14, mean, error), rel=0.05)


def test_the_same_seed_gives_the_same_figures_and_few_tasks_none() -> None:
    values = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0]
    assert mean_interval(values, (0, 7)) == mean_interval(values, (0, 7)) != mean_interval(values, (1, 7))
    assert mean_interval([], 0) is None
    assert mean_interval([2.0], 0) is None
    assert mean_interval([2.0, 2.0, 2.0], 0) == (2.0, 2.0)


@given(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=12), st.integers(0, 5))
@settings(max_examples=40)
def test_an_interval_lies_within_what_was_seen(values: list[float], seed: int) -> None:
    found = mean_interval(values, seed, resamples=199)
    assert found is not None
    slack = 1e-6 * (1 + max(map(abs, values)))
    assert min(values) - slack <= found[0] <= found[1] <= max(values) + slack


@pytest.mark.parametrize(("tasks", "least"), [(10, 0.91), (40, 0.93)])
def test_the_interval_holds_the_truth_as_often_as_it_says(tasks: int, least: float) -> None:
    """Differences of skewed figures that go together, as those of two models at the same tasks do."""
    draws = np.random.default_rng(23)
    held = 0
    for number in range(800):
        hard = draws.gamma(4, 1, tasks)
        a, b = draws.gamma(3, hard), draws.gamma(3, 1.3 * hard)
        found = mean_interval(list(b - a), number, resamples=999)
        assert found is not None
        held += found[0] <= 3 * 4 * 0.3 <= found[1]
    assert held / 800 >= least
