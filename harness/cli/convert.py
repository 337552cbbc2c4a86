"""``harness convert``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.options import Quiet


def convert(
    source: Annotated[Path, typer.Argument(help="A cassette of any dialect.", metavar="SRC")],
    target: Annotated[
        Path, typer.Argument(help="NAME.cassette.jsonl for the own format, NAME.yaml for vcrpy.", metavar="DST")
    ],
    *,
    kind: Annotated[
        str | None, typer.Option("--from", help="What SRC is; by default its content says it.", metavar="KIND")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace DST.")] = False,
    quiet: Quiet = False,
) -> None:
    """Convert a cassette to the harness's own format or to stock vcrpy YAML, without loss."""
    from harness.cassette.convert import convert_cassette  # noqa: PLC0415

    done = convert_cassette(source, target, kind, force=force)
    count = len(done.source.exchanges)
    if not quiet:
        exchanges = "1 exchange" if count == 1 else f"{count} exchanges"
        typer.echo(f"{source} ({done.source.dialect}): {exchanges} written to {target} ({done.dialect})", err=True)
    for note in done.notes:
        typer.echo(f"note: {note}", err=True)
