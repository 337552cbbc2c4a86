"""The program: its commands, and errors as one line for people."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated, NoReturn, cast

import typer

from harness import __version__
from harness.cli.call import call
from harness.cli.check import check
from harness.cli.compare import compare
from harness.cli.convert import convert
from harness.cli.defaults import commands, defaults
from harness.cli.fuzz import fuzz
from harness.cli.judging import INTERRUPTED
from harness.cli.record import record
from harness.cli.replay import replay
from harness.cli.report import report
from harness.cli.run import run
from harness.cli.serve import serve
from harness.cli.stream import stream
from harness.cli.tokens import tokens
from harness.configuration import load_configuration
from harness.errors import HarnessError

SKIP = 125
"""What ``git bisect run`` takes for a commit that cannot be judged."""

# typer carries a click of its own and exports of its usage errors only this one.
_USAGE_ERROR = cast("type[Exception]", typer.BadParameter.__base__)

app = typer.Typer(
    name="harness",
    help="Replay recorded LLM traffic and scripted tool calls through the real tool pipeline, and judge it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _options(
    context: typer.Context,
    *,
    _version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Print the version and exit.",
            is_eager=True,
            callback=lambda wanted: _print_version(wanted=wanted),
        ),
    ] = False,
) -> None:
    context.default_map = defaults(load_configuration(), commands(context.command))


for _command in (run, replay, record, serve, call, convert, check, fuzz, tokens, compare, stream, report):
    app.command()(_command)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit: 2 and one line for bad usage or input, see `harness.judge.verdict.exit_code`.

    With ``--bisect`` whatever is no verdict ends with 125, since git takes 2, and a crash of this program, for bad.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    bisect = "--bisect" in words
    if bisect:
        # Checkouts follow so fast that a compiled file of another commit can look as new as its source.
        sys.dont_write_bytecode = True
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    try:
        code = _run(words)
    except Exception:
        if not bisect:
            raise
        traceback.print_exc()
        code = SKIP
    code = SKIP if bisect and code not in (0, 1, INTERRUPTED) else code
    _demand_an_end(code)
    raise SystemExit(code)


def _demand_an_end(code: int) -> None:
    """Leave at once where a thread of what was under test never ends: Python would wait for it."""
    ending = sys.modules.get("harness.scenario.ending")
    if ending is not None and ending.is_held_up():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _run(words: list[str]) -> int:
    command = typer.main.get_command(app)
    try:
        code = command.main(args=words, standalone_mode=False)
    except _USAGE_ERROR as error:
        typer.echo(_usage_line(error), err=True)
        code = 2
    except HarnessError as error:
        typer.echo(f"harness: {error}", err=True)
        code = 2
    except (typer.Abort, KeyboardInterrupt):
        typer.echo("harness: interrupted", err=True)
        code = INTERRUPTED
    except BrokenPipeError:
        code = SKIP if "--bisect" in words else 1
    return code if isinstance(code, int) else 0


def _usage_line(error: Exception) -> str:
    """The error on one line; ``harness`` alone is answered with the help."""
    message = str(getattr(error, "format_message", lambda: error)())
    return message if type(error).__name__ == "NoArgsIsHelpError" else f"harness: {' '.join(message.split())}"


def _print_version(*, wanted: bool) -> None:
    if wanted:
        typer.echo(f"harness {__version__}")
        raise typer.Exit
