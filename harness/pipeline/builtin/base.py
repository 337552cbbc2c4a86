"""What the built-in tools share: arguments that may be anything, paths, and failures that become results."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.pipeline.builtin.walk import near_names
from harness.pipeline.contained import PathChangedError, read_contained
from harness.pipeline.file_versions import FileVersion, version_of
from harness.pipeline.result import ErrorCode, ToolResult
from harness.pipeline.tool import Tool
from harness.pipeline.workspace import Workspace

MAX_FILE_BYTES = 100 * 1024 * 1024
"""Read and Edit hold a file in memory; larger ones are left to Grep and Bash."""

_ECHO_CHARACTERS = 200


class CallError(Exception):
    """A call that cannot be done: why, and the code for it. `BuiltinTool.run` turns it into a result."""

    def __init__(self, code: ErrorCode, text: str, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(text)
        self.code = code
        self.data = data


class Arguments:
    """The parameters of a call, read with their types checked.

    The schema has checked them before, in the pipeline; a direct caller gets INVALID_PARAM instead of a traceback.
    null counts as absent. Every method raises CallError for a value that does not fit.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values

    def text(self, name: str) -> str:
        """A string that has to be there."""
        value = self.optional_text(name)
        if value is None:
            raise CallError(ErrorCode.INVALID_PARAM, f"{name} is missing")
        return value

    def optional_text(self, name: str) -> str | None:
        """A string, or None where there is none."""
        value = self.values.get(name)
        if value is not None and not isinstance(value, str):
            raise CallError(ErrorCode.INVALID_PARAM, f"{name} is a string, not {type(value).__name__}")
        return value

    def system_text(self, name: str) -> str:
        """A string that has to be there and that a command line can carry: no NUL, no lone surrogate."""
        value = self.text(name)
        encoded(value, name)
        if "\0" in value:
            raise CallError(ErrorCode.INVALID_PARAM, f"{name} holds a NUL character")
        return value

    def flag(self, name: str) -> bool:
        """A boolean, false where there is none."""
        value = self.values.get(name)
        if value is not None and not isinstance(value, bool):
            raise CallError(ErrorCode.INVALID_PARAM, f"{name} is true or false, not {type(value).__name__}")
        return bool(value)

    def optional_integer(self, name: str, *, minimum: int) -> int | None:
        """A whole number of at least ``minimum``, or None where there is none; 2.0 is whole, as JSON Schema has it."""
        value = self.values.get(name)
        if value is None:
            return None
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        if isinstance(value, bool) or not whole or value < minimum:
            raise CallError(ErrorCode.INVALID_PARAM, f"{name} is a whole number from {minimum} on")
        return int(value)

    def integer(self, name: str, default: int, *, minimum: int) -> int:
        """`optional_integer` with a default."""
        value = self.optional_integer(name, minimum=minimum)
        return default if value is None else value

    def seconds(self, name: str, default: float, *, maximum: float) -> float:
        """A time limit above zero and up to ``maximum``, in seconds."""
        value = self.values.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise CallError(ErrorCode.INVALID_PARAM, f"{name} is a number of seconds")
        if not 0 < value <= maximum:
            raise CallError(ErrorCode.INVALID_PARAM, f"{name} is above 0 and at most {maximum:g}")
        return float(value)


