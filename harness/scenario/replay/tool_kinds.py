"""The data table that says what foreign tools do: read, edit, shell or other."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

from harness.pipeline.tool import ToolKind


def foreign_kind(name: str) -> ToolKind:
    """The kind of a tool of this name in some other agent; OTHER where the table does not know it."""
    return _table().get(name.lower().rpartition(".")[2], ToolKind.OTHER)


@cache
def _table() -> dict[str, ToolKind]:
    text = files(__package__).joinpath("tool_kinds.toml").read_text("utf-8")
    return {name: ToolKind(kind) for kind, names in tomllib.loads(text).items() for name in names}
