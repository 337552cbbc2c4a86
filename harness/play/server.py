"""A player over HTTP on loopback, for programs that only know a base URL.

Chat Completions, streamed and not: chunks as the player gives them; a miss is HTTP 400 with the reason in
``error.message``, so that the program's own client shows it.
"""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Self

from harness.errors import HarnessError
from harness.play.player import MissError, Player
from harness.play.transport import pieces_of, playable_headers
from harness.wire.exchange import Exchange, Request, Response

if TYPE_CHECKING:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request as HttpRequest
    from starlette.responses import Response as HttpResponse

_START_TIMEOUT_S = 10.0
_STOP_TIMEOUT_S = 1  # a program that was killed may never read the rest of an answer


class LoopbackServer:
    """Serves one player at ``base_url`` while its context is open, on a free port of 127.0.0.1.

    ``exchanges`` holds what was answered, ``miss`` the first request that was not: it stays, whatever the program
    makes of the 400. Raises HarnessError when the server does not come up.
    """

    def __init__(self, player: Player) -> None:
        self._player = player
        self._lock = threading.Lock()
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None
        self._socket: socket.socket | None = None
        self.exchanges: list[Exchange] = []
        self.miss: MissError | None = None
        self.base_url = ""

    def __enter__(self) -> Self:
        import uvicorn  # noqa: PLC0415  start-up imports only what the command needs

        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.bind(("127.0.0.1", 0))
        self.base_url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"
        config = uvicorn.Config(
            self._application(),
            log_level="error",
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=_STOP_TIMEOUT_S,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=asyncio.run, args=(_serve(self._server, self._socket),), daemon=True)
        self._thread.start()
        deadline = time.monotonic() + _START_TIMEOUT_S
        while not self._server.started:
            if time.monotonic() > deadline or not self._thread.is_alive():
                self._stop()
                raise HarnessError(f"the server at {self.base_url} did not start")
            time.sleep(0.005)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def _stop(self) -> None:
        if self._server is not None:
            self._server.should_exit = True
        if self._thread is not None:
            self._thread.join(_START_TIMEOUT_S)
        if self._socket is not None:
            self._socket.close()

    def _application(self) -> Starlette:
        from starlette.applications import Starlette  # noqa: PLC0415
        from starlette.routing import Route  # noqa: PLC0415

        methods = ["GET", "POST"]
        return Starlette(routes=[Route("/{path:path}", self._endpoint, methods=methods)])

    async def _endpoint(self, request: HttpRequest) -> HttpResponse:
        from starlette.concurrency import run_in_threadpool  # noqa: PLC0415

        body = await request.body()
        headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers.raw)
        asked = Request(request.method, str(request.url), headers, body)
        return await run_in_threadpool(self._answer, asked)

    def _answer(self, asked: Request) -> HttpResponse:
        from starlette.responses import JSONResponse, StreamingResponse  # noqa: PLC0415

        try:
            answer = self._player.answer(asked)
        except MissError as miss:
            with self._lock:
                self.miss = self.miss or miss
            error = {"message": str(miss), "type": "harness_miss", "param": None, "code": "miss"}
            return JSONResponse({"error": error}, status_code=400)
        with self._lock:
            self.exchanges.append(Exchange(asked, answer, len(self.exchanges)))
        response = StreamingResponse(_stream(answer), status_code=answer.status)
        response.raw_headers = [
            (name.lower().encode("latin-1"), value.encode("latin-1", "replace"))
            for name, value in playable_headers(answer)
            if name.lower() not in ("connection", "keep-alive", "date", "server")
        ]
        return response


async def _serve(server: uvicorn.Server, bound: socket.socket) -> None:
    await server.serve([bound])
    for connection in list(server.server_state.connections):
        connection.transport.abort()
    await asyncio.sleep(0)  # the sockets of aborted connections are closed in the loop's next round


def _stream(answer: Response) -> Iterator[bytes]:
    yield from pieces_of(answer)
