"""Characters of a word that mean something to the shell, told apart from the same characters in quotes.

While a word is expanded its active characters are moved to a private range, so that quoting survives until the end.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

_ACTIVE = 0xE000
"""Where the private range begins."""

BREAK = chr(_ACTIVE + ord(" "))
"""Stands where an unquoted value is split into words."""
_ACTIVE_CHARACTERS = frozenset("{},*?[]~")
_GLOBBED = ("rm", "sudo", "sh", "bash", "su", "zsh", "dash", "git", "unlink", "shred")
"""Names that a pattern in a command's place is held against: every machine has them."""

MAX_BRACES = 64
"""Words that a brace expansion gives at most."""

_OPEN, _CLOSE, _COMMA = (chr(_ACTIVE + ord(char)) for char in "{},")
_BRACES = re.compile(f"{_OPEN}([^{_OPEN}{_CLOSE}]*){_CLOSE}")
_WILD = re.compile("[" + "".join(chr(_ACTIVE + ord(char)) for char in "*?[") + "]")


def unmarked(text: str) -> str:
    """``text`` with the characters that mark active ones replaced, so that nobody can write them."""
    return re.sub("[\ue000-\ue0ff]", "\ufffd", text)


def marked(text: str) -> str:
    """Unquoted ``text`` with its active characters moved."""
    return "".join(chr(_ACTIVE + ord(char)) if char in _ACTIVE_CHARACTERS else char for char in text)


def plain(text: str) -> str:
    """``text`` with the characters moved back."""
    return re.sub("[\ue000-\ue0ff]", lambda match: chr(ord(match[0]) - _ACTIVE), text)


def unbraced(text: str) -> list[str]:
    """The words of a brace expansion, in order; MAX_BRACES at most, what would be more is left as it is."""
    found = [text]
    for _ in range(6):
        after: list[str] = []
        for word in found:
            match = next((m for m in _BRACES.finditer(word) if _parts(m[1])), None)
            if match is None:
                after.append(word)
            else:
                after += [word[: match.start()] + part + word[match.end() :] for part in _parts(match[1])]
        if after == found or len(after) > MAX_BRACES:
            break
        found = after
    return found


def _parts(inner: str) -> list[str]:
    """What stands between braces: words with commas, or a sequence of characters; empty where it is neither."""
    if _COMMA in inner:
        return inner.split(_COMMA)
    sequence = re.fullmatch(r"(\w)\.\.(\w)(?:\.\.\d+)?", inner)
    if sequence is None:
        return []
    first, last = sorted((ord(sequence[1]), ord(sequence[2])))
    return [chr(code) for code in range(first, last + 1)]


def matched(text: str) -> str | None:
    """A well-known name that a marked pattern in a command's place matches."""
    folder, slash, base = text.rpartition("/")
    if not _WILD.search(base):
        return None
    pattern = plain(base)
    if not re.search(r"\w", re.sub(r"\[[^\]]*\]", "", pattern)):
        return None
    return next((plain(folder) + slash + name for name in _GLOBBED if fnmatchcase(name, pattern)), None)
