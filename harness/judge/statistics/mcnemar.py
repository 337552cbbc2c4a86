"""McNemar's exact test of whether two models solve tasks equally often, by the tasks that only one of them solves.

Tasks that both or neither solve say nothing about which is better. If the models are equally good, each of the others
goes to either model with chance 1/2, so the p-value is that of a two-sided binomial test (McNemar 1947, exact form).
"""

from __future__ import annotations


def mcnemar_exact(only_a: int, only_b: int) -> float:
    """The two-sided p-value, 1 where no task tells the models apart; raises ValueError for negative counts."""
    if only_a < 0 or only_b < 0:
        raise ValueError(f"counts of tasks cannot be negative: {only_a}, {only_b}")
    if only_a + only_b == 0:
        return 1.0
    from scipy.stats import binomtest  # noqa: PLC0415  takes a second to load

    return float(binomtest(only_a, only_a + only_b, 0.5).pvalue)
