"""What a number of tasks could show at all, by McNemar's exact test.

The difference is in the share of tasks solved. How easily it shows depends on how many tasks tell the models apart:
``disagreement`` is their share, at least as large as the difference itself.
"""

from __future__ import annotations

from functools import lru_cache

POWER = 0.8
_PRECISION = 1e-4


def fewest_tasks(alpha: float = 0.05) -> int:
    """How many tasks there must be for any result to be significant: all of them would have to go one way."""
    tasks = 1
    while 2 * 0.5**tasks > alpha:
        tasks += 1
    return tasks


def power(tasks: int, difference: float, disagreement: float, alpha: float = 0.05) -> float:
    """The chance that a true ``difference`` (0 to ``disagreement``) in favour of one model is found significant.

    Exact: over every number of tasks that tell the models apart, and the outcomes that the test then rejects.
    """
    import numpy as np  # noqa: PLC0415
    from scipy.stats import binom  # noqa: PLC0415  takes a second to load

    if disagreement <= 0 or tasks < fewest_tasks(alpha):
        return 0.0
    apart = np.arange(tasks + 1)
    won = min(1.0, (disagreement + difference) / (2 * disagreement))
    limit = np.array(_critical(tasks, alpha))
    rejected = np.where(limit >= 0, binom.cdf(limit, apart, won) + binom.cdf(limit, apart, 1 - won), 0.0)
    return float((binom.pmf(apart, tasks, disagreement) * rejected).sum())


def smallest_difference(tasks: int, disagreement: float, alpha: float = 0.05, wanted: float = POWER) -> float | None:
    """The smallest true difference that is found with chance ``wanted``; None where there is none up to 1.

    Where it is larger than ``disagreement``, the models are taken to differ only in favour of one of them.
    """
    if power(tasks, 1.0, 1.0, alpha) < wanted:
        return None
    low, high = 0.0, 1.0
    while high - low > _PRECISION:
        middle = (low + high) / 2
        if power(tasks, middle, max(middle, disagreement), alpha) >= wanted:
            high = middle
        else:
            low = middle
    return high


@lru_cache(maxsize=64)
def _critical(tasks: int, alpha: float) -> tuple[int, ...]:
    """For 0 to ``tasks`` tasks that tell the models apart: how few may go the other way; -1 where even 0 do not do."""
    import numpy as np  # noqa: PLC0415
    from scipy.stats import binom  # noqa: PLC0415

    apart = np.arange(tasks + 1)
    reached = np.asarray(binom.ppf(alpha / 2, apart, 0.5))
    # Half of alpha is mostly passed at the quantile itself, and then one fewer is needed.
    return tuple(int(limit) for limit in reached - np.asarray(binom.cdf(reached, apart, 0.5) > alpha / 2))
