"""Cutting a result to a size: the JSON stays valid, no character is split, head and tail stay (F02, F07, F08)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from harness.pipeline.result import ToolResult, ToolStatus

_LEAST_LEAF = 160
_HEAD_SHARE = 0.6

Measure = Callable[[ToolResult], int]
"""Bytes that a result takes once serialized."""


@dataclass(frozen=True, slots=True)
class Spill:
    """Where the full content went: a path relative to the workspace, or why it could not be kept (F05)."""

    path: str | None
    problem: str = ""

    def describe(self) -> str:
        """The sentence for the model."""
        if self.path is not None:
            return f"the full result is in {self.path}, Read shows it by offset and limit"
        return f"the full result could not be saved ({self.problem})"


def cut_text(text: str, limit: int) -> str:
    """Head and tail of a text in at most ``limit`` bytes of UTF-8 as JSON escapes it, with a marker between.

    Where not even the marker fits, as much of the head as does.
    """
    total = _escaped_size(text)
    if total <= limit:
        return text
    marker = f"\n[... cut: {limit} of {total} bytes shown ...]\n"
    room = limit - _escaped_size(marker)
    if room < 2:
        return _longest(text[:limit], limit)
    head = _longest(text[:room], round(room * _HEAD_SHARE))
    tail = _longest(text[-room:], room - _escaped_size(head), from_end=True)
    return head + marker + tail


def fit(result: ToolResult, limit: int, spill: Spill, measure: Measure) -> ToolResult:
    """The result, cut so that ``measure`` gives at most ``limit`` bytes, note and path included.

    First the longest texts are cut to one length, which keeps the structure. Where the structure itself is too
    large, ``data`` becomes ``{"preview": …}``, head and tail of its JSON. Where there is no room for that either, the
    text alone stays, with a short note that still names the file.
    """
    note = (
        f"[Incomplete: cut to {limit} of {measure(result)} bytes; the same call is cut the same way; "
        f"{spill.describe()}]"
    )
    short_note = f"[cut to {limit} bytes; {spill.path or 'not saved'}]"
    status = ToolStatus.PARTIAL if result.status is ToolStatus.SUCCESS else result.status

    @cache
    def data_text() -> str:
        return json.dumps(result.data, ensure_ascii=False)

    def with_leaves(cap: int) -> ToolResult:
        return replace(
            result,
            status=status,
            text=_with_note(cut_text(result.text, cap), note),
            data=_cut_leaves(result.data, cap),
            context=_cut_leaves(result.context, cap),
            stats={**result.stats, "full_result_path": spill.path},
        )

    def with_preview(cap: int) -> ToolResult:
        return replace(
            result,
            status=status,
            text=_with_note(cut_text(result.text, cap), note),
            data={"preview": cut_text(data_text(), cap)} if result.data else {},
            context={},
            stats={"full_result_path": spill.path},
        )

    def bare(cap: int) -> ToolResult:
        text = _with_note(cut_text(result.text, cap), short_note)
        return replace(result, status=status, text=text, data={}, context={}, stats={})

    for shape, least in ((with_leaves, _LEAST_LEAF), (with_preview, 32), (bare, 0)):
        if measure(shape(least)) <= limit:
            return shape(_largest_cap(lambda cap, shape=shape: measure(shape(cap)) <= limit, least, limit))  # type: ignore[misc]
    return replace(result, status=status, text="", data={}, context={}, stats={})


def _largest_cap(fits: Callable[[int], bool], low: int, high: int) -> int:
    """The largest cap that fits; ``low`` is known to."""
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _with_note(text: str, note: str) -> str:
    return f"{text}\n{note}" if text else note


def _cut_leaves(value: Any, cap: int) -> Any:
    if isinstance(value, str):
        return cut_text(value, cap)
    if isinstance(value, Mapping):
        return {key: _cut_leaves(item, cap) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_cut_leaves(item, cap) for item in value]
    return value


def _escaped_size(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False).encode("utf-8")) - 2


def _longest(text: str, limit: int, *, from_end: bool = False) -> str:
    """The longest prefix (or suffix) of at most ``limit`` escaped bytes."""
    if _escaped_size(text) <= limit:
        return text
    low, high = 0, min(len(text), max(limit, 0))
    while low < high:
        middle = (low + high + 1) // 2
        part = text[-middle:] if from_end else text[:middle]
        if _escaped_size(part) <= limit:
            low = middle
        else:
            high = middle - 1
    if low == 0:
        return ""
    return text[-low:] if from_end else text[:low]
