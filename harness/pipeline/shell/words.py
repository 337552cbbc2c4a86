"""Words of a shell command as the shell passes them on: quotes, backslashes and ANSI-C escapes taken off."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from harness.pipeline.shell.rules import Word

if TYPE_CHECKING:
    from tree_sitter import Node

_ANSI = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|c(.)|(.))", re.DOTALL
)
_ANSI_LETTERS = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_SUBSTITUTION = re.compile(r"(?<!\\)(?:\\\\)*(?:\$\(|`|<\(|>\(|\$\[|\$\{)", re.DOTALL)
_IN_QUOTES = re.compile(r"(?<!\\)(?:\\\\)*(?:\$\(|`|\$\[|\$\{)", re.DOTALL)
_QUOTED = "x"
"""Stands for a quoted character where patterns are looked for: it can be part of none."""


def hidden_code(text: str, *, quoted: bool = False) -> bool:
    """Whether text that the grammar left unread holds a substitution; process substitutions only without quotes."""
    return bool((_IN_QUOTES if quoted else _SUBSTITUTION).search(text))


def spell(node: Node, source: bytes) -> Word:
    """The word that a node stands for, read from ``source``. Never raises for a tree of the bash grammar."""
    spelling = _Spelling(source)
    spelling.add(node)
    return spelling.word()


class _Spelling:
    def __init__(self, source: bytes) -> None:
        self._source = source
        self._text = ""
        self._bare = ""
        self._opaque = self._splits = False
        self._starts_opaque = False

    def word(self) -> Word:
        bare = self._bare
        pattern = bool(re.search(r"[*?\[]", bare)) or bool(re.search(r"\{.*(,|\.\.).*\}", bare, re.DOTALL))
        home = bare.startswith("~")
        exact = not (self._opaque or pattern or home)
        starts_plain = bool(self._text) and not self._starts_opaque and not re.match(r"[*?\[{]", bare)
        operand = starts_plain and not self._splits and not self._text.startswith("-")
        return Word(self._text, exact=exact, operand=operand)

    def add(self, node: Node) -> None:
        source = self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")
        kind = node.type
        if kind in {"command_name", "concatenation"} and node.child_count:
            for child in node.children:
                self.add(child)
        elif kind in {"word", "number", "extglob_pattern"} or not node.is_named:
            self._add_unquoted(source)
        elif kind == "raw_string":
            self._put(source[1:-1], _QUOTED)
        elif kind == "ansi_c_string":
            self._put(decode_ansi(source[2:-1]), _QUOTED)
        elif kind == "translated_string" and node.child_count > 1:
            self.add(node.children[1])
        elif kind == "string":
            self._add_string(node, source)
        elif kind == "process_substitution":
            self._opaque = True
            self._put("/dev/fd/" + source, _QUOTED)
        else:
            self._open(source, splits=True)

    def _add_string(self, node: Node, source: str) -> None:
        if all(child.type in {'"', "string_content"} for child in node.children):
            inner = source.removeprefix('"').removesuffix('"')
            self._put(re.sub(r"\\(\n|[\\\"$`])", lambda m: m[1].strip("\n"), inner), _QUOTED)
            return
        first = next((child for child in node.children if child.type != '"'), None)
        plain_start = first is not None and first.type == "string_content"
        if not plain_start and not self._text:
            self._starts_opaque = True
        # "$@" is the one quoted expansion that becomes several words.
        self._opaque = True
        self._splits = self._splits or "@" in source
        self._put(source[1:-1], _QUOTED)

    def _add_unquoted(self, source: str) -> None:
        at = 0
        while at < len(source):
            if source[at] == "\\":
                following = source[at + 1 : at + 2]
                if following != "\n":
                    self._put(following, _QUOTED)
                at += 2
            else:
                self._put(source[at], source[at])
                at += 1

    def _open(self, source: str, *, splits: bool) -> None:
        self._starts_opaque = self._starts_opaque or not self._text
        self._opaque = True
        self._splits = self._splits or splits
        self._put(source, _QUOTED)

    def _put(self, text: str, bare: str) -> None:
        self._text += text
        self._bare += bare if bare != _QUOTED else _QUOTED * len(text)


def decode_ansi(source: str) -> str:
    """The characters that ``$'source'`` stands for. Never raises."""

    def character(match: re.Match[str]) -> str:
        hexadecimal = match[1] or match[2] or match[3]
        if hexadecimal or match[4]:
            code = int(hexadecimal, 16) if hexadecimal else int(match[4], 8) & 0xFF
            return chr(code) if code < 0x110000 else "\ufffd"
        if match[5]:
            return chr(ord(match[5].upper()) & 0x1F)
        return _ANSI_LETTERS.get(match[6], match[6])

    # Bash ends the string at a NUL.
    return _ANSI.sub(character, source).partition("\0")[0]
