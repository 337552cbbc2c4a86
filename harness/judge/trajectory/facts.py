"""One expected call held against one call that was made: each key is a fact that holds, does not, or is not known."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from harness.cassette.differences import Difference
from harness.judge.functions import Functions
from harness.pipeline.arguments import parse_tool_input
from harness.scenario.argument_patterns import Mismatch, mismatch
from harness.scenario.expectations import CallExpectation
from harness.trace.run import CallRecord

_SHOWN_OBSERVATION = 200

Parsed = tuple[dict[str, Any], str | None]
"""Arguments, or why there are none."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A key of an expected call: both sides as texts, and the ``problem`` where they differ.

    ``known`` is false where the run does not tell; the problem says what is missing.
    """

    name: str
    expected: str
    actual: str
    problem: str = ""
    known: bool = True


def facts(
    expected: CallExpectation, call: CallRecord, functions: Functions, parsed: Callable[[], Parsed] | None = None
) -> Iterator[Fact]:
    """The tool first, then each key that is given; raises BrokenCheckError where a function judges nothing.

    ``parsed`` gives the call's arguments, for a caller that keeps them.
    """
    wrong = "" if call.name == expected.tool else f"the tool is {call.name}, expected {expected.tool}"
    yield Fact("tool", expected.tool, call.name, wrong)
    yield from _results(expected, call)
    yield from _arguments(expected, call, functions, parsed or (lambda: parse_tool_input(call.arguments)))
    yield from _contained(expected, call)


def _results(expected: CallExpectation, call: CallRecord) -> Iterator[Fact]:
    found: list[tuple[str, object, object, bool]] = [
        ("id", expected.id, call.id, True),
        ("status", expected.status, call.status, call.status is not None),
        ("error_code", expected.error_code, call.error_code, call.status is not None),
        ("executed", expected.executed, call.executed, call.executed is not None),
        ("truncated", expected.truncated, call.truncated_from_bytes is not None, call.executed is not None),
    ]
    for name, wanted, actual, known in found:
        if wanted is None:
            continue
        if not known:
            yield _unknown(name, str(wanted))
        elif str(wanted) == str(actual):
            yield Fact(name, str(wanted), str(actual))
        else:
            problem = f"{name} is {actual}, expected {wanted}: {call.observation[:_SHOWN_OBSERVATION]}"
            yield Fact(name, str(wanted), str(actual), problem)


def _arguments(
    expected: CallExpectation, call: CallRecord, functions: Functions, parsed: Callable[[], Parsed]
) -> Iterator[Fact]:
    if isinstance(expected.arguments, str):
        yield _raw_arguments(expected.arguments, str(call.arguments))
    elif expected.arguments is not None:
        yield _compared("arguments", expected.arguments, *parsed(), part=False)
    if expected.arguments_include is not None:
        yield _compared("arguments_include", expected.arguments_include, *parsed(), part=True)
    if (name := expected.arguments_python) is not None:
        given, problem = parsed()
        # A function that is asked about no arguments at all would judge something else than the call.
        objection = problem or functions.objection(name, given)
        yield Fact("arguments_python", name, json_key(given), f"arguments: {objection}" if objection else "")


def _raw_arguments(expected: str, actual: str) -> Fact:
    if expected == actual:
        return Fact("arguments", expected, actual)
    old, new = Difference("", expected, actual).shown()
    return Fact("arguments", expected, actual, f"arguments: {old} -> {new}")


def _compared(name: str, expected: dict[str, Any], given: dict[str, Any], problem: str | None, *, part: bool) -> Fact:
    if problem is not None:
        return Fact(name, json_key(expected), problem, problem)
    found = mismatch(expected, given, part=part)
    return Fact(name, json_key(expected), json_key(given), f"arguments {_change(found)}" if found else "")


def _contained(expected: CallExpectation, call: CallRecord) -> Iterator[Fact]:
    parts = [expected.contains] if isinstance(expected.contains, str) else expected.contains or []
    for part in parts:
        if call.executed is None and not call.observation:
            yield _unknown("contains", part)
        elif part in call.observation:
            yield Fact("contains", part, call.observation)
        else:
            yield Fact("contains", part, call.observation, f"the observation does not contain {part!r}")


def _unknown(name: str, expected: str) -> Fact:
    problem = f"{name} is expected to be {expected!r}, which a run of this agent does not tell"
    return Fact(name, expected, "(not known)", problem, known=False)


def _change(found: Mismatch) -> str:
    return f"{found.path}: {found.expected} -> {found.actual}"


def json_key(value: object) -> str:
    """The same text for values that are equal as JSON, and for no others."""
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    except TypeError:  # keys of several types, which only YAML has: equal to no arguments that a model can send
        return repr(value)


def may_fit(expected: CallExpectation, parsed: Parsed) -> bool:
    """Whether the arguments that are written down are those of a call: cheap, and asked of every pair."""
    arguments, problem = parsed
    for wanted, part in ((expected.arguments, False), (expected.arguments_include, True)):
        if isinstance(wanted, dict) and (problem is not None or mismatch(wanted, arguments, part=part) is not None):
            return False
    return True
