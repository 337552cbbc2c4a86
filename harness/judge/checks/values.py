"""Checks of single values: equal ones, texts, numbers within bounds."""

from __future__ import annotations

import re

from harness.judge.verdict import Check, Verdict
from harness.scenario.expectations import CountExpectation, TextSpec


def equal(name: str, wanted: str, found: str, message: str = "", where: str = "") -> Check:
    """PASS where both texts are the same; ``message`` says what is wrong where they are not."""
    if wanted == found:
        return Check(name, Verdict.PASS, "", wanted, found, where)
    return Check(name, Verdict.FAIL, message or f"{name} is {found}, expected {wanted}", wanted, found, where)


def text(name: str, wanted: str | TextSpec, found: str | None, where: str = "") -> Check:
    """PASS where the text is as described; no text is an empty one."""
    spec = TextSpec(equals=wanted) if isinstance(wanted, str) else wanted
    problems = text_problems(spec, found or "")
    parts = [
        spec.equals,
        *listed(spec.contains),
        spec.matches,
        *(f"(without {part!r})" for part in listed(spec.lacks)),
    ]
    shown = "\n".join(part for part in parts if part is not None)
    verdict = Verdict.FAIL if problems else Verdict.PASS
    return Check(name, verdict, f"{name}: {problems[0]}" if problems else "", shown, found or "", where)


def text_problems(spec: TextSpec, found: str) -> list[str]:
    """What the text is not, in words."""
    problems = []
    if spec.equals is not None and found != spec.equals:
        problems.append("the text differs")
    problems += [f"the text does not contain {part!r}" for part in listed(spec.contains) if part not in found]
    problems += [f"the text contains {part!r}" for part in listed(spec.lacks) if part in found]
    if spec.matches is not None and re.search(spec.matches, found) is None:
        problems.append(f"the text does not match {spec.matches!r}")
    return problems


def count(name: str, what: str, wanted: int | CountExpectation, found: int, details: str = "") -> Check:
    """PASS where a number is the one expected, or within the bounds; ``what`` is counted."""
    if isinstance(wanted, int):
        low = high = found == wanted
        bounds = str(wanted)
    else:
        low, high = wanted.min is None or found >= wanted.min, wanted.max is None or found <= wanted.max
        parts = [f"at least {wanted.min}"] if wanted.min is not None else []
        bounds = " and ".join(parts + ([f"at most {wanted.max}"] if wanted.max is not None else []))
    if low and high:
        return Check(name, Verdict.PASS, "", bounds, str(found))
    return Check(name, Verdict.FAIL, f"{what} is {found}, expected {bounds}", bounds, str(found), details=details)


def listed(value: str | list[str] | None) -> list[str]:
    """One text or several as a list."""
    return [] if value is None else [value] if isinstance(value, str) else value
