"""The command line. Each command imports what it needs when it runs, so that ``--help`` loads almost nothing."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn, cast

import typer

from harness import __version__
from harness.errors import HarnessError, InputError

if TYPE_CHECKING:
    from harness.judge.suite import Item, Judged
    from harness.scenario.policy import ReplayPolicy

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

Out = Annotated[Path, typer.Option("--out", help="Folder for reports and saved runs.", metavar="DIR")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only what did not pass, and the last line.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]
ApiKeyEnv = Annotated[str, typer.Option(help="Environment variable that holds the API key.", metavar="NAME")]
Secrets = Annotated[
    list[str] | None,
    typer.Option("--secret", help="Regular expression of what is a secret too; can be given again.", metavar="REGEX"),
]
_OUT = Path("reports")
_DEFAULT_PATHS = ("scenarios", "cassettes")


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


@app.command()
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
    endpoint: Annotated[
        list[str] | None, typer.Option(help="Where a model answers, for --on-miss live.", metavar="MODEL=URL")
    ] = None,
    api_key_env: ApiKeyEnv = "OPENAI_API_KEY",
    out: Out = _OUT,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run scenarios through the pipeline and replay cassettes; write JUnit and Markdown reports."""
    from harness.judge.suite import collect  # noqa: PLC0415
    from harness.scenario.policy import ReplayPolicy  # noqa: PLC0415

    endpoints = dict(_pair(entry) for entry in endpoint or ())
    policy = ReplayPolicy.parse(allow_drift, on_miss, endpoints, os.environ.get(api_key_env, "none"))
    given = paths or [Path(name) for name in _DEFAULT_PATHS if Path(name).is_dir()]
    _judge(collect(given), out, _cases_document, policy, json=json, quiet=quiet, title="harness run")


