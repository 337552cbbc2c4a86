"""Players over HTTP on loopback, for programs that only know a base URL.

Chat Completions, streamed and not: chunks as the player gives them, each in one write; a miss is HTTP 400 with the
reason in ``error.message``, so that the program's own client shows it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

from harness.play.application import PlayerApplication
from harness.play.hosting import LOOPBACK, HttpHost
from harness.play.pace import Pace
from harness.play.player import MissError, Player
from harness.play.sessions import DEFAULT, Session, Sessions, one_player
from harness.play.status import session_document
from harness.wire.exchange import Exchange

_PLAYERS_AT_ONCE = 256


class LoopbackServer:
    """Serves players while its context is open, on a free port of 127.0.0.1 unless another is named.

    A single player is the default session, at ``base_url``; `Sessions` are served each at a URL of its own, see
    `url_of`. ``judge`` gives the status page the verdict of some sessions so far. Each session keeps what was answered
    and the first request that was not; ``exchanges`` and ``miss`` are those of the default session. Raises InputError
    for an address that cannot be used, HarnessError when the server does not come up.
    """

    def __init__(
        self,
        player: Player | Sessions,
        *,
        pace: Pace | None = None,
        host: str = LOOPBACK,
        port: int = 0,
        judge: Callable[[tuple[Session, ...]], str] | None = None,
    ) -> None:
        if isinstance(player, Sessions):
            self.sessions = player
        else:
            self.sessions = Sessions(one_player(player))
            self.sessions.open(DEFAULT)
        self._pace = pace or Pace()
        self._host = HttpHost(self._application, host=host, port=port)
        self._judge = judge
        self._threads: ThreadPoolExecutor | None = None

    @property
    def url(self) -> str:
        """The server's root, where the status page is."""
        return self._host.url

    @property
    def base_url(self) -> str:
        """What a program of the default session is given."""
        return f"{self._host.url}/v1"

    @property
    def exchanges(self) -> list[Exchange]:
        """What the default session was answered."""
        session = self.sessions.find(DEFAULT)
        return [] if session is None else session.exchanges

    @property
    def miss(self) -> MissError | None:
        """The first request of the default session that was not answered."""
        session = self.sessions.find(DEFAULT)
        return None if session is None else session.miss

    def url_of(self, session: Session) -> str:
        """What the program of a session is given as its base URL."""
        return self.base_url if session.id == DEFAULT else f"{self._host.url}/s/{session.id}/v1"

    def status(self) -> dict[str, Any]:
        """The sessions so far, and their verdict where somebody judges."""
        sessions = self.sessions.all
        documents = [session_document(session, self.url_of(session)) for session in sessions]
        if self._judge is None:
            return {"sessions": documents}
        for session, document in zip(sessions, documents, strict=True):
            document["verdict"] = self._judge((session,))
        return {"sessions": documents, "verdict": self._judge(sessions)}

    def __enter__(self) -> Self:
        self._threads = ThreadPoolExecutor(_PLAYERS_AT_ONCE, "harness-player")
        try:
            self._host.open()
        except BaseException:
            self._threads.shutdown(wait=False)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._host.close()
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)

    def _application(self, stopping: asyncio.Event) -> PlayerApplication:
        assert self._threads is not None  # noqa: S101  made before the host is opened
        return PlayerApplication(self.sessions, self._pace, stopping, self._threads, self.status)
