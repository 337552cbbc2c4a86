"""Tools that do something to the process that runs them, and a sound one in their place."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.pipeline.result import ToolResult
from harness.pipeline.tool import Tool, ToolKind, ToolParameter

MARKS = frozenset("#@<>&")
EXIT_CODE = 3


SEEN = "HARNESS_TESTS_SEEN"
"""The variable that names the file in which runs are counted, one byte each."""


def note() -> None:
    """Count a run of what is wrong, where somebody waits for it."""
    if SEEN in os.environ:
        with Path(os.environ[SEEN]).open("a", encoding="utf-8") as file:
            file.write("x")


class Search(Tool):
    """Looks for a word."""

    kind = ToolKind.READ

    def __init__(self) -> None:
        super().__init__("search", "Search for a word.")

    def get_parameters(self) -> Sequence[ToolParameter]:
        return (ToolParameter("word", "string"),)

    def run(self, parameters: Mapping[str, Any]) -> ToolResult:
        self.look(parameters["word"])
        return ToolResult.success("found")

    def look(self, word: str) -> None:
        """Sound."""


class Backtracks(Search):
    """Its pattern goes back in twice as many ways with each character, and holds the interpreter meanwhile."""

    def look(self, word: str) -> None:
        if MARKS & set(word):
            note()
            re.fullmatch(r"(a+)+b", "a" * 40)


class Leaves(Search):
    """Ends the process for two words, one of them simple, and is wrong about words that have a mark."""

    def look(self, word: str) -> None:
        if word == "a" or "日" in word:
            os._exit(EXIT_CODE)
        if MARKS & set(word):
            raise IndexError(word)


class Lingers(Search):
    """Takes its time, and is wrong about words that have a mark."""

    def look(self, word: str) -> None:
        if MARKS & set(word):
            note()
            raise IndexError(word)
        time.sleep(0.02)


def sound() -> list[Tool]:
    return [Search()]


def backtracks() -> list[Tool]:
    return [Backtracks()]


def leaves() -> list[Tool]:
    return [Leaves()]


def lingers() -> list[Tool]:
    return [Lingers()]


def stillborn() -> list[Tool]:
    """Cannot even be made."""
    os._exit(EXIT_CODE)
