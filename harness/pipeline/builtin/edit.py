"""Edit: replace a text in a file, and leave every other byte as it is."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from harness.files import write_atomically
from harness.pipeline.builtin.base import Arguments, BuiltinTool, CallError, echo, encoded
from harness.pipeline.builtin.diffs import short_diff
from harness.pipeline.builtin.lines import NUL_PICTURE, line_number
from harness.pipeline.builtin.replacing import Replacement, all_matches, distinct_matches, replaced
from harness.pipeline.file_versions import EXPECTED_MTIME, EXPECTED_SIZE, FileVersion, FileVersions, version_of
from harness.pipeline.result import ErrorCode, ToolResult
from harness.pipeline.tool import ToolKind, ToolParameter
from harness.pipeline.workspace import Workspace

DIFF_CHARACTERS = 2_000

_NAMED_LINES = 10
_SHOWN_FOR_OTHERS = "\ufffd" + NUL_PICTURE


class EditTool(BuiltinTool):
    r"""Replaces one place, or all of them, where a text stands exactly, line ends aside (bug reports E06, E15).

    Works on bytes: BOM, line ends, invalid UTF-8, the file's mode and a link to it stay. Where the file is not as it
    was expected (``expected_mtime_ms``, ``expected_size_bytes``, or the ``expected_digest`` that the pipeline adds),
    the answer is CONFLICT and nothing is written. ``data``: ``path``, ``replacements``, ``first_line`` (from 1, of the
    first replacement); ``text`` ends in a diff of at most DIFF_CHARACTERS; ``stats``: the version that was written,
    which the lock then knows (E03).
    """

    kind = ToolKind.EDIT
    path_parameter = "path"

    def __init__(self, workspace: Workspace, versions: FileVersions) -> None:
        super().__init__(
            workspace,
            "Edit",
            "Replace a text in an existing file. old_string has to match exactly and, unless replace_all, only once.",
        )
        self._versions = versions

    def get_parameters(self) -> Sequence[ToolParameter]:
        """Path, old and new text, and what the file is expected to be."""
        return (
            ToolParameter("path", "string", "File, relative to the workspace."),
            ToolParameter("old_string", "string", "Text to replace, as Read shows it.", extra={"minLength": 1}),
            ToolParameter("new_string", "string", "Text to put there."),
            ToolParameter("replace_all", "boolean", "Replace every place.", required=False),
            ToolParameter(EXPECTED_MTIME, "integer", required=False),
            ToolParameter(EXPECTED_SIZE, "integer", required=False),
        )

    def perform(self, arguments: Arguments) -> ToolResult:
        """Replace what the arguments ask for."""
        path = self.locate(arguments.text("path"))
        name = echo(self.workspace.relative(path))
        old = encoded(arguments.text("old_string"), "old_string")
        new = encoded(arguments.text("new_string"), "new_string")
        every = arguments.flag("replace_all")
        if not old:
            reason = "old_string is empty; give the text to replace, with enough around it to be unique"
            raise CallError(ErrorCode.INVALID_PARAM, reason)
        if old == new:
            raise CallError(ErrorCode.INVALID_PARAM, "old_string and new_string are the same, so nothing would change")
        if self.workspace.is_hidden(path):
            raise CallError(ErrorCode.ACCESS_DENIED, f"{name} is kept by the harness: it may be read, not edited")
        with self._versions.writing(path):
            content, current = self.read_file(path)
            if (conflict := current.conflict_with(arguments.values)) is not None:
                raise CallError(ErrorCode.CONFLICT, f"{name} was not changed: {conflict}. Read it again, then edit")
            matches = _matches(content, old, name, every=every)
            result = replaced(content, matches, old, new)
            if result == content:
                raise CallError(ErrorCode.INVALID_PARAM, "the file has that text already, so nothing would change")
            written = self._write(path, name, result)
        line = line_number(content, matches[0].start)
        places = f"{len(matches)} places, the first in line {line}" if len(matches) > 1 else f"line {line}"
        return ToolResult.success(
            f"Edited {name} in {places}.\n{short_diff(content, result, max_characters=DIFF_CHARACTERS)}",
            {"path": self.workspace.relative(path), "replacements": len(matches), "first_line": line},
            **written.stats(),
        )

    def _write(self, path: Path, name: str, content: bytes) -> FileVersion:
        # Renaming a new file into place would pass over the old one's write protection.
        if not os.access(path, os.W_OK):
            raise CallError(ErrorCode.ACCESS_DENIED, f"{name} is write-protected")
        write_atomically(path, content)
        version = version_of(content, path.stat().st_mtime_ns)
        self._versions.remember(path, version)
        return version


def _matches(content: bytes, old: bytes, name: str, *, every: bool) -> list[Replacement]:
    matches = all_matches(content, old) if every else distinct_matches(content, old)
    if not matches:
        hint = "Read the file and copy the text from it, without line numbers"
        if any(character in old.decode() for character in _SHOWN_FOR_OTHERS):
            hint = "U+FFFD and U+2400 stand for bytes that cannot be shown; choose a text without them"
        raise CallError(ErrorCode.NOT_FOUND, f"old_string is not in {name}. {hint}")
    if len(matches) > 1 and not every:
        lines = [str(line_number(content, match.start)) for match in matches[:_NAMED_LINES]]
        more = ", …" if len(matches) > _NAMED_LINES else ""
        text = (
            f"old_string is in {name} {len(matches)} times, in lines {', '.join(lines)}{more}. "
            "Add lines around it to make it unique, or use replace_all"
        )
        raise CallError(ErrorCode.NOT_UNIQUE, text, {"count": len(matches)})
    return matches
