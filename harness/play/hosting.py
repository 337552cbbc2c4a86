"""An application over HTTP on this machine, while a context is open."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import threading
import time
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from harness.errors import HarnessError, InputError

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp, Receive, Scope, Send

LOOPBACK = "127.0.0.1"
_START_TIMEOUT_S = 10.0
_STOP_TIMEOUT_S = 1  # a program that was killed may never read the rest of an answer
_BACKLOG = 2048


class ClientGoneError(Exception):
    """The client has closed its connection, or the server stops: nobody waits for the answer any more."""


async def _nothing() -> None:
    pass


class HttpHost:
    """Serves an ASGI application at ``url`` in a thread of its own, from `open` to `close`; can be opened again.

    ``make_application`` is called at each opening with an event that is set when the host closes: the application then
    lets go of answers that are not finished. ClientGoneError from it gives the connection up. ``port`` 0 takes a free
    one. ``own_headers`` sends the date and the server's name with each answer. ``at_end`` is awaited behind the last
    answer.
    """

    def __init__(
        self,
        make_application: Callable[[asyncio.Event], ASGIApp],
        *,
        host: str = LOOPBACK,
        port: int = 0,
        own_headers: bool = True,
        at_end: Callable[[], Awaitable[None]] = _nothing,
    ) -> None:
        self._make_application = make_application
        self._host = host
        self._port = port
        self._own_headers = own_headers
        self._at_end = at_end
        self._served: ASGIApp | None = None
        self._server: uvicorn.Server | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._socket: socket.socket | None = None
        self._stopping = asyncio.Event()
        self.url = ""

    def open(self) -> None:
        """Begin to serve.

        Raises InputError for an address that cannot be used, HarnessError when the server does not come up.
        """
        import uvicorn  # noqa: PLC0415  start-up imports only what the command needs

        stopping = self._stopping = asyncio.Event()  # one belongs to the loop that first waits for it
        self._served = self._make_application(stopping)
        self._socket = self._bound()
        self.url = f"http://{_as_asked(self._host)}:{self._socket.getsockname()[1]}"
        config = uvicorn.Config(
            self._application,
            interface="asgi3",
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            date_header=self._own_headers,
            server_header=self._own_headers,
            timeout_graceful_shutdown=_STOP_TIMEOUT_S,
            backlog=_BACKLOG,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=asyncio.run, args=(self._serve(self._server, self._socket),), name="harness-server", daemon=True
        )
        self._thread.start()
        deadline = time.monotonic() + _START_TIMEOUT_S
        while not self._server.started:
            if time.monotonic() > deadline or not self._thread.is_alive():
                self.close()
                raise HarnessError(f"the server at {self.url} did not start")
            time.sleep(0.005)

    def close(self) -> None:
        """Stop serving: finished answers are sent, others let go of after a second."""
        if self._server is not None:
            self._server.should_exit = True
        if self._loop is not None and self._thread is not None and self._thread.is_alive():
            try:
                self._loop.call_soon_threadsafe(self._stopping.set)
            except RuntimeError:  # the loop has ended in between
                self._stopping.set()
        if self._thread is not None:
            self._thread.join(_START_TIMEOUT_S)
        if self._socket is not None:
            self._socket.close()

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _bound(self) -> socket.socket:
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        bound = socket.socket(family, socket.SOCK_STREAM)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind((self._host, self._port))
        except (OSError, OverflowError) as error:
            bound.close()
            raise InputError(f"cannot listen there: {error}", where=f"{self._host}:{self._port}") from error
        return bound

    async def _application(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert self._served is not None  # noqa: S101  made when the host was opened
        try:
            await self._served(scope, receive, send)
        except ClientGoneError:
            for connection in list(self._server.server_state.connections if self._server is not None else ()):
                if getattr(connection, "client", None) == scope["client"]:
                    connection.transport.abort()
            await asyncio.sleep(0)  # in the loop's next round the server knows that nothing is to be sent any more

    async def _serve(self, server: uvicorn.Server, bound: socket.socket) -> None:
        self._loop = asyncio.get_running_loop()
        try:
            await server.serve([bound])
        finally:
            for connection in list(server.server_state.connections):
                connection.transport.abort()
            await asyncio.sleep(0)  # the sockets of aborted connections are closed in the loop's next round
            await self._at_end()


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address or name."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _as_asked(host: str) -> str:
    """The host as a client on this machine names it in a URL."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if address.is_unspecified:
        return LOOPBACK if address.version == 4 else "[::1]"
    return host if address.version == 4 else f"[{host}]"
