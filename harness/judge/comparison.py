"""What a comparison of models on the same tasks holds: each model, each pair, and the trials behind them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from harness.judge.conclusion import Conclusion, Evidence, conclude, sentence
from harness.judge.statistics.bootstrap import RESAMPLES
from harness.judge.statistics.intervals import Interval
from harness.judge.statistics.power import POWER
from harness.judge.trials import TrialResult
from harness.measure.trial import TrialFigures

RESOURCES: Mapping[str, Callable[[TrialFigures], float | None]] = {
    "steps": lambda figures: figures.steps,
    "tokens": lambda figures: figures.tokens,
    "cost_usd": lambda figures: figures.cost_usd,
    "duration_s": lambda figures: figures.duration_s,
}
"""What a trial takes, each None where the recording does not say it."""

RATES: Mapping[str, tuple[Callable[[TrialFigures], int | None], Callable[[TrialFigures], int | None]]] = {
    "malformed_rate": (lambda figures: figures.malformed, lambda figures: figures.calls),
    "tool_error_rate": (lambda figures: figures.failed, lambda figures: figures.known),
    "repeated_rate": (lambda figures: figures.repeated, lambda figures: figures.calls),
    "parallel_share": (lambda figures: figures.parallel, lambda figures: figures.calls),
    "schema_share": (lambda figures: figures.tools_tokens, lambda figures: figures.counted_tokens),
}
"""Shares over all calls (of schemas: over all prompt tokens) of a model: the part and the whole."""


DIGITS = 9
MATTERS = 0.3


def rounded(value: float | None) -> float | None:
    """Without the noise in the last digits of sums of binary fractions."""
    return None if value is None else round(value, DIGITS)


@dataclass(frozen=True, slots=True)
class Settings:
    """How to compare.

    ``baseline`` is the model that all others are compared with; without one every two are. ``seed`` chooses the draws
    of the bootstrap. ``matters`` is the difference in the share of tasks solved that a user would not want to miss:
    tasks that could not show it are too few.
    """

    baseline: str | None = None
    seed: int = 0
    confidence: float = 0.95
    resamples: int = RESAMPLES
    matters: float = MATTERS

    @property
    def alpha(self) -> float:
        """The chance of a false finding that is accepted."""
        return round(1 - self.confidence, 12)


@dataclass(frozen=True, slots=True)
class Share:
    """A mean over ``tasks`` with its interval."""

    value: float
    interval: Interval
    tasks: int


@dataclass(frozen=True, slots=True)
class ModelSummary:
    """One model: judged ``tasks`` and ``trials``, trials that ``infrastructure`` ended, and those ``not_judged``.

    ``pass_hat`` and ``pass_at`` are by k, each over the tasks with at least k judged trials. ``means`` are those of
    `RESOURCES` (the mean over tasks of the means of their trials), ``rates`` those of `RATES`, None where nothing is
    known.
    """

    model: str
    tasks: int
    trials: int
    infrastructure: int
    not_judged: int
    pass_hat: dict[int, Share]
    pass_at: dict[int, Share]
    means: dict[str, float | None]
    rates: dict[str, float | None]

    def document(self) -> dict[str, object]:
        """For JSON."""
        first = self.pass_hat.get(1)
        return {
            "model": self.model,
            "tasks": self.tasks,
            "trials": self.trials,
            "pass_hat_k": {str(k): rounded(share.value) for k, share in self.pass_hat.items()},
            "interval": None if first is None else [rounded(limit) for limit in first.interval],
            "pass_at_k": {str(k): rounded(share.value) for k, share in self.pass_at.items()},
            "infrastructure": self.infrastructure,
            "not_judged": self.not_judged,
            **{name: rounded(mean) for name, mean in self.means.items()},
            **{name: rounded(rate) for name, rate in self.rates.items()},
        }

    def pass_k(self) -> list[dict[str, object]]:
        """A row for each k, with the intervals."""
        return [
            {
                "model": self.model,
                "k": k,
                "tasks": hat.tasks,
                "pass_hat": rounded(hat.value),
                "pass_hat_low": rounded(hat.interval[0]),
                "pass_hat_high": rounded(hat.interval[1]),
                "pass_at": rounded(self.pass_at[k].value),
                "pass_at_low": rounded(self.pass_at[k].interval[0]),
                "pass_at_high": rounded(self.pass_at[k].interval[1]),
            }
            for k, hat in self.pass_hat.items()
        ]


@dataclass(frozen=True, slots=True)
class ResourcePair:
    """What a trial takes with either model, over the tasks where both are known; ``difference`` is b less a."""

    a: float
    b: float
    difference: float
    interval: Interval | None
    tasks: int

    def document(self) -> dict[str, object]:
        """For JSON."""
        return {
            "a": rounded(self.a),
            "b": rounded(self.b),
            "difference": rounded(self.difference),
            "interval": None if self.interval is None else [rounded(limit) for limit in self.interval],
            "tasks": self.tasks,
        }


@dataclass(frozen=True, slots=True)
class TaskPair:
    """The judged trials of two models at a task."""

    task: str
    a: tuple[TrialResult, ...]
    b: tuple[TrialResult, ...]

    @property
    def passed_a(self) -> int:
        """How many trials of a passed."""
        return sum(trial.passed is True for trial in self.a)

    @property
    def passed_b(self) -> int:
        """As ``passed_a``."""
        return sum(trial.passed is True for trial in self.b)

    @property
    def solved_a(self) -> bool:
        """Whether a solves the task: more than half of its judged trials passed."""
        return 2 * self.passed_a > len(self.a)

    @property
    def solved_b(self) -> bool:
        """As ``solved_a``."""
        return 2 * self.passed_b > len(self.b)

    @property
    def example_a(self) -> TrialResult:
        """The first trial of a that went as the task is counted."""
        return next(trial for trial in self.a if trial.passed is self.solved_a)

    @property
    def example_b(self) -> TrialResult:
        """As ``example_a``."""
        return next(trial for trial in self.b if trial.passed is self.solved_b)

    @property
    def differs(self) -> bool:
        """Whether one model solves it and the other does not."""
        return self.solved_a != self.solved_b

    def document(self) -> dict[str, object]:
        """For JSON."""
        return {
            "task": self.task,
            "solved_a": self.solved_a,
            "solved_b": self.solved_b,
            "passed_a": self.passed_a,
            "trials_a": len(self.a),
            "passed_b": self.passed_b,
            "trials_b": len(self.b),
            "runs_a": [str(trial.folder) for trial in self.a],
            "runs_b": [str(trial.folder) for trial in self.b],
        }


@dataclass(frozen=True, slots=True)
class PairSummary:
    """Model b against model a on the tasks judged for both.

    ``difference`` is that of pass^1 on these tasks (b less a), ``p_value`` that of McNemar's exact test, ``evidence``
    what the conclusion is drawn from.
    """

    a: str
    b: str
    tasks: tuple[TaskPair, ...]
    p_value: float
    evidence: Evidence
    difference: float | None
    interval: Interval | None
    resources: dict[str, ResourcePair]

    @property
    def both(self) -> int:
        """Tasks that both solve."""
        return sum(task.solved_a and task.solved_b for task in self.tasks)

    @property
    def neither(self) -> int:
        """Tasks that neither solves."""
        return sum(not task.solved_a and not task.solved_b for task in self.tasks)

    @property
    def differing(self) -> list[TaskPair]:
        """The tasks that one of them solves."""
        return [task for task in self.tasks if task.differs]

    @property
    def conclusion(self) -> Conclusion:
        """What b is against a."""
        return conclude(self.evidence)

    @property
    def sentence(self) -> str:
        """The conclusion for a person."""
        return sentence(self.a, self.b, self.evidence)

    def document(self) -> dict[str, object]:
        """For JSON."""
        return {
            "a": self.a,
            "b": self.b,
            "tasks": len(self.tasks),
            "both": self.both,
            "only_a": self.evidence.only_a,
            "only_b": self.evidence.only_b,
            "neither": self.neither,
            "p_value": self.p_value,
            "p_adjusted": self.evidence.p_adjusted,
            "conclusion": self.conclusion,
            "sentence": self.sentence,
            "difference": rounded(self.difference),
            "interval": None if self.interval is None else [rounded(limit) for limit in self.interval],
            "smallest_difference": rounded(self.evidence.smallest),
            "resources": {name: pair.document() for name, pair in self.resources.items()},
            "differing": [task.document() for task in self.differing],
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Comparison:
    """Models in order of first appearance (the baseline first), their pairs, and the trials behind them."""

    models: tuple[ModelSummary, ...]
    pairs: tuple[PairSummary, ...]
    results: tuple[TrialResult, ...]
    settings: Settings = field(default_factory=Settings)

    @property
    def judged(self) -> bool:
        """Whether any trial was judged."""
        return any(model.trials for model in self.models)

    def document(self) -> dict[str, object]:
        """What ``harness compare --json`` prints."""
        settings = self.settings
        return {
            "models": [model.document() for model in self.models],
            "pairs": [pair.document() for pair in self.pairs],
            "pass_k": [row for model in self.models for row in model.pass_k()],
            "infrastructure": [
                {"model": result.model, "task": result.task, "trial": result.number, "run": str(result.folder),
                 "why": result.infrastructure}
                for result in self.results
                if not result.usable
            ],
            "settings": {
                "baseline": settings.baseline, "confidence": settings.confidence, "seed": settings.seed,
                "resamples": settings.resamples, "power": POWER, "matters": settings.matters, "correction": "holm",
            },
        }  # fmt: skip
