"""The server as an ASGI application: one place that says which session answers a URL.

``/v1/…`` is the default session, ``/s/ID/v1/…`` the session of that id, opened when it is first asked; players see
both without the prefix. ``/`` is the status page (``HEAD /`` is what agents ask to see whether anybody is there),
``/status`` the same as JSON. Neither page counts as a request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any

from harness.play.http import (
    Connection,
    error_response,
    read_body,
    request_of,
    send_page,
    send_response,
)
from harness.play.pace import Pace
from harness.play.sessions import DEFAULT, SESSION_ID, Sessions
from harness.play.status import status_page
from harness.wire.exchange import Request, Response
from harness.wire.half_pairs import dumps

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

_HTML, _JSON = "text/html; charset=utf-8", "application/json"


class PlayerApplication:
    """Answers from ``sessions`` at a pace. Players may block: each answers in a thread of ``threads``.

    ``status`` gives the status document; it may take its time too.
    """

    def __init__(
        self,
        sessions: Sessions,
        pace: Pace,
        stopping: asyncio.Event,
        threads: Executor,
        status: Callable[[], Mapping[str, Any]],
    ) -> None:
        self._sessions = sessions
        self._pace = pace
        self._stopping = stopping
        self._threads = threads
        self._status = status

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; raises ClientGoneError where nobody waits for the answer any more."""
        if scope["type"] != "http":
            return
        body = await read_body(receive)
        start = self._pace.clock.monotonic()
        if scope["method"] in {"GET", "HEAD"} and scope["path"] in {"/", "/status", "/favicon.ico"}:
            await self._page(scope["path"], send)
            return
        session_id, target = _split(scope)
        asked = request_of(scope, body, target)
        answer = await asyncio.get_running_loop().run_in_executor(self._threads, self._answer, session_id, asked)
        await send_response(answer, self._pace, start, Connection(receive, send, self._stopping))

    def _answer(self, session_id: str, asked: Request) -> Response:
        if not SESSION_ID.fullmatch(session_id):
            return error_response(404, f"{session_id!r} is no session id", "harness_error", "no_session")
        return self._sessions.open(session_id).answer(asked)

    async def _page(self, path: str, send: Send) -> None:
        if path == "/favicon.ico":
            await send_page(404, "text/plain", b"", send)
            return
        document = await asyncio.get_running_loop().run_in_executor(self._threads, self._status)
        if path == "/status":
            await send_page(200, _JSON, dumps(document), send)
        else:
            await send_page(200, _HTML, status_page(document), send)


def _split(scope: Scope) -> tuple[str, bytes]:
    """The session that a URL names, and the path and query without it."""
    path, query = scope["raw_path"], scope["query_string"]
    session_id = DEFAULT
    if path.startswith(b"/s/"):
        name, slash, rest = path[3:].partition(b"/")
        session_id, path = name.decode("latin-1"), slash + rest or b"/"
    return session_id, path + b"?" + query if query else path
