"""What commands print for scripts, and how a suite of cases is judged, reported and turned to an exit code."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from harness.judge.suite import Item, Judged
    from harness.scenario.policy import ReplayPolicy


def print_json(document: dict[str, object]) -> None:
    """One JSON document on stdout."""
    import orjson  # noqa: PLC0415

    try:
        text = orjson.dumps(document, option=orjson.OPT_INDENT_2)
    except TypeError:  # arguments may hold integers of more than the 64 bits that orjson writes
        text = json.dumps(document, ensure_ascii=False, indent=2).encode("utf-8")
    sys.stdout.buffer.write(text + b"\n")
    sys.stdout.flush()


def judge_items(
    items: Sequence[Item],
    out: Path,
    document: Callable[[Sequence[Judged], str], dict[str, object]],
    policy: ReplayPolicy | None,
    *,
    json: bool,
    quiet: bool,
    title: str,
) -> None:
    """Judge ``items``, print the cases on stderr, write the reports to ``out`` and exit with the verdict's code."""
    from rich.console import Console  # noqa: PLC0415

    from harness.judge.suite import judge_all  # noqa: PLC0415
    from harness.judge.verdict import exit_code, overall  # noqa: PLC0415
    from harness.report.files import write_reports  # noqa: PLC0415
    from harness.report.terminal import print_cases  # noqa: PLC0415

    judged = judge_all(items, out, policy)
    cases = [entry.case for entry in judged]
    verdict = overall(cases)
    reports = write_reports(cases, out, title)
    console = Console(stderr=True)
    print_cases(cases, console, quiet=quiet)
    console.print(f"report: {reports['summary.md']}", markup=False, highlight=False, soft_wrap=True)
    if json:
        print_json(document(judged, verdict))
    raise typer.Exit(exit_code(verdict))
