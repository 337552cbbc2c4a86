"""``harness report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.options import DEFAULT_OUT, Json
from harness.cli.output import print_json


def report(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Folders that --out made (with what harness compare wrote there), collections of runs, saved runs, or"
            " the JSON of a comparison; reports/ by default.",
            metavar="[PATHS]",
        ),
    ] = None,
    *,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The HTML file; report.html in the first folder by default.", metavar="FILE.html"),
    ] = None,
    title: Annotated[str, typer.Option(help="The heading.")] = "harness report",
    frames: Annotated[
        Path | None, typer.Option(help="Write the tables behind the report as CSV files to a folder.", metavar="DIR")
    ] = None,
    parquet: Annotated[bool, typer.Option("--parquet", help="Write Parquet files beside the CSV files.")] = False,
    json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Do not print where the report is.")] = False,
) -> None:
    """Draw saved runs and results as one HTML file that opens offline; nothing is run or judged again."""
    from harness.judge.results import without_trials  # noqa: PLC0415
    from harness.judge.verdict import overall  # noqa: PLC0415
    from harness.report.files import write_page  # noqa: PLC0415

    given = paths or [DEFAULT_OUT]
    written = write_page(given, out, title, frames=frames, parquet=parquet)
    if not quiet:
        typer.echo(f"report: {written.path}", err=True)
    if json:
        tests = without_trials(written.cases)
        verdict = overall(tests) if tests else None
        print_json({"report": str(written.path), "cases": len(written.cases), "verdict": verdict})
