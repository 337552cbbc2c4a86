"""``harness serve``."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.cli.options import DEFAULT_OUT, Json, Out, Quiet, Secrets
from harness.cli.output import end_with
from harness.errors import InputError

if TYPE_CHECKING:
    from harness.play.server import LoopbackServer
    from harness.play.sessions import MakePlayer, Session
    from harness.scenario.serving import ServingPolicy

_MAX_REQUESTS = 1000


def serve(
    player: Annotated[Path, typer.Argument(help="A cassette, or a scenario.", metavar="PLAYER")],
    *,
    host: Annotated[str, typer.Option(help="The address to listen on.", metavar="ADDRESS")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 takes a free one.", min=0, max=65535)] = 0,
    speed: Annotated[
        float, typer.Option(help="0 plays at once, 1 at the recorded speed, 2 twice as fast.", min=0)
    ] = 0.0,
    sessions: Annotated[
        int, typer.Option(help="Open the sessions s1, s2, … now; each has to be asked.", min=0, metavar="N")
    ] = 0,
    max_requests: Annotated[int, typer.Option(help="How often a session may ask.", min=1, metavar="N")] = _MAX_REQUESTS,
    allow_drift: Annotated[
        str,
        typer.Option(help="Classes in which requests may differ from a cassette, such as system,tools."),
    ] = "",
    workspace: Annotated[
        Path | None, typer.Option(help="The agent's working folder, in place of the recorded one.", metavar="DIR")
    ] = None,
    home: Annotated[
        Path | None, typer.Option(help="The agent's HOME, in place of the recorded one.", metavar="DIR")
    ] = None,
    models: Annotated[
        Path | None, typer.Option(help="JSON with the list that /v1/models answers.", metavar="FILE")
    ] = None,
    fault: Annotated[
        list[str] | None, typer.Option(help="A fault to inject; can be given again.", metavar="SPEC")
    ] = None,
    seed: Annotated[int, typer.Option(help="What random places of faults are drawn from.", metavar="N")] = 0,
    secret: Secrets = None,
    out: Out = DEFAULT_OUT,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Play a cassette or a script over HTTP for any agent, until Ctrl-C or SIGTERM; then report and judge.

    The base URL is the first line on stdout.
    """
    from harness.judge.serving import verdict_of  # noqa: PLC0415
    from harness.play.hosting import is_loopback  # noqa: PLC0415
    from harness.play.pace import Pace  # noqa: PLC0415
    from harness.play.server import LoopbackServer  # noqa: PLC0415
    from harness.play.sessions import Sessions  # noqa: PLC0415
    from harness.scenario.policy import ReplayPolicy  # noqa: PLC0415
    from harness.scenario.serving import ServingPolicy  # noqa: PLC0415
    from harness.wire.faults import parse_faults  # noqa: PLC0415

    policy = ServingPolicy(
        allow_drift=ReplayPolicy.parse(allow_drift, "stop").allow_drift,
        present=_folders(workspace, home),
        models=None if models is None else _models(models),
        faults=parse_faults(fault or ()),
        seed=seed,
    )
    served = Sessions(_maker(player, policy), max_requests=max_requests)

    def judge(some: tuple[Session, ...]) -> str:
        return verdict_of(some, str(player))

    server = LoopbackServer(served, pace=Pace(speed), host=host, port=port, judge=judge)
    with _until_stopped() as stopped, server:
        for _ in range(sessions):
            served.open()
        _announce(server, player, outside=not is_loopback(host), quiet=quiet)
        stopped.wait()
    _report(server, player, out, secret or [], json=json, quiet=quiet)


def _maker(path: Path, policy: ServingPolicy) -> MakePlayer:
    from harness.judge.suite import collect  # noqa: PLC0415
    from harness.scenario.serving import players_of_cassette, players_of_scenario  # noqa: PLC0415

    if path.is_dir():
        raise InputError("one file is served at a time", where=str(path), hint="a cassette or a scenario")
    (item,) = collect([path])
    make = players_of_scenario if item.kind == "scenario" else players_of_cassette
    return make(path, policy)


def _folders(workspace: Path | None, home: Path | None) -> dict[str, str]:
    given = {"workspace": workspace, "home": home}
    return {name: str(folder.resolve()) for name, folder in given.items() if folder is not None}


def _models(path: Path) -> list[dict[str, Any]]:
    import orjson  # noqa: PLC0415

    try:
        document = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError) as error:
        raise InputError(f"cannot be read: {error}", where=str(path)) from error
    listed = document.get("data") if isinstance(document, dict) else document
    if not isinstance(listed, list) or not all(isinstance(model, dict) and "id" in model for model in listed):
        raise InputError("not a list of models, each with an id", where=str(path), hint='such as [{"id": "my-model"}]')
    return listed


@contextmanager
def _until_stopped() -> Iterator[threading.Event]:
    """An event that the first SIGINT or SIGTERM sets; the second one acts as it always does."""
    stopped = threading.Event()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def stop(*_: object) -> None:
        restore()
        stopped.set()

    for number in before:
        signal.signal(number, stop)
    try:
        yield stopped
    finally:
        restore()


def _announce(server: LoopbackServer, player: Path, *, outside: bool, quiet: bool) -> None:
    typer.echo(server.base_url)  # flushed at once: a program may be waiting for it
    if outside:
        typer.echo(f"warning: {server.url} can be reached from outside this machine, by anybody", err=True)
    if quiet:
        return
    typer.echo(f"{player} is played at {server.base_url}, status at {server.url}/; Ctrl-C ends it", err=True)
    for session in server.sessions.all:
        typer.echo(f"session {session.id}: {server.url_of(session)}", err=True)


def _report(server: LoopbackServer, player: Path, out: Path, secrets: list[str], *, json: bool, quiet: bool) -> None:
    from dataclasses import replace  # noqa: PLC0415

    from rich.console import Console  # noqa: PLC0415

    from harness.cassette.scrubbing import Scrubber, recordable  # noqa: PLC0415
    from harness.judge.serving import judge_session, serving_document  # noqa: PLC0415
    from harness.judge.verdict import overall  # noqa: PLC0415
    from harness.play.sessions import DEFAULT  # noqa: PLC0415
    from harness.report.files import write_reports  # noqa: PLC0415
    from harness.report.terminal import print_cases  # noqa: PLC0415
    from harness.trace.folder import save_run  # noqa: PLC0415
    from harness.trace.run import Run  # noqa: PLC0415

    if not server.sessions.all:
        server.sessions.open(DEFAULT)
    sessions = server.sessions.all
    cases = []
    for session in sessions:
        scrubber = Scrubber(secrets)
        exchanges = [recordable(exchange, scrubber) for exchange in session.exchanges]
        run = Run(session.id, "serve", str(player), exchanges=exchanges)
        folder = save_run(run, out / "runs" / f"serve--{session.id}", None, scrubber)
        cases.append(replace(judge_session(session, str(player)), run_folder=str(folder)))
    verdict = overall(cases)
    reports = write_reports(cases, out, "harness serve")
    console = Console(stderr=True)
    print_cases(cases, console, quiet=quiet)
    document = serving_document(cases, server.status()["sessions"], server.url) if json else None
    end_with(document, reports["summary.md"], console, verdict)
