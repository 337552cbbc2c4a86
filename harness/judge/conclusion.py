"""What a comparison of two models comes to, in one of four words, in a sentence, and as a verdict for CI."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from harness.judge.statistics.power import fewest_tasks
from harness.judge.verdict import Verdict


class Conclusion(StrEnum):
    """What the second model is against the first.

    TOO_FEW: these tasks could not have shown a difference, or not one of the size that matters. NO_DIFFERENCE is no
    proof of equality: a difference too small for these tasks may be there.
    """

    BETTER = "better"
    WORSE = "worse"
    NO_DIFFERENCE = "no difference shown"
    TOO_FEW = "too few tasks"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a conclusion is drawn from.

    ``only_a`` and ``only_b`` are the tasks that only one model solves, ``p_adjusted`` the p-value after the correction
    for ``comparisons`` in all, ``smallest`` the smallest difference in the share of tasks solved that these ``tasks``
    could show (None: none), ``alpha`` the chance of a false finding that is accepted, ``matters`` the difference that
    a user would not want to miss.
    """

    tasks: int
    only_a: int
    only_b: int
    p_adjusted: float
    smallest: float | None
    matters: float
    comparisons: int = 1
    alpha: float = 0.05


def conclude(evidence: Evidence) -> Conclusion:
    """The word: significant one way or the other, else whether the tasks could have shown a difference at all."""
    if evidence.p_adjusted <= evidence.alpha:
        return Conclusion.BETTER if evidence.only_b > evidence.only_a else Conclusion.WORSE
    if evidence.tasks < fewest_tasks(evidence.alpha / evidence.comparisons):
        return Conclusion.TOO_FEW
    if evidence.smallest is None or evidence.smallest > evidence.matters:
        return Conclusion.TOO_FEW
    return Conclusion.NO_DIFFERENCE


def sentence(a: str, b: str, evidence: Evidence) -> str:
    """The conclusion for a person: what was found, and what these tasks could have shown."""
    conclusion = conclude(evidence)
    tasks = "1 task" if evidence.tasks == 1 else f"{evidence.tasks:,} tasks"
    counts = f"{evidence.only_b:,} of {tasks} only by {b}, {evidence.only_a:,} only by {a}"
    found = f"{counts}, p = {p_text(evidence.p_adjusted)}"
    if conclusion is Conclusion.BETTER:
        return f"{b} is better than {a}: {found}"
    if conclusion is Conclusion.WORSE:
        return f"{b} is worse than {a}: {found}"
    if evidence.tasks == 0:
        return f"too few tasks to compare {b} with {a}: no task was judged for both"
    fewest = fewest_tasks(evidence.alpha / evidence.comparisons)
    if evidence.tasks < fewest:
        why = f"fewer than {fewest} show nothing"
    elif evidence.smallest is None:
        why = "so many hardly show any difference"
    else:
        why = f"so many show differences of {100 * evidence.smallest:.0f} points or more"
    if conclusion is Conclusion.TOO_FEW:
        return f"too few tasks to compare {b} with {a}: {found}; {why}, and {100 * evidence.matters:.0f} would matter"
    return f"no difference between {b} and {a} is shown: {found}; {why}"


def p_text(p: float) -> str:
    """A p-value with as many digits as tell something."""
    return f"{p:.3f}" if p >= 0.001 else f"{p:.1e}"


def gate(conclusions: Iterable[Conclusion]) -> Verdict:
    """The verdict on candidates against a baseline.

    FAIL where one is worse; INCONCLUSIVE where for one there are too few tasks, or nothing was compared; else PASS.
    """
    found = set(conclusions)
    if Conclusion.WORSE in found:
        return Verdict.FAIL
    return Verdict.INCONCLUSIVE if not found or Conclusion.TOO_FEW in found else Verdict.PASS
