"""A cassette in use by a test, whatever the mode: what the fixture ``cassette`` gives."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest

from harness.errors import HarnessError, InputError
from harness.judge.verdict import Case
from harness.play.cassette_player import CassettePlayer
from harness.play.sessions import Session
from harness.plugin.host import PlayerHost
from harness.plugin.ledger import ledger_of
from harness.plugin.naming import cassette_path
from harness.plugin.settings import PASSED, USE, Mode, Settings
from harness.wire.exchange import Exchange, Request

NO_KEY = "none"
_LOOPBACK_NAMES = "127.0.0.1,localhost"


class Source(Protocol):
    """Where a test's answers come from."""

    base_url: str
    session: Session
    player: CassettePlayer | None

    def judge(self, path: str) -> Case | None:
        """The verdict on what was asked and answered so far; None where nothing is judged."""

    def keep(self) -> int:
        """The test has passed: how many exchanges were kept of it."""

    def close(self) -> None:
        """The test is over."""


@dataclass(frozen=True, slots=True)
class CassetteUse:
    """A test's cassette. ``mode`` is what happens in this test: a cassette that is there is not recorded again.

    ``base_url`` and ``api_key`` are for any client. ``player`` is there in replay only.
    """

    mode: Mode
    path: Path
    api_key: str
    source: Source

    @property
    def base_url(self) -> str:
        """What a client is given as its base URL."""
        return self.source.base_url

    @property
    def player(self) -> CassettePlayer | None:
        """What answers in replay."""
        return self.source.player

    @property
    def requests(self) -> tuple[Request, ...]:
        """What was asked so far, in the order of coming; of a live model nothing is known."""
        return tuple(self.source.session.asked)

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """What was answered so far."""
        return tuple(self.source.session.exchanges)

    @property
    def unused(self) -> tuple[Exchange, ...]:
        """The recorded chat exchanges that nobody has asked for yet."""
        return self.player.unused if self.player is not None else ()


@contextmanager
def used_cassette(request: pytest.FixtureRequest) -> Iterator[CassetteUse]:
    """The cassette of the test that asks, with the environment of OpenAI's SDKs set to it; fails the test without one.

    The session's workspace is the test's ``tmp_path`` where it asks for that, else the working folder.
    """
    config = request.config
    settings = Settings.of(config)
    folders = {"workspace": str(_workspace(request)), "home": str(Path.home())}
    try:
        path = cassette_path(request.node, settings)
        mode = _mode(settings, path, config)
        source = _source(mode, path, settings, folders, config)
    except HarnessError as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None
    key = NO_KEY if mode is Mode.REPLAY else os.environ.get("OPENAI_API_KEY") or NO_KEY
    use = CassetteUse(mode, path, key, source)
    request.node.stash[USE] = use
    if PASSED in request.node.stash:
        del request.node.stash[PASSED]  # of the test's earlier run, where it is run again
    ledger_of(config).use(path)
    try:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in _environment(use, os.environ).items():
                patch.setenv(name, value)
            yield use
    finally:
        source.close()


def _workspace(request: pytest.FixtureRequest) -> Path:
    if "tmp_path" in request.fixturenames:
        folder: Path = request.getfixturevalue("tmp_path")
        return folder
    return Path.cwd()


def _mode(settings: Settings, path: Path, config: pytest.Config) -> Mode:
    """What happens to this cassette: one that is there, or was recorded in this run, is played."""
    if settings.mode is Mode.RECORD and path.is_file():
        return Mode.REPLAY
    if settings.mode is Mode.REWRITE and ledger_of(config).has_recorded(path):
        return Mode.REPLAY
    return settings.mode


def _source(mode: Mode, path: Path, settings: Settings, folders: Mapping[str, str], config: pytest.Config) -> Source:
    if mode is Mode.REPLAY:
        from harness.plugin.replaying import Replaying  # noqa: PLC0415  a run needs one of the three

        if not path.is_file():
            raise InputError(
                "there is no such cassette", where=_shown(path, config), hint="record it: pytest --cassette-mode=record"
                " --cassette-upstream URL"
            )  # fmt: skip
        return Replaying(path, PlayerHost.of(config), folders)
    if settings.upstream is None:
        raise InputError(
            f"the mode {mode} needs the API that answers",
            where=_shown(path, config),
            hint="--cassette-upstream URL, or harness_cassette_upstream in the configuration",
        )
    if mode is Mode.LIVE:
        from harness.plugin.live import Live  # noqa: PLC0415

        return Live(settings.upstream)
    from harness.plugin.recording import Recording  # noqa: PLC0415

    return Recording(path, settings.upstream, folders, settings.secrets)


def _environment(use: CassetteUse, given: Mapping[str, str]) -> dict[str, str]:
    """For code that builds its own client. Loopback is never reached through a web proxy."""
    environment = {"OPENAI_BASE_URL": use.base_url, "OPENAI_API_BASE": use.base_url, "OPENAI_API_KEY": use.api_key}
    if use.mode is not Mode.LIVE:
        for name in ("NO_PROXY", "no_proxy"):
            environment[name] = ",".join(filter(None, [given.get(name), _LOOPBACK_NAMES]))
    return environment


def _shown(path: Path, config: pytest.Config) -> str:
    return str(path.relative_to(config.rootpath)) if path.is_relative_to(config.rootpath) else str(path)
