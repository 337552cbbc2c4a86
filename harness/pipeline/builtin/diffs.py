"""A short unified diff of one edit, for the model to check what it has done."""

from __future__ import annotations

from difflib import SequenceMatcher
from itertools import takewhile

from harness.pipeline.builtin.lines import split_end, split_lines, visible

_CONTEXT = 3
_LINE_CHARACTERS = 200
_COMPARED_LINES = 300


def short_diff(old: bytes, new: bytes, *, max_characters: int) -> str:
    """Hunks of ``old`` to ``new`` in at most ``max_characters``, with a last line that says what is left out."""
    before, after = split_lines(old), split_lines(new)
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    start = max(0, head - _CONTEXT)
    before = before[start : len(before) - max(0, tail - _CONTEXT)]
    after = after[start : len(after) - max(0, tail - _CONTEXT)]
    if len(before) > _COMPARED_LINES or len(after) > _COMPARED_LINES:
        return f"(no diff: the changes spread over {len(after)} lines)"
    shown: list[str] = []
    room = max_characters
    rows = _rows(before, after, start)
    for number, row in enumerate(rows):
        room -= len(row) + 1
        if room < 0:
            note = f"({len(rows) - number} more diff lines)"
            while shown and sum(len(line) + 1 for line in shown) + len(note) > max_characters:
                shown.pop()
            return "\n".join([*shown, note])
        shown.append(row)
    return "\n".join(shown)


def _common(left: list[bytes], right: list[bytes]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False)))


def _rows(before: list[bytes], after: list[bytes], start: int) -> list[str]:
    rows: list[str] = []
    for group in SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(_CONTEXT):
        old_from, old_to, new_from, new_to = group[0][1], group[-1][2], group[0][3], group[-1][4]
        rows.append(f"@@ -{_range(start, old_from, old_to)} +{_range(start, new_from, new_to)} @@")
        for tag, old_start, old_end, new_start, new_end in group:
            if tag == "equal":
                rows += [_row(" ", line) for line in before[old_start:old_end]]
            else:
                rows += [_row("-", line) for line in before[old_start:old_end]]
                rows += [_row("+", line) for line in after[new_start:new_end]]
    return rows


def _range(start: int, first: int, end: int) -> str:
    """A hunk's place; an empty one is named by the line before it, as unified diffs have it."""
    return f"{start + first + (end > first)},{end - first}"


def _row(sign: str, line: bytes) -> str:
    body, _ = split_end(line)
    text = visible(body.decode("utf-8", "replace"))
    return sign + (text if len(text) <= _LINE_CHARACTERS else text[:_LINE_CHARACTERS] + "…")