class BuiltinTool(Tool):
    """A tool of this package. Subclasses write `perform`, which may raise CallError and OSError; `run` never raises."""

    def __init__(self, workspace: Workspace, name: str, description: str) -> None:
        super().__init__(name, description)
        self.workspace = workspace

    @abstractmethod
    def perform(self, arguments: Arguments) -> ToolResult:
        """Do it, or raise CallError saying why not."""

    def run(self, parameters: Mapping[str, Any]) -> ToolResult:
        """`perform`, with every failure as a result; system errors are told without the machine's absolute paths."""
        try:
            return self.perform(Arguments(parameters))
        except CallError as error:
            return ToolResult.error(error.code, str(error), error.data)
        except PathChangedError as error:
            return ToolResult.error(ErrorCode.ACCESS_DENIED, f"{self.name} failed: the path {error.strerror}")
        except PermissionError as error:
            return ToolResult.error(ErrorCode.ACCESS_DENIED, f"{self.name} failed: {error.strerror}")
        except OSError as error:
            return ToolResult.error(ErrorCode.EXECUTION_ERROR, f"{self.name} failed: {error.strerror}")

    def locate(self, path: str) -> Path:
        """`Workspace.resolve`; raises CallError with ACCESS_DENIED for a path that leads out or is none."""
        try:
            return self.workspace.resolve(path)
        except ValueError as error:
            text = f"{echo(path)} is outside the workspace, or no possible path; use a path relative to the workspace"
            raise CallError(ErrorCode.ACCESS_DENIED, text) from error

    def existing(self, path: str) -> Path:
        """`locate` for a file or folder that is there; otherwise raises CallError with NOT_FOUND and near names."""
        resolved = self.locate(path)
        if not resolved.exists():
            raise self.not_found(resolved)
        return resolved

    def existing_folder(self, path: str | None) -> Path:
        """`existing` for a folder, the workspace itself by default; the harness's own folder is refused."""
        folder = self.existing(path or ".")
        relative = echo(self.workspace.relative(folder))
        if not folder.is_dir():
            raise CallError(ErrorCode.INVALID_PARAM, f"{relative} is a file; name a folder, or Read it")
        if self.workspace.is_hidden(folder):
            raise CallError(ErrorCode.ACCESS_DENIED, f"{relative} is not part of the project")
        return folder

    def not_found(self, resolved: Path) -> CallError:
        """The error for a file that is not there, with names that may have been meant."""
        near = near_names(self.workspace, resolved)
        hint = f"Did you mean {' or '.join(near)}?" if near else "Use Glob or ListFiles to see which files there are."
        relative = echo(self.workspace.relative(resolved))
        return CallError(ErrorCode.NOT_FOUND, f"there is no {relative}. {hint}")

    def read_file(self, resolved: Path) -> tuple[bytes, FileVersion]:
        """The bytes of a regular file, and their version.

        Raises CallError for what is missing, no regular file or above MAX_FILE_BYTES, PathChangedError where a link was
        put into the path since it was resolved, and OSError as `open` does.
        """
        if not resolved.exists():
            raise self.not_found(resolved)
        relative = echo(self.workspace.relative(resolved))
        if resolved.is_dir():
            raise CallError(
                ErrorCode.EXECUTION_ERROR, f"{relative} is a folder; use Glob or ListFiles to see its files"
            )
        if not resolved.is_file():
            raise CallError(ErrorCode.EXECUTION_ERROR, f"{relative} is neither a regular file nor a folder")
        file = read_contained(self.workspace.root, resolved, limit=MAX_FILE_BYTES + 1)
        if len(file.content) > MAX_FILE_BYTES:
            size = max(file.status.st_size, len(file.content))
            text = f"{relative} has {size} bytes, the limit is {MAX_FILE_BYTES}; use Grep, or Bash with head or sed"
            raise CallError(ErrorCode.EXECUTION_ERROR, text)
        return file.content, version_of(file.content, file.status.st_mtime_ns)


def encoded(value: str, name: str) -> bytes:
    """``value`` in UTF-8; raises CallError for lone surrogates, which no text has."""
    try:
        return value.encode("utf-8")
    except UnicodeEncodeError as error:
        text = f"{name} holds half a surrogate pair at character {error.start}, which is no text"
        raise CallError(ErrorCode.INVALID_PARAM, text) from error


def echo(value: str) -> str:
    """What the caller wrote, short enough for a message."""
    return value if len(value) <= _ECHO_CHARACTERS else value[:_ECHO_CHARACTERS] + "…"


def counted(number: int, one: str, many: str) -> str:
    """A number with its noun."""
    return f"{number} {one if number == 1 else many}"
