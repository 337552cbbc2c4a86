"""Intervals against scipy, published worked examples, and what they promise: to hold the truth in 95 % of cases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binomtest

from harness.judge.statistics.intervals import difference_interval, effective_size, share_interval, wilson
from harness.judge.statistics.pass_k import pass_hat_k

ROUNDS = 300


@pytest.mark.parametrize(("passed", "tasks"), [(0, 6), (1, 6), (10, 20), (34, 40), (50, 50), (84, 200)])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_wilson_is_what_scipy_computes(passed: int, tasks: int, confidence: float) -> None:
    theirs = binomtest(passed, tasks).proportion_ci(confidence, method="wilson")
    assert wilson(passed / tasks, tasks, confidence) == pytest.approx((theirs.low, theirs.high))


@pytest.mark.parametrize("passed", [0, 3, 12])
def test_with_one_trial_a_task_it_is_wilsons_own(passed: int) -> None:
    values = [1.0] * passed + [0.0] * (12 - passed)
    assert share_interval(values, 12) == pytest.approx(wilson(passed / 12, 12))


@given(
    st.lists(st.integers(0, 4).map(lambda passed: passed / 4), min_size=1, max_size=40),
    st.sampled_from([0.8, 0.95, 0.99]),
)
def test_an_interval_lies_around_the_mean_and_trials_never_count_for_less_than_tasks(
    values: list[float], confidence: float
) -> None:
    low, high = share_interval(values, 4 * len(values), confidence)
    mean = sum(values) / len(values)
    assert 0 <= low <= mean + 1e-12
    assert mean - 1e-12 <= high <= 1
    assert len(values) <= effective_size(values, 4 * len(values)) <= 4 * len(values)


def test_trials_that_always_agree_count_once() -> None:
    values = [1.0, 0.0, 1.0, 0.0, 1.0, 1.0]
    assert effective_size(values, 6 * 100) == 6
    assert effective_size([1.0] * 6, 600) == 6


def test_no_tasks_are_no_interval() -> None:
    with pytest.raises(ValueError, match="no tasks"):
        share_interval([], 0)


@pytest.mark.parametrize(
    ("trials", "alike", "k"),
    # alike: the parameter of the Beta distribution of a task's chance; where it is small, trials nearly always agree
    [(1, 1.0, 1), (4, 0.5, 1), (4, 0.5, 2), (4, 0.5, 4), (8, 5.0, 1)],
)
def test_the_interval_of_a_share_holds_the_truth_as_often_as_it_says(trials: int, alike: float, k: int) -> None:
    draws = np.random.default_rng(20)
    truth = float((draws.beta(alike, alike, 100_000) ** k).mean())
    held = 0
    for _ in range(ROUNDS):
        passed = draws.binomial(trials, draws.beta(alike, alike, 20))
        values = [pass_hat_k(int(each), trials, k) for each in passed]
        low, high = share_interval(values, 20 * (trials // k))
        held += low <= truth <= high
    assert held / ROUNDS >= 0.92


def pairs(both: int, only_b: int, only_a: int, neither: int) -> tuple[list[float], list[float]]:
    a = [1.0] * both + [0.0] * only_b + [1.0] * only_a + [0.0] * neither
    b = [1.0] * both + [1.0] * only_b + [0.0] * only_a + [0.0] * neither
    return a, b


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((36, 12, 2, 0), (0.0569, 0.3404)),  # Newcombe 1998, Statistics in Medicine 17, 2635
        ((14, 5, 0, 22), (0.0115, 0.2265)),  # Altman et al. 2000, Statistics with Confidence, table 6.2
    ],
)
def test_the_interval_of_a_difference_is_that_of_published_examples(
    counts: tuple[int, int, int, int], expected: tuple[float, float]
) -> None:
    a, b = pairs(*counts)
    assert difference_interval(a, b, len(a), len(b)) == pytest.approx(expected, abs=5e-5)


@given(*[st.integers(0, 12)] * 4)
@settings(max_examples=60)
def test_the_interval_of_a_difference_turns_round_with_the_models(
    both: int, only_b: int, only_a: int, neither: int
) -> None:
    a, b = pairs(both, only_b, only_a, neither)
    if not a:
        return
    low, high = difference_interval(a, b, len(a), len(a))
    assert difference_interval(b, a, len(a), len(a)) == pytest.approx((-high, -low))
    assert -1 <= low <= (only_b - only_a) / len(a) + 1e-12 <= high + 2e-12 <= 1 + 3e-12


@pytest.mark.parametrize(("tasks", "trials"), [(12, 1), (40, 1), (20, 4)])
@pytest.mark.parametrize("better", [0.0, 0.3])
def test_the_interval_of_a_difference_holds_the_truth_as_often_as_it_says(
    tasks: int, trials: int, better: float
) -> None:
    draws = np.random.default_rng(21)

    def chances(count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        a = draws.beta(0.5, 0.5, count)
        return a, np.clip(a + better * draws.random(count), 0, 1)

    many_a, many_b = chances(100_000)
    truth = float(np.mean(many_b) - np.mean(many_a))
    held = 0
    for _ in range(ROUNDS):
        a, b = (list(draws.binomial(trials, chance) / trials) for chance in chances(tasks))
        low, high = difference_interval(a, b, tasks * trials, tasks * trials)
        held += low <= truth <= high
    assert held / ROUNDS >= 0.92
