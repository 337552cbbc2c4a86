"""Calls that go in a circle: the same steps again and again, whatever their results (G01, G02, G03, G06)."""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from harness.pipeline.orchestrator import ToolCallPlan
from harness.pipeline.truncation import cut_text

LONGEST_CIRCLE = 4
REPEAT_LIMIT = 3

_SHOWN_BYTES = 400


class CircleDetector:
    """Told of each step's calls before they run.

    A circle is a sequence of up to four steps done ``limit`` times in a row and about to be done again. Results are
    not compared, so a timestamp in them defeats nothing; the order of keys in arguments does not matter. ``found``
    counts the circles since the start or the last `reset`. Raises ValueError for a limit below one.
    """

    def __init__(self, limit: int = REPEAT_LIMIT) -> None:
        if limit < 1:
            raise ValueError(f"limit is {limit}; a circle is at least 1 repetition")
        self.found = 0
        self._limit = limit
        self._steps: deque[_Step] = deque(maxlen=LONGEST_CIRCLE * limit + 1)

    def reset(self) -> None:
        """An answer or a new question came in between: what was asked before it is no part of a circle."""
        self._steps.clear()
        self.found = 0

    def next_step(self, plans: Sequence[ToolCallPlan]) -> str | None:
        """What goes in a circle, in words, when these calls would begin it once more; else None."""
        self._steps.append(_step(plans))
        for length in range(1, LONGEST_CIRCLE + 1):
            needed = length * self._limit + 1
            if len(self._steps) < needed:
                return None
            recent = list(self._steps)[-needed:]
            if all(recent[position].digest == recent[position - length].digest for position in range(length, needed)):
                self.found += 1
                steps = " -> ".join(step.shown for step in recent[-length:])
                return f"the same calls {self._limit} times in a row: {steps}"
        return None


@dataclass(frozen=True, slots=True)
class _Step:
    """``digest`` stands for all calls of a step; ``shown`` is what a reader needs to know them again."""

    digest: bytes
    shown: str


def _step(plans: Sequence[ToolCallPlan]) -> _Step:
    calls = [_signature(plan) for plan in plans]
    whole = json.dumps(calls).encode("ascii")
    shown = "; ".join(calls).encode("utf-8", "replace").decode("utf-8")
    return _Step(hashlib.blake2b(whole, digest_size=16).digest(), cut_text(shown, _SHOWN_BYTES))


def _signature(plan: ToolCallPlan) -> str:
    if plan.parse_error is not None:
        return f"{plan.tool_name}({plan.raw_arguments})"
    return f"{plan.tool_name}({json.dumps(plan.parsed_input, sort_keys=True, ensure_ascii=False, default=str)})"
