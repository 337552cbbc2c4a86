"""The program: its commands, and errors as one line for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NoReturn, cast

import typer

from harness import __version__
from harness.cli.call import call
from harness.cli.check import check
from harness.cli.compare import compare
from harness.cli.convert import convert
from harness.cli.record import record
from harness.cli.replay import replay
from harness.cli.report import report
from harness.cli.run import run
from harness.cli.serve import serve
from harness.cli.stream import stream
from harness.cli.tokens import tokens
from harness.errors import HarnessError

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
    pass


for _command in (run, replay, record, serve, call, convert, check, tokens, compare, stream, report):
    app.command()(_command)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit: 2 and one line for bad usage or input, see `harness.judge.verdict.exit_code`."""
    command = typer.main.get_command(app)
    try:
        code = command.main(args=list(arguments) if arguments is not None else None, standalone_mode=False)
    except _USAGE_ERROR as error:
        typer.echo(_usage_line(error), err=True)
        code = 2
    except HarnessError as error:
        typer.echo(f"harness: {error}", err=True)
        code = 2
    except (typer.Abort, KeyboardInterrupt):
        typer.echo("harness: interrupted", err=True)
        code = 130
    except BrokenPipeError:
        code = 1
    raise SystemExit(code if isinstance(code, int) else 0)


def _usage_line(error: Exception) -> str:
    """The error on one line; ``harness`` alone is answered with the help."""
    message = str(getattr(error, "format_message", lambda: error)())
    return message if type(error).__name__ == "NoArgsIsHelpError" else f"harness: {' '.join(message.split())}"


def _print_version(*, wanted: bool) -> None:
    if wanted:
        typer.echo(f"harness {__version__}")
        raise typer.Exit
