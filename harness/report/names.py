"""What cases are called in a report: short, and no two alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath

from harness.judge.verdict import Case
from harness.report.text import one_line


def labels(cases: Sequence[Case], groups: Sequence[str] | None = None) -> list[str]:
    """A name for each case, on one line, different from all others of its group (of all, without ``groups``).

    A name that several cases bear gets its path added, and a number where that is not enough.
    """
    groups = groups or [""] * len(cases)
    names = [one_line(case.name) or one_line(_file(case.path).name) or "unnamed" for case in cases]
    bearers = Counter(zip(groups, names, strict=True))
    used: set[tuple[str, str]] = set()
    numbers: Counter[tuple[str, str]] = Counter()
    found = []
    for case, group, name in zip(cases, groups, names, strict=True):
        label = f"{name} ({one_line(case.path)})" if bearers[group, name] > 1 and case.path else name
        unique = label
        while (group, unique) in used:
            numbers[group, label] += 1
            unique = f"{label} #{numbers[group, label] + 1}"
        used.add((group, unique))
        found.append(unique)
    return found


def folder(path: str) -> str:
    """The folder of a case's file with ``/`` between its parts, empty for a file named without one."""
    parent = str(_file(path).parent)
    return "" if parent == "." else parent


def _file(path: str) -> PurePosixPath:
    return PurePosixPath(path.replace("\\", "/"))
