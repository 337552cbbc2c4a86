"""An object written as JSON in other ways than usual, and in ways that are nearly JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

PROBE = "probe"
"""The key that is added where a family needs something that the object does not have."""

_NOT_A_KEY = re.compile(r"[^A-Za-z0-9_$]")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def compact(value: object) -> str:
    """As most models write it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def usual(value: object) -> str:
    """As Python writes it, characters as they are."""
    return json.dumps(value, ensure_ascii=False)


def written(
    value: Any,
    string: Callable[[str], str] = usual,
    *,
    key: Callable[[str], str] | None = None,
    literals: tuple[str, str, str] = ("true", "false", "null"),
) -> str:
    """JSON with strings, keys and literals in forms of one's own."""
    if value is None or isinstance(value, bool):
        return literals[2] if value is None else literals[0] if value else literals[1]
    if isinstance(value, str):
        return string(value)
    if isinstance(value, list):
        return "[" + ", ".join(written(part, string, key=key, literals=literals) for part in value) + "]"
    if isinstance(value, dict):
        parts = (
            f"{(key or string)(name)}: {written(part, string, key=key, literals=literals)}"
            for name, part in value.items()
        )
        return "{" + ", ".join(parts) + "}"
    return json.dumps(value)


def single_quoted(text: str) -> str:
    """A string as Python or JavaScript may write it."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"


def bare(name: str) -> str:
    """A key without quotes."""
    return _NOT_A_KEY.sub("_", name) or "_"


def strings_of(text: str) -> list[tuple[int, int]]:
    """Where the strings of a JSON text begin and end, quotes included."""
    return [found.span() for found in _STRING.finditer(text)]
