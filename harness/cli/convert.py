"""``harness convert``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.options import Quiet

if TYPE_CHECKING:
    from harness.trace.collection import RunEntry


def convert(
    source: Annotated[
        Path, typer.Argument(help="A cassette of any dialect; trajectories as a file or a folder.", metavar="SRC")
    ],
    target: Annotated[
        Path,
        typer.Argument(
            help="NAME.cassette.jsonl for the own format, NAME.yaml for vcrpy; a new folder for runs.", metavar="DST"
        ),
    ],
    *,
    kind: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="What SRC is; by default its content says which cassette. "
            "tau-bench, tau2-bench, swe-agent, openhands, messages or cassettes: DST gets a run for each trial.",
            metavar="KIND",
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="Name of the model, for runs whose source does not say it.", metavar="NAME")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace DST.")] = False,
    quiet: Quiet = False,
) -> None:
    """Convert a cassette to another format without loss, or trajectories and sets of cassettes to runs."""
    from harness.trace.importing import KINDS  # noqa: PLC0415

    if kind in (*KINDS, "cassettes"):
        _convert_to_runs(source, target, kind, model, force=force, quiet=quiet)
    else:
        _convert_cassette(source, target, kind, force=force, quiet=quiet)


def _convert_cassette(source: Path, target: Path, kind: str | None, *, force: bool, quiet: bool) -> None:
    from harness.cassette.convert import convert_cassette  # noqa: PLC0415

    done = convert_cassette(source, target, kind, force=force)
    count = len(done.source.exchanges)
    if not quiet:
        exchanges = "1 exchange" if count == 1 else f"{count} exchanges"
        typer.echo(f"{source} ({done.source.dialect}): {exchanges} written to {target} ({done.dialect})", err=True)
    for note in done.notes:
        typer.echo(f"note: {note}", err=True)


def _convert_to_runs(source: Path, target: Path, kind: str, model: str | None, *, force: bool, quiet: bool) -> None:
    from harness.trace.collection import save_runs  # noqa: PLC0415
    from harness.trace.importing import read_trajectories  # noqa: PLC0415

    if kind == "cassettes":
        from harness.scenario.trials import read_cassettes  # noqa: PLC0415

        runs = read_cassettes(source, model)
    else:
        runs = read_trajectories(kind, source, model)
    entries = save_runs(runs, target, force=force)
    if not quiet:
        models, tasks = {entry.trial.model for entry in entries}, {entry.trial.task for entry in entries}
        counted = ", ".join(
            f"{number} {noun}{'' if number == 1 else 's'}"
            for number, noun in ((len(entries), "run"), (len(models), "model"), (len(tasks), "task"))
        )
        typer.echo(f"{source} ({kind}): {counted} written to {target}", err=True)
    for note in _notes(entries):
        typer.echo(f"note: {note}", err=True)


def _notes(entries: Sequence[RunEntry]) -> list[str]:
    """What a comparison will have to do without."""
    broken = sum(entry.trial.infrastructure_error is not None for entry in entries)
    ungraded = sum(entry.trial.reward is None and entry.trial.infrastructure_error is None for entry in entries)
    nameless = sum(entry.trial.model == "unknown" for entry in entries)
    return [
        f"{number} of {len(entries)} runs {what}"
        for number, what in (
            (broken, "ended by a failure of the infrastructure and say nothing of the model"),
            (ungraded, "have no recorded reward"),
            (nameless, "do not say their model; --model NAME does"),
        )
        if number
    ]
