"""``harness run``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.judging import Judging, judge_items, list_items
from harness.cli.options import (
    DEFAULT_OUT,
    DEFAULT_PATHS,
    ApiKeyEnv,
    BaselineFile,
    Bisect,
    ExcludeTags,
    Json,
    List,
    Names,
    Out,
    Quiet,
    Resume,
    Seed,
    Tags,
    TokenTolerance,
    UpdateBaseline,
    Workers,
    model_url,
)
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
    tag: Tags = None,
    exclude_tag: ExcludeTags = None,
    name: Names = None,
    list_only: List = False,
    baseline: BaselineFile = None,
    update_baseline: UpdateBaseline = False,
    token_tolerance: TokenTolerance = None,
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
    endpoint: Annotated[
        list[str] | None,
        typer.Option(help="Where a model answers, for live players and --on-miss live.", metavar="MODEL=URL"),
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option(help="A known agent, or a file NAME.toml, in the place of the scenarios' own.", metavar="PRESET"),
    ] = None,
    agent_bin: Annotated[
        str | None, typer.Option(help="The agent's program, where it is not found by itself.", metavar="PROGRAM")
    ] = None,
    api_key_env: ApiKeyEnv = "OPENAI_API_KEY",
    workers: Workers = 1,
    seed: Seed = 0,
    resume: Resume = False,
    bisect: Bisect = False,  # noqa: ARG001  read by main, which turns what has no verdict to 125
    out: Out = DEFAULT_OUT,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run scenarios through the pipeline and replay cassettes; write JUnit and Markdown reports."""
    from harness.judge.collecting import collect  # noqa: PLC0415
    from harness.judge.selection import Selection  # noqa: PLC0415
    from harness.scenario.policy import ReplayPolicy  # noqa: PLC0415
    from harness.wire.faults import parse_faults  # noqa: PLC0415

    endpoints = dict(model_url(entry) for entry in endpoint or ())
    policy = ReplayPolicy.parse(allow_drift, on_miss, endpoints, os.environ.get(api_key_env, "none"))
    policy = replace(policy, faults=parse_faults(fault or ()), seed=seed, agent=_preset(agent), agent_bin=agent_bin)
    given = paths or [Path(name) for name in DEFAULT_PATHS if Path(name).is_dir()]
    items = collect(given)
    if policy.faults or policy.agent is not None:
        option = "--fault" if policy.faults else "--agent"
        items = [item for item in items if item.kind == "scenario" or item.named]
        if replayed := next((item for item in items if item.kind != "scenario"), None):
            raise InputError(
                "a cassette is replayed as it is", where=f"{replayed.path}: {option}", hint="name scenarios"
            )
    selection = Selection(tuple(tag or ()), tuple(exclude_tag or ()), tuple(name or ()))
    if list_only:
        list_items(items, selection, json=json)
    how = Judging(
        title="harness run",
        document=_cases_document,
        out=out,
        paths=given,
        policy=policy,
        workers=workers,
        resume=resume,
        baseline=baseline,
        update_baseline=update_baseline,
        token_tolerance=token_tolerance,
        json=json,
        quiet=quiet,
    )
    judge_items(items, selection, how)


def _preset(name: str | None) -> str | None:
    """The preset as every scenario finds it; raises InputError at once where there is none."""
    if name is None:
        return None
    from harness.scenario.agents.presets.preset import load_preset  # noqa: PLC0415

    found = str(Path(name).resolve()) if name.endswith(".toml") else name
    load_preset(found)
    return found


def _cases_document(judged: Sequence[Judged], verdict: str) -> dict[str, object]:
    return {"cases": [entry.case.document() for entry in judged], "verdict": verdict}
