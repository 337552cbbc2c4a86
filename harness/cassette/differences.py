"""The first place where two JSON values differ, as a path with both values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from harness.wire.half_pairs import dumps

SHOWN = 80
_PARTS_WORDS = frozenset(" \t\r\n\"'`(){}[],;")
_PLAIN_KEY = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


class _Absent:
    def __repr__(self) -> str:
        return "(absent)"


ABSENT: Final = _Absent()


@dataclass(frozen=True, slots=True)
class Difference:
    """``path`` in the form ``$.messages[2].content``; a value that one side does not have is `ABSENT`."""

    path: str
    old: Any
    new: Any

    def shown(self) -> tuple[str, str]:
        """Both values as JSON of at most some 80 characters, cut around the first character that differs."""
        if isinstance(self.old, str) and isinstance(self.new, str):
            start = max(0, _common_prefix(self.old, self.new) - SHOWN // 4)
            return _shortened(self.old, start), _shortened(self.new, start)
        return _shown(self.old), _shown(self.new)


def first_difference(old: Any, new: Any, path: str = "$") -> Difference | None:
    """Compare depth first, keys in sorted order, list items in theirs; None when the values are equal."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            found = first_difference(old.get(key, ABSENT), new.get(key, ABSENT), path + json_step(key))
            if found is not None:
                return found
        return None
    if isinstance(old, list) and isinstance(new, list):
        for index in range(max(len(old), len(new))):
            left = old[index] if index < len(old) else ABSENT
            right = new[index] if index < len(new) else ABSENT
            found = first_difference(left, right, f"{path}[{index}]")
            if found is not None:
                return found
        return None
    # 1, 1.0 and true are equal in Python and different in a request.
    return None if type(old) is type(new) and old == new else Difference(path, old, new)


def differing_words(old: str, new: str) -> tuple[str, str]:
    """What two texts do not have in common between their common beginning and end, widened to whole words."""
    start = _common_prefix(old, new)
    end = _common_prefix(old[start:][::-1], new[start:][::-1])
    while start and (_joins(old, start) or _joins(new, start)):
        start -= 1
    while end and (_joins(old, len(old) - end) or _joins(new, len(new) - end)):
        end -= 1
    return old[start : len(old) - end].strip(), new[start : len(new) - end].strip()


def _joins(text: str, place: int) -> bool:
    """Whether a word goes on across a place."""
    return 0 < place < len(text) and _PARTS_WORDS.isdisjoint(text[place - 1 : place + 1])


def json_step(key: str) -> str:
    """A key as a step of a JSON path: ``.name``, or in brackets where it is not a plain one."""
    return f".{key}" if key and _PLAIN_KEY.issuperset(key) else f"[{dumps(key).decode()}]"


def _common_prefix(left: str, right: str) -> int:
    low, high = 0, min(len(left), len(right))
    while low < high:  # halving compares slices, which costs less than a step for each character
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _shown(value: Any) -> str:
    if value is ABSENT:
        return repr(ABSENT)
    text = dumps(value).decode()
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def _shortened(text: str, start: int) -> str:
    end = start + SHOWN
    quoted = dumps(text[start:end]).decode()
    return ("…" if start else "") + quoted + ("…" if end < len(text) else "")
