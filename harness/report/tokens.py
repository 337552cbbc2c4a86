"""The report of ``harness tokens``: for a terminal, as Markdown, and as files."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path, PurePath

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.errors import InputError
from harness.files import write_text_atomically
from harness.judge.tokens import Measured
from harness.report.markdown import inline
from harness.report.text import one_line
from harness.report.tokens_picture import task_svg
from harness.report.tokens_tables import (
    Section,
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
            _print_section(section.first(_TERMINAL_ROWS), console)
        for line in remarks(measured):
            _print(console, Text(one_line(line, 500)))
    _print(console, Text(headline(measured), "bold"))


def tokens_markdown(measured: Measured) -> str:
    """The summary as GitHub-flavoured Markdown; pictures are linked as ``task-N.svg``. Ends with a newline."""
    parts = ["# harness tokens", f"**{inline(headline(measured))}**"]
    notes = remarks(measured)
    if notes:
        parts.append("\n".join(f"- {inline(one_line(line, 500))}" for line in notes))
    for section in _sections(measured, 0):
        parts += _markdown(section.first(_MARKDOWN_ROWS))
    for number, task in enumerate(measured.tasks[:_MARKDOWN_TASKS], 1):
        section = steps_section(number, task)
        title, *rest = _markdown(section.first(_MARKDOWN_STEPS))
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
        _demand_pyarrow()
    from harness.report.tokens_frames import steps_frame, tools_frame  # noqa: PLC0415  pandas takes a moment

    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("task-*.svg"):
        old.unlink()
    for number, task in enumerate(measured.tasks, 1):
        # The end of a path says more than its beginning, and a picture has room for one line.
        file = "/".join(PurePath(task.task.file).parts[-2:])[-46:]
        title = f"Task {number}: {file} ({task.steps[-1].step.model or 'no model named'})"
        write_text_atomically(folder / f"task-{number}.svg", task_svg(task, title))
    for name, frame in (("steps", steps_frame(measured)), ("tools", tools_frame(measured))):
        write_text_atomically(folder / f"{name}.csv", frame.to_csv(index=False, lineterminator="\n"))
        if parquet:
            frame.to_parquet(folder / f"{name}.parquet", index=False)
    summary = folder / "summary.md"
    write_text_atomically(summary, tokens_markdown(measured))
    return summary


def steps_csv(measured: Measured) -> str:
    """The steps as CSV."""
    from harness.report.tokens_frames import steps_frame  # noqa: PLC0415

    text: str = steps_frame(measured).to_csv(index=False, lineterminator="\n")
    return text


def _demand_pyarrow() -> None:
    if find_spec("pyarrow") is None:
        raise InputError("needs pyarrow", where="--parquet", hint="pip install 'harness[parquet]'")


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


def _markdown(section: Section) -> list[str]:
    parts = [f"## {inline(section.title)}"]
    if section.rows:
        rule = "|".join("---" if column < section.left else "--:" for column in range(len(section.columns)))
        lines = [f"| {' | '.join(section.columns)} |", f"|{rule}|"]
        lines += [f"| {' | '.join(map(inline, row))} |" for row in section.rows]
        parts.append("\n".join(lines))
    if section.notes:
        parts.append("\n".join(f"- {inline(one_line(note, 500))}" for note in section.notes))
    return parts


def _print_section(section: Section, console: Console) -> None:
    _print(console, Text(one_line(section.title), "bold"))
    rows = [tuple(one_line(cell) for cell in row) for row in section.rows]
    if console.is_terminal:
        console.print(_table(section, rows))
    else:
        _print_lines(section, rows, console)
    for note in section.notes:
        _print(console, Text(f"  {one_line(note, 500)}"))
    _print(console, Text(""))


def _table(section: Section, rows: list[tuple[str, ...]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for number, column in enumerate(section.columns):
        if number < section.left:
            table.add_column(column, overflow="fold")
        else:
            table.add_column(column, justify="right", no_wrap=column != "prefix")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


def _print_lines(section: Section, rows: list[tuple[str, ...]], console: Console) -> None:
    widths = [min(max(map(cell_len, cells)), 60) for cells in zip(section.columns, *rows, strict=True)]
    for row in (section.columns, *rows):
        cells = []
        for number, (cell, width) in enumerate(zip(row, widths, strict=True)):
            space = " " * (width - cell_len(cell))
            cells.append(cell + space if number < section.left else space + cell)
        _print(console, Text("  ".join(cells).rstrip()))


def _print(console: Console, text: Text) -> None:
    try:
        text.plain.encode(console.encoding)
    except UnicodeEncodeError:
        text = Text(text.plain.encode(console.encoding, "backslashreplace").decode(console.encoding))
    console.print(text, soft_wrap=True)
