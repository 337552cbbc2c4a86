"""Counts for models whose tokenizer is not known: a straight line through what the same cassette recorded.

A provider's tokens are taken as ``per_token`` times the tokens counted plus ``offset`` (what its template adds). The
error is what each recording is missed by when the line is drawn without it, so it is no praise of the fit to itself.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.cassette.cassette import Cassette
from harness.cassette.dialects import pydantic_ai
from harness.measure.conversation import ConversationCounter
from harness.measure.prompt import PromptCount
from harness.measure.usage import recorded_usage


@dataclass(frozen=True, slots=True)
class Calibration:
    """A line from counted to recorded tokens; ``error`` is the mean share it is off by, if known."""

    per_token: float
    offset: float
    samples: int
    error: float | None

    def total(self, count: PromptCount) -> int:
        """What the provider probably counts for a request: always an estimate."""
        return max(0, round(self.offset + self.per_token * count.total))

    def part(self, tokens: int) -> int:
        """What a part of a request probably comes to; the offset belongs to no part."""
        return max(0, round(self.per_token * tokens))

    @property
    def reason(self) -> str:
        """Why a figure is an estimate, with its error."""
        error = "unknown" if self.error is None else f"{100 * self.error:.1f} %"
        return f"calibrated on {self.samples} recorded exchange{'s' * (self.samples != 1)}, error {error}"


def calibrate(pairs: Sequence[tuple[int, int]]) -> Calibration | None:
    """The line through (counted, recorded) pairs, None without any; work is linear in their number."""
    pairs = [(counted, recorded) for counted, recorded in pairs if counted > 0 and recorded > 0]
    if not pairs:
        return None
    sums = _Sums.of(pairs)
    per_token, offset = sums.line()
    errors = [
        abs(_at(sums.without(counted, recorded).line(), counted) - recorded) / recorded for counted, recorded in pairs
    ]
    error = statistics.fmean(errors) if len(pairs) > 1 else None
    return Calibration(per_token, offset, len(pairs), error)


def calibrate_cassette(cassette: Cassette) -> dict[str, Calibration]:
    """A calibration for each model that a cassette has usage of, by the name in the request."""
    pairs: dict[str, list[tuple[int, int]]] = {}
    counters: dict[str, ConversationCounter] = {}
    for exchange in cassette.chat_exchanges:
        try:
            body = exchange.request.json()
        except ValueError:
            continue
        model = body.get("model") if isinstance(body, dict) else None
        prompt = recorded_usage(exchange).prompt
        if not isinstance(model, str) or prompt is None:
            continue
        sorted_keys = cassette.dialect == pydantic_ai.NAME
        counter = counters.setdefault(model, ConversationCounter(sorted_keys=sorted_keys))
        count = counter.count(body)
        if not count.not_counted:  # an image's tokens are no property of the tokenizer
            pairs.setdefault(model, []).append((count.total, prompt))
    return {model: found for model, given in pairs.items() if (found := calibrate(given)) is not None}


@dataclass(frozen=True, slots=True)
class _Sums:
    """The sums that a least-squares line is made of, so that one pair can be left out at no cost."""

    n: int
    x: int
    y: int
    xx: int
    xy: int

    @classmethod
    def of(cls, pairs: Iterable[tuple[int, int]]) -> _Sums:
        n = x = y = xx = xy = 0
        for a, b in pairs:
            n, x, y, xx, xy = n + 1, x + a, y + b, xx + a * a, xy + a * b
        return cls(n, x, y, xx, xy)

    def without(self, x: int, y: int) -> _Sums:
        return _Sums(self.n - 1, self.x - x, self.y - y, self.xx - x * x, self.xy - x * y)

    def line(self) -> tuple[float, float]:
        spread = self.n * self.xx - self.x * self.x
        if spread > 0:
            slope = (self.n * self.xy - self.x * self.y) / spread
            if slope > 0:
                return slope, (self.y - slope * self.x) / self.n
        # Requests of one size, or too odd for a line: in proportion.
        return (self.y / self.x if self.x else 1.0), 0.0


def _at(line: tuple[float, float], counted: int) -> float:
    return line[0] * counted + line[1]
