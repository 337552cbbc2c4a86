"""The report of ``harness compare``: for a terminal, as Markdown, and as files."""

from __future__ import annotations

import os
from pathlib import Path

import orjson
from rich.console import Console
from rich.text import Text

from harness.files import write_atomically, write_text_atomically
from harness.judge.comparison import Comparison
from harness.judge.results import cases_of_comparison, save_results
from harness.report.compare_tables import headline, remarks, sections
from harness.report.files import write_page
from harness.report.frame_files import demand_pyarrow, write_frames
from harness.report.markdown import inline
from harness.report.printing import print_line
from harness.report.sections import print_section, section_markdown
from harness.report.text import one_line

_LINE = 600
_TERMINAL_ROWS = 25
_MARKDOWN_ROWS = 500


def print_comparison(comparison: Comparison, console: Console, *, quiet: bool = False) -> None:
    """Print the tables, remarks and conclusions; ``quiet`` leaves all but the conclusions out."""
    if not quiet:
        for section in sections(comparison):
            print_section(section.first(_TERMINAL_ROWS), console)
        for line in remarks(comparison):
            print_line(console, Text(one_line(line, _LINE)))
    for line in _conclusions(comparison):
        print_line(console, Text(one_line(line, _LINE), "bold"))


def comparison_markdown(comparison: Comparison, folder: Path) -> str:
    """The report as GitHub-flavoured Markdown, runs linked relative to ``folder``. Ends with a newline."""
    parts = ["# harness compare", "\n".join(f"- **{inline(line, _LINE)}**" for line in _conclusions(comparison))]
    notes = remarks(comparison)
    if notes:
        parts.append("\n".join(f"- {inline(line, _LINE)}" for line in notes))
    for section in sections(comparison):
        section.links = {cell: _relative(target, folder) for cell, target in section.links.items()}
        parts += section_markdown(section.first(_MARKDOWN_ROWS))
    return "\n\n".join(parts) + "\n"


def write_comparison(comparison: Comparison, folder: Path, *, parquet: bool = False) -> Path:
    """Write ``summary.md``, ``report.html``, ``comparison.json``, ``results.jsonl`` and the frames as CSV.

    Returns the summary's path.

    ``parquet`` writes the frames in that format too; raises InputError where pyarrow is not installed, and OSError
    where the folder cannot be written.
    """
    if parquet:
        demand_pyarrow()
    from harness.report.compare_frames import comparison_frames  # noqa: PLC0415  pandas takes a moment

    write_frames(comparison_frames(comparison), folder, parquet=parquet)
    document = orjson.dumps(comparison.document(), option=orjson.OPT_INDENT_2) + b"\n"
    write_atomically(folder / "comparison.json", document)
    save_results(cases_of_comparison(comparison), folder)
    write_page([folder], None, "harness compare")
    summary = folder / "summary.md"
    write_text_atomically(summary, comparison_markdown(comparison, folder))
    return summary


def _conclusions(comparison: Comparison) -> list[str]:
    return [pair.sentence for pair in comparison.pairs] or [headline(comparison)]


def _relative(target: str, folder: Path) -> str:
    return Path(os.path.relpath(target, folder)).as_posix()
