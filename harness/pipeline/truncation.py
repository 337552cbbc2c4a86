"""Cutting a result to a size: the JSON stays valid, no character is split, head and tail stay (F02, F07, F08)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import orjson

from harness.pipeline.result import ToolResult, ToolStatus

_LEAST_LEAF = 160
_HEAD_SHARE = 0.6
_SLACK_BYTES = 4

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

    Where the marker would take more than half of it, the head alone.
    """
    total = _escaped_size(text)
    if total <= limit:
        return text
    marker = f"\n[... cut: {limit} of {total} bytes shown ...]\n"
    room = limit - _escaped_size(marker)
    if room < limit / 2:
        return _longest(text, limit)
    head = _longest(text, round(room * _HEAD_SHARE))
    tail = _longest(text[: -room - 1 : -1], room - _escaped_size(head))[::-1]
    return head + marker + tail


def fit(result: ToolResult, limit: int, spill: Spill, measure: Measure) -> ToolResult:
    """The result, cut so that ``measure`` gives at most ``limit`` bytes, note and path included.

    First the longest texts are cut to one length, which keeps the structure. Where the structure itself is too
    large, ``data`` becomes ``{"preview": …}``, head and tail of its JSON. Where there is no room for that either, the
    text alone stays, with a short note that still names the file.
    """
    note = (
        f"[Incomplete: cut to {limit} of {measure(result)} bytes; the same call is cut the same way, ask for less; "
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
        fitting = _largest_fitting(shape, least, limit, measure)
        if fitting is not None:
            return fitting
    return replace(result, status=status, text="", data={}, context={}, stats={})


def _largest_fitting(shape: Callable[[int], ToolResult], least: int, limit: int, measure: Measure) -> ToolResult | None:
    """``shape`` at a cap from ``least`` to ``limit`` that leaves a few bytes of the limit at most, None if none fits.

    Sizes grow almost in proportion to the cap, so its place is guessed from both ends; every other guess is the
    middle, which bounds the number of them.
    """
    fitting = shape(least)
    low, low_size = least, measure(fitting)
    if low_size > limit:
        return None
    tried = shape(limit)
    high, high_size = limit, measure(tried)
    if high_size <= limit:
        return tried
    by_share = True
    while high - low > 1 and limit - low_size > _SLACK_BYTES:
        share = (limit - low_size) / (high_size - low_size) if by_share else 0.5
        cap = min(max(low + 1, low + int((high - low) * share)), high - 1)
        tried = shape(cap)
        size = measure(tried)
        if size <= limit:
            fitting, low, low_size = tried, cap, size
        else:
            high, high_size = cap, size
        by_share = not by_share
    return fitting


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
    return len(orjson.dumps(text)) - 2


def _longest(text: str, limit: int) -> str:
    """The longest head of at most ``limit`` escaped bytes."""
    if limit <= 0:
        return ""
    escaped = orjson.dumps(text[:limit])[1:-1]
    if len(escaped) <= limit:
        return text[:limit]
    end = limit
    while (head := _unescaped(escaped[:end])) is None:
        end -= 1
    return head


def _unescaped(escaped: bytes) -> str | None:
    """The text that JSON escaped so, or None where a character or an escape is not whole."""
    try:
        text: str = orjson.loads(b'"' + escaped + b'"')
    except orjson.JSONDecodeError:
        return None
    return text
