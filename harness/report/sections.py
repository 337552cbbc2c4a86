"""Tables of texts with notes below them, drawn for a terminal and as Markdown."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from urllib.parse import quote

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.report.counts import counted
from harness.report.markdown import inline
from harness.report.printing import print_line
from harness.report.text import one_line


@dataclass(slots=True)
class Section:
    """A table with what is to be said below it.

    ``left`` is how many columns hold text, the others hold numbers, which a terminal never breaks but in those
    ``wrapped``. ``links`` are files by row and column, which Markdown links; relative to the file that is written.
    """

    title: str
    columns: tuple[str, ...] = ()
    rows: list[tuple[str, ...]] = field(default_factory=list)
    left: int = 1
    notes: list[str] = field(default_factory=list)
    wrapped: tuple[str, ...] = ()
    links: dict[tuple[int, int], str] = field(default_factory=dict)

    def first(self, limit: int) -> Section:
        """The section with its first rows only, and a note that says how many are missing."""
        if len(self.rows) <= limit:
            return self
        note = f"… {counted(len(self.rows) - limit, 'more row')}"
        return replace(self, rows=self.rows[:limit], notes=[note, *self.notes])


def section_markdown(section: Section) -> list[str]:
    """The parts of a section in GitHub-flavoured Markdown: its heading, table and notes."""
    parts = [f"## {inline(section.title)}"]
    if section.rows:
        rule = "|".join("---" if column < section.left else "--:" for column in range(len(section.columns)))
        lines = [f"| {' | '.join(section.columns)} |", f"|{rule}|"]
        lines += [
            f"| {' | '.join(_cell(section, number, column, text) for column, text in enumerate(row))} |"
            for number, row in enumerate(section.rows)
        ]
        parts.append("\n".join(lines))
    if section.notes:
        parts.append("\n".join(f"- {inline(note, 500)}" for note in section.notes))
    return parts


def _cell(section: Section, row: int, column: int, text: str) -> str:
    target = section.links.get((row, column))
    # A target in angle brackets may hold anything that is percent-encoded.
    return inline(text) if target is None else f"[{inline(text)}](<{quote(target)}>)"


def print_section(section: Section, console: Console) -> None:
    """Print a section and an empty line; where ``console`` is no terminal every row is one line, to be cut."""
    print_line(console, Text(one_line(section.title), "bold"))
    rows = [tuple(one_line(cell) for cell in row) for row in section.rows]
    if console.is_terminal:
        console.print(_table(section, rows))
    else:
        _print_lines(section, rows, console)
    for note in section.notes:
        print_line(console, Text(f"  {one_line(note, 500)}"))
    print_line(console, Text(""))


def _table(section: Section, rows: list[tuple[str, ...]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for number, column in enumerate(section.columns):
        if number < section.left:
            table.add_column(column, overflow="fold")
        else:
            table.add_column(column, justify="right", no_wrap=column not in section.wrapped)
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
        print_line(console, Text("  ".join(cells).rstrip()))
