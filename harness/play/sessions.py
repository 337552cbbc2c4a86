"""Many sessions at once: each with a player of its own, so with a cursor of its own, and with a record of its own."""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from harness.errors import HarnessError
from harness.play.http import error_response
from harness.play.player import CannotAnswerError, MissError, Player
from harness.wire.exchange import Exchange, Request, Response

DEFAULT = "default"
"""The session that answers where a URL names none."""

SESSION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

_NONE: Callable[[], list[str]] = list


@dataclass(frozen=True, slots=True)
class SessionPlayer:
    """A player made for one session, and what can be said of it at any time.

    ``unused`` says what nobody has asked it for, ``marks`` what every output must say of its answers (drift that was
    allowed, injected faults), ``notes`` why it cannot prove anything (a torn recording), ``cannot`` why nothing can be
    judged (a script that cannot be put to this agent).
    """

    player: Player
    unused: Callable[[], list[str]] = _NONE
    marks: Callable[[], list[str]] = _NONE
    notes: Callable[[], list[str]] = _NONE
    cannot: Callable[[], str | None] = lambda: None


MakePlayer = Callable[[str], SessionPlayer]


@dataclass(slots=True)
class Session:
    """One agent's conversation with the server.

    ``exchanges`` holds what the player answered, ``asked`` every request it got, in the order of their coming,
    ``failed`` those of them that got an error of the harness in place of an answer; ``requests`` counts those beyond
    the budget too. What went wrong first stays, whatever the agent makes of the error it gets: ``miss`` (HTTP 400),
    ``failure`` of the player itself (500, or 400 where it cannot put its answer to this agent), and ``refused``, the
    requests beyond ``max_requests`` (400: it is not tried again).
    """

    id: str
    made: SessionPlayer
    max_requests: int | None = None
    exchanges: list[Exchange] = field(default_factory=list)
    asked: list[Request] = field(default_factory=list)
    failed: list[tuple[Request, Exception]] = field(default_factory=list)
    requests: int = 0
    misses: int = 0
    refused: int = 0
    miss: MissError | None = None
    failure: str | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def error(self) -> str | None:
        """Why the session proves nothing about its agent: the player failed, or cannot be put to it."""
        return self.failure or self.made.cannot()

    def answer(self, request: Request) -> Response:
        """The player's answer, or an error in the provider's form; safe under threads."""
        with self._lock:
            self.requests += 1
            over = self.max_requests is not None and self.requests > self.max_requests
            self.refused += over
            if not over:
                self.asked.append(request)
        if over:
            message = f"the session {self.id} may ask {self.max_requests} times, this is one request more"
            return error_response(400, message, "harness_budget", "budget")
        try:
            answer = self.made.player.answer(request)
        except MissError as miss:
            with self._lock:
                self.misses += 1
                self.miss = self.miss or miss
                self.failed.append((request, miss))
            return error_response(400, str(miss), "harness_miss", "miss")
        except CannotAnswerError as error:
            with self._lock:
                self.failure = self.failure or str(error)
                self.failed.append((request, error))
            return error_response(400, str(error), "harness_error", "cannot_answer")
        except Exception as error:  # noqa: BLE001  whatever a player raises is the session's failure, not the server's
            reason = _one_line(error)
            with self._lock:
                self.failure = self.failure or reason
                self.failed.append((request, error))
            return error_response(500, reason, "harness_error", "player_failed")
        with self._lock:
            self.exchanges.append(Exchange(request, answer, len(self.exchanges)))
        return answer


class Sessions:
    """The sessions of a server by id; one that is asked for and not there yet is made by ``make``.

    ``ids`` gives the next id to a session opened without one. Safe under threads.
    """

    def __init__(
        self, make: MakePlayer, *, max_requests: int | None = None, ids: Callable[[], str] | None = None
    ) -> None:
        numbers = itertools.count(1)
        self._make = make
        self._max_requests = max_requests
        self._ids = ids or (lambda: f"s{next(numbers)}")
        self._sessions: dict[str, Session] = {}
        self._lock = threading.Lock()

    @property
    def all(self) -> tuple[Session, ...]:
        """The sessions in the order in which they were opened."""
        with self._lock:
            return tuple(self._sessions.values())

    def find(self, session_id: str) -> Session | None:
        """The session of that id, if it has been opened."""
        with self._lock:
            return self._sessions.get(session_id)

    def open(self, session_id: str | None = None) -> Session:
        """The session of that id, or a new one; raises ValueError for an id that cannot stand in a URL.

        A player that cannot be made is a failure of its session, which then answers every request with it.
        """
        with self._lock:
            if session_id is None:
                session_id = self._ids()
            if not SESSION_ID.fullmatch(session_id):
                raise ValueError(f"{session_id!r} is no session id: 1 to 64 letters, digits, '.', '_' or '-'")
            if session_id not in self._sessions:
                self._sessions[session_id] = self._new(session_id)
            return self._sessions[session_id]

    def forget(self, session_id: str) -> None:
        """Let go of a session; what is asked of it afterwards begins a new one."""
        with self._lock:
            self._sessions.pop(session_id, None)

    def _new(self, session_id: str) -> Session:
        try:
            return Session(session_id, self._make(session_id), self._max_requests)
        except Exception as error:  # noqa: BLE001  see `open`
            reason = _one_line(error)
            return Session(session_id, SessionPlayer(_Failed(reason)), self._max_requests, failure=reason)


@dataclass(frozen=True, slots=True)
class _Failed:
    """In the place of a player that could not be made."""

    reason: str

    def answer(self, request: Request) -> Response:  # noqa: ARG002  the interface of players
        raise HarnessError(self.reason)


def one_player(player: Player) -> MakePlayer:
    """A maker for the default session only: a second session would share its cursor."""

    def make(session_id: str) -> SessionPlayer:
        if session_id != DEFAULT:
            raise HarnessError(f"there is no session {session_id!r}: this server plays one session, under /v1")
        return SessionPlayer(player)

    return make


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, HarnessError) and text:
        return text
    return f"the player failed: {type(error).__name__}{f': {text}' if text else ''}"
