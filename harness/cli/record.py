"""``harness record``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from harness.cli.options import DEFAULT_OUT, ApiKeyEnv, Out, Quiet, Secrets, model_url
from harness.cli.record_scenario import ScenarioOptions, record_scenario_file
from harness.errors import InputError

_KEY = "OPENAI_API_KEY"


def record(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            help="Scenarios whose player is a cassette; with --upstream a command and its arguments, behind --.",
            metavar="SCENARIO... | -- COMMAND...",
        ),
    ] = None,
    endpoint: Annotated[
        list[str] | None,
        typer.Option(help="Where a scenario's model answers; only these are contacted.", metavar="MODEL=URL"),
    ] = None,
    *,
    upstream: Annotated[
        str | None, typer.Option(help="Record a command in front of this base URL, such as .../v1.", metavar="URL")
    ] = None,
    cassette: Annotated[
        Path | None, typer.Option(help="Where the command's exchanges go, with --upstream.", metavar="FILE")
    ] = None,
    scenario: Annotated[
        Path | None, typer.Option(help="Write a new scenario that passes, with its cassette.", metavar="FILE")
    ] = None,
    prompt: Annotated[
        list[str] | None,
        typer.Option(help="With --scenario: what the user says; given again, what comes next.", metavar="TEXT"),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="With --scenario: who is asked, if several endpoints are given.")
    ] = None,
    workspace: Annotated[
        Path | None,
        typer.Option(help="With --scenario: the folder to start with; it is copied, not changed.", metavar="DIR"),
    ] = None,
    system: Annotated[str | None, typer.Option(help="With --scenario: the system prompt.", metavar="TEXT")] = None,
    tools: Annotated[
        str | None, typer.Option(help="With --scenario: the built-in tools, such as Read,Edit.", metavar="NAMES")
    ] = None,
    stream: Annotated[bool | None, typer.Option(help="With --scenario: ask for streamed answers.")] = None,
    mode: Annotated[str | None, typer.Option(help="With --scenario: normal or read_only.")] = None,
    ask: Annotated[str | None, typer.Option(help="With --scenario: deny or allow what needs a yes.")] = None,
    step_limit: Annotated[int | None, typer.Option(min=1, help="With --scenario: at most so many steps.")] = None,
    force: Annotated[bool, typer.Option(help="With --scenario: replace what is there.")] = False,
    api_key_env: ApiKeyEnv = _KEY,
    secret: Secrets = None,
    out: Out = DEFAULT_OUT,
    quiet: Quiet = False,
) -> None:
    """Record cassettes with the received chunks: of scenarios from live models, or of any command (--upstream).

    With --scenario it also writes the scenario: what was asked, and what came of it as expectations.
    """
    options = ScenarioOptions(prompt or [], model, workspace, system, tools, stream, mode, ask, step_limit, force)
    if scenario is not None:
        for name, given in (("--upstream", upstream), ("--cassette", cassette), ("SCENARIO", words)):
            if given:
                raise InputError("a new scenario is made of the options alone", where=name, hint="see --help")
        record_scenario_file(scenario, options, endpoint or [], api_key_env, secret or [], quiet=quiet)
        return
    if options.given:
        raise InputError("it is for a new scenario", where=options.given, hint="--scenario FILE")
    if not words:
        raise InputError(
            "missing: what to record",
            where="SCENARIO",
            hint="a scenario, a command with --upstream, or --scenario FILE",
        )
    if upstream is None:
        if cassette is not None:
            raise InputError("a scenario names its cassette itself", where="--cassette", hint="it goes with --upstream")
        _record_scenarios([Path(word) for word in words], endpoint or [], api_key_env, secret or [], out, quiet=quiet)
        return
    if endpoint:
        raise InputError("--upstream already says who answers", where="--endpoint", hint="give one of the two")
    if cassette is None:
        raise InputError("missing: where to record to", where="--cassette", hint="--cassette NAME.cassette.jsonl")
    _record_command(words, upstream, cassette, api_key_env, secret or [], quiet=quiet)


def _record_scenarios(
    paths: list[Path], endpoint: list[str], api_key_env: str, secrets: list[str], out: Path, *, quiet: bool
) -> None:
    from harness.scenario.portable import portable  # noqa: PLC0415
    from harness.scenario.recording import record_cassettes  # noqa: PLC0415
    from harness.scenario.runner import ScenarioRun  # noqa: PLC0415
    from harness.trace.folder import save_run  # noqa: PLC0415

    if not endpoint:
        raise InputError("missing: where the models answer", where="--endpoint", hint="--endpoint MODEL=URL")
    endpoints = dict(model_url(entry) for entry in endpoint)

    def done(outcome: ScenarioRun, cassette: Path) -> None:
        rewrite = portable(outcome.root, outcome.aliases)
        save_run(outcome.run, out / "runs" / f"record--{outcome.scenario.name}", rewrite, outcome.scrubber)
        if not quiet:
            model = outcome.scenario.agent.model
            typer.echo(f"{outcome.scenario.path}: {model} recorded to {os.path.relpath(cassette)}", err=True)

    record_cassettes(paths, endpoints, os.environ.get(api_key_env, "none"), done, secrets)


def _record_command(
    command: list[str], upstream: str, cassette: Path, api_key_env: str, secrets: list[str], *, quiet: bool
) -> None:
    from harness.play.record_command import record_command  # noqa: PLC0415

    environment = dict(os.environ)
    if api_key_env != _KEY:
        if api_key_env not in environment:
            raise InputError(f"the variable {api_key_env} is not set", where="--api-key-env")
        environment[_KEY] = environment[api_key_env]
    done = record_command(command, upstream, cassette, environment=environment, secrets=secrets)
    for problem in (*done.problems, *done.lost):
        typer.echo(f"note: {problem}", err=True)
    if done.lost or not done.recorded:
        why = "the recording is not whole" if done.lost else "no exchange was recorded"
        typer.echo(f"{why}: {cassette} is as it was; the command ended with {done.exit_code}", err=True)
        raise typer.Exit(done.exit_code or 125)
    if not quiet:
        exchanges = "1 exchange" if done.recorded == 1 else f"{done.recorded} exchanges"
        typer.echo(
            f"{exchanges} ({done.chat} chat) recorded to {cassette}; the command ended with {done.exit_code}", err=True
        )
    raise typer.Exit(done.exit_code)
