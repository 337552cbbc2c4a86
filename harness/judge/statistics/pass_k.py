"""How reliably tasks are solved: pass^k (all of k attempts pass) and pass@k (one of k attempts passes).

Both are estimated without bias from n attempts with c passes: pass^k by C(c, k) / C(n, k) (tau-bench,
arXiv 2406.12045), pass@k by 1 - C(n - c, k) / C(n, k) (arXiv 2107.03374).
"""

from __future__ import annotations

from math import comb


def pass_hat_k(passed: int, trials: int, k: int) -> float:
    """The chance that k attempts all pass, drawn from ``trials`` of which ``passed`` did; raises ValueError."""
    _demand(passed, trials, k)
    return comb(passed, k) / comb(trials, k)


def pass_at_k(passed: int, trials: int, k: int) -> float:
    """The chance that of k attempts at least one passes; raises ValueError."""
    _demand(passed, trials, k)
    return 1 - comb(trials - passed, k) / comb(trials, k)


def _demand(passed: int, trials: int, k: int) -> None:
    if not 0 <= passed <= trials:
        raise ValueError(f"{passed} passed of {trials} trials")
    if not 1 <= k <= trials:
        raise ValueError(f"k is {k}, there were {trials} trials")
