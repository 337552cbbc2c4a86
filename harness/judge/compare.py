"""Models compared on the same recorded tasks: how often each solves them, at what cost, and whether that is noise."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean

from harness.errors import InputError
from harness.judge.comparison import (
    RATES,
    RESOURCES,
    Comparison,
    ModelSummary,
    PairSummary,
    ResourcePair,
    Settings,
    Share,
    TaskPair,
)
from harness.judge.conclusion import Evidence
from harness.judge.statistics.bootstrap import mean_interval
from harness.judge.statistics.corrections import holm
from harness.judge.statistics.intervals import Interval, difference_interval, share_interval
from harness.judge.statistics.mcnemar import mcnemar_exact
from harness.judge.statistics.pass_k import pass_at_k, pass_hat_k
from harness.judge.statistics.power import smallest_difference
from harness.judge.trials import TrialResult
from harness.measure.trial import TrialFigures


def compare(results: Iterable[TrialResult], settings: Settings | None = None) -> Comparison:
    """Compare the models of the trials; raises InputError for a baseline that none of them has."""
    settings = settings or Settings()
    trials = tuple(results)
    by_model: dict[str, list[TrialResult]] = {}
    for result in trials:
        by_model.setdefault(result.model, []).append(result)
    names = list(by_model)
    if settings.baseline is not None:
        if settings.baseline not in by_model:
            known = ", ".join(names) or "none"
            raise InputError(f"no trial is of {settings.baseline!r}; the models are {known}", where="--baseline")
        names = [settings.baseline, *(name for name in names if name != settings.baseline)]
    couples = [
        (a, b) for at, a in enumerate(names if settings.baseline is None else names[:1]) for b in names[at + 1 :]
    ]
    return Comparison(
        tuple(_summary(name, by_model[name], settings) for name in names),
        tuple(_pairs(couples, by_model, settings)),
        trials,
        settings,
    )


def _by_task(results: Iterable[TrialResult]) -> dict[str, list[TrialResult]]:
    found: dict[str, list[TrialResult]] = {}
    for result in results:
        found.setdefault(result.task, []).append(result)
    return found


def _judged(results: Iterable[TrialResult]) -> dict[str, list[TrialResult]]:
    return _by_task(result for result in results if result.usable and result.passed is not None)


def _passed(trials: Sequence[TrialResult]) -> int:
    return sum(trial.passed is True for trial in trials)


def _summary(model: str, results: Sequence[TrialResult], settings: Settings) -> ModelSummary:
    usable = [result for result in results if result.usable]
    tasks = _judged(results)
    most = max((len(trials) for trials in tasks.values()), default=0)
    counts = [(_passed(trials), len(trials)) for trials in tasks.values()]

    def shares(estimate: Callable[[int, int, int], float]) -> dict[int, Share]:
        found: dict[int, Share] = {}
        for k in range(1, most + 1):
            enough = [(passed, trials) for passed, trials in counts if trials >= k]
            values = [estimate(passed, trials, k) for passed, trials in enough]
            # k attempts together are one yes or no, so of n trials no more than n / k are told by them.
            independent = sum(trials // k for _, trials in enough)
            interval = share_interval(values, independent, settings.confidence)
            found[k] = Share(fmean(values), interval, len(values))
        return found

    return ModelSummary(
        model,
        tasks=len(tasks),
        trials=sum(len(trials) for trials in tasks.values()),
        infrastructure=len(results) - len(usable),
        not_judged=sum(result.passed is None for result in usable),
        pass_hat=shares(pass_hat_k),
        pass_at=shares(pass_at_k),
        means={name: _mean(_by_task(usable), take) for name, take in RESOURCES.items()},
        rates={name: _rate(usable, part, whole) for name, (part, whole) in RATES.items()},
    )


def _pairs(
    couples: Sequence[tuple[str, str]], by_model: Mapping[str, Sequence[TrialResult]], settings: Settings
) -> list[PairSummary]:
    tasks = [_task_pairs(by_model[a], by_model[b]) for a, b in couples]
    apart = [
        (sum(task.differs and task.solved_a for task in each), sum(task.differs and task.solved_b for task in each))
        for each in tasks
    ]
    p_values = [mcnemar_exact(only_a, only_b) for only_a, only_b in apart]
    found = []
    for (a, b), pairs, (only_a, only_b), p_value, adjusted in zip(
        couples, tasks, apart, p_values, holm(p_values), strict=True
    ):
        count = len(pairs)
        # What could be shown is said for the strictest of the levels that the correction asks for.
        strict = settings.alpha / len(couples)
        smallest = smallest_difference(count, (only_a + only_b) / count, strict) if count else None
        evidence = Evidence(
            count, only_a, only_b, adjusted, smallest, settings.matters, len(couples), settings.alpha
        )  # fmt: skip
        found.append(
            PairSummary(
                a, b, tuple(pairs), p_value, evidence, *_difference(pairs, settings.confidence),
                _resources(a, b, by_model, settings),
            )
        )  # fmt: skip
    return found


def _task_pairs(a: Sequence[TrialResult], b: Sequence[TrialResult]) -> list[TaskPair]:
    """The tasks judged for both models, in the order of the first."""
    of_a, of_b = _judged(a), _judged(b)
    return [TaskPair(task, tuple(trials), tuple(of_b[task])) for task, trials in of_a.items() if task in of_b]


def _difference(pairs: Sequence[TaskPair], confidence: float) -> tuple[float | None, Interval | None]:
    if not pairs:
        return None, None
    a = [pair.passed_a / len(pair.a) for pair in pairs]
    b = [pair.passed_b / len(pair.b) for pair in pairs]
    trials_a, trials_b = sum(len(pair.a) for pair in pairs), sum(len(pair.b) for pair in pairs)
    return fmean(b) - fmean(a), difference_interval(a, b, trials_a, trials_b, confidence)


def _resources(
    a: str, b: str, by_model: Mapping[str, Sequence[TrialResult]], settings: Settings
) -> dict[str, ResourcePair]:
    of_a = _by_task(result for result in by_model[a] if result.usable)
    of_b = _by_task(result for result in by_model[b] if result.usable)
    found: dict[str, ResourcePair] = {}
    for name, take in RESOURCES.items():
        means = [
            (ours, theirs)
            for task, trials in of_a.items()
            if task in of_b
            and (ours := _task_mean(trials, take)) is not None
            and (theirs := _task_mean(of_b[task], take)) is not None
        ]
        if means:
            differences = [theirs - ours for ours, theirs in means]
            # Each figure has draws of its own, whatever else is compared.
            seed = (settings.seed, zlib.crc32(f"{a}\0{b}\0{name}".encode("utf-8", "surrogatepass")))
            interval = mean_interval(differences, seed, settings.confidence, settings.resamples)
            found[name] = ResourcePair(
                fmean(ours for ours, _ in means),
                fmean(theirs for _, theirs in means),
                fmean(differences),
                interval,
                len(means),
            )
    return found


def _task_mean(trials: Sequence[TrialResult], take: Callable[[TrialFigures], float | None]) -> float | None:
    """The mean over a task's trials, None where one of them does not know it: the others may be the short ones."""
    values = [take(trial.figures) for trial in trials]
    known = [value for value in values if value is not None]
    return fmean(known) if known and len(known) == len(values) else None


def _mean(tasks: Mapping[str, Sequence[TrialResult]], take: Callable[[TrialFigures], float | None]) -> float | None:
    means = [mean for trials in tasks.values() if (mean := _task_mean(trials, take)) is not None]
    return fmean(means) if means else None


def _rate(
    results: Iterable[TrialResult],
    part: Callable[[TrialFigures], int | None],
    whole: Callable[[TrialFigures], int | None],
) -> float | None:
    found = [(part(result.figures), whole(result.figures)) for result in results]
    known = [(some, all_of) for some, all_of in found if some is not None and all_of is not None]
    total = sum(all_of for _, all_of in known)
    return sum(some for some, _ in known) / total if total else None
