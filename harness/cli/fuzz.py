"""``harness fuzz``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from harness.cli.options import DEFAULT_OUT, Json, Out, Quiet, Seed, Workers
from harness.cli.output import end_with
from harness.errors import InputError

if TYPE_CHECKING:
    from harness.fuzz.fuzzer import FuzzSpec
    from harness.fuzz.wire import WireSpec


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
        typer.Option(
            help="An agent fuzzed over the wire, 20 examples: a preset, a file NAME.toml, or module:function.",
            metavar="AGENT",
        ),
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
        float | None,
        typer.Option(
            help="An example that takes more seconds has not ended; 5, with --agent 60.", metavar="SECONDS", min=0.01
        ),
    ] = None,
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
    asked = _Asked(seed, examples, time, tuple(oracle or ()), tuple(without or ()), texts=texts, hang=hang)
    if agent is not None:
        from harness.cli.fuzz_agent import fuzz_agent  # noqa: PLC0415

        fuzz_agent(agent, agent_bin, asked.for_agent(workers), save, out, json=json, quiet=quiet)
    if target is not None:
        _fuzz_target(target, asked.for_target(), workers, save, out, json=json, quiet=quiet)


def _fuzz_target(
    target: str, spec: FuzzSpec, workers: int, folder: Path, out: Path, *, json: bool, quiet: bool
) -> NoReturn:
    from rich.console import Console  # noqa: PLC0415

    from harness.fuzz.findings import save as save_findings  # noqa: PLC0415
    from harness.fuzz.parallel import fuzz as run_fuzz  # noqa: PLC0415
    from harness.fuzz.parallel import load_target  # noqa: PLC0415
    from harness.fuzz.targets import TargetName  # noqa: PLC0415
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
    end_with(result.document() if json else None, path, console, result.verdict)


@dataclass(frozen=True)
class _Asked:
    """What the options say; each kind of target has defaults of its own."""

    seed: int
    examples: int | None
    seconds: float | None
    own: tuple[str, ...]
    without: tuple[str, ...]
    texts: bool
    hang: float | None

    def for_target(self) -> FuzzSpec:
        from harness.fuzz.fuzzer import DEFAULT_EXAMPLES, HANG_S, FuzzSpec  # noqa: PLC0415
        from harness.fuzz.oracles import ORACLES  # noqa: PLC0415

        self._demand_known(ORACLES)
        return FuzzSpec(
            seed=self.seed,
            examples=self._examples(DEFAULT_EXAMPLES),
            seconds=self.seconds,
            oracles=tuple(name for name in ORACLES if name not in self.without),
            own=self.own,
            texts=self.texts,
            hang_s=self.hang or HANG_S,
        )

    def for_agent(self, workers: int) -> WireSpec:
        from harness.fuzz.wire import DEFAULT_EXAMPLES, TIMEOUT_S, WIRE_ORACLES, WireSpec  # noqa: PLC0415

        self._demand_known(WIRE_ORACLES)
        return WireSpec(
            seed=self.seed,
            examples=self._examples(DEFAULT_EXAMPLES),
            seconds=self.seconds,
            own=self.own,
            without=self.without,
            texts=self.texts,
            timeout_s=self.hang or TIMEOUT_S,
            workers=workers,
        )

    def _examples(self, default: int) -> int | None:
        return default if self.examples is None and self.seconds is None else self.examples

    def _demand_known(self, oracles: Sequence[str]) -> None:
        unknown = [name for name in self.without if name not in oracles]
        if unknown:
            known = f"there are {', '.join(oracles)}"
            raise InputError(f"there is no oracle {unknown[0]!r}", where="--without", hint=known)
