"""An example that does not end, made small: in quick tries first, then judged by the time that it may really take."""

from __future__ import annotations

from collections.abc import Callable

from harness.fuzz.examples import Example
from harness.fuzz.shrinking import shrunk

LEAST_WITHIN_S = 1.0
"""What a scenario grants at least: the first request of a process takes longer than others."""

_QUICK_S = 0.5
_MOST_TRIES = 400
_MOST_HANGS = 24
_CERTAINTY = 2.0
"""So many times the seconds granted, so that a faster machine sees it too."""

Hangs = Callable[[Example, float], bool]
"""Whether an example takes longer than so many seconds."""


def within_s(hang_s: float) -> float:
    """In how many seconds a scenario has to end, where an example might take ``hang_s``."""
    return max(hang_s, LEAST_WITHIN_S)


def smallest_hang(example: Example, hangs: Hangs, hang_s: float) -> Example:
    """The smallest example found that does not end in the time that its scenario grants.

    What takes twice as long with every character hangs in a quick try and may end in the real one; then a larger one is
    taken, further and further back.
    """
    smaller = [example]

    def quick(candidate: Example) -> bool:
        if len(smaller) > _MOST_HANGS or not hangs(candidate, min(_QUICK_S, hang_s)):
            return False
        smaller.append(candidate)
        return True

    shrunk(example, quick, _MOST_TRIES)
    at, back = len(smaller) - 1, 1
    while at > 0:
        if hangs(smaller[at], _CERTAINTY * within_s(hang_s)):
            return smaller[at]
        at, back = at - back, back * 2
    return example
