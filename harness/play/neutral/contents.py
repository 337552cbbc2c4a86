"""Edits for tools that take whole lines or whole files: these need the file as it is now, in the agent's folder."""

from __future__ import annotations

from pathlib import Path

from harness.play.neutral.actions import EditFile
from harness.play.neutral.paths import in_form, relative
from harness.play.player import CannotAnswerError

_CONTEXT = 3


def content_after(action: EditFile, folder: str | None) -> str:
    """The file's text after the edit; raises CannotAnswerError where it cannot be read or the edit does not fit."""
    text = _text(action, folder)
    return text.replace(action.old, action.new)


def patch_of(action: EditFile, folder: str | None) -> str:
    """The edit as a patch of whole lines, with up to three lines around each place; raises as `content_after` does.

    The format's markers are Codex's: a file's path is relative to the agent's folder.
    """
    text = _text(action, folder)
    path = in_form(action.path, "any", folder)
    lines = [f"*** Update File: {relative(path, folder) if path.startswith('/') else path}"]
    before = text.split("\n")
    position = text.find(action.old)
    while position >= 0:
        first = text.count("\n", 0, position)
        end = position + len(action.old)
        last = text.count("\n", 0, end)
        start_of_first = text.rfind("\n", 0, position) + 1
        end_of_last = text.find("\n", end) if text.find("\n", end) >= 0 else len(text)
        replaced = text[start_of_first:end_of_last].replace(action.old, action.new).split("\n")
        lines += [
            "@@",
            *(f" {line}" for line in before[max(0, first - _CONTEXT) : first]),
            *(f"-{line}" for line in before[first : last + 1]),
            *(f"+{line}" for line in replaced),
            *(f" {line}" for line in _following(before, last)),
        ]
        position = text.find(action.old, end_of_last)
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


def _following(lines: list[str], last: int) -> list[str]:
    """The lines behind; what a final newline leaves behind it is no line."""
    whole = lines[:-1] if lines[-1] == "" else lines
    return whole[last + 1 : last + 1 + _CONTEXT]


def _text(action: EditFile, folder: str | None) -> str:
    path = Path(in_form(action.path, "absolute", folder))
    try:
        text = path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise CannotAnswerError(f"{action}: the tool wants whole lines, and {path} cannot be read: {error}") from error
    count = text.count(action.old)
    if count == 0:
        raise CannotAnswerError(f"{action}: the text to replace does not stand in {path}")
    if count > 1 and not action.everywhere:
        raise CannotAnswerError(f"{action}: the text to replace stands {count} times in {path}")
    return text
