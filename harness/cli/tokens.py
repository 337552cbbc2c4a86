"""``harness tokens``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from harness.cli.options import DEFAULT_OUT, DEFAULT_PATHS, Json, Out
from harness.cli.output import print_json
from harness.errors import InputError


def tokens(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            help="Cassettes, saved runs, folders, JSON files of tool definitions, or module:attribute of a registry;"
            " cassettes/ by default.",
            metavar="[PATHS]",
        ),
    ] = None,
    *,
    against: Annotated[
        str | None, typer.Option(help="What the tools were before: say what their change costs.", metavar="OTHER")
    ] = None,
    csv: Annotated[bool, typer.Option("--csv", help="Print the steps as CSV on stdout.")] = False,
    parquet: Annotated[bool, typer.Option("--parquet", help="Write Parquet files beside the CSV files.")] = False,
    out: Out = DEFAULT_OUT,
    json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only the last lines.")] = False,
) -> None:
    """Count prompt tokens step by step: system prompt, tools, history; tools sent and never called; prices."""
    from rich.console import Console  # noqa: PLC0415

    from harness.judge.tokens import measure_paths  # noqa: PLC0415
    from harness.report.tokens import print_tokens, steps_csv, write_tokens  # noqa: PLC0415

    if json and csv:
        raise InputError("--json and --csv both want stdout", hint="both are written as files too: see --out")
    measured = measure_paths(paths or [name for name in DEFAULT_PATHS[1:] if Path(name).is_dir()], against)
    report = write_tokens(measured, out / "tokens", parquet=parquet)
    console = Console(stderr=True)
    print_tokens(measured, console, quiet=quiet)
    console.print(f"report: {report}", markup=False, highlight=False, soft_wrap=True)
    if json:
        print_json(measured.document())
    if csv:
        sys.stdout.buffer.write(steps_csv(measured).encode())
        sys.stdout.flush()
    if measured.is_empty:
        raise typer.Exit(125)
