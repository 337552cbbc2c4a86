"""MultiEdit: several replacements in one file, all of them or none (bug report E16)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.pipeline.builtin.base import Arguments, CallError, counted, echo
from harness.pipeline.builtin.changing import ChangingTool
from harness.pipeline.builtin.diffs import short_diff
from harness.pipeline.builtin.edit import DIFF_CHARACTERS
from harness.pipeline.builtin.hunks import Hunk
from harness.pipeline.file_versions import EXPECTED_MTIME, EXPECTED_SIZE, FileVersions
from harness.pipeline.result import ErrorCode, ToolResult
from harness.pipeline.tool import ToolParameter
from harness.pipeline.workspace import Workspace

MAX_HUNKS = 100

_HUNK = {
    "type": "object",
    "properties": {
        "old_string": {"type": "string", "minLength": 1},
        "new_string": {"type": "string"},
        "replace_all": {"type": "boolean"},
    },
    "required": ["old_string", "new_string"],
    "additionalProperties": False,
}


class MultiEditTool(ChangingTool):
    """Makes the replacements in their order, each in what the one before it has left, with the rules of Edit.

    Where one of them cannot be made nothing is written, and the answer names every one that cannot, by its number from
    1, with the error code of the first. ``data``: ``path``, ``replacements`` (places in all); on an error ``hunks``,
    each with ``hunk``, ``code`` and ``problem``. ``text`` and ``stats`` are as Edit has them.
    """

    def __init__(self, workspace: Workspace, versions: FileVersions) -> None:
        super().__init__(
            workspace,
            versions,
            "MultiEdit",
            "Replace several texts in one existing file, in order; if one cannot be replaced, none is.",
        )

    def get_parameters(self) -> Sequence[ToolParameter]:
        """Path, the replacements, and what the file is expected to be."""
        return (
            ToolParameter("path", "string", "File, relative to the workspace."),
            ToolParameter(
                "edits",
                "array",
                "Replacements, each as in Edit.",
                extra={"items": _HUNK, "minItems": 1, "maxItems": MAX_HUNKS},
            ),
            ToolParameter(EXPECTED_MTIME, "integer", required=False),
            ToolParameter(EXPECTED_SIZE, "integer", required=False),
        )

    def perform(self, arguments: Arguments) -> ToolResult:
        """Make all replacements that the arguments ask for."""
        entries = _entries(arguments.values.get("edits"))
        places: list[int] = []

        def changed(content: bytes, name: str) -> bytes:
            problems: list[tuple[int, CallError]] = []
            for number, entry in enumerate(entries, 1):
                try:
                    applied = Hunk.of(Arguments(entry)).applied(content, name)
                except CallError as error:
                    problems.append((number, error))
                else:
                    content = applied.content
                    places.append(applied.places)
            if problems:
                raise _not_made(problems, len(entries), name)
            return content

        change = self.change(arguments, changed)
        diff = short_diff(change.before, change.after, max_characters=DIFF_CHARACTERS)
        return ToolResult.success(
            f"Made {counted(len(entries), 'replacement', 'replacements')} in {echo(change.path)}.\n{diff}",
            {"path": change.path, "replacements": sum(places)},
            **change.version.stats(),
        )


def _entries(value: object) -> list[Mapping[str, Any]]:
    entries = list(value) if isinstance(value, list | tuple) else []
    if not 1 <= len(entries) <= MAX_HUNKS or not all(isinstance(entry, Mapping) for entry in entries):
        raise CallError(ErrorCode.INVALID_PARAM, f"edits is a list of 1 to {MAX_HUNKS} objects")
    return entries


def _not_made(problems: Sequence[tuple[int, CallError]], total: int, name: str) -> CallError:
    listed = "; ".join(f"hunk {number}: {error}" for number, error in problems)
    hunks = [{"hunk": number, "code": error.code.value, "problem": str(error)} for number, error in problems]
    text = f"{name} was not changed, {len(problems)} of {total} hunks cannot be made: {listed}"
    return CallError(problems[0][1].code, text, {"hunks": hunks})
