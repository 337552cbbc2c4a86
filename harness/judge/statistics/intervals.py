"""Intervals of a share that is the mean over tasks, and of the difference of two such shares on the same tasks.

A task's value is between 0 and 1: whether its one trial passed, the share of its trials that did, or its pass^k.
Tasks are the sample; trials of one task are alike and do not count as independent. So the interval is Wilson's score
interval for the effective number of tasks: as many yes-or-no tasks as would give a mean with the variance found
(Korn and Graubard 1998; Franco, Little, Louis and Slud 2019 on small samples).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import NormalDist, fmean, variance

Interval = tuple[float, float]


def wilson(share: float, size: float, confidence: float = 0.95) -> Interval:
    """Wilson's score interval (1927) of a share found in a sample of ``size``, which need not be whole."""
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    middle = (share + z * z / (2 * size)) / (1 + z * z / size)
    half = z / (1 + z * z / size) * sqrt(share * (1 - share) / size + z * z / (4 * size * size))
    return max(0.0, min(middle - half, share)), min(1.0, max(middle + half, share))


def effective_size(values: Sequence[float], trials: int) -> float:
    """How many independent yes-or-no tasks say as much as these: no fewer than there are tasks, no more than trials.

    Where all tasks are 0 or all are 1 nothing shows how alike their trials are, and tasks count as one each.
    """
    tasks = len(values)
    share = fmean(values)
    bernoulli = share * (1 - share)
    if tasks < 2 or bernoulli == 0:
        return float(tasks)
    found = variance(values)
    independent = float(trials) if found == 0 else tasks * bernoulli / found
    return min(max(independent, float(tasks)), float(max(trials, tasks)))


def share_interval(values: Sequence[float], trials: int, confidence: float = 0.95) -> Interval:
    """The interval of the mean of ``values``, one for each task, from ``trials`` trials in all.

    Raises ValueError without values.
    """
    if not values:
        raise ValueError("no tasks, no interval")
    return wilson(fmean(values), _for_few_tasks(effective_size(values, trials), len(values), confidence), confidence)


def difference_interval(
    a: Sequence[float], b: Sequence[float], trials_a: int, trials_b: int, confidence: float = 0.95
) -> Interval:
    """The interval of mean(b) - mean(a), where both lists hold the same tasks in the same order.

    Newcombe's method 10 for paired shares (1998), which puts the limits of the two intervals together by how the tasks
    go together. Raises ValueError without tasks.
    """
    low_a, high_a = share_interval(a, trials_a, confidence)
    low_b, high_b = share_interval(b, trials_b, confidence)
    mean_a, mean_b = fmean(a), fmean(b)
    together = _correlation(a, b, min(trials_a, trials_b))
    difference = mean_b - mean_a

    def reach(ours: float, theirs: float) -> float:
        return sqrt(max(0.0, ours * ours - 2 * together * ours * theirs + theirs * theirs))

    return (
        max(-1.0, difference - reach(mean_b - low_b, high_a - mean_a)),
        min(1.0, difference + reach(high_b - mean_b, mean_a - low_a)),
    )


def _for_few_tasks(size: float, tasks: int, confidence: float) -> float:
    """The size made smaller where a variance estimated from few tasks was used to enlarge it."""
    if size <= tasks or tasks < 2:
        return size
    from scipy.stats import t  # noqa: PLC0415  takes a second to load

    normal = NormalDist().inv_cdf((1 + confidence) / 2)
    student = float(t.ppf((1 + confidence) / 2, tasks - 1))
    return max(size * (normal / student) ** 2, float(tasks))


def _correlation(a: Sequence[float], b: Sequence[float], trials: int) -> float:
    """How the tasks go together: Pearson's correlation, made smaller by Newcombe's correction where it is positive.

    0 where one of the lists does not vary.
    """
    mean_a, mean_b = fmean(a), fmean(b)
    spread = sqrt(fmean([(x - mean_a) ** 2 for x in a]) * fmean([(y - mean_b) ** 2 for y in b]))
    if spread == 0:
        return 0.0
    together = fmean([(x - mean_a) * (y - mean_b) for x, y in zip(a, b, strict=True)])
    return (together if together <= 0 else max(together - 1 / (2 * trials), 0.0)) / spread
