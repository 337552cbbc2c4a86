"""Grep: lines that match a regular expression, found by ripgrep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.pipeline.builtin.base import Arguments, BuiltinTool, CallError, counted, echo
from harness.pipeline.builtin.lines import SAMPLE_BYTES, looks_binary, split_end, visible
from harness.pipeline.builtin.ripgrep import Match, RipgrepError, Search, searching
from harness.pipeline.builtin.walk import GIT_FOLDER, IGNORE_FILES, is_usable_file, unusable_ignore_file
from harness.pipeline.contained import read_contained
from harness.pipeline.result import ErrorCode, ToolResult
from harness.pipeline.tool import ToolKind, ToolParameter
from harness.pipeline.workspace import SPILL_FOLDER, Workspace

DEFAULT_RESULTS = 200
LINE_CHARACTERS = 300
TIMEOUT_S = 30.0
MAX_PATTERN_BYTES = 100_000
"""Below what one command line argument can hold."""

_BEFORE_MATCH = 80
_WITHOUT_IGNORE_FILES = ("--no-ignore-dot", "--no-ignore-vcs")
_NAMED_BINARIES = 3


@dataclass
class _Found:
    """Matches as they are shown, and what is told about the rest."""

    matches: list[dict[str, Any]] = field(default_factory=list)
    files: dict[str, bool] = field(default_factory=dict)
    """Files with a match, and whether each is binary."""
    capped: bool = False
    cut: bool = False
    unusable: str | None = None
    """An ignore file that cannot be used; then none is."""

    @property
    def binaries(self) -> list[str]:
        return [path for path, binary in self.files.items() if binary]


class GrepTool(BuiltinTool):
    """``data``: ``matches``, each with ``path``, ``line`` (from 1, as Read counts) and ``text``, in the order of paths.

    Of a line above LINE_CHARACTERS a part around the match is shown; ``char_offset`` says where it starts, for Read.
    Ignore files inside the workspace hold, others do not; ``.git``, the harness's own folder and links are left out.
    A file that is named as ``path`` is searched in any case. PARTIAL where the limit was reached.
    """

    kind = ToolKind.READ

    def __init__(self, workspace: Workspace, *, timeout_s: float = TIMEOUT_S) -> None:
        super().__init__(
            workspace, "Grep", "Search files for a regular expression, line by line. Skips what .gitignore names."
        )
        self._timeout_s = timeout_s

    def get_parameters(self) -> Sequence[ToolParameter]:
        """Pattern, where to look, and how much to show."""
        return (
            ToolParameter("pattern", "string", "Regular expression (Rust syntax)."),
            ToolParameter("path", "string", "File or folder; the workspace by default.", required=False),
            ToolParameter("glob", "string", "Only files that match, for example *.py.", required=False),
            ToolParameter("ignore_case", "boolean", required=False),
            ToolParameter(
                "max_results",
                "integer",
                f"Lines at most; {DEFAULT_RESULTS} by default.",
                required=False,
                extra={"minimum": 1},
            ),
        )

    def perform(self, arguments: Arguments) -> ToolResult:
        """Search for what the arguments ask for."""
        limit = arguments.integer("max_results", DEFAULT_RESULTS, minimum=1)
        target = self.existing(arguments.optional_text("path") or ".")
        found = _Found(unusable=unusable_ignore_file(self.workspace, target) if target.is_dir() else None)
        command = self._command(arguments, target, without_ignore_files=found.unusable is not None)
        try:
            with searching(self.workspace.root, command, timeout_s=self._timeout_s) as search:
                self._collect(search, found, limit)
        except RipgrepError as error:
            raise CallError(ErrorCode.INVALID_PARAM, f"the search cannot be done: {echo(str(error))}") from error
        return self._result(found, search, whole_workspace=target == self.workspace.root)

    def _command(self, arguments: Arguments, target: Path, *, without_ignore_files: bool) -> list[str]:
        pattern = arguments.system_text("pattern")
        command = ["--ignore-case"] if arguments.flag("ignore_case") else []
        if arguments.optional_text("glob"):
            command.append(f"--glob={arguments.system_text('glob')}")
        if len(pattern.encode()) > MAX_PATTERN_BYTES:
            raise CallError(ErrorCode.INVALID_PARAM, f"pattern has more than {MAX_PATTERN_BYTES} bytes")
        if target.is_dir():
            # The last glob wins, so a caller's glob cannot bring these back.
            self.existing_folder(self.workspace.relative(target))
            command += [f"--glob=!**/{GIT_FOLDER}", f"--glob=!/{SPILL_FOLDER}"]
            if without_ignore_files:
                command += _WITHOUT_IGNORE_FILES
            elif target != self.workspace.root:
                command += self._ignore_files()
        elif not target.is_file():
            raise CallError(ErrorCode.EXECUTION_ERROR, "path is neither a regular file nor a folder")
        return [*command, f"--regexp={pattern}", "--", self.workspace.relative(target)]

    def _ignore_files(self) -> list[str]:
        """For a search below the root: without parents' ignore files, which may lie outside, its own go by name."""
        return [f"--ignore-file={name}" for name in IGNORE_FILES if is_usable_file(self.workspace, name)]

    def _collect(self, search: Search, found: _Found, limit: int) -> None:
        for match in search.matches:
            path = match.path.removeprefix("./")
            if path not in found.files:
                found.files[path] = self._is_binary(path)
            if found.files[path]:
                continue
            if len(found.matches) == limit:
                found.capped = True
                return
            shown = _shown(match, path)
            found.cut = found.cut or "char_offset" in shown
            found.matches.append(shown)

    def _is_binary(self, path: str) -> bool:
        try:
            return looks_binary(
                read_contained(self.workspace.root, self.workspace.root / path, limit=SAMPLE_BYTES).content
            )
        except OSError:
            return False

    def _result(self, found: _Found, search: Search, *, whole_workspace: bool) -> ToolResult:
        shown_files = len({match["path"] for match in found.matches})
        data = {"matches": found.matches}
        stats = {"matches": len(found.matches), "files": shown_files}
        if search.timed_out:
            text = f"stopped after {self._timeout_s:g} s with {len(found.matches)} matches; use a narrower path or glob"
            return ToolResult.error(ErrorCode.TIMEOUT, text, data, **stats)
        if found.capped:
            text = (
                f"The first {len(found.matches)} matches, there are more; the same call shows the same ones. "
                "Use a narrower pattern, path or glob, or a higher max_results."
            )
        elif found.matches:
            text = f"{counted(len(found.matches), 'match', 'matches')} in {counted(shown_files, 'file', 'files')}."
        else:
            text = (
                "no matches"
                if not whole_workspace or found.unusable is not None
                else "no matches (what ignore files name was not searched)"
            )
        text = " ".join([text, *_remarks(found, search)])
        make = ToolResult.partial if found.capped or search.incomplete else ToolResult.success
        return make(text, data, **stats)


def _remarks(found: _Found, search: Search) -> list[str]:
    remarks = []
    if found.cut:
        remarks.append("Long lines are shown in part; Read the line with offset and char_offset for more.")
    if binaries := found.binaries:
        named = ", ".join(echo(path) for path in binaries[:_NAMED_BINARIES])
        more = f" and {len(binaries) - _NAMED_BINARIES} more" if len(binaries) > _NAMED_BINARIES else ""
        remarks.append(f"Binary files match too: {named}{more}.")
    if found.unusable is not None:
        remarks.append(f"Ignore files were not used, because {echo(found.unusable)} is no file of the project.")
    if search.incomplete:
        remarks.append("Some files or lines could not be read.")
    return remarks


def _shown(match: Match, path: str) -> dict[str, Any]:
    body, _ = split_end(match.content)
    text = visible(body.decode("utf-8", "replace"))
    shown: dict[str, Any] = {"path": path, "line": match.line, "text": text}
    if len(text) > LINE_CHARACTERS:
        column = len(body[: match.start].decode("utf-8", "replace"))
        start = max(0, min(column - _BEFORE_MATCH, len(text) - LINE_CHARACTERS))
        shown |= {"text": text[start : start + LINE_CHARACTERS], "char_offset": start}
    return shown
