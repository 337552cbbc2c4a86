"""Text that is paid for twice: long passages that stand both in the system prompt and in a tool's definition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.measure.encodings import encoding
from harness.measure.messages import content_text
from harness.measure.task import SYSTEM_ROLES, TaskStep, role_of

SHORTEST = 60
"""From how many characters on a common passage is told; shorter ones are idiom."""

# Rulers and padding occur everywhere; a few occurrences of a window are enough to find the longest passage.
_OCCURRENCES = 8


@dataclass(frozen=True, slots=True)
class Repeated:
    """A passage (white space evened out), the tool whose definition has it, its tokens and how often it was sent."""

    tool: str
    text: str
    tokens: int
    sent: int


def repeated_texts(steps: Sequence[TaskStep]) -> list[Repeated]:
    """The passages that system prompt and tools have in common, the most expensive first."""
    found: dict[tuple[str, str], list[int]] = {}
    last: tuple[list[str], Sequence[Any]] = ([], ())
    passages: list[tuple[str, str]] = []
    for step in steps:
        system = [content_text(message) for message in step.messages if role_of(message) in SYSTEM_ROLES]
        if (system, step.tools) != last:
            last, passages = (system, step.tools), list(_in_both("\n".join(system), step.tools))
        for passage in passages:
            entry = found.setdefault(passage, [encoding(step.count.encoding).count(passage[1]), 0])
            entry[1] += 1
    rows = [Repeated(tool, text, tokens, sent) for (tool, text), (tokens, sent) in found.items()]
    return sorted(rows, key=lambda row: -row.tokens * row.sent)


def common_passages(one: str, other: str, shortest: int = SHORTEST) -> list[str]:
    """The passages of ``other`` that ``one`` has too, from left to right, none within another; linear work."""
    return _passages(one, _windows(one, shortest), other, shortest)


def _windows(text: str, size: int) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for at in range(len(text) - size + 1):
        places = found.setdefault(text[at : at + size], [])
        if len(places) < _OCCURRENCES:
            places.append(at)
    return found


def _passages(one: str, windows: Mapping[str, list[int]], other: str, shortest: int) -> list[str]:
    found: list[str] = []
    at = 0
    while at + shortest <= len(other):
        places = windows.get(other[at : at + shortest])
        if places is None:
            at += 1
            continue
        length = max(_common_length(one, place, other, at, shortest) for place in places)
        passage = other[at : at + length].strip()
        if len(passage) >= shortest and any(character.isalnum() for character in passage):
            found.append(passage)
        at += length
    return found


def _common_length(one: str, place: int, other: str, at: int, known: int) -> int:
    limit = min(len(one) - place, len(other) - at)
    return next((n for n in range(known, limit) if one[place + n] != other[at + n]), limit)


def _in_both(system: str, tools: Sequence[Any]) -> Iterator[tuple[str, str]]:
    system = " ".join(system.split())
    if len(system) < SHORTEST or not tools:
        return
    windows = _windows(system, SHORTEST)
    for tool in tools:
        function = tool.get("function", tool) if isinstance(tool, Mapping) else None
        if not isinstance(function, Mapping):
            continue
        seen: set[str] = set()
        for text in _texts(function):
            for passage in _passages(system, windows, " ".join(text.split()), SHORTEST):
                if passage not in seen:
                    seen.add(passage)
                    yield str(function.get("name") or ""), passage


def _texts(value: object) -> Iterator[str]:
    """All texts of a definition, its nested descriptions included; an own stack, since schemas can be deep."""
    stack = [value]
    while stack:
        current = stack.pop()
        if isinstance(current, str):
            yield current
        elif isinstance(current, Mapping):
            stack += reversed(list(current.values()))
        elif isinstance(current, list):
            stack += reversed(current)
