"""What commands print for scripts, one JSON document, and how they end."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from harness.judge.verdict import Verdict


def print_json(document: dict[str, object]) -> None:
    """One JSON document on stdout."""
    import orjson  # noqa: PLC0415

    from harness.wire.half_pairs import dumps  # noqa: PLC0415

    try:
        text = dumps(document, option=orjson.OPT_INDENT_2)
    except TypeError:  # arguments may hold integers of more than the 64 bits that orjson writes
        text = json.dumps(document, ensure_ascii=False, indent=2).encode("utf-8", "backslashreplace")
    sys.stdout.buffer.write(text + b"\n")
    sys.stdout.flush()


def end_with(document: dict[str, object] | None, report: Path | str, console: Console, verdict: Verdict) -> NoReturn:
    """Say where the report is, print the document if there is one, and exit by the verdict."""
    from harness.judge.verdict import exit_code  # noqa: PLC0415

    console.print(f"report: {report}", markup=False, highlight=False, soft_wrap=True)
    if document is not None:
        print_json(document)
    raise typer.Exit(exit_code(verdict))
