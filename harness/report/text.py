"""Text of users and models made fit to be shown: nothing invisible, nothing endless, differences in view."""

from __future__ import annotations

import json
import re
import unicodedata

_UNUSUAL = re.compile(r"[^\t\n\x20-\x7e]")
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_JOINERS = frozenset("\u200c\u200d")


def visible(text: str) -> str:
    r"""``text`` with every character that cannot be seen written as an escape, such as ``\r``, ``\x1b``, ``\u202e``.

    Newlines and tabs stay. What is left is valid in XML 1.0, encodes to UTF-8, and cannot steer a terminal or turn
    the direction of the text around it. A backslash stays one, so this is for people and not to be read back.
    """
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return _UNUSUAL.sub(_seen, text)


def encodable(text: str) -> str:
    """``text`` with half surrogate pairs as escapes: neither UTF-8 nor Arrow-backed frames can hold them."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def one_line(text: str, limit: int = 200) -> str:
    """`visible`, shortened to ``limit`` characters (before escaping) and put on one line, breaks shown as ⏎."""
    return visible(shortened(text.strip(" \t\n"), limit)).replace("\n", " ⏎ ").replace("\t", " ")


def shortened(text: str, limit: int, lines: int | None = None) -> str:
    """The first ``limit`` characters and at most ``lines`` lines of ``text``, and how many characters are missing."""
    kept = text[:limit]
    if lines is not None:
        kept = "\n".join(kept.split("\n", lines)[:lines])
    missing = len(text) - len(kept)
    return f"{kept}… ({missing:,} more character{'' if missing == 1 else 's'})" if missing else text


def contrast(expected: str, actual: str, limit: int, lines: int | None = None) -> tuple[str, str]:
    """Both texts made visible and shortened alike, so that the place where they begin to differ can be seen.

    ``limit`` is in characters for each text, ``lines`` in lines. Where only white space differs, it is drawn.
    """
    start = _start_of_difference(expected, actual, limit, lines)
    only_space = expected != actual and expected.split() == actual.split()
    return _part(expected, start, limit, lines, draw=only_space), _part(actual, start, limit, lines, draw=only_space)


def value_text(value: object) -> str:
    """A fact as text: strings as they are, nothing for None, everything else as JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True, default=_plain, skipkeys=True)


def _seen(match: re.Match[str]) -> str:
    character = match.group()
    # Zero-width joiners shape ordinary text (emoji, Persian, Hindi), so they are no surprise worth an escape.
    if character in _JOINERS:
        return character
    if unicodedata.category(character) in _HIDDEN or ord(character) & 0xFFFE == 0xFFFE:
        return character.encode("unicode_escape").decode("ascii")
    return character


def _start_of_difference(expected: str, actual: str, limit: int, lines: int | None) -> int:
    """Where to begin showing both texts, 0 where the difference is in view from their beginning."""
    shorter = min(len(expected), len(actual))
    same = next((at for at in range(shorter) if expected[at] != actual[at]), shorter)
    if same == max(len(expected), len(actual)):
        return 0
    if same < limit // 2 and (lines is None or expected.count("\n", 0, same) < max(lines // 2, 1)):
        return 0
    line = expected.rfind("\n", 0, same) + 1
    return line if same - line <= limit // 2 else same - limit // 4


def _part(text: str, start: int, limit: int, lines: int | None, *, draw: bool) -> str:
    part = shortened(text[start:], limit, lines)
    if draw:
        part = part.replace(" ", "·").replace("\t", "→").replace("\n", "⏎\n")
    before = f"({start:,} characters that are the same) …" if start else ""
    return before + visible(part)


def _plain(value: object) -> object:
    return sorted(map(str, value)) if isinstance(value, set | frozenset) else str(value)
