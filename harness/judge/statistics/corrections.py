"""Several comparisons at once: each p-value made larger, so that one false finding among all stays as rare as asked."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment (1979), in the order given; holds whatever the tests have in common."""
    count = len(p_values)
    adjusted = [0.0] * count
    largest = 0.0
    for rank, position in enumerate(sorted(range(count), key=lambda at: p_values[at])):
        largest = max(largest, min(1.0, (count - rank) * p_values[position]))
        adjusted[position] = largest
    return adjusted
