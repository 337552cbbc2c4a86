"""The operators of parameter expansions: ``${name#pattern}``, ``${name/pattern/text}``, ``${name:2:3}``, and so on."""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness.pipeline.shell.marks import BREAK

_OPERATED_LENGTH = 64
"""Characters of a value that an operator with a pattern is computed for."""


def _pattern(text: str) -> str:
    """A regular expression for a shell pattern."""
    return "".join(".*" if char == "*" else "." if char == "?" else re.escape(char) for char in text)


def operate(operation: str, value: str, argument: str) -> str:
    """One value after an expansion's operator."""
    if len(value) > _OPERATED_LENGTH or argument.count("*") > 2:
        return value
    if operation[0] in "#%":
        return _trimmed(operation, value, argument)
    if operation[0] == "/":
        return _replaced(operation, value, argument)
    if operation == ":":
        return _sliced(value, argument)
    if operation in {"^^", "^"} or (operation == "@" and argument[:1] in {"U", "u"}):
        return value.upper() if operation == "^^" or argument[:1] == "U" else value[:1].upper() + value[1:]
    if operation in {",,", ","} or (operation == "@" and argument[:1] == "L"):
        return value[:1].lower() + value[1:] if operation == "," else value.lower()
    return value


def _sliced(value: str, argument: str) -> str:
    """Characters of a value, or words where it holds several."""
    start, _, length = argument.partition(":")
    bounds = [
        int(part) if re.fullmatch(r"-?\d{1,4}", part) else 0 for part in (start.strip(" ()"), length.strip(" ()"))
    ]
    items: Sequence[str] = value.split(BREAK) if BREAK in value else value
    rest = items[bounds[0] :]
    kept = rest[: bounds[1]] if length.strip() else rest
    return kept if isinstance(kept, str) else BREAK.join(kept)


def _trimmed(operation: str, value: str, argument: str) -> str:
    pattern = re.compile(_pattern(argument), re.DOTALL)
    lengths = range(len(value) + 1) if len(operation) == 1 else range(len(value), -1, -1)
    for length in lengths:
        if operation[0] == "#" and pattern.fullmatch(value[:length]):
            return value[length:]
        if operation[0] == "%" and pattern.fullmatch(value[len(value) - length :]):
            return value[: len(value) - length]
    return value


def _replaced(operation: str, value: str, argument: str) -> str:
    pattern, _, replacement = argument.partition("/")
    if not pattern:
        return value
    expression = _pattern(pattern)
    if operation == "/#":
        expression = rf"\A{expression}"
    elif operation == "/%":
        expression = rf"{expression}\Z"
    return re.sub(expression, lambda _: replacement, value, count=0 if operation == "//" else 1, flags=re.DOTALL)
