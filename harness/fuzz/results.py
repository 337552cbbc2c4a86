"""Tool results of every kind: short and beyond every budget, plain and hard to serialize."""

from __future__ import annotations

from typing import Any

from harness.fuzz.choices import Choices, several
from harness.fuzz.schema import ValueMaker
from harness.pipeline.result import REFUSALS, ErrorCode, ToolResult

LARGEST_TEXT = 60_000
"""Characters of the longest text; more than the budget for one observation has bytes."""

_OBJECTS = ValueMaker({"type": "object"})
_UNITS = ("x", "é", "日", "😀", "\n", '"', "\\", "\0", "a\r\n", "\ud83d", "line of text\n", "\x1b[31m")
_SIZES = (0, 1, 80, 2_000, LARGEST_TEXT)
_STATS = ("time_ms", "file_size_bytes", "matches")
_CODES = tuple(code for code in ErrorCode if code not in REFUSALS)


def tool_result(choices: Choices) -> ToolResult:
    """A result that a tool may return: success, partial, or an error that is no refusal."""
    text = result_text(choices)
    data = dict(_OBJECTS.value(choices)) if choices.flag() else {}
    if choices.flag(8):
        data["rows"] = [result_text(choices) for _ in range(several(choices, 1, 5))]
    stats: dict[str, Any] = {name: choices.integer(0, 10_000) for name in _STATS if choices.flag(4)}
    kind = choices.pick(("success", "partial", "error"))
    if kind == "error":
        return ToolResult.error(choices.pick(_CODES), text, data, **stats)
    return (ToolResult.success if kind == "success" else ToolResult.partial)(text, data, **stats)


def result_text(choices: Choices) -> str:
    """A text as tools return it: a few characters, lines, or one unit many times over."""
    if choices.flag():
        return choices.text(0, 200)
    unit = choices.pick(_UNITS)
    return unit * (choices.pick(_SIZES) // len(unit))
