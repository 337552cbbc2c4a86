"""A matching is as large as it can be, and an alignment as heavy, whatever comes first."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from harness.judge.matching import MOST_CELLS, aligned, maximum_matching

GRAPHS = st.lists(st.lists(st.integers(0, 7), unique=True, max_size=8), max_size=8)


@given(GRAPHS)
def test_a_matching_is_as_large_as_that_of_another_program(accepted: list[list[int]]) -> None:
    pairs = maximum_matching(accepted)
    assert all(right in accepted[left] for left, right in pairs.items())
    assert len(set(pairs.values())) == len(pairs)
    table = np.zeros((max(len(accepted), 1), 8), dtype=int)
    for left, rights in enumerate(accepted):
        table[left, rights] = 1
    assert len(pairs) == int((maximum_bipartite_matching(csr_array(table), perm_type="column") >= 0).sum())


def test_a_chain_of_moves_of_any_length_is_found() -> None:
    count = 3000
    accepted = [[at, at + 1] for at in range(count - 1)] + [[0]]
    assert len(maximum_matching(accepted)) == count


def test_early_positions_are_preferred() -> None:
    assert maximum_matching([[0, 1], [0, 1]]) == {0: 0, 1: 1}


@given(st.text("ABC", max_size=6), st.text("ABC", max_size=6))
def test_an_alignment_keeps_both_orders_and_is_the_longest(left: str, right: str) -> None:
    rows = aligned(len(left), len(right), lambda one, other: int(left[one] == right[other]))
    assert [one for one, _ in rows if one is not None] == list(range(len(left)))
    assert [other for _, other in rows if other is not None] == list(range(len(right)))
    pairs = [(one, other) for one, other in rows if one is not None and other is not None]
    assert all(left[one] == right[other] for one, other in pairs)
    assert len(pairs) == _common(left, right)


def test_what_is_too_long_to_align_is_paired_place_by_place() -> None:
    size = int(MOST_CELLS**0.5) + 1
    rows = aligned(size, size + 1, lambda _, __: 1)
    assert rows[0] == (0, 0)
    assert rows[-1] == (None, size)


def _common(left: str, right: str) -> int:
    """The length of the longest common subsequence, by definition."""
    if not left or not right:
        return 0
    if left[0] == right[0]:
        return 1 + _common(left[1:], right[1:])
    return max(_common(left[1:], right), _common(left, right[1:]))
