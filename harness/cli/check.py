"""``harness check``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.options import DEFAULT_PATHS, Json, Quiet, Secrets
from harness.cli.output import print_json


def check(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Cassettes, scenarios or folders; scenarios/ and cassettes/ by default.", metavar="[PATHS]"
        ),
    ] = None,
    *,
    secret: Secrets = None,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the scenario format as a JSON Schema, and check nothing.")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Look for secrets, broken streams, wrong headers and faulty tool schemas in recordings; exit code 1 for errors."""
    if schema:
        from harness.scenario.schema import scenario_schema  # noqa: PLC0415

        print_json(scenario_schema())
        return
    from rich.console import Console  # noqa: PLC0415

    from harness.judge.lint import check_paths  # noqa: PLC0415
    from harness.judge.verdict import exit_code  # noqa: PLC0415
    from harness.report.findings import print_findings  # noqa: PLC0415

    given = paths or [Path(name) for name in DEFAULT_PATHS if Path(name).is_dir()]
    checked = check_paths(given, secret or ())
    print_findings(checked, Console(stderr=True), quiet=quiet)
    if json:
        print_json(checked.document())
    raise typer.Exit(exit_code(checked.verdict))
