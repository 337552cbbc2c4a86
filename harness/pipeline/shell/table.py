"""The shipped table of commands and what is decided about each: what the rules are held to (docs/shell.md)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from harness.pipeline.decision import Decision

TABLE = Path(__file__).with_name("table.tsv")
"""Tab-separated, with a heading; the command is a JSON string, so that line breaks and tabs stay in one cell."""


@dataclass(frozen=True, slots=True)
class TableEntry:
    """A command, its decision, the group it illustrates and words that the ruling's reason holds."""

    decision: Decision
    group: str
    command: str
    reason: str


@lru_cache(maxsize=1)
def shipped_table() -> tuple[TableEntry, ...]:
    """The entries in the table's order. Raises ValueError, with the line, for a row that is not one."""
    entries = []
    for number, line in enumerate(TABLE.read_text("utf-8").splitlines()[1:], start=2):
        try:
            decision, group, command, reason = line.split("\t")
            entries.append(TableEntry(Decision(decision), group, json.loads(command), reason))
        except ValueError as error:
            raise ValueError(f"{TABLE.name}, line {number}: {error}") from error
    return tuple(entries)
