"""The texts of a page: each kept once, made visible, and long ones cut with their full size said."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import orjson

from harness.report.text import visible

LONGEST = 16_000
_HEAD = 0.75
_SHORT = 200


@dataclass(frozen=True, slots=True)
class Cut:
    """The beginning and the end of a text of ``size`` characters; what is whole has no end of its own."""

    head: str
    tail: str
    size: int

    def within(self, limit: int) -> Cut:
        """The same with at most ``limit`` characters shown."""
        if len(self.head) + len(self.tail) <= limit:
            return self
        keep = int(limit * _HEAD)
        source = self.tail or self.head
        return Cut(self.head[:keep], source[len(source) - (limit - keep) :], self.size)

    def document(self) -> object:
        """As the page holds it: a string, or what is left of it with its size."""
        return [self.head, self.tail, self.size] if self.tail else self.head


class Texts:
    """A table of texts; other data refers to them by number.

    ``least_size`` is about how many bytes of JSON they take when none shows more than ``least`` characters.
    """

    def __init__(self, least: int) -> None:
        self.least_size = 0
        self._least = least
        self._numbers: dict[str | bytes, int] = {}
        self._cuts: list[Cut] = []
        self._sizes: list[int] = []

    def add(self, text: str) -> int:
        """The number of a text."""
        # Of a long text only a digest is kept: a page shows little of it, and a suite has many.
        key = text if len(text) <= _SHORT else blake2b(text.encode("utf-8", "surrogatepass"), digest_size=20).digest()
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._cuts)
            # Cut before it is made visible, so that the work is bounded too.
            whole = Cut(text, "", len(text)).within(LONGEST)
            cut = Cut(visible(whole.head), visible(whole.tail), whole.size)
            self._cuts.append(cut)
            self._sizes.append(len(orjson.dumps(cut.within(self._least).document())) + 1)
            self.least_size += self._sizes[-1]
        return number

    def mark(self) -> int:
        """Where the table ends now."""
        return len(self._cuts)

    def back_to(self, mark: int) -> None:
        """Forget the texts added since then; nothing may refer to them any more."""
        self.least_size -= sum(self._sizes[mark:])
        del self._cuts[mark:], self._sizes[mark:]
        self._numbers = {key: number for key, number in self._numbers.items() if number < mark}

    def document(self, limit: int) -> list[object]:
        """All texts, none longer than ``limit`` characters."""
        return [cut.within(limit).document() for cut in self._cuts]
