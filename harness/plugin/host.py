"""One loopback server for all tests of a process, a session for each test."""

from __future__ import annotations

import itertools

import pytest

from harness.errors import HarnessError
from harness.play.server import LoopbackServer
from harness.play.sessions import Session, SessionPlayer, Sessions
from harness.plugin.settings import HOST


class PlayerHost:
    """Serves players until it is closed; raises HarnessError where no server can be started."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._players: dict[str, SessionPlayer] = {}
        self._sessions = Sessions(self._player)
        self._server = LoopbackServer(self._sessions)
        self._server.__enter__()

    @classmethod
    def of(cls, config: pytest.Config) -> PlayerHost:
        """The one of this run of pytest, started when it is first needed."""
        host = config.stash.get(HOST, None)
        if host is None:
            host = config.stash[HOST] = cls()
        return host

    def open(self, player: SessionPlayer) -> Session:
        """A session that this player answers."""
        session_id = f"t{next(self._numbers)}"
        self._players[session_id] = player
        return self._sessions.open(session_id)

    def url_of(self, session: Session, mount: str) -> str:
        """The session's base URL; ``mount`` is the path under which the API was recorded, such as ``/v1``."""
        return f"{self._server.url}/s/{session.id}{mount}"

    def end(self, session: Session) -> None:
        """Let go of a session: what is still asked of it is an error."""
        del self._players[session.id]
        self._sessions.forget(session.id)

    def close(self) -> None:
        """Stop serving."""
        self._server.__exit__(None, None, None)

    def _player(self, session_id: str) -> SessionPlayer:
        if session_id not in self._players:
            raise HarnessError(f"the test of session {session_id} is over: nothing answers any more")
        return self._players[session_id]
