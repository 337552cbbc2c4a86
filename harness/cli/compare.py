"""``harness compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.options import DEFAULT_OUT, Json, Out
from harness.cli.output import print_json
from harness.errors import InputError


def compare(
    runs: Annotated[
        list[Path],
        typer.Argument(help="Folders that harness convert wrote, or single saved runs of tasks.", metavar="RUNS..."),
    ],
    *,
    judge: Annotated[
        str,
        typer.Option(
            help="Whether a trial passed: by its recorded reward, the expected calls, scenarios of the tasks' names, "
            "or a Python function that takes the run.",
            metavar="reward|calls|scenarios|MODULE:FUNCTION",
        ),
    ] = "reward",
    expect: Annotated[
        Path | None,
        typer.Option(
            help="For --judge calls the expected calls (without it the recorded ones), for scenarios the scenarios.",
            metavar="PATH",
        ),
    ] = None,
    threshold: Annotated[float, typer.Option(help="The reward from which a trial has passed.")] = 1.0,
    tasks: Annotated[
        str | None, typer.Option(help="Compare on these tasks only; * and ? stand for anything.", metavar="PATTERN")
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(help="Compare every other model with this one; without it, all pairs.", metavar="MODEL"),
    ] = None,
    gate: Annotated[
        bool,
        typer.Option(
            "--gate",
            help="Exit code 1 where a model is worse than the baseline (the first model by default), 125 where there "
            "are too few tasks to tell.",
        ),
    ] = False,
    matters: Annotated[
        float,
        typer.Option(
            help="The difference in the share of tasks solved that must not be missed: tasks that could not show it "
            "are too few.",
            min=0.0,
            max=1.0,
        ),
    ] = 0.3,
    confidence: Annotated[float, typer.Option(help="Of all intervals and tests.", min=0.5, max=0.999)] = 0.95,
    seed: Annotated[int, typer.Option(help="Chooses the draws of the bootstrap.", min=0)] = 0,
    workers: Annotated[int, typer.Option(help="Processes that read and judge; the figures are the same.", min=1)] = 1,
    parquet: Annotated[bool, typer.Option("--parquet", help="Write Parquet files beside the CSV files.")] = False,
    out: Out = DEFAULT_OUT,
    json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only the conclusions.")] = False,
) -> None:
    """Compare models on the same recorded tasks: which does them better, at what cost, and whether it is noise."""
    from rich.console import Console  # noqa: PLC0415

    from harness.judge.compare import compare as compare_trials  # noqa: PLC0415
    from harness.judge.comparison import Settings  # noqa: PLC0415
    from harness.judge.conclusion import gate as gate_verdict  # noqa: PLC0415
    from harness.judge.tasks import JudgeSpec  # noqa: PLC0415
    from harness.judge.trials import judge_trials  # noqa: PLC0415
    from harness.judge.verdict import exit_code  # noqa: PLC0415
    from harness.report.compare import print_comparison, write_comparison  # noqa: PLC0415

    if expect is not None and judge not in ("calls", "scenarios"):
        raise InputError(f"--judge {judge} takes no file", where="--expect", hint="--judge calls or --judge scenarios")
    results = judge_trials(runs, JudgeSpec(judge, expect, threshold), tasks=tasks, workers=workers)
    if gate and baseline is None and results:
        baseline = results[0].model
    comparison = compare_trials(results, Settings(baseline, seed, confidence, matters=matters))
    report = write_comparison(comparison, out / "compare", parquet=parquet)
    console = Console(stderr=True)
    print_comparison(comparison, console, quiet=quiet)
    verdict = gate_verdict(pair.conclusion for pair in comparison.pairs) if gate else None
    if verdict is not None:
        console.print(f"gate: {verdict}", markup=False, highlight=False)
    console.print(f"report: {report}", markup=False, highlight=False, soft_wrap=True)
    if json:
        print_json(comparison.document() | ({} if verdict is None else {"verdict": verdict}))
    if verdict is not None:
        raise typer.Exit(exit_code(verdict))
    if not comparison.judged:
        raise typer.Exit(125)
