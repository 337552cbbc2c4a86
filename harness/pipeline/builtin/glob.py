"""Glob: files by pattern."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Sequence

from harness.pipeline.builtin.base import Arguments, BuiltinTool, CallError, counted, echo
from harness.pipeline.builtin.walk import first_paths, walk_files
from harness.pipeline.result import ErrorCode, ToolResult
from harness.pipeline.tool import ToolKind, ToolParameter
from harness.pipeline.workspace import Workspace

MAX_FILES = 500
MAX_ALTERNATIVES = 64
MAX_PATTERN_CHARACTERS = 1_000

_ANY_DEPTH = None
_BRACES = re.compile(r"\{([^{}]*)\}")


class GlobPattern:
    """A compiled pattern: ``*``, ``?``, ``[…]``, ``{a,b}``, and ``**`` for any number of folders.

    Names that start with a dot are matched like all others. Matching takes time linear in pattern times path,
    whatever the pattern. Raises ValueError saying what is wrong with a pattern that is empty, absolute, has ``..``, or
    is larger than the limits above.
    """

    def __init__(self, pattern: str) -> None:
        if not pattern:
            raise ValueError("the pattern is empty")
        if len(pattern) > MAX_PATTERN_CHARACTERS:
            raise ValueError(f"the pattern has more than {MAX_PATTERN_CHARACTERS} characters")
        self._alternatives = [_compiled(alternative) for alternative in _expanded(pattern)]

    def matches(self, path: str) -> bool:
        """Whether the pattern covers the whole of a relative path."""
        segments = path.split("/")
        return any(_covers(alternative, segments) for alternative in self._alternatives)


class GlobTool(BuiltinTool):
    """``data``: ``files`` (relative to the workspace, in the order of their text, at most MAX_FILES) and ``total``.

    ``.git``, the harness's own folder and links that lead out are never listed; ignore files play no part.
    """

    kind = ToolKind.READ

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(
            workspace, "Glob", "Find files whose path matches a pattern; ** stands for any number of folders."
        )

    def get_parameters(self) -> Sequence[ToolParameter]:
        """Pattern, and the folder that it starts from."""
        return (
            ToolParameter("pattern", "string", "For example **/*.py, relative to path."),
            ToolParameter("path", "string", "Folder to search; the workspace by default.", required=False),
        )

    def perform(self, arguments: Arguments) -> ToolResult:
        """Find the files that the arguments ask for."""
        pattern = arguments.text("pattern")
        try:
            compiled = GlobPattern(pattern)
        except ValueError as error:
            raise CallError(ErrorCode.INVALID_PARAM, str(error)) from error
        folder = self.existing_folder(arguments.optional_text("path"))
        base = "" if folder == self.workspace.root else f"{self.workspace.relative(folder)}/"
        found = (path for path in walk_files(self.workspace, folder) if compiled.matches(path[len(base) :]))
        listing = first_paths(found, MAX_FILES)
        data = {"files": listing.paths, "total": listing.total}
        if not listing.paths:
            hint = "" if "**" in pattern else f" Use **/{echo(pattern)} to look into subfolders too."
            return ToolResult.success(f"no files match.{hint}", data, files=0)
        if listing.complete:
            return ToolResult.success(counted(listing.total, "file", "files"), data, files=listing.total)
        text = (
            f"The first {len(listing.paths)} of {listing.total_in_words} files that match; "
            "the same call shows the same ones. Use a narrower pattern or path."
        )
        return ToolResult.partial(text, data, files=listing.total)


def _expanded(pattern: str) -> list[str]:
    """The pattern without braces, as the list of what it stands for; braces without a partner are plain characters."""
    done: list[str] = []
    pending = [pattern]
    while pending:
        current = pending.pop()
        group = _BRACES.search(current)
        if group is None:
            done.append(current)
        else:
            pending += [current[: group.start()] + choice + current[group.end() :] for choice in group[1].split(",")]
        if len(done) + len(pending) > MAX_ALTERNATIVES:
            raise ValueError(f"the braces stand for more than {MAX_ALTERNATIVES} patterns")
    return done


def _compiled(pattern: str) -> list[re.Pattern[str] | None]:
    if pattern.startswith(("/", "~")):
        raise ValueError("the pattern is absolute; write it relative to path")
    segments = [segment for segment in pattern.split("/") if segment not in {"", "."}]
    if ".." in segments:
        raise ValueError("the pattern has '..'; name the folder as path")
    if pattern.endswith("/"):
        segments.append("**")
    if segments and segments[-1] == "**":
        segments.append("*")
    return list(_segment_matchers(segments))


def _segment_matchers(segments: list[str]) -> Iterator[re.Pattern[str] | None]:
    previous = ""
    for segment in segments:
        if segment != "**":
            yield re.compile(fnmatch.translate(segment))
        elif previous != "**":
            yield _ANY_DEPTH
        previous = segment


def _covers(pattern: list[re.Pattern[str] | None], segments: list[str]) -> bool:
    """Whether the pattern covers all segments; ``reached[n]`` says that its part so far covers the first n."""
    reached = [True] + [False] * len(segments)
    for matcher in pattern:
        if matcher is _ANY_DEPTH:
            first = reached.index(True) if True in reached else len(reached)
            reached = [position >= first for position in range(len(reached))]
        else:
            reached = [False] + [
                reached[position] and matcher.match(segment) is not None for position, segment in enumerate(segments)
            ]
    return reached[-1]
