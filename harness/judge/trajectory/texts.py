"""Calls as short texts for a person."""

from __future__ import annotations

import json
from collections.abc import Iterator

from harness.pipeline.arguments import parse_tool_input
from harness.scenario.argument_patterns import shown
from harness.scenario.expectations import CallExpectation

ARGUMENT_CHARACTERS = 60


def arguments_text(raw: object) -> str:
    """Arguments as ``path: "a.txt", limit: 5``; a text that is no JSON object as it is."""
    parsed, problem = parse_tool_input(raw)
    if problem is not None:
        return shortened(str(raw))
    values = ((key, json.dumps(value, ensure_ascii=False)) for key, value in parsed.items())
    return ", ".join(f"{key}: {shortened(value)}" for key, value in values)


def readable_arguments(raw: object) -> str:
    """All values of the arguments, one a line, texts as they are: what a person would look through."""
    parsed, problem = parse_tool_input(raw)
    return str(raw) if problem is not None else "\n".join(_values(parsed))


def expected_text(expected: CallExpectation) -> str:
    """An expected call as it would be written down: the tool, what is asked of its arguments, and of its result."""
    arguments = ", ".join(_arguments(expected))
    call = f"{expected.tool}({arguments})" if arguments or expected.arguments is not None else expected.tool
    facts = [
        f"{name} {value}"
        for name, value in (
            ("id", expected.id),
            ("status", expected.status),
            ("error_code", expected.error_code),
            ("executed", expected.executed),
            ("truncated", expected.truncated),
        )
        if value is not None
    ]
    return f"{call} [{', '.join(facts)}]" if facts else call


def shortened(text: str, limit: int = ARGUMENT_CHARACTERS) -> str:
    """A text on one line, cut where it is longer than ``limit`` characters."""
    line = text.replace("\n", "\\n")
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def _values(value: object) -> Iterator[str]:
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _values(part)
    else:
        yield value if isinstance(value, str) else json.dumps(value)


def _arguments(expected: CallExpectation) -> Iterator[str]:
    if isinstance(expected.arguments, str):
        yield shortened(expected.arguments)
    elif expected.arguments is not None:
        yield from (f"{key}: {shortened(shown(value))}" for key, value in expected.arguments.items())
    if expected.arguments_include is not None:
        yield from (f"{key}: {shortened(shown(value))}" for key, value in expected.arguments_include.items())
        yield "…"
    if expected.arguments_python is not None:
        yield f"what {expected.arguments_python} takes"
