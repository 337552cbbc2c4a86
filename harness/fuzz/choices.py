"""Where a generator gets its decisions from.

Every generator of this package is a function of `Choices`. Hypothesis can make them, and then records and shrinks
them; a seeded random source makes the same kind of decisions some ten times faster, for runs in bulk. Ranges shrink
towards zero or the bound nearest to it, alternatives towards the first, flags towards False.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

_T = TypeVar("_T")

MOST_TRIES = 100
"""How often a generator that filters begins anew before it gives up."""

_LONGEST_FREE_TEXT = 24
_WIDE = 256
_PLAIN_CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-./"
_HARD_CHARACTERS = (
    "\"'\\`{}[]<>&$%#@!?*|;:,=+~^()\n\r\t\0\x1b\x7f\u00a0éß日本\u200b\u202e\u2028\ufeff\ufffd😀\U0001d54f"
)
_HARD_NUMBERS = (0.0, -0.0, 0.1, 0.5, -1.5, 1e-9, 5e-324, 1e16, 1e21, 2.0**53 + 2, 1.7976931348623157e308)


class RejectedError(Exception):
    """The decisions so far lead to nothing that fits; another attempt may."""


class Choices(Protocol):
    """Decisions, one after the other."""

    def integer(self, low: int, high: int) -> int:
        """An integer from ``low`` to ``high``, both included."""
        ...

    def number(self, low: float, high: float) -> float:
        """A finite float from ``low`` to ``high``, both included."""
        ...

    def text(self, shortest: int, longest: int | None) -> str:
        """A text without surrogates of so many code points; without ``longest`` it is short, but no limit holds."""
        ...

    def flag(self, one_in: int = 2) -> bool:
        """True once in so many times, False otherwise."""
        ...

    def pick(self, options: Sequence[_T]) -> _T:
        """One of the options, of which there is at least one; the first is the simplest."""
        ...


class RandomChoices:
    """Decisions of a seeded random source; the same state gives the same ones."""

    def __init__(self, source: random.Random) -> None:
        self._source = source
        self._random = source.random

    @classmethod
    def seeded(cls, seed: int) -> RandomChoices:
        """The decisions of a seed."""
        return cls(random.Random(seed))  # noqa: S311  to be repeatable is its purpose

    def integer(self, low: int, high: int) -> int:
        """An integer of the range; of a wide one often a bound, or one near zero."""
        if high - low < _WIDE:
            return low + int(self._random() * (high - low + 1))
        chance = self._random()
        if chance < 0.5:
            near = min(max(0, low), high)
            return self._source.randint(max(low, near - _WIDE), min(high, near + _WIDE))
        if chance < 0.6:
            return self.pick((low, high, low + 1, high - 1))
        return self._source.randint(low, high)

    def number(self, low: float, high: float) -> float:
        """A float of the range; of a wide one often one that is hard to read or to print."""
        chance = self._random()
        if chance < 0.2:
            hard = self.pick(_HARD_NUMBERS)
            return hard if low <= hard <= high else low
        if chance < 0.6 or not math.isfinite(high - low):
            near = min(max(0.0, low), high)
            return self._source.uniform(max(low, near - 1000), min(high, near + 1000))
        return self._source.uniform(low, high)

    def text(self, shortest: int, longest: int | None) -> str:
        """A text, one character in four a hard one."""
        most = shortest + _LONGEST_FREE_TEXT if longest is None else min(longest, shortest + _LONGEST_FREE_TEXT)
        length = shortest + int((most - shortest + 1) * self._random() ** 2)
        hard = 0.25 if self._random() < 0.5 else 0.0
        return "".join(
            self.pick(_HARD_CHARACTERS if hard and self._random() < hard else _PLAIN_CHARACTERS) for _ in range(length)
        )

    def flag(self, one_in: int = 2) -> bool:
        """True once in so many times."""
        return self._random() * one_in < 1

    def pick(self, options: Sequence[_T]) -> _T:
        """One of the options, each as likely."""
        return options[int(self._random() * len(options))]


def several(choices: Choices, least: int, most: int) -> int:
    """A count from ``least`` to ``most`` that is small more often than not."""
    count = least
    while count < most and choices.flag():
        count += 1
    return count


def attempt(build: Callable[[Choices], _T], choices: Choices, tries: int = MOST_TRIES) -> _T:
    """What ``build`` makes, at the first of so many tries that is not rejected; RejectedError if none is."""
    for _ in range(tries - 1):
        try:
            return build(choices)
        except RejectedError:
            continue
    return build(choices)
