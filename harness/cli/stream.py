"""``harness stream``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from harness.cli.options import Json
from harness.cli.output import print_json
from harness.errors import InputError

_STDIN = "-"


def stream(
    file: Annotated[
        str | None,
        typer.Argument(
            help="A stream's body, a plain completion, or a cassette of any dialect; - is standard input.",
            metavar="FILE",
        ),
    ] = None,
    *,
    exchange: Annotated[
        int | None,
        typer.Option(
            help="Of a cassette: the exchange, counted from 0; by default the only streamed one.", metavar="N"
        ),
    ] = None,
    tools: Annotated[
        Path | None,
        typer.Option(help="JSON file of the tools that the request offered; a cassette says them.", metavar="FILE"),
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(help="The request's token limit; a cassette says it.", metavar="N", min=1)
    ] = None,
    conformance: Annotated[
        bool, typer.Option("--conformance", help="Compare assemblers over hostile streams; takes no FILE.")
    ] = False,
    assembler: Annotated[
        list[str] | None,
        typer.Option(
            help="With --conformance: one more assembler, a callable from bytes to calls; can be given again.",
            metavar="MODULE:OBJECT",
        ),
    ] = None,
    json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Leave the events out, print the message.")] = False,
) -> None:
    """Show an answer event by event, with times and anomalies, and the message that it makes."""
    if conformance:
        if file is not None:
            raise InputError("--conformance brings its own streams and takes no FILE")
        _compare(assembler or [], json=json)
        return
    if file is None:
        raise InputError("name a FILE, or - for standard input")
    if assembler:
        raise InputError("--assembler goes with --conformance")

    from rich.console import Console  # noqa: PLC0415

    from harness.judge.stream import read_answer  # noqa: PLC0415
    from harness.report.stream import print_answer  # noqa: PLC0415

    data = sys.stdin.buffer.read() if file == _STDIN else None
    name = "standard input" if file == _STDIN else file
    answer = read_answer(name, data, exchange=exchange, tools=tools, max_tokens=max_tokens)
    if json:
        print_json(answer.document())
        return
    print_answer(answer, Console(stderr=True), quiet=quiet)


def _compare(names: list[str], *, json: bool) -> None:
    from harness.judge.conformance import compare, load_assembler  # noqa: PLC0415
    from harness.report.conformance import conformance_table  # noqa: PLC0415

    comparison = compare({name: load_assembler(name) for name in names})
    if json:
        print_json(comparison.document())
        return
    typer.echo(conformance_table(comparison), err=True, nl=False)
