"""ListFiles: every file of the workspace. It takes no parameters, a case of its own on the wire (seed 002)."""

from __future__ import annotations

from collections.abc import Sequence

from harness.pipeline.builtin.base import Arguments, BuiltinTool, counted
from harness.pipeline.builtin.walk import first_paths, walk_files
from harness.pipeline.result import ToolResult
from harness.pipeline.tool import ToolKind, ToolParameter
from harness.pipeline.workspace import Workspace

MAX_FILES = 500


class ListFilesTool(BuiltinTool):
    """``data``: ``files`` (relative paths in the order of their text, at most MAX_FILES) and ``total``."""

    kind = ToolKind.READ

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace, "ListFiles", "List the files of the workspace.")

    def get_parameters(self) -> Sequence[ToolParameter]:
        """None at all."""
        return ()

    def perform(self, arguments: Arguments) -> ToolResult:  # noqa: ARG002 - there are none
        """List them."""
        listing = first_paths(walk_files(self.workspace, self.workspace.root), MAX_FILES)
        data = {"files": listing.paths, "total": listing.total}
        if listing.complete:
            return ToolResult.success(counted(listing.total, "file", "files"), data, files=listing.total)
        text = (
            f"The first {len(listing.paths)} of {listing.total_in_words} files; "
            "the same call shows the same ones. Use Glob for a part of the workspace."
        )
        return ToolResult.partial(text, data, files=listing.total)
