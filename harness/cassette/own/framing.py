"""A stream's text as what its events have in common, and what each one adds.

The events of an answer differ in a token: some 200 bytes around one word. A run of events that begin and end alike is
stored as ``{"before": ..., "parts": [...], "after": ...}``, so a reviewer reads the answer, and the file is a fifth of
the size. It works on text alone and knows nothing of JSON; any text comes back as it was.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

_END = "\n\n"
_WORTH_A_RUN = 3
# Two tokens may begin or end alike, so what two events have in common is not yet what all have.
_ACCIDENTAL = 8


def framed(text: str) -> str | list[Any]:
    """The text in runs, or as it is where it has none."""
    pieces = text.split(_END)
    events = [piece + _END for piece in pieces[:-1]] + [piece for piece in pieces[-1:] if piece]
    if len(events) < _WORTH_A_RUN:
        return text
    runs = list(_runs(events))
    return runs if any(isinstance(run, dict) for run in runs) else text


def unframed(value: object) -> str:
    """The text again; raises ValueError for anything that `framed` does not make."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        raise ValueError("body is neither text nor a list of texts and runs")  # noqa: TRY004 - a fault of the file
    try:
        return "".join([run if type(run) is str else _joined(run) for run in value])
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError("body is not a list of texts and {before, parts, after}") from error


def _joined(run: dict[str, Any]) -> str:
    before, parts, after = run["before"], run["parts"], run["after"]
    if not parts or type(parts) is not list:
        raise ValueError("parts is not a list that holds something")
    text: str = before + (after + before).join(parts) + after
    return text


def _runs(events: list[str]) -> Iterator[str | dict[str, Any]]:
    at = 0
    while at < len(events):
        end, before, after = _run(events, at)
        if end - at >= _WORTH_A_RUN:
            stop = -len(after) or None
            parts = [event[len(before) : stop] for event in itertools.islice(events, at, end)]
            yield {"before": before, "parts": parts, "after": after}
            at = end
        else:
            yield events[at]
            at += 1


def _run(events: list[str], at: int) -> tuple[int, str, str]:
    """The run from ``at``: its end, and the beginning and ending that its events have in common.

    It ends where an event would take more than a few characters from what is common: there begins another kind.
    """
    before = after = events[at]
    common = shortest = len(before)
    end = at + 1
    while end < len(events):
        event = events[end]
        shorter = min(shortest, len(event))
        beginning = before[: _common_beginning(before, event)]
        ending = after[len(after) - _common_ending(after, event) :]
        left = min(len(beginning) + len(ending), shorter)
        first_of_another_kind = end == at + 1 and _alike(events, end) > left + _ACCIDENTAL
        if (
            first_of_another_kind
            or 2 * left < max(len(event), shortest)
            or (end > at + 1 and left < common - _ACCIDENTAL)
        ):
            break
        if end == at + 1:
            common = left
        before, after, shortest = beginning, ending, shorter
        end += 1
    # Characters that the beginning has taken cannot be the ending's too.
    return end, before, after[max(0, len(before) + len(after) - shortest) :]


def _alike(events: list[str], at: int) -> int:
    """How much an event and the next one have in common."""
    if at + 1 >= len(events):
        return 0
    one, other = events[at], events[at + 1]
    return min(_common_beginning(one, other) + _common_ending(one, other), len(one), len(other))


def _common_beginning(one: str, other: str) -> int:
    """How many characters two texts begin with alike; by halving, since most of them compare equal at once."""
    if other.startswith(one):
        return len(one)
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def _common_ending(one: str, other: str) -> int:
    if other.endswith(one):
        return len(one)
    return _common_beginning(one[::-1], other[::-1])
