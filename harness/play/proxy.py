"""A recording proxy: in front of a real endpoint, it passes everything on and keeps a copy.

What a program sends goes on as it is, but for the headers of one connection; what the endpoint answers comes back chunk
by chunk as it arrives, errors and redirects included. Nothing but the named endpoint is ever contacted.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

import httpx2

from harness.errors import InputError
from harness.play.hosting import LOOPBACK, HttpHost
from harness.play.http import (
    Connection,
    RawHeaders,
    end_to_end,
    error_response,
    read_body,
    send_response,
    while_client_waits,
)
from harness.play.pace import Pace
from harness.play.transport import AsyncRecordingTransport
from harness.seams import Clock, SystemClock
from harness.wire.exchange import Exchange

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

_CONNECT_S = 30.0
_READ_S = 600.0  # a model that thinks may be silent for minutes
_TIMEOUT = {"connect": _CONNECT_S, "read": _READ_S, "write": _READ_S, "pool": _CONNECT_S}


class RecordingProxy:
    """Stands in front of ``upstream``, a base URL such as ``https://api.example.com/v1``, while its context is open.

    ``base_url`` is what a program is given in its place: the same path on 127.0.0.1. Each finished exchange is handed
    to ``keep``, secrets included, one after the other, before the end of its response reaches the program. One that
    breaks off, on either side, is kept as far as it came. ``recorded`` counts them; ``problems`` says where the
    endpoint did not answer (the program gets HTTP 502) or broke off, ``lost`` what ``keep`` could not keep. Raises
    InputError for a URL that is none, and HarnessError when the proxy does not come up. ``transport`` makes what
    reaches the endpoint, by default over the network; it is closed at the end.
    """

    def __init__(
        self,
        upstream: str,
        keep: Callable[[Exchange], None],
        *,
        clock: Clock | None = None,
        transport: Callable[[], httpx2.AsyncBaseTransport] | None = None,
    ) -> None:
        self._origin, self._path = _taken_apart(upstream)
        self._keep = keep
        self._clock = clock or SystemClock()
        self._make_transport = transport or network
        self._transport: httpx2.AsyncBaseTransport | None = None
        self._host = HttpHost(self._application, host=LOOPBACK, own_headers=False, at_end=self._end)
        self._writer: ThreadPoolExecutor | None = None
        self._under_way = 0
        self._changed = threading.Condition()
        self.recorded = 0
        self.problems: list[str] = []
        self.lost: list[str] = []

    @property
    def base_url(self) -> str:
        """What a program is given as its base URL."""
        return self._host.url + self._path

    def settle(self, seconds: float) -> bool:
        """Wait until each exchange that has begun is kept, at most some seconds; whether they all are.

        A program that has read what it wanted of a stream goes on before the exchange has ended.
        """
        with self._changed:
            return self._changed.wait_for(lambda: not self._under_way, seconds)

    def __enter__(self) -> Self:
        self._writer = ThreadPoolExecutor(1, "harness-recorder")
        try:
            self._host.open()
        except BaseException:
            self._writer.shutdown()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._host.close()
        if self._writer is not None:
            self._writer.shutdown()

    def _application(self, stopping: asyncio.Event) -> ASGIApp:
        self._transport = self._make_transport()

        async def application(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http":
                self._count(1)
                try:
                    await self._pass_on(scope, Connection(receive, send, stopping))
                finally:
                    self._count(-1)

        return application

    def _count(self, change: int) -> None:
        with self._changed:
            self._under_way += change
            self._changed.notify_all()

    async def _end(self) -> None:
        if self._transport is not None:
            await self._transport.aclose()

    async def _pass_on(self, scope: Scope, client: Connection) -> None:
        body = await read_body(client.receive)
        if not scope["raw_path"].startswith(b"/"):  # "@host/…" behind the origin would be another origin
            refusal = error_response(400, "the request's target is not a path", "harness_upstream", "no_path")
            await send_response(refusal, Pace(), 0.0, client)
            return
        taken: list[Exchange] = []
        try:
            await self._exchange(self._request(scope, body), client, taken)
        finally:
            # Also where this task is cancelled: what has been received is kept.
            await asyncio.shield(self._kept(taken))

    async def _exchange(self, request: httpx2.Request, client: Connection, taken: list[Exchange]) -> None:
        assert self._transport is not None  # noqa: S101  made before the first request comes in
        recording = AsyncRecordingTransport(self._transport, taken.append, self._clock)
        try:
            response = await while_client_waits(recording.handle_async_request(request), client)
        except httpx2.HTTPError as error:
            what = f"{self._origin} did not answer {request.method} {request.url.path}: {_reason(error)}"
            self.problems.append(what)
            refusal = error_response(502, what, "harness_upstream", "upstream_failed")
            await send_response(refusal, Pace(), 0.0, client)
            return
        try:
            whole = await while_client_waits(self._relay(response, request, client), client)
        finally:
            await response.aclose()
        await self._kept(taken)
        if whole:
            await client.send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _relay(self, response: httpx2.Response, request: httpx2.Request, client: Connection) -> bool:
        """Pass the response on; whether it came to its end."""
        headers = [(name.lower(), value) for name, value in end_to_end(response.headers.raw)]
        await client.send({"type": "http.response.start", "status": response.status_code, "headers": headers})
        assert isinstance(response.stream, httpx2.AsyncByteStream)  # noqa: S101  the contract of an async transport
        try:
            async for piece in response.stream:
                await client.send({"type": "http.response.body", "body": piece, "more_body": True})
        except httpx2.HTTPError as error:
            self.problems.append(f"{self._origin} broke off its answer to {request.url.path}: {_reason(error)}")
            return False
        return True

    def _request(self, scope: Scope, body: bytes) -> httpx2.Request:
        target = scope["raw_path"] + (b"?" + scope["query_string"] if scope["query_string"] else b"")
        headers: RawHeaders = [
            (name, value) for name, value in end_to_end(scope["headers"]) if name not in (b"host", b"expect")
        ]
        return httpx2.Request(
            scope["method"],
            self._origin + target.decode("latin-1"),
            headers=headers,
            content=body or None,
            extensions={"timeout": dict(_TIMEOUT)},
        )

    async def _kept(self, taken: list[Exchange]) -> None:
        """Hand over what was taken, in a thread: a disk may be slow, and other streams go on."""
        while taken:
            exchange = taken.pop(0)
            try:
                await asyncio.get_running_loop().run_in_executor(self._writer, self._keep, exchange)
            except Exception as error:  # noqa: BLE001  the program's session goes on, the recording is not whole
                self.lost.append(f"{exchange.request.method} {exchange.request.path} was not recorded: {error}")
            else:
                self.recorded += 1


def network() -> httpx2.AsyncBaseTransport:
    """The way to a real endpoint."""
    # A server may close a kept connection just as the next request goes out, and a recording does not try again.
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=0)
    return httpx2.AsyncHTTPTransport(limits=limits)


def _taken_apart(upstream: str) -> tuple[str, str]:
    """Origin and path of a base URL."""
    try:
        parts = urlsplit(upstream)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or parts.query or parts.fragment or "@" in parts.netloc:
        raise InputError(
            f"{upstream!r} is not the base URL of an API", where="--upstream", hint="such as http://127.0.0.1:8090/v1"
        )
    return f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}{f': {text}' if text else ''}"
