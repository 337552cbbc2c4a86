"""``harness record``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from harness.cli.options import DEFAULT_OUT, ApiKeyEnv, Out, Quiet, Secrets, model_url


def record(
    paths: Annotated[list[Path], typer.Argument(help="Scenarios whose player is a cassette.", metavar="SCENARIO...")],
    endpoint: Annotated[
        list[str],
        typer.Option(help="Where a model answers; only these are contacted.", metavar="MODEL=URL"),
    ],
    *,
    api_key_env: ApiKeyEnv = "OPENAI_API_KEY",
    secret: Secrets = None,
    out: Out = DEFAULT_OUT,
    quiet: Quiet = False,
) -> None:
    """Record the cassettes of scenarios from live models, in the format of their names, with the received chunks."""
    from harness.scenario.portable import portable  # noqa: PLC0415
    from harness.scenario.recording import record_cassettes  # noqa: PLC0415
    from harness.scenario.runner import ScenarioRun  # noqa: PLC0415
    from harness.trace.folder import save_run  # noqa: PLC0415

    endpoints = dict(model_url(entry) for entry in endpoint)

    def done(outcome: ScenarioRun, cassette: Path) -> None:
        save_run(
            outcome.run, out / "runs" / f"record--{outcome.scenario.name}", portable(outcome.root), outcome.scrubber
        )
        if not quiet:
            model = outcome.scenario.agent.model
            typer.echo(f"{outcome.scenario.path}: {model} recorded to {os.path.relpath(cassette)}", err=True)

    record_cassettes(paths, endpoints, os.environ.get(api_key_env, "none"), done, secret or ())
