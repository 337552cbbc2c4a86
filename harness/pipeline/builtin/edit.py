"""Edit: replace a text in a file, and leave every other byte as it is."""

from __future__ import annotations

from collections.abc import Sequence

from harness.pipeline.builtin.base import Arguments, echo
from harness.pipeline.builtin.changing import ChangingTool
from harness.pipeline.builtin.diffs import short_diff
from harness.pipeline.builtin.hunks import Applied, Hunk
from harness.pipeline.file_versions import EXPECTED_MTIME, EXPECTED_SIZE, FileVersions
from harness.pipeline.result import ToolResult
from harness.pipeline.tool import ToolParameter
from harness.pipeline.workspace import Workspace

DIFF_CHARACTERS = 2_000


class EditTool(ChangingTool):
    r"""Replaces one place, or all of them, where a text stands exactly, line ends aside (bug reports E06, E15).

    Works on bytes: BOM, line ends, invalid UTF-8, the file's mode and a link to it stay. Where the file is not as it
    was expected (``expected_mtime_ms``, ``expected_size_bytes``, or the ``expected_digest`` that the pipeline adds),
    the answer is CONFLICT and nothing is written. ``data``: ``path``, ``replacements``, ``first_line`` (from 1, of the
    first replacement); ``text`` ends in a diff of at most DIFF_CHARACTERS; ``stats``: the version that was written,
    which the lock then knows (E03).
    """

    def __init__(self, workspace: Workspace, versions: FileVersions) -> None:
        super().__init__(
            workspace,
            versions,
            "Edit",
            "Replace a text in an existing file. old_string has to match exactly and, unless replace_all, only once.",
        )

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
        hunk = Hunk.of(arguments)
        done: list[Applied] = []

        def changed(content: bytes, name: str) -> bytes:
            done.append(hunk.applied(content, name))
            return done[-1].content

        change = self.change(arguments, changed)
        places, line = done[-1].places, done[-1].first_line
        where = f"{places} places, the first in line {line}" if places > 1 else f"line {line}"
        diff = short_diff(change.before, change.after, max_characters=DIFF_CHARACTERS)
        return ToolResult.success(
            f"Edited {echo(change.path)} in {where}.\n{diff}",
            {"path": change.path, "replacements": places, "first_line": line},
            **change.version.stats(),
        )