@app.command()
def replay(
    paths: Annotated[list[Path], typer.Argument(help="Cassettes or folders of cassettes.", metavar="CASSETTE...")],
    *,
    out: Out = _OUT,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Replay each recorded conversation step by step and compare what the pipeline sends with what was recorded."""
    from harness.judge.suite import collect  # noqa: PLC0415

    _judge(collect(paths, ["replay"]), out, _replay_document, None, json=json, quiet=quiet, title="harness replay")


@app.command()
def record(
    paths: Annotated[list[Path], typer.Argument(help="Scenarios whose player is a cassette.", metavar="SCENARIO...")],
    endpoint: Annotated[
        list[str],
        typer.Option(help="Where a model answers; only these are contacted.", metavar="MODEL=URL"),
    ],
    *,
    api_key_env: ApiKeyEnv = "OPENAI_API_KEY",
    secret: Secrets = None,
    out: Out = _OUT,
    quiet: Quiet = False,
) -> None:
    """Record the cassettes of scenarios from live models, in the format of their names, with the received chunks."""
    from harness.scenario.portable import portable  # noqa: PLC0415
    from harness.scenario.recording import record_cassettes  # noqa: PLC0415
    from harness.scenario.runner import ScenarioRun  # noqa: PLC0415
    from harness.trace.folder import save_run  # noqa: PLC0415

    endpoints = dict(_pair(entry) for entry in endpoint)

    def done(outcome: ScenarioRun, cassette: Path) -> None:
        save_run(
            outcome.run, out / "runs" / f"record--{outcome.scenario.name}", portable(outcome.root), outcome.scrubber
        )
        if not quiet:
            model = outcome.scenario.agent.model
            typer.echo(f"{outcome.scenario.path}: {model} recorded to {os.path.relpath(cassette)}", err=True)

    record_cassettes(paths, endpoints, os.environ.get(api_key_env, "none"), done, secret or ())


@app.command()
def convert(
    source: Annotated[Path, typer.Argument(help="A cassette of any dialect.", metavar="SRC")],
    target: Annotated[
        Path, typer.Argument(help="NAME.cassette.jsonl for the own format, NAME.yaml for vcrpy.", metavar="DST")
    ],
    *,
    kind: Annotated[
        str | None, typer.Option("--from", help="What SRC is; by default its content says it.", metavar="KIND")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace DST.")] = False,
    quiet: Quiet = False,
) -> None:
    """Convert a cassette to the harness's own format or to stock vcrpy YAML, without loss."""
    from harness.cassette.convert import convert_cassette  # noqa: PLC0415

    done = convert_cassette(source, target, kind, force=force)
    count = len(done.source.exchanges)
    if not quiet:
        exchanges = "1 exchange" if count == 1 else f"{count} exchanges"
        typer.echo(f"{source} ({done.source.dialect}): {exchanges} written to {target} ({done.dialect})", err=True)
    for note in done.notes:
        typer.echo(f"note: {note}", err=True)


@app.command()
def check(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Cassettes, scenarios or folders; scenarios/ and cassettes/ by default.", metavar="[PATHS]"
        ),
    ] = None,
    *,
    secret: Secrets = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Look for secrets, broken streams, wrong headers and faulty tool schemas in recordings; exit code 1 for errors."""
    from rich.console import Console  # noqa: PLC0415

    from harness.judge.lint import check_paths  # noqa: PLC0415
    from harness.judge.verdict import exit_code  # noqa: PLC0415
    from harness.report.findings import print_findings  # noqa: PLC0415

    given = paths or [Path(name) for name in _DEFAULT_PATHS if Path(name).is_dir()]
    checked = check_paths(given, secret or ())
    print_findings(checked, Console(stderr=True), quiet=quiet)
    if json:
        _print_json(checked.document())
    raise typer.Exit(exit_code(checked.verdict))


@app.command()
def tokens(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            help="Cassettes, saved runs, folders, JSON files of tool definitions, or module:attribute of a registry;"
            " cassettes/ by default.",
            metavar="[PATHS]",
        ),
    ] = None,
    *,
    against: Annotated[
        str | None, typer.Option(help="What the tools were before: say what their change costs.", metavar="OTHER")
    ] = None,
    csv: Annotated[bool, typer.Option("--csv", help="Print the steps as CSV on stdout.")] = False,
    parquet: Annotated[bool, typer.Option("--parquet", help="Write Parquet files beside the CSV files.")] = False,
    out: Out = _OUT,
    json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only the last lines.")] = False,
) -> None:
    """Count prompt tokens step by step: system prompt, tools, history; tools sent and never called; prices."""
    from rich.console import Console  # noqa: PLC0415

    from harness.judge.tokens import measure_paths  # noqa: PLC0415
    from harness.report.tokens import print_tokens, steps_csv, write_tokens  # noqa: PLC0415

    if json and csv:
        raise InputError("--json and --csv both want stdout", hint="both are written as files too: see --out")
    measured = measure_paths(paths or [name for name in _DEFAULT_PATHS[1:] if Path(name).is_dir()], against)
    report = write_tokens(measured, out / "tokens", parquet=parquet)
    console = Console(stderr=True)
    print_tokens(measured, console, quiet=quiet)
    console.print(f"report: {report}", markup=False, highlight=False, soft_wrap=True)
    if json:
        _print_json(measured.document())
    if csv:
        sys.stdout.buffer.write(steps_csv(measured).encode())
        sys.stdout.flush()
    if measured.is_empty:
        raise typer.Exit(125)


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


def _judge(
    items: Sequence[Item],
    out: Path,
    document: Callable[[Sequence[Judged], str], dict[str, object]],
    policy: ReplayPolicy | None,
    *,
    json: bool,
    quiet: bool,
    title: str,
) -> None:
    from rich.console import Console  # noqa: PLC0415

    from harness.judge.suite import judge_all  # noqa: PLC0415
    from harness.judge.verdict import exit_code, overall  # noqa: PLC0415
    from harness.report.files import write_reports  # noqa: PLC0415
    from harness.report.terminal import print_cases  # noqa: PLC0415

    judged = judge_all(items, out, policy)
    cases = [entry.case for entry in judged]
    verdict = overall(cases)
    reports = write_reports(cases, out, title)
    console = Console(stderr=True)
    print_cases(cases, console, quiet=quiet)
    console.print(f"report: {reports['summary.md']}", markup=False, highlight=False, soft_wrap=True)
    if json:
        _print_json(document(judged, verdict))
    raise typer.Exit(exit_code(verdict))


def _cases_document(judged: Sequence[Judged], verdict: str) -> dict[str, object]:
    return {"cases": [entry.case.document() for entry in judged], "verdict": verdict}


def _replay_document(judged: Sequence[Judged], verdict: str) -> dict[str, object]:
    documents = [entry.document for entry in judged]
    totals: dict[str, int] = {"files": len(documents)}
    for key in ("exchanges", "chat_exchanges", "played_as_bytes", "tool_calls", "steps"):
        totals[key] = sum(value for document in documents if isinstance(value := document.get(key), int))
    for key in ("drift", "faults"):
        totals[key] = sum(len(value) for document in documents if isinstance(value := document.get(key), list))
    return {"files": documents, "totals": totals, "verdict": verdict}


def _print_json(document: dict[str, object]) -> None:
    import orjson  # noqa: PLC0415

    sys.stdout.buffer.write(orjson.dumps(document, option=orjson.OPT_INDENT_2) + b"\n")
    sys.stdout.flush()


def _pair(entry: str) -> tuple[str, str]:
    model, separator, url = entry.partition("=")
    if not separator or not model or not url.startswith(("http://", "https://")):
        raise InputError(
            f"{entry!r} is not MODEL=URL", where="--endpoint", hint="such as my-model=http://127.0.0.1:8090/v1"
        )
    return model, url


def _print_version(*, wanted: bool) -> None:
    if wanted:
        typer.echo(f"harness {__version__}")
        raise typer.Exit
