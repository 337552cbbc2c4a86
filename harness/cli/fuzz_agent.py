"""``harness fuzz --agent``: an agent on the wire."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from harness.cli.output import end_with

if TYPE_CHECKING:
    from harness.fuzz.wire import WireSpec


def fuzz_agent(
    name: str, program: str | None, spec: WireSpec, folder: Path, out: Path, *, json: bool, quiet: bool
) -> NoReturn:
    """Fuzz the agent, save findings as they are found, report, and exit by the verdict."""
    from rich.console import Console  # noqa: PLC0415

    from harness.fuzz.wire import WireAgent, WireFinding, save_wire  # noqa: PLC0415
    from harness.fuzz.wire import fuzz_agent as run_fuzz  # noqa: PLC0415
    from harness.report.fuzz_wire import WireResult, print_wire, write_wire  # noqa: PLC0415

    # The stream itself: what an agent that is a Python function prints is caught in its place.
    console = Console(file=sys.stderr)
    saved: list[Path] = []
    wanted = "" if spec.examples is None else f" of {spec.examples}"

    def keep(finding: WireFinding) -> None:
        saved.append(save_wire(finding, name, spec.rules, folder))

    with console.status(f"fuzzing {name}") as status:
        report = run_fuzz(
            WireAgent(name, program),
            spec,
            keep=keep,
            on_progress=lambda played, causes: status.update(
                f"fuzzing {name}: {played}{wanted} examples, {causes} causes"
            ),
        )
    result = WireResult(name, spec.seed, report, saved)
    path = write_wire(result, out / "fuzz")
    print_wire(result, console, quiet=quiet)
    end_with(result.document() if json else None, path, console, result.verdict)
