"""Generators as Hypothesis strategies: their choices are drawn, so Hypothesis records, replays and shrinks them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeVar

from hypothesis import reject
from hypothesis import strategies as st

from harness.fuzz.choices import Choices, RejectedError

_T = TypeVar("_T")


class DrawnChoices:
    """Decisions that Hypothesis makes."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        """An integer of the range."""
        return low if low == high else self._draw(_integers(low, high))

    def number(self, low: float, high: float) -> float:
        """A finite float of the range."""
        return self._draw(_numbers(low, high))

    def text(self, shortest: int, longest: int | None) -> str:
        """A text of any characters but surrogates."""
        return self._draw(_texts(shortest, longest))

    def flag(self, one_in: int = 2) -> bool:
        """True once in so many times."""
        return self._draw(_integers(0, one_in - 1)) == one_in - 1

    def pick(self, options: Sequence[_T]) -> _T:
        """One of the options."""
        return options[self.integer(0, len(options) - 1)]


def strategy(build: Callable[[Choices], _T]) -> st.SearchStrategy[_T]:
    """The strategy of what a generator makes."""
    # The first text needs a table of all characters, which takes seconds to make; that is no time of an example.
    _texts(0, None).validate()

    @st.composite
    def made(draw: st.DrawFn) -> _T:
        try:
            return build(DrawnChoices(draw))
        except RejectedError:
            reject()

    return made()


@lru_cache(maxsize=4096)
def _integers(low: int, high: int) -> st.SearchStrategy[int]:
    return st.integers(low, high)


@lru_cache(maxsize=4096)
def _numbers(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high, allow_nan=False, allow_infinity=False)


@lru_cache(maxsize=4096)
def _texts(shortest: int, longest: int | None) -> st.SearchStrategy[str]:
    return st.text(min_size=shortest, max_size=longest)
