"""Trials counted where the format has no number of its own."""

from __future__ import annotations

from collections import Counter


class TrialNumbers:
    """Counts the attempts of each model at each task, from 0, in the order in which they are read."""

    def __init__(self) -> None:
        self._taken: Counter[tuple[str, str]] = Counter()

    def next(self, task: str, model: str) -> int:
        """The number of the next attempt."""
        number = self._taken[task, model]
        self._taken[task, model] += 1
        return number
