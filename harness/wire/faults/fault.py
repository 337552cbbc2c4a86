"""What a fault is: an edit of an answer, or of a request on its way, that can be written down in one line."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import ClassVar, Literal, NamedTuple

from harness.wire.exchange import Request, Response


class Applied(NamedTuple):
    """An answer after a fault; ``what`` says what was done to it, empty where nothing was."""

    response: Response
    what: str = ""


class Mangled(NamedTuple):
    """A request after a fault; ``what`` says what was done to it, empty where nothing was."""

    request: Request
    what: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Something that goes wrong between a model and its reader.

    ``at`` is the answer it happens to, counted from 1 over a session, or *all*; ``times`` for how many answers from
    there on. Without both it happens to every answer, with a number alone to that one. Raises ValueError for settings
    that cannot be.
    """

    name: ClassVar[str] = ""
    main: ClassVar[str | None] = None
    """The setting that ``NAME=VALUE`` means."""

    at: int | Literal["all"] | None = None
    times: int | None = None

    def __post_init__(self) -> None:
        for setting in ("at", "times"):
            value = getattr(self, setting)
            if isinstance(value, int) and value < 1:
                raise ValueError(f"{setting} is {value}; it is at least 1")

    def happens_at(self, number: int) -> bool:
        """Whether the answer of that number, from 1, is one it happens to."""
        if self.at == "all":
            return self.times is None or number <= self.times
        first = self.at or 1
        count = self.times if self.times is not None else self._usual_times()
        return first <= number and (count is None or number < first + count)

    def _usual_times(self) -> int | None:
        return None if self.at is None else 1

    def apply(self, response: Response, rng: random.Random) -> Applied:
        """The answer with the fault; where it says nothing of a place, ``rng`` chooses."""
        del rng
        return Applied(response)

    def mangle(self, request: Request) -> Mangled:
        """The request with the fault, as the model gets it."""
        return Mangled(request)

    def instead(self) -> Applied | None:
        """What is answered without asking the model, or None."""
        return None

    @property
    def text(self) -> str:
        """The fault on one line, as `parse_fault` reads it."""
        settings = dict(self._settings())
        main = settings.pop(self.main, None) if self.main else None
        rest = ",".join(f"{key}={value}" for key, value in settings.items())
        head = f"{self.name}={main}" if main is not None else self.name
        return head + (("," if main is not None else ":") + rest if rest else "")

    def _settings(self) -> Iterator[tuple[str, str]]:
        """What differs from the defaults, and the main setting where it has a value; when it happens comes last."""
        common = {setting.name for setting in fields(Fault)}
        for setting in sorted(fields(self), key=lambda setting: setting.name in common):
            value = getattr(self, setting.name)
            if value is not None and (value != setting.default or setting.name == self.main):
                yield setting.name, _written(value)


def _written(value: object) -> str:
    text = f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else str(value)
    return json.dumps(text, ensure_ascii=False) if set(text) & set(',"\\') or not text else text


def drawn(rng: random.Random, wanted: int | None, count: int) -> int | None:
    """The number from 1 to ``count`` that is wanted, or any; None where there is no such one."""
    if wanted is None:
        return rng.randint(1, count) if count > 0 else None
    return wanted if 1 <= wanted <= count else None


def rng_of(seed: int, answer: int, position: int) -> random.Random:
    """The chance of one fault at one answer: it does not depend on what else happens."""
    return random.Random(f"{seed}:{answer}:{position}")  # noqa: S311  to be repeatable is its purpose
