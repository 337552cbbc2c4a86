"""Calls that go in a circle: the same steps again and again, whatever their results (G01, G02, G03)."""

from __future__ import annotations

import json
from collections.abc import Sequence

from harness.pipeline.orchestrator import ToolCallPlan

LONGEST_CIRCLE = 4
REPEAT_LIMIT = 3


class CircleDetector:
    """Told of each step's calls before they run.

    A circle is a sequence of up to four steps done ``limit`` times in a row and about to be done again. Results are
    not compared, so a timestamp in them defeats nothing; the order of keys in arguments does not matter.
    """

    def __init__(self, limit: int = REPEAT_LIMIT) -> None:
        if limit < 1:
            raise ValueError(f"limit is {limit}; a circle is at least 1 repetition")
        self._limit = limit
        self._signatures: list[str] = []

    def reset(self) -> None:
        """An answer or a new question came in between: what was asked before it is no part of a circle."""
        self._signatures.clear()

    def next_step(self, plans: Sequence[ToolCallPlan]) -> str | None:
        """What goes in a circle, in words, when these calls would begin it once more; else None."""
        self._signatures.append("; ".join(_signature(plan) for plan in plans))
        for length in range(1, LONGEST_CIRCLE + 1):
            needed = length * self._limit + 1
            if len(self._signatures) < needed:
                return None
            recent = self._signatures[-needed:]
            if all(recent[position] == recent[position - length] for position in range(length, needed)):
                steps = " -> ".join(recent[-length:])
                return f"the same calls {self._limit} times in a row: {steps}"
        return None


def _signature(plan: ToolCallPlan) -> str:
    if plan.parse_error is not None:
        return f"{plan.tool_name}({plan.raw_arguments})"
    return f"{plan.tool_name}({json.dumps(plan.parsed_input, sort_keys=True, ensure_ascii=False, default=str)})"
