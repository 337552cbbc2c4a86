"""A shell text as plain data: simple commands, their words, and the pieces that words are made of.

What `harness.pipeline.shell.reading` makes of a text, and `harness.pipeline.shell.values` computes with.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Text:
    """Characters of a word. ``quoted``: the shell expands no braces or patterns in them."""

    text: str
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Parameter:
    """``${name[index]operation argument}``; ``indirect`` and ``length`` are ``!`` and ``#`` before the name."""

    name: str
    quoted: bool
    index: Spelling | None = None
    operation: str = ""
    argument: Spelling = ()
    indirect: bool = False
    length: bool = False


@dataclass(frozen=True, slots=True)
class Substitution:
    """A script whose output stands here; ``process``: whose output is a file to read (or its input one to write)."""

    script: Script
    quoted: bool
    process: bool = False


Piece = Text | Parameter | Substitution
Spelling = tuple[Piece, ...]
"""One word as it is written."""


@dataclass(slots=True)
class Simple:
    """One simple command, without reserved words and redirections.

    ``joint`` is the operator before it. ``inputs`` are here-strings, here-documents and files that it reads, as text
    where ``Text`` can be known; ``mentions`` are words that run nothing themselves (redirections, patterns, tests).
    """

    joint: str = ""
    words: list[Spelling] = field(default_factory=list)
    assignments: list[tuple[str, list[Spelling]]] = field(default_factory=list)
    inputs: list[Spelling] = field(default_factory=list)
    reads: list[Spelling] = field(default_factory=list)
    mentions: list[Spelling] = field(default_factory=list)
    defines: bool = False

    @property
    def empty(self) -> bool:
        """Whether nothing of a command was read."""
        return not (self.words or self.assignments or self.inputs or self.reads or self.mentions)


Script = list[Simple]
