r"""Texts that match a pattern, made from its parse tree.

``pattern`` is written for ECMA 262. What differs in notation is rewritten; characters are ASCII wherever the pattern
leaves a choice, because there both languages agree on what ``\d`` and ``\w`` are.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from harness.errors import InputError
from harness.fuzz.choices import Choices, RejectedError

_PRINTABLE = "".join(map(chr, range(0x20, 0x7F)))
_CATEGORIES = {
    "CATEGORY_DIGIT": "0123456789",
    "CATEGORY_SPACE": " \t",
    "CATEGORY_WORD": "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_",
}
_NAMED_GROUP = re.compile(r"\(\?<(?=[A-Za-z_])")
_NAMED_BACKREFERENCE = re.compile(r"\\k<([A-Za-z_]\w*)>")
_WIDEST_RANGE = 200
_MORE_REPEATS = 3


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> re.Pattern[str]:
    r"""The pattern as Python has it; raises InputError where Python cannot read it (``\p{…}``)."""
    try:
        return re.compile(_NAMED_BACKREFERENCE.sub(r"(?P=\1)", _NAMED_GROUP.sub("(?P<", pattern)))
    except (re.error, RecursionError, OverflowError) as error:
        raise InputError(f"the pattern {pattern!r} cannot be read: {error}") from error


def matching_text(choices: Choices, pattern: str, shortest: int = 0) -> str:
    """A text in which the pattern is found; repeats are long enough, where they can, for a text of ``shortest``.

    Raises RejectedError where the choices lead to none.
    """
    tree = _parsed(pattern)
    text = _Writer(choices).text(tree, shortest)
    if len(text) < shortest and not _is_anchored(tree):
        text += choices.text(shortest - len(text), shortest - len(text))
    if not compiled(pattern).search(text):
        raise RejectedError(pattern)
    return text


@lru_cache(maxsize=1024)
def _parsed(pattern: str) -> Sequence[Any]:
    # The parser of `re` has no public name; the tree it gives has kept its form since Python 2.
    parser = importlib.import_module("re._parser")
    tree: Sequence[Any] = list(parser.parse(compiled(pattern).pattern))
    return tree


def _is_anchored(tree: Sequence[Any]) -> bool:
    return bool(tree) and str(tree[-1][0]) == "AT"


class _Writer:
    """Writes one text, remembering what each group matched."""

    def __init__(self, choices: Choices) -> None:
        self._choices = choices
        self._groups: dict[int, str] = {}

    def text(self, tree: Sequence[Any], shortest: int = 0) -> str:
        out: list[str] = []
        length = 0
        for operation, argument in tree:
            out.append(self._one(str(operation), argument, shortest - length))
            length += len(out[-1])
        return "".join(out)

    def _one(self, operation: str, argument: Any, shortest: int) -> str:
        if operation == "LITERAL":
            return chr(argument)
        if operation in ("NOT_LITERAL", "ANY", "IN", "CATEGORY"):
            return self._choices.pick(_characters(operation, argument))
        if operation == "BRANCH":
            return self.text(self._choices.pick(argument[1]), shortest)
        if operation in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            least, most, inner = argument
            return self._repeat(least, int(most), inner, shortest)
        if operation == "SUBPATTERN":
            self._groups[argument[0]] = made = self.text(argument[3], shortest)
            return made
        if operation == "ATOMIC_GROUP":
            return self.text(argument, shortest)
        # Assertions write nothing: what stands beside them has to match anyway, made twice it would by chance only.
        return self._groups.get(argument, "") if operation == "GROUPREF" else ""

    def _repeat(self, least: int, most: int, inner: Sequence[Any], shortest: int) -> str:
        wanted = min(max(least, shortest), most)
        count = self._choices.integer(wanted, min(wanted + _MORE_REPEATS, most))
        return "".join(self.text(inner) for _ in range(count))


def _characters(operation: str, argument: Any) -> str:
    if operation == "NOT_LITERAL":
        return _PRINTABLE.replace(chr(argument), "")
    if operation == "ANY":
        return _PRINTABLE[1:]
    if operation == "CATEGORY":
        return _category(str(argument))
    return _set(tuple((str(name), value) for name, value in argument))


@lru_cache(maxsize=1024)
def _set(members: tuple[tuple[str, Any], ...]) -> str:
    found: list[str] = []
    negated = False
    for name, value in members:
        if name == "NEGATE":
            negated = True
        elif name == "LITERAL":
            found.append(chr(value))
        elif name == "RANGE":
            low, high = value
            found += map(chr, range(low, min(high, low + _WIDEST_RANGE) + 1))
        elif name == "CATEGORY":
            found += _category(str(value))
    characters = [character for character in found if not "\ud800" <= character <= "\udfff"]
    if negated:
        characters = [character for character in _PRINTABLE if character not in set(found)]
    if not characters:
        raise RejectedError("a set without a character that can be written")
    return "".join(dict.fromkeys(characters))


def _category(name: str) -> str:
    if name in _CATEGORIES:
        return _CATEGORIES[name]
    opposite = _CATEGORIES[name.replace("_NOT_", "_")]
    return "".join(character for character in _PRINTABLE if character not in opposite)
