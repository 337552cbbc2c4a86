"""Whether a unified diff leads from one content of a file to another."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@")
_HEADER = re.compile(r"^(?:diff --git |index [0-9a-f]|(?:new|deleted) file mode |--- |\+\+\+ )")
_NO_NEWLINE = "\\ No newline at end of file"

Edit = tuple[str, str]
"""A line with its newline where it has one, behind ``-``, ``+`` or a space for context."""


def leads(diff: str, before: bytes, after: bytes) -> bool:
    """Whether the diff, wherever its parts are placed, makes ``after`` of ``before`` and leaves nothing to change.

    What counts are its lines, not their numbers, so the diff of any program will do, with context or without. Between
    its lines any number of unchanged ones may stand. Takes time of lines times edits at worst.
    """
    edits, old, new = read_diff(diff), _lines(before), _lines(after)
    removed = added = 0
    # Of both files as many lines are behind each place: its unchanged lines, and what was removed or added so far.
    places = _onwards({0}, old, new, removed, added)
    for mark, line in edits:
        reached = set()
        for same in places:
            in_old = mark == "+" or (same + removed < len(old) and old[same + removed] == line)
            in_new = mark == "-" or (same + added < len(new) and new[same + added] == line)
            if in_old and in_new:
                reached.add(same + (mark == " "))
        removed, added = removed + (mark == "-"), added + (mark == "+")
        places = _onwards(reached, old, new, removed, added)
    return any(same + removed == len(old) and same + added == len(new) for same in places)


def read_diff(diff: str) -> list[Edit]:
    """The lines of a unified diff; its headers and the numbers of its hunks are left out."""
    edits: list[Edit] = []
    in_header = True
    for line in diff.splitlines():
        if _HUNK.match(line):
            in_header = False
        elif line == _NO_NEWLINE:
            if edits:
                edits[-1] = (edits[-1][0], edits[-1][1].removesuffix("\n"))
        elif in_header and _HEADER.match(line):
            continue
        else:
            in_header = False
            # Editors strip the space of an empty line of context.
            edits.append((line[0], f"{line[1:]}\n") if line else (" ", "\n"))
    return edits


def diff_problem(diff: str) -> str:
    """Why a text is no diff, empty where it is one."""
    edits = read_diff(diff)
    odd = next((mark + line.rstrip("\n") for mark, line in edits if mark not in "-+ "), None)
    if odd is not None:
        return f"the line {odd!r} begins neither with -, + nor a space"
    return "" if any(mark in "-+" for mark, _ in edits) else "it changes nothing; for that there is unchanged"


def unified(before: bytes, after: bytes) -> str:
    """How the content has changed, with one line of context."""
    old, new = _lines(before), _lines(after)
    lines = list(difflib.unified_diff(old, new, n=1))[2:]
    return "".join(line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}\n" for line in lines)


def _onwards(places: set[int], old: Sequence[str], new: Sequence[str], removed: int, added: int) -> set[int]:
    """The places, and all that lie behind them across unchanged lines."""
    reached: set[int] = set()
    for place in sorted(places):
        same = place
        while same not in reached:
            reached.add(same)
            if same + removed >= len(old) or same + added >= len(new) or old[same + removed] != new[same + added]:
                break
            same += 1
    return reached


def _lines(content: bytes) -> list[str]:
    return content.decode("utf-8", "backslashreplace").splitlines(keepends=True)
