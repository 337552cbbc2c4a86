"""Holm's adjustment."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.judge.statistics.corrections import holm


def test_a_worked_example() -> None:
    # Wikipedia, Holm-Bonferroni method: of these the first and the last are rejected at 0.05.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_nothing_and_one() -> None:
    assert holm([]) == []
    assert holm([0.2]) == [0.2]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=10))
def test_it_is_between_none_and_bonferronis_and_keeps_the_order(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    for raw, found in zip(p_values, adjusted, strict=True):
        assert raw <= found <= min(1.0, len(p_values) * raw)
    by_raw = [found for _, found in sorted(zip(p_values, adjusted, strict=True))]
    assert by_raw == sorted(by_raw)


def test_a_false_finding_among_all_stays_as_rare_as_asked() -> None:
    draws = np.random.default_rng(24)
    false = sum(min(holm(list(draws.random(6)))) <= 0.05 for _ in range(4_000))
    assert false / 4_000 <= 0.05 + 0.007  # two standard errors
