"""``harness fuzz``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from harness.cli.options import DEFAULT_OUT, Json, Out, Quiet, Seed, Workers
from harness.cli.output import print_json
from harness.errors import InputError

if TYPE_CHECKING:
    from harness.fuzz.fuzzer import FuzzSpec


_WIRE_EXAMPLES = 20


def fuzz(
    target: Annotated[
        str | None,
        typer.Argument(
            help="What is fuzzed: module:object or file.py:object (a registry, tools, an executor, a function, or a"
            " factory of one), a JSON file of tool definitions, or builtin.",
            metavar="[TARGET]",
        ),
    ] = None,
    *,
    agent: Annotated[
        str | None,
        typer.Option(help="A known agent, or a file NAME.toml, fuzzed over the wire: 20 examples.", metavar="PRESET"),
    ] = None,
    agent_bin: Annotated[
        str | None, typer.Option(help="The agent's program, where it is not found by itself.", metavar="PROGRAM")
    ] = None,
    examples: Annotated[
        int | None, typer.Option(help="Stop after so many examples; 1,000 where no time is named.", min=1)
    ] = None,
    time: Annotated[float | None, typer.Option(help="Stop after so many seconds.", metavar="SECONDS", min=0)] = None,
    seed: Seed = 0,
    workers: Workers = 1,
    texts: Annotated[bool, typer.Option("--texts", help="Fuzz the texts of arguments alone.")] = False,
    oracle: Annotated[
        list[str] | None,
        typer.Option(help="A function of yours that judges what was seen; can be given again.", metavar="MODULE:FUNC"),
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option(help="An oracle that does not count; can be given again.", metavar="NAME")
    ] = None,
    hang: Annotated[
        float, typer.Option(help="An example that takes more seconds has not ended.", metavar="SECONDS", min=0.01)
    ] = 5.0,
    save: Annotated[Path, typer.Option(help="Folder for the findings' scenarios.", metavar="DIR")] = Path(
        "scenarios/regressions"
    ),
    out: Out = DEFAULT_OUT,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Call tools with all that models send, right and wrong; each cause of a fault becomes a small scenario."""
    if (target is None) == (agent is None):
        raise InputError(
            "name what is fuzzed: a TARGET, or an agent with --agent", hint="such as: harness fuzz builtin"
        )
    if agent is not None:
        _fuzz_agent(agent, agent_bin, save, out, examples=examples or _WIRE_EXAMPLES, seed=seed, json=json)
    if target is not None:
        _fuzz_target(target, _spec(seed, examples, time, oracle or (), without or (), texts=texts, hang=hang), workers,
                     save, out, json=json, quiet=quiet)  # fmt: skip


def _fuzz_target(
    target: str, spec: FuzzSpec, workers: int, folder: Path, out: Path, *, json: bool, quiet: bool
) -> NoReturn:
    from rich.console import Console  # noqa: PLC0415

    from harness.fuzz.findings import save as save_findings  # noqa: PLC0415
    from harness.fuzz.parallel import fuzz as run_fuzz  # noqa: PLC0415
    from harness.fuzz.parallel import load_target  # noqa: PLC0415
    from harness.fuzz.targets import TargetName  # noqa: PLC0415
    from harness.judge.verdict import exit_code  # noqa: PLC0415
    from harness.report.fuzz import FuzzResult, print_fuzz, write_fuzz  # noqa: PLC0415

    console = Console(stderr=True)
    name = TargetName.parse(target)
    with console.status("fuzzing") as status:
        report = run_fuzz(
            name,
            spec,
            workers=workers,
            on_progress=lambda played, calls, found: status.update(
                f"fuzzing: {played:,} examples, {calls:,} calls, {found} causes"
            ),
        )
    saved = save_findings(report.findings, name, load_target(name), spec.seed, folder) if report.findings else []
    result = FuzzResult(target, spec.seed, report, saved)
    path = write_fuzz(result, out / "fuzz")
    print_fuzz(result, console, quiet=quiet)
    console.print(f"report: {path}", markup=False, highlight=False, soft_wrap=True)
    if json:
        print_json(result.document())
    raise typer.Exit(exit_code(result.verdict))


def _fuzz_agent(
    preset: str, program: str | None, folder: Path, out: Path, *, examples: int, seed: int, json: bool
) -> NoReturn:
    from rich.console import Console  # noqa: PLC0415

    from harness.fuzz.wire import WireAgent, fuzz_agent, save_wire  # noqa: PLC0415
    from harness.judge.verdict import exit_code  # noqa: PLC0415
    from harness.report.fuzz_wire import WireResult, print_wire, write_wire  # noqa: PLC0415

    console = Console(stderr=True)
    findings, saved, played, interrupted = [], [], 0, False

    def on_example(number: int, causes: int) -> None:
        nonlocal played
        played = number
        status.update(f"fuzzing {preset}: {number} of {examples} examples, {causes} causes")

    with console.status(f"fuzzing {preset}") as status:
        try:
            for finding in fuzz_agent(WireAgent(preset, program), examples=examples, seed=seed, on_example=on_example):
                findings.append(finding)
                saved.append(save_wire(finding, preset, folder))
        except KeyboardInterrupt:
            interrupted = True
    result = WireResult(preset, seed, played, findings, saved, interrupted)
    path = write_wire(result, out / "fuzz")
    print_wire(result, console)
    console.print(f"report: {path}", markup=False, highlight=False, soft_wrap=True)
    if json:
        print_json(result.document())
    raise typer.Exit(exit_code(result.verdict))


def _spec(
    seed: int,
    examples: int | None,
    seconds: float | None,
    own: list[str] | tuple[str, ...],
    without: list[str] | tuple[str, ...],
    *,
    texts: bool,
    hang: float,
) -> FuzzSpec:
    from harness.fuzz.fuzzer import DEFAULT_EXAMPLES, FuzzSpec  # noqa: PLC0415
    from harness.fuzz.oracles import ORACLES  # noqa: PLC0415

    for name in without:
        if name not in ORACLES:
            raise InputError(f"there is no oracle {name!r}", where="--without", hint=f"there are {', '.join(ORACLES)}")
    return FuzzSpec(
        seed=seed,
        examples=DEFAULT_EXAMPLES if examples is None and seconds is None else examples,
        seconds=seconds,
        oracles=tuple(name for name in ORACLES if name not in without),
        own=tuple(own),
        texts=texts,
        hang_s=hang,
    )
