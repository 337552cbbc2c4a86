"""Recording what a program says to a real endpoint: a proxy between the two, and the program's exit code."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.cassette import own
from harness.cassette.dialects.vcrpy import VcrpyWriter
from harness.cassette.scrubbing import Scrubber
from harness.errors import InputError
from harness.play.proxy import RecordingProxy
from harness.wire.exchange import Exchange

PARTIAL = ".partial"
_LOOPBACK_NAMES = "127.0.0.1,localhost"


@dataclass(frozen=True, slots=True)
class RecordedCommand:
    """What came of a recorded command.

    ``exit_code`` is the command's as a shell gives it: 128 and the signal's number where a signal ended it. ``chat`` of
    the ``recorded`` exchanges are with a chat model. ``problems`` are the endpoint's; where anything was ``lost`` the
    cassette was not replaced.
    """

    exit_code: int
    recorded: int
    chat: int
    problems: tuple[str, ...]
    lost: tuple[str, ...]


def record_command(
    command: Sequence[str],
    upstream: str,
    cassette: Path,
    *,
    environment: Mapping[str, str],
    secrets: Sequence[str] = (),
) -> RecordedCommand:
    """Run a command with its model API at ``upstream``, and write what passes to ``cassette``.

    The command's ``environment`` gets the proxy as OPENAI_BASE_URL and OPENAI_API_BASE; its key goes through to the
    endpoint and into no file. A name that ends in ``.cassette.jsonl`` is written in the harness's own format, with the
    working folder and HOME of the session, any other as vcrpy YAML. The cassette is replaced when the command has ended
    and something was recorded; until then the exchanges stand in ``NAME.partial`` beside it. Raises InputError for a
    command that cannot be started, a URL that is none, and a file that cannot be written.
    """
    partial = cassette.with_name(cassette.name + PARTIAL)
    chats: list[bool] = []
    try:
        cassette.parent.mkdir(parents=True, exist_ok=True)
        partial.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"cannot be written: {error}", where=str(cassette)) from error
    folders = str(Path.cwd()), environment.get("HOME")
    with cassette_writer(cassette.name, partial, *folders, Scrubber(secrets)) as add:

        def keep(exchange: Exchange) -> None:
            add(exchange)
            chats.append(exchange.is_chat)

        with RecordingProxy(upstream, keep) as proxy:
            exit_code = _run(command, _environment(environment, proxy.base_url))
    if proxy.recorded and not proxy.lost:
        partial.replace(cassette)
    return RecordedCommand(exit_code, proxy.recorded, sum(chats), tuple(proxy.problems), tuple(proxy.lost))


@contextmanager
def cassette_writer(
    name: str, partial: Path, workspace: str | None, home: str | None, scrubber: Scrubber
) -> Iterator[Callable[[Exchange], None]]:
    """What adds an exchange to ``partial``, in the dialect that ``name`` says; only the own format holds folders."""
    if name.endswith(own.SUFFIX):
        with own.CassetteWriter(partial, workspace=workspace, home=home, scrubber=scrubber) as writer:
            yield writer.add
    else:
        yield VcrpyWriter(partial, scrubber).add


def _environment(given: Mapping[str, str], base_url: str) -> dict[str, str]:
    """SDKs want some key, also for an endpoint that asks for none, and would send loopback through a web proxy."""
    environment = {"OPENAI_API_KEY": "none", **given, "OPENAI_BASE_URL": base_url, "OPENAI_API_BASE": base_url}
    for name in ("NO_PROXY", "no_proxy"):
        environment[name] = ",".join(filter(None, [given.get(name), _LOOPBACK_NAMES]))
    return environment


def _run(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """The command's exit code. Interrupts from the keyboard reach the command too, and it says what becomes of them."""
    try:
        process = subprocess.Popen(command, env=environment)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be started: {error}", where=command[0]) from error
    with _terminating(process):
        while True:
            try:
                code = process.wait()
            except KeyboardInterrupt:
                continue
            return code if code >= 0 else 128 - code


@contextmanager
def _terminating(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Whoever ends the harness ends the command, and its session is recorded so far."""
    in_main = threading.current_thread() is threading.main_thread()  # the only one that may set handlers
    before = signal.getsignal(signal.SIGTERM)
    if in_main:
        signal.signal(signal.SIGTERM, lambda number, _: process.send_signal(number))
    try:
        yield
    finally:
        if in_main:
            signal.signal(signal.SIGTERM, before)
        if process.poll() is None:
            process.kill()
            process.wait()
