"""The report of ``harness tokens``: for a terminal, as Markdown, and as files."""

from __future__ import annotations

from pathlib import Path, PurePath

from rich.console import Console
from rich.text import Text

from harness.files import write_text_atomically
from harness.judge.tokens import Measured
from harness.report.frame_files import demand_pyarrow, write_frames
from harness.report.markdown import inline
from harness.report.printing import print_line
from harness.report.sections import Section, print_section, section_markdown
from harness.report.text import one_line
from harness.report.tokens_picture import task_svg
from harness.report.tokens_tables import (
    against_section,
    definitions_section,
    headline,
    remarks,
    repeated_section,
    steps_section,
    tasks_section,
    tools_section,
)

_TERMINAL_TASKS = 3
_TERMINAL_ROWS = 25
_MARKDOWN_TASKS = 50
_MARKDOWN_STEPS = 60
_MARKDOWN_ROWS = 500


def print_tokens(measured: Measured, console: Console, *, quiet: bool = False) -> None:
    """Print the tables (few tasks step by step, many as a row each), then remarks and the headline.

    ``quiet`` leaves all but the headline out. Where ``console`` is no terminal every row is one line, to be cut.
    """
    if not quiet:
        for section in _sections(measured, _TERMINAL_TASKS):
            print_section(section.first(_TERMINAL_ROWS), console)
        for line in remarks(measured):
            print_line(console, Text(one_line(line, 500)))
    print_line(console, Text(headline(measured), "bold"))


def tokens_markdown(measured: Measured) -> str:
    """The summary as GitHub-flavoured Markdown; pictures are linked as ``task-N.svg``. Ends with a newline."""
    parts = ["# harness tokens", f"**{inline(headline(measured))}**"]
    notes = remarks(measured)
    if notes:
        parts.append("\n".join(f"- {inline(one_line(line, 500))}" for line in notes))
    for section in _sections(measured, 0):
        parts += section_markdown(section.first(_MARKDOWN_ROWS))
    for number, task in enumerate(measured.tasks[:_MARKDOWN_TASKS], 1):
        section = steps_section(number, task)
        title, *rest = section_markdown(section.first(_MARKDOWN_STEPS))
        parts += [title, f"![prompt tokens by step](task-{number}.svg)", *rest]
    if len(measured.tasks) > _MARKDOWN_TASKS:
        parts.append(f"The steps of {len(measured.tasks) - _MARKDOWN_TASKS:,} more tasks are in `steps.csv`.")
    return "\n\n".join(parts) + "\n"


def write_tokens(measured: Measured, folder: Path, *, parquet: bool = False) -> Path:
    """Write ``summary.md``, ``steps.csv``, ``tools.csv`` and a picture for each task; returns the summary's path.

    Pictures of an earlier report are removed. ``parquet`` writes both tables in that format too; raises InputError
    where pyarrow is not installed, and OSError where the folder cannot be written.
    """
    if parquet:
        demand_pyarrow()
    from harness.report.tokens_frames import steps_frame, tools_frame  # noqa: PLC0415  pandas takes a moment

    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("task-*.svg"):
        old.unlink()
    for number, task in enumerate(measured.tasks, 1):
        # The end of a path says more than its beginning, and a picture has room for one line.
        file = "/".join(PurePath(task.task.file).parts[-2:])[-46:]
        title = f"Task {number}: {file} ({task.steps[-1].step.model or 'no model named'})"
        write_text_atomically(folder / f"task-{number}.svg", task_svg(task, title))
    write_frames({"steps": steps_frame(measured), "tools": tools_frame(measured)}, folder, parquet=parquet)
    summary = folder / "summary.md"
    write_text_atomically(summary, tokens_markdown(measured))
    return summary


def steps_csv(measured: Measured) -> str:
    """The steps as CSV."""
    from harness.report.tokens_frames import steps_frame  # noqa: PLC0415

    text: str = steps_frame(measured).to_csv(index=False, lineterminator="\n")
    return text


def _sections(measured: Measured, steps_of: int) -> list[Section]:
    found = []
    if measured.tasks and len(measured.tasks) <= steps_of:
        found += [steps_section(number, task) for number, task in enumerate(measured.tasks, 1)]
    elif measured.tasks:
        found.append(tasks_section(measured))
    if measured.definitions:
        found.append(definitions_section(measured))
    found.append(tools_section(measured))
    found.append(repeated_section(measured))
    if measured.against is not None:
        found.append(against_section(measured.against))
    return [section for section in found if section.rows]
