"""``harness call``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from harness.cli.options import Json, Quiet
from harness.cli.output import print_json
from harness.errors import InputError


def call(
    tool: Annotated[str, typer.Argument(help="Name of the tool, as a model would send it.", metavar="TOOL")],
    arguments: Annotated[
        str, typer.Argument(help="The arguments text, as a model would send it; - reads stdin.", metavar="ARGUMENTS")
    ],
    *,
    workspace: Annotated[Path, typer.Option(help="Folder in which the tool works.", metavar="DIR")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the decisions and run nothing.")] = False,
    mode: Annotated[str, typer.Option(help="What the agent may do: normal or read_only.")] = "normal",
    ask: Annotated[str, typer.Option(help="What becomes of a call that needs a yes: deny or allow.")] = "deny",
    repair: Annotated[bool, typer.Option("--repair", help="Read arguments that are no JSON but mean one object.")] = (
        False
    ),
    coerce: Annotated[bool, typer.Option("--coerce", help="Read values of another type: '5' as 5.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Send one call of a built-in tool through all gates and show each decision; exit code 0 whatever they are."""
    from rich.console import Console  # noqa: PLC0415

    from harness.pipeline.argument_policy import ArgumentPolicy  # noqa: PLC0415
    from harness.pipeline.permissions import RuntimeMode, ask_allows, ask_denies  # noqa: PLC0415
    from harness.report.one_call import print_call  # noqa: PLC0415
    from harness.scenario.one_call import call_once  # noqa: PLC0415

    modes = {known.value: known for known in RuntimeMode}
    policies = {"deny": ask_denies, "allow": ask_allows}
    if mode not in modes:
        raise InputError(f"no mode {mode!r}; the modes are {', '.join(modes)}", where="--mode")
    if ask not in policies:
        raise InputError(f"no answer {ask!r}; the answers are {', '.join(policies)}", where="--ask")
    done = call_once(
        tool,
        _stdin() if arguments == "-" else arguments,
        workspace,
        mode=modes[mode],
        ask=policies[ask],
        policy=ArgumentPolicy(repair, coerce),
        dry_run=dry_run,
    )
    if not quiet:
        print_call(done, Console(stderr=True))
    if json:
        print_json(done.document())


def _stdin() -> str:
    """All of stdin; bytes that are no UTF-8 stay, as lone surrogates that the pipeline refuses."""
    return sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
