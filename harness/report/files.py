"""Reports as files in a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.files import write_atomically, write_text_atomically
from harness.judge.verdict import Case
from harness.report.junit import junit_xml
from harness.report.markdown import summary


def write_reports(cases: Sequence[Case], folder: Path, title: str) -> dict[str, Path]:
    """Write ``junit.xml`` and ``summary.md`` into ``folder``, made where it is missing; returns name to path.

    A reader sees an old report or a new one, never half of it. ``title`` heads the summary and names the test suite.
    Raises OSError where the folder cannot be written.
    """
    junit, markdown = folder / "junit.xml", folder / "summary.md"
    write_atomically(junit, junit_xml(cases, title))
    write_text_atomically(markdown, summary(cases, title))
    return {path.name: path for path in (junit, markdown)}
