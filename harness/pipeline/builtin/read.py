"""Read: a window of lines of one file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from harness.pipeline.builtin.base import Arguments, BuiltinTool, CallError, echo
from harness.pipeline.builtin.lines import BOM, count_lines, lines_from, looks_binary, split_end, visible
from harness.pipeline.result import ErrorCode, ToolResult, ToolStatus
from harness.pipeline.tool import ToolKind, ToolParameter
from harness.pipeline.workspace import Workspace

DEFAULT_LINES = 2_000
LINE_CHARACTERS = 2_000
"""A longer line is cut there; ``char_offset`` reads the rest of it (bug report F06)."""

PAGE_BYTES = 45 * 1024
"""Content of one call, counted as JSON text, so that the whole result stays under 51,200 bytes."""

_NAMED_LINES = 3


@dataclass
class _Page:
    """What one call shows, grown line by line."""

    start: int
    parts: list[str] = field(default_factory=list)
    room: int = PAGE_BYTES
    lines: int = 0
    cut_lines: list[int] = field(default_factory=list)
    next_char: int | None = None
    replaced: bool = False

    @property
    def next_line(self) -> int:
        return self.start + self.lines

    def add(self, line: bytes) -> bool:
        """Add a whole line, cut at LINE_CHARACTERS; false where there is no room for it."""
        body, end = split_end(line)
        text = self._decode(body)
        shown = text
        if len(text) > LINE_CHARACTERS:
            shown = f"{text[:LINE_CHARACTERS]}… [{len(text) - LINE_CHARACTERS} more characters]"
        shown += end.decode()
        cost = _json_bytes(shown)
        if cost > self.room:
            return False
        if len(text) > LINE_CHARACTERS:
            self.cut_lines.append(self.next_line)
        self.room -= cost
        self.parts.append(shown)
        self.lines += 1
        return True

    def add_rest(self, line: bytes, skip: int) -> bool:
        """Add a line from character ``skip`` on, as much as there is room for; false where some of it is left over."""
        body, end = split_end(line)
        text = self._decode(body)
        if skip > len(text):
            reason = f"char_offset {skip} is past the end of line {self.start}, which has {len(text)} characters"
            raise CallError(ErrorCode.INVALID_PARAM, reason)
        rest = text[skip:]
        shown = rest[: self.room]
        while (cost := _json_bytes(shown + end.decode())) > self.room:
            shown = shown[: min(len(shown) - 1, len(shown) * self.room // cost)]
        self.lines = 1
        if len(shown) < len(rest):
            self.parts.append(shown)
            self.next_char = skip + len(shown)
            return False
        self.parts.append(shown + end.decode())
        self.room -= cost
        return True

    def _decode(self, body: bytes) -> str:
        try:
            return visible(body.decode("utf-8"))
        except UnicodeDecodeError:
            self.replaced = True
            return visible(body.decode("utf-8", "replace"))


class ReadTool(BuiltinTool):
    """Shows lines of a file as they are: line ends kept, BOM left out, NUL as a picture, invalid UTF-8 as U+FFFD.

    ``data``: ``content``, ``path`` (relative to the workspace), ``start_line`` (from 1), ``total_lines``; ``stats``:
    the version that was read. PARTIAL where lines after the window or the rest of a long line are left out.
    """

    kind = ToolKind.READ
    path_parameter = "path"

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace, "Read", "Read a text file of the workspace. Read a file before you edit it.")

    def get_parameters(self) -> Sequence[ToolParameter]:
        """Path, first line, number of lines, and a place inside the first line."""
        return (
            ToolParameter("path", "string", "File, relative to the workspace."),
            ToolParameter("offset", "integer", "First line, from 1.", required=False, extra={"minimum": 1}),
            ToolParameter(
                "limit", "integer", f"Lines at most; {DEFAULT_LINES} by default.", required=False, extra={"minimum": 1}
            ),
            ToolParameter(
                "char_offset",
                "integer",
                "Characters of the first line to skip, for very long lines.",
                required=False,
                extra={"minimum": 0},
            ),
        )

    def perform(self, arguments: Arguments) -> ToolResult:
        """Read the window that the arguments ask for."""
        path = self.locate(arguments.text("path"))
        offset = arguments.integer("offset", 1, minimum=1)
        limit = arguments.integer("limit", DEFAULT_LINES, minimum=1)
        skip = arguments.optional_integer("char_offset", minimum=0)
        content, version = self.read_file(path)
        name = self.workspace.relative(path)
        if looks_binary(content):
            text = f"{echo(name)} is a binary file of {len(content)} bytes; use Bash to look into it"
            raise CallError(ErrorCode.EXECUTION_ERROR, text)
        shown = content.removeprefix(BOM)
        total = count_lines(shown)
        if offset > max(1, total):
            text = f"offset {offset} is past the end of {echo(name)}, which has {total} lines"
            raise CallError(ErrorCode.INVALID_PARAM, text)
        page = _page(islice(lines_from(shown, offset), min(limit, total)), offset, skip)
        left_out = page.next_line <= total or page.next_char is not None or bool(page.cut_lines)
        return ToolResult(
            ToolStatus.PARTIAL if left_out else ToolStatus.SUCCESS,
            " ".join(_remarks(page, echo(name), total, has_nul=b"\0" in content)),
            {"content": "".join(page.parts), "path": name, "start_line": offset, "total_lines": total},
            stats=version.stats(),
        )


def _page(window: Iterator[bytes], offset: int, skip: int | None) -> _Page:
    page = _Page(offset)
    if skip is not None and not page.add_rest(next(window, b""), skip):
        return page
    for line in window:
        if not page.add(line):
            break
    return page


def _remarks(page: _Page, name: str, total: int, *, has_nul: bool) -> list[str]:
    if total == 0:
        return [f"{name} is empty."]
    remarks = [f"{name}: lines {page.start}-{page.next_line - 1} of {total}."]
    if page.next_char is not None:
        remarks.append(f"Line {page.start} is longer: go on with offset={page.start} and char_offset={page.next_char}.")
    elif page.next_line <= total:
        remarks.append(f"More lines follow: go on with offset={page.next_line}; the same call shows the same lines.")
    if page.cut_lines:
        named = ", ".join(map(str, page.cut_lines[:_NAMED_LINES]))
        more = f" and {len(page.cut_lines) - _NAMED_LINES} more" if len(page.cut_lines) > _NAMED_LINES else ""
        remarks.append(
            f"Cut at {LINE_CHARACTERS} characters: line {named}{more}. "
            f"Read the rest with offset={page.cut_lines[0]} and char_offset={LINE_CHARACTERS}."
        )
    if page.replaced:
        remarks.append("Bytes that are not UTF-8 are shown as U+FFFD.")
    if has_nul:
        remarks.append("NUL is shown as U+2400.")
    return remarks


def _json_bytes(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False).encode()) - 2
