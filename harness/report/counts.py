"""How many cases came out how, and what their facts add up to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from harness.judge.verdict import Case, Verdict

STEPS = ("steps",)
CALLS = ("tool_calls", "calls")


def verdict_counts(cases: Iterable[Case]) -> dict[Verdict, int]:
    """The number of cases of every verdict, those that did not occur included."""
    counts = dict.fromkeys(Verdict, 0)
    for case in cases:
        counts[case.verdict] += 1
    return counts


def counts_line(counts: Mapping[Verdict, int]) -> str:
    """Such as ``17 passed, 0 failed, 0 inconclusive, 0 errors``."""
    return (
        f"{counts[Verdict.PASS]} passed, {counts[Verdict.FAIL]} failed, "
        f"{counts[Verdict.INCONCLUSIVE]} inconclusive, {counted(counts[Verdict.ERROR], 'error')}"
    )


def counted(number: int, noun: str) -> str:
    """A number with its noun, in the plural where it is not 1: ``1 step``, ``1,204 steps``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def count_fact(case: Case, keys: tuple[str, ...]) -> int | None:
    """The first of the facts ``keys`` that is a whole number, None where the case counted no such thing."""
    values = (case.facts.get(key) for key in keys)
    return next((value for value in values if isinstance(value, int) and not isinstance(value, bool)), None)


def total_facts(cases: Iterable[Case]) -> str:
    """Steps and calls of some cases together, such as ``12 steps, 20 calls``; empty where none were counted."""
    parts = []
    cases = list(cases)
    for keys, noun in ((STEPS, "step"), (CALLS, "call")):
        numbers = [number for case in cases if (number := count_fact(case, keys)) is not None]
        if numbers:
            parts.append(counted(sum(numbers), noun))
    return ", ".join(parts)
