"""What a script can say without knowing any agent's tools."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReadFile:
    """Read a file. ``path`` is relative to the agent's folder, or absolute."""

    path: str

    def __str__(self) -> str:
        return f"read {self.path}"


@dataclass(frozen=True, slots=True)
class EditFile:
    """Replace ``old`` by ``new`` in a file: the one place where it stands, or every place."""

    path: str
    old: str
    new: str
    everywhere: bool = False

    def __post_init__(self) -> None:
        if not self.old:
            raise ValueError("an edit replaces a text that is not empty")
        if self.old == self.new:
            raise ValueError("an edit replaces a text by another one")

    def __str__(self) -> str:
        return f"edit {self.path}"


@dataclass(frozen=True, slots=True)
class RunCommand:
    """Run a shell command."""

    command: str

    def __str__(self) -> str:
        return f"bash {self.command}"


@dataclass(frozen=True, slots=True)
class RawCall:
    """A call of a named tool, as a script of one agent has it. ``arguments`` is the raw text, None leaves it out."""

    tool: str | None
    arguments: str | None
    id: str | None

    def __str__(self) -> str:
        return f"call {self.tool}"


Action = ReadFile | EditFile | RunCommand | RawCall
