"""The interval of a mean difference by the bootstrap over tasks: for steps, tokens, money and time.

A task's two values stay together: what is drawn again and again are the tasks' differences. The limits are percentiles
of the resampled means. Draws from few tasks vary too little, so the percentiles lie further out, as Student's t asks
(the expanded percentile interval of Hesterberg 2015). Seeded: the same input gives the same figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RESAMPLES = 9_999
_AT_ONCE = 2_000_000


def mean_interval(
    differences: Sequence[float], seed: int | Sequence[int], confidence: float = 0.95, resamples: int = RESAMPLES
) -> tuple[float, float] | None:
    """The interval of the mean; None for fewer than 2 differences, of which nothing can be said.

    ``seed`` is one number or several, which together choose the draws.
    """
    if len(differences) < 2:
        return None
    import numpy as np  # noqa: PLC0415

    outside = (1 - expanded(len(differences), confidence)) / 2
    means = _resampled_means(np.asarray(differences, dtype=float), np.random.default_rng(seed), resamples)
    low, high = np.quantile(means, [outside, 1 - outside])
    return float(low), float(high)


def expanded(tasks: int, confidence: float) -> float:
    """The part of the resampled means that an interval of this confidence must hold."""
    from scipy.special import ndtr  # noqa: PLC0415  takes a second to load
    from scipy.stats import t  # noqa: PLC0415

    return float(2 * ndtr(sqrt(tasks / (tasks - 1)) * t.ppf((1 + confidence) / 2, tasks - 1)) - 1)


def _resampled_means(values: NDArray[np.float64], draws: np.random.Generator, resamples: int) -> NDArray[np.float64]:
    import numpy as np  # noqa: PLC0415

    size = len(values)
    step = max(1, _AT_ONCE // size)
    parts = [
        values[draws.integers(0, size, (min(step, resamples - start), size))].mean(axis=1)
        for start in range(0, resamples, step)
    ]
    return np.concatenate(parts)
