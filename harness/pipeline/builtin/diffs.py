"""A short unified diff of one edit, for the model to check what it has done."""

from __future__ import annotations

from difflib import SequenceMatcher

from harness.pipeline.builtin.lines import split_end, split_lines, visible

_CONTEXT = 3
_LINE_CHARACTERS = 200
_COMPARED_LINES = 300
_CHUNK = 65_536


def short_diff(old: bytes, new: bytes, *, max_characters: int) -> str:
    """Hunks of ``old`` to ``new`` in at most ``max_characters``, with a last line that says what is left out."""
    start, old_end, new_end = _changed(old, new)
    before, after = split_lines(old[start:old_end]), split_lines(new[start:new_end])
    if len(before) > _COMPARED_LINES or len(after) > _COMPARED_LINES:
        return f"(no diff: the changes spread over {len(after)} lines)"
    shown: list[str] = []
    room = max_characters
    rows = _rows(before, after, old.count(b"\n", 0, start))
    for number, row in enumerate(rows):
        room -= len(row) + 1
        if room < 0:
            note = f"({len(rows) - number} more diff lines)"
            while shown and sum(len(line) + 1 for line in shown) + len(note) > max_characters:
                shown.pop()
            return "\n".join([*shown, note])
        shown.append(row)
    return "\n".join(shown)


def _changed(old: bytes, new: bytes) -> tuple[int, int, int]:
    """Where the changed lines begin in both, and where they end in each, lines of context included."""
    head = _common(old, new, from_end=False)
    start = head
    for _ in range(_CONTEXT + 1):
        start = old.rfind(b"\n", 0, max(0, start))
    most = min(len(old), len(new)) - head
    tail = _common(old[len(old) - most :], new[len(new) - most :], from_end=True)
    end = len(old) - tail
    for _ in range(_CONTEXT + 1):
        found = old.find(b"\n", end)
        end = found + 1 if found >= 0 else len(old)
    return start + 1, end, len(new) - (len(old) - end)


def _common(left: bytes, right: bytes, *, from_end: bool) -> int:
    """How many bytes at the start, or at the end, are the same."""
    same = 0
    while same < min(len(left), len(right)):
        if from_end:
            one, other = (side[max(0, len(side) - same - _CHUNK) : len(side) - same][::-1] for side in (left, right))
        else:
            one, other = (side[same : same + _CHUNK] for side in (left, right))
        step = min(len(one), len(other))
        if one[:step] != other[:step]:
            step = next(place for place in range(step) if one[place] != other[place])
        same += step
        if step < _CHUNK:
            break
    return same


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
