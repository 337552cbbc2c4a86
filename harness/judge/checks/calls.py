"""All calls of a conversation, in order: the same tools, and of each what is asked of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.judge.checks.values import equal
from harness.judge.functions import BrokenCheckError, Functions
from harness.judge.trajectory.comparison import Comparison
from harness.judge.trajectory.facts import Fact, facts
from harness.judge.trajectory.made import Made
from harness.judge.trajectory.modes import parting_by_place
from harness.judge.trajectory.rows import rows_in_order, side_by_side
from harness.judge.verdict import Check, Verdict
from harness.scenario.expectations import CallExpectation


def calls(expected: Sequence[CallExpectation], made: Sequence[Made], functions: Functions) -> list[Check]:
    """One check where the tools differ, else one for each call and each key that is asked of it.

    The first that failed shows both lists side by side.
    """
    comparison = Comparison(expected, made, functions)
    try:
        if [one.call.name for one in made] != [item.tool for item in expected]:
            return [parting_by_place("calls", comparison, side_by_side(comparison, rows_in_order(comparison)))]
        checks = [
            _check(fact, one)
            for item, one in zip(expected, made, strict=True)
            for fact in facts(item, one.call, functions)
        ]
        first = next((at for at, check in enumerate(checks) if check.verdict is Verdict.FAIL), None)
        if first is not None:
            checks[first] = replace(checks[first], details=side_by_side(comparison, rows_in_order(comparison)))
    except BrokenCheckError as error:
        return [Check("calls", Verdict.ERROR, str(error))]
    return checks or [equal("calls", "no call", "no call")]


def _check(fact: Fact, one: Made) -> Check:
    name = "calls" if fact.name == "tool" else fact.name
    if not fact.problem:
        return Check(name, Verdict.PASS, "", fact.expected, fact.actual, one.where)
    verdict = Verdict.FAIL if fact.known else Verdict.INCONCLUSIVE
    return Check(name, verdict, fact.problem, fact.expected, fact.actual, one.where)
