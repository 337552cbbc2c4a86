"""Arguments that do no harm when an agent takes them: its tools are real and do run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from harness.fuzz.calls import ToolSchema
from harness.fuzz.choices import Choices, RejectedError, attempt

_POOLS = (
    (("comm", "cmd", "script", "code", "shell"), ("echo a", "true", "ls")),
    (("path", "file", "dir", "folder", "glob"), ("a.txt", "b.txt", "none.txt", ".")),
    (("url", "uri", "link", "host"), ("http://127.0.0.1:9/",)),  # the discard port, where nothing listens
)
"""Texts for parameters by what is in their names, the first that fits."""

_WORDS = ("alpha", "a", "beta gamma")
_LARGEST = 5
_MOST_ENTRIES = 3
_TRIES = 5


class HarmlessMaker:
    """Makes arguments for one tool. All texts are of a few, but for those that the schema itself names."""

    def __init__(self, tool: ToolSchema) -> None:
        self._tool = tool
        self._named = set(_named(tool.schema))
        self._properties = tool.schema.get("properties", {})

    def value(self, choices: Choices) -> dict[str, Any]:
        """Arguments that fit, as far as harmless ones do; an empty object where nothing could be made."""
        try:
            made = attempt(self._tool.values.value, choices)
        except RejectedError:
            return {}
        return {key: self._tamed(choices, part, key) for key, part in made.items() if key in self._properties}

    def near_miss(self, choices: Choices) -> object:
        """Arguments that break a rule. Some break none without their harm: see `fits`."""
        made: object = {}
        for _ in range(_TRIES):
            try:
                broken, _ = attempt(self._tool.near_misses.near_miss, choices)
            except RejectedError:
                return self.value(choices)
            made = self._tamed(choices, broken, "")
            if not self.fits(made):
                break
        return made

    def fits(self, value: object) -> bool:
        """Whether the tool's schema allows the arguments."""
        return self._tool.values.document.validator.is_valid(value)

    def _tamed(self, choices: Choices, value: Any, key: str) -> Any:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str | int | float) and value in self._named:
            return value
        if isinstance(value, str):
            return choices.pick(_pool(key))
        if isinstance(value, int | float):
            return choices.integer(1, _LARGEST)
        if isinstance(value, list):
            return [self._tamed(choices, part, key) for part in value[:_MOST_ENTRIES]]
        return {name: self._tamed(choices, part, name) for name, part in value.items()}


def _pool(key: str) -> tuple[str, ...]:
    lower = key.lower()
    return next((pool for signs, pool in _POOLS if any(sign in lower for sign in signs)), _WORDS)


def _named(schema: object) -> Iterator[str | int | float]:
    """The texts and numbers that the schema allows by naming them."""
    if isinstance(schema, list):
        for part in schema:
            yield from _named(part)
    elif isinstance(schema, dict):
        for keyword, part in schema.items():
            if keyword in ("enum", "const"):
                options = part if isinstance(part, list) else [part]
                yield from (option for option in options if isinstance(option, str | int | float))
            else:
                yield from _named(part)
