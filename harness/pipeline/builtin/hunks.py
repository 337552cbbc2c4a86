"""One replacement of an edit: what the call asks for, and the content it makes."""

from __future__ import annotations

from dataclasses import dataclass

from harness.pipeline.builtin.base import Arguments, CallError, encoded
from harness.pipeline.builtin.lines import NUL_PICTURE, line_number
from harness.pipeline.builtin.replacing import (
    Replacement,
    all_matches,
    count_matches,
    distinct_matches,
    replaced,
)
from harness.pipeline.result import ErrorCode

_NAMED_LINES = 10
_SHOWN_FOR_OTHERS = "\ufffd" + NUL_PICTURE


@dataclass(frozen=True, slots=True)
class Hunk:
    """``old`` becomes ``new``, at its only place or, with ``every``, at all of them."""

    old: bytes
    new: bytes
    every: bool

    @classmethod
    def of(cls, arguments: Arguments) -> Hunk:
        """As a call says it; raises CallError for an empty ``old_string`` and for one that is the new one."""
        old = encoded(arguments.text("old_string"), "old_string")
        new = encoded(arguments.text("new_string"), "new_string")
        if not old:
            reason = "old_string is empty; give the text to replace, with enough around it to be unique"
            raise CallError(ErrorCode.INVALID_PARAM, reason)
        if old == new:
            raise CallError(ErrorCode.INVALID_PARAM, "old_string and new_string are the same, so nothing would change")
        return cls(old, new, arguments.flag("replace_all"))

    def applied(self, content: bytes, name: str) -> Applied:
        """The content with the replacement made.

        Raises CallError: NOT_FOUND, NOT_UNIQUE with line numbers and ``count``, or INVALID_PARAM where only line ends
        would differ, which are kept. ``name`` is what the file is called in the error.
        """
        places = all_matches(content, self.old) if self.every else self._only_place(content, name)
        if not places:
            hint = "Read the file and copy the text from it, without line numbers"
            if any(character in self.old.decode() for character in _SHOWN_FOR_OTHERS):
                hint = "U+FFFD and U+2400 stand for bytes that cannot be shown; choose a text without them"
            raise CallError(ErrorCode.NOT_FOUND, f"old_string is not in {name}. {hint}")
        result = replaced(content, places, self.old, self.new)
        if result == content:
            raise CallError(ErrorCode.INVALID_PARAM, "the file has that text already, so nothing would change")
        return Applied(result, len(places), line_number(content, places[0].start))

    def _only_place(self, content: bytes, name: str) -> list[Replacement]:
        places = distinct_matches(content, self.old, limit=_NAMED_LINES + 1)
        if len(places) < 2:
            return places
        count = max(len(places), count_matches(content, self.old))
        lines = ", ".join(str(line_number(content, place.start)) for place in places[:_NAMED_LINES])
        more = ", …" if count > _NAMED_LINES else ""
        text = (
            f"old_string is in {name} {count} times, in lines {lines}{more}. "
            "Add lines around it to make it unique, or use replace_all"
        )
        raise CallError(ErrorCode.NOT_UNIQUE, text, {"count": count})


@dataclass(frozen=True, slots=True)
class Applied:
    """What a hunk made: the new content, how many places were replaced, the first one's line in the old content."""

    content: bytes
    places: int
    first_line: int
