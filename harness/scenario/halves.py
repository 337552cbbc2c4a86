"""Where a scenario may hold half a surrogate pair: in what the model says, and in what is expected of it.

No file, program or request of a client can hold one, so anywhere else it is an error of the scenario.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from harness.errors import InputError
from harness.scenario.source import Location, Source
from harness.wire.half_pairs import is_whole

_ABOUT_FILES = frozenset({"files", "changed", "untouched"})


def demand_whole(source: Source) -> None:
    """Raises InputError for the first half, with its place, that stands where none can be."""
    for location, text in _texts(source.data, ()):
        if not is_whole(text) and not _may_hold(location[2:] if location[:1] == ("matrix",) else location):
            key = ".".join(map(str, location)).encode("utf-8", "backslashreplace").decode()
            raise InputError(
                f"{key}: half a surrogate pair",
                where=source.where(location),
                hint="only what the model says, and what is expected of it, can hold one",
            )


def _may_hold(location: Location) -> bool:
    match location:
        case ("description", *_) | ("player", "side", *_):
            return True
        case ("player", "script", *rest):
            return rest[1:2] != ["before"]
        case ("expect", key, *_):
            return key not in _ABOUT_FILES
    return False


def _texts(value: Any, location: Location) -> Iterator[tuple[Location, str]]:
    """Every text and every key that is one, with its place."""
    if isinstance(value, str):
        yield location, value
    elif isinstance(value, dict):
        for key, part in value.items():
            inner = (*location, str(key))
            yield inner, str(key)
            yield from _texts(part, inner)
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from _texts(part, (*location, number))
