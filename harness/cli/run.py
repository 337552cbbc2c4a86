"""``harness run``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.options import DEFAULT_OUT, DEFAULT_PATHS, ApiKeyEnv, Json, Out, Quiet, model_url
from harness.cli.output import judge_items
from harness.errors import InputError

if TYPE_CHECKING:
    from harness.judge.suite import Judged


def run(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Scenarios, cassettes or folders; scenarios/ and cassettes/ by default.", metavar="[PATHS]"
        ),
    ] = None,
    *,
    allow_drift: Annotated[
        str,
        typer.Option(
            help="Classes in which requests may differ from a cassette: model,system,tools,parameters,history."
        ),
    ] = "",
    on_miss: Annotated[
        str, typer.Option(help="Who answers after a miss: nobody, the scenario's script, or a live model.")
    ] = "stop",
    fault: Annotated[
        list[str] | None,
        typer.Option(
            help="What goes wrong in every scenario, such as cut:event=3 or status=429,times=2; can be given again.",
            metavar="SPEC",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Chooses where a fault leaves something open.")] = 0,
    endpoint: Annotated[
        list[str] | None, typer.Option(help="Where a model answers, for --on-miss live.", metavar="MODEL=URL")
    ] = None,
    api_key_env: ApiKeyEnv = "OPENAI_API_KEY",
    out: Out = DEFAULT_OUT,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run scenarios through the pipeline and replay cassettes; write JUnit and Markdown reports."""
    from harness.judge.suite import collect  # noqa: PLC0415
    from harness.scenario.policy import ReplayPolicy  # noqa: PLC0415
    from harness.wire.faults import parse_faults  # noqa: PLC0415

    endpoints = dict(model_url(entry) for entry in endpoint or ())
    policy = ReplayPolicy.parse(allow_drift, on_miss, endpoints, os.environ.get(api_key_env, "none"))
    policy = replace(policy, faults=parse_faults(fault or ()), seed=seed)
    given = paths or [Path(name) for name in DEFAULT_PATHS if Path(name).is_dir()]
    items = collect(given)
    if policy.faults:
        items = [item for item in items if item.kind == "scenario" or item.named]
        if replayed := next((item for item in items if item.kind != "scenario"), None):
            raise InputError(
                "a cassette is replayed as it is", where=f"{replayed.path}: --fault", hint="name scenarios"
            )
    judge_items(items, out, _cases_document, policy, json=json, quiet=quiet, title="harness run")


def _cases_document(judged: Sequence[Judged], verdict: str) -> dict[str, object]:
    return {"cases": [entry.case.document() for entry in judged], "verdict": verdict}
