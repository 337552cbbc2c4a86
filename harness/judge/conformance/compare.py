"""Each hostile stream through each assembler: right, wrong, or a crash."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import orjson

from harness.judge.conformance.assemblers import (
    Assembler,
    append_by_index,
    openai_stream_helper,
    this_package,
)
from harness.judge.conformance.cases import CASES, ExpectedCall, HostileStream

HERE = "harness"
HELPER = "openai stream()"
BY_INDEX = "append by index"


class Outcome(StrEnum):
    """``wrong``: other calls than the stream means, or calls where none may run. ``crash``: it raised, and got none."""

    RIGHT = "right"
    WRONG = "wrong"
    CRASH = "crash"


@dataclass(frozen=True, slots=True)
class Result:
    """What one assembler made of one stream; ``detail`` says what it gave where that was not right."""

    assembler: str
    outcome: Outcome
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The results of all assemblers for all streams, in the order of both."""

    assemblers: tuple[str, ...]
    rows: tuple[tuple[HostileStream, tuple[Result, ...]], ...]

    def count(self, assembler: str, outcome: Outcome) -> int:
        """How many streams came out so."""
        return sum(
            result.assembler == assembler and result.outcome is outcome
            for _, results in self.rows
            for result in results
        )

    def document(self) -> dict[str, object]:
        """What ``harness stream --conformance --json`` prints."""
        return {
            "streams": [
                {
                    "name": case.name,
                    "origin": case.origin,
                    "results": {
                        result.assembler: {"outcome": result.outcome, "detail": result.detail} for result in results
                    },
                }
                for case, results in self.rows
            ],
            "totals": {name: {outcome: self.count(name, outcome) for outcome in Outcome} for name in self.assemblers},
        }


def compare(others: Mapping[str, Assembler], cases: Sequence[HostileStream] = CASES) -> Comparison:
    """All ``cases`` through this package's assembler, its two peers, and ``others`` by name."""
    names = (HERE, HELPER, BY_INDEX, *others)
    rows = []
    for case in cases:
        assemblers = (this_package(case.tools), openai_stream_helper, append_by_index, *others.values())
        rows.append((case, tuple(_result(name, run, case) for name, run in zip(names, assemblers, strict=True))))
    return Comparison(names, tuple(rows))


def _result(name: str, assemble: Assembler, case: HostileStream) -> Result:
    try:
        calls = [_plain(call) for call in assemble(case.body)]
    except Exception as error:  # noqa: BLE001  whatever somebody's assembler raises
        # A stream of which nothing may run is rightly refused.
        outcome = Outcome.RIGHT if case.calls is None else Outcome.CRASH
        return Result(name, outcome, f"{type(error).__name__}: {error}")
    expected = case.calls or ()
    if len(calls) == len(expected) and all(map(_is_same, calls, expected)):
        return Result(name, Outcome.RIGHT)
    return Result(name, Outcome.WRONG, orjson.dumps(calls, default=str).decode())


def _plain(call: Mapping[str, Any]) -> dict[str, Any]:
    function = call.get("function")
    inner = function if isinstance(function, Mapping) else call
    return {"id": call.get("id"), "name": inner.get("name"), "arguments": inner.get("arguments")}


def _is_same(call: Mapping[str, Any], expected: ExpectedCall) -> bool:
    if call["name"] != expected.name or (expected.id is not None and call["id"] != expected.id):
        return False
    arguments = call["arguments"]
    if isinstance(arguments, str):
        try:
            arguments = orjson.loads(arguments or "{}")
        except orjson.JSONDecodeError:
            return False
    return bool((arguments or {}) == expected.arguments)
