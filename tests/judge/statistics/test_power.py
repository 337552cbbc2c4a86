"""What a number of tasks can show, against simulation and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.judge.statistics.mcnemar import mcnemar_exact
from harness.judge.statistics.power import _critical, fewest_tasks, power, smallest_difference


@pytest.mark.parametrize(("alpha", "tasks"), [(0.05, 6), (0.1, 5), (0.01, 8), (0.05 / 3, 7)])
def test_fewer_tasks_show_nothing_whatever_happens(alpha: float, tasks: int) -> None:
    assert fewest_tasks(alpha) == tasks
    assert mcnemar_exact(0, tasks) <= alpha < mcnemar_exact(0, tasks - 1)


@given(st.integers(1, 80), st.sampled_from([0.05, 0.01, 0.05 / 3]))
@settings(max_examples=40)
def test_the_limits_are_those_of_the_test(tasks: int, alpha: float) -> None:
    for apart, limit in enumerate(_critical(tasks, alpha)):
        rejected = [fewer for fewer in range(apart // 2 + 1) if mcnemar_exact(fewer, apart - fewer) <= alpha]
        assert limit == max(rejected, default=-1)


@pytest.mark.parametrize(("tasks", "difference", "disagreement"), [(20, 0.4, 0.5), (60, 0.2, 0.35), (200, 0.08, 0.2)])
def test_power_is_how_often_a_difference_is_found(tasks: int, difference: float, disagreement: float) -> None:
    draws = np.random.default_rng(25)
    shares = [(disagreement + difference) / 2, (disagreement - difference) / 2, 1 - disagreement]
    found = sum(mcnemar_exact(int(a), int(b)) <= 0.05 for a, b, _ in draws.multinomial(tasks, shares, 2_000))
    assert power(tasks, difference, disagreement) == pytest.approx(found / 2_000, abs=0.03)


def test_without_a_difference_it_is_at_most_the_level() -> None:
    for tasks in (6, 20, 100):
        assert power(tasks, 0, 0.3) <= 0.05
    assert power(5, 1, 1) == 0
    assert power(50, 0, 0) == 0


@pytest.mark.parametrize("tasks", [8, 20, 40, 500])
def test_the_smallest_difference_is_found_in_four_of_five_cases_and_falls_with_more_tasks(tasks: int) -> None:
    found = smallest_difference(tasks, 0.3)
    assert found is not None
    assert power(tasks, found, max(found, 0.3)) == pytest.approx(0.8, abs=0.01)
    fewer = smallest_difference(tasks - 2, 0.3)
    assert fewer is not None
    assert fewer > found


def test_too_few_tasks_have_none() -> None:
    assert smallest_difference(5, 0.3) is None
    assert smallest_difference(6, 0.3) is not None
