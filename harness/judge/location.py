"""The line of a scenario that states what was not met: where an editor or a CI service puts its mark."""

from __future__ import annotations

import re
from pathlib import Path

from harness.errors import InputError
from harness.judge.verdict import Case, Verdict
from harness.scenario.source import Location, read_source

_OF_PLAYER = ("every request answered", "every request answered from the cassette", "nothing unused",
              "faults took effect")  # fmt: skip
_LANE = re.compile(r"lane (\S+)")
_FILE = re.compile(r"file (.+)")


def line_of(case: Case) -> int:
    """The line, from 1, in the file of a case that did not pass; 0 where there is none to name."""
    if case.verdict is Verdict.PASS or not case.path:
        return 0
    named = re.match(rf"{re.escape(case.path)}:(\d+): ", case.first_line)
    if named is not None:
        return int(named[1])
    if case.kind != "scenario":
        return 0
    try:
        source = read_source(Path(case.path))
    except InputError:
        return 0
    data = source.data if isinstance(source.data, dict) else {}
    place: Location = ("expect",) if "expect" in data else ()
    first = next((check for check in case.checks if check.verdict is case.verdict), None)
    if first is not None and first.name in _OF_PLAYER:
        return source.line(("player",))
    if first is not None and place:
        lane, file = _LANE.match(first.where), _FILE.search(first.where)
        if lane is not None:
            place = (*place, "lanes", lane[1])
        place = (*place, *_key(first.name), *([file[1]] if file is not None else []))
    return source.line(place)


def _key(name: str) -> tuple[str, ...]:
    """The key below ``expect`` that a check of this name comes from, as far as its name says."""
    of_calls = ("id", "status", "error_code", "executed", "truncated", "contains")
    if name in of_calls or name.startswith("arguments"):
        return ("calls",)
    return ("budget", name) if name in ("per_result_bytes", "total_bytes") else tuple(name.split(": "))
