"""HTTP at the edge of an application: a request read whole, an answer sent piece by piece, a client that leaves."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from harness.play.hosting import ClientGoneError
from harness.play.pace import Pace
from harness.play.transport import never_begins, playable_headers
from harness.wire.exchange import Ending, Headers, Request, Response
from harness.wire.half_pairs import dumps

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

_Result = TypeVar("_Result")

RawHeaders = list[tuple[bytes, bytes]]

# RFC 9110, section 7.6.1: these speak of one connection, not of the message.
HOP_BY_HOP = frozenset({
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
    "trailers", "transfer-encoding", "upgrade",
})  # fmt: skip

_OWN_HEADERS = frozenset({"date", "server"})
_BURST = 4
_HEADER_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, section 5.6.2
_NOT_IN_A_VALUE = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Connection:
    """The client of one request; ``stopping`` is set when the server closes."""

    receive: Receive
    send: Send
    stopping: asyncio.Event


async def read_body(receive: Receive) -> bytes:
    """The whole body of a request; raises ClientGoneError when it breaks off."""
    pieces: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        pieces.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(pieces)


def request_of(scope: Scope, body: bytes, target: bytes) -> Request:
    """The request as players see it, under the host that the client named; ``target`` is path and query."""
    headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"])
    host = next((value for name, value in headers if name == "host"), "harness.invalid")
    return Request(scope["method"], f"{scope['scheme']}://{host}{target.decode('latin-1')}", headers, body)


async def send_response(response: Response, pace: Pace, start: float, client: Connection) -> None:
    """Send an answer, each piece in one write at its time; ``start`` is when the request was there.

    What doesn't end whole is left without its end: the server then closes the connection behind the pieces, so a
    chunked body lacks its terminator. Raises ClientGoneError where it waits and nobody else does any more.
    """
    pieces = pace.pieces(response)
    sending = _send(response, pieces, pace, start, client.send)
    if response.ending is Ending.TIMEOUT or any(due > 0 for due, _ in pieces):
        await while_client_waits(sending, client)
    else:
        await sending


async def send_page(status: int, kind: str, body: bytes, send: Send) -> None:
    """Send a page of the server's own."""
    headers = [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})


def error_response(status: int, message: str, kind: str, code: str) -> Response:
    """An error in the provider's form, so that the program's own client shows the message."""
    error: Mapping[str, object] = {"message": message, "type": kind, "param": None, "code": code}
    headers: Headers = (("content-type", "application/json"),)
    return Response(status, headers, dumps({"error": error}))


def end_to_end(headers: RawHeaders) -> RawHeaders:
    """The headers without those that speak of one connection only, the ones that ``Connection`` names included."""
    named = {
        option.strip().lower().decode("latin-1")
        for name, value in headers
        if name.lower() == b"connection"
        for option in value.split(b",")
    }
    dropped = HOP_BY_HOP | named
    return [(name, value) for name, value in headers if name.lower().decode("latin-1") not in dropped]


async def while_client_waits(work: Awaitable[_Result], client: Connection) -> _Result:
    """What ``work`` gives; it is cancelled when the client leaves or the server stops: ClientGoneError then."""
    working = asyncio.ensure_future(work)
    others = [asyncio.ensure_future(_gone(client.receive)), asyncio.ensure_future(client.stopping.wait())]
    try:
        await asyncio.wait([working, *others], return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise ClientGoneError
    finally:
        unfinished = [task for task in (working, *others) if not task.done()]
        for task in unfinished:
            task.cancel()
        await asyncio.gather(*unfinished, return_exceptions=True)


async def _send(response: Response, pieces: list[tuple[float, bytes]], pace: Pace, start: float, send: Send) -> None:
    if never_begins(response):
        await _for_ever()
    await send({"type": "http.response.start", "status": response.status, "headers": _sent_headers(response)})
    for number, (due, piece) in enumerate(pieces):
        if (wait := pace.left(start, due)) > 0:
            await pace.sleep(wait)
        elif number % _BURST == 0:
            await asyncio.sleep(0)  # others have their turn, and a client that has left is noticed
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    if response.ending is Ending.TIMEOUT:
        await _for_ever()
    if response.ending is Ending.WHOLE:
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _for_ever() -> None:
    await asyncio.Event().wait()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _sent_headers(response: Response) -> RawHeaders:
    encoded = [(name.lower().encode("latin-1", "replace"), _value(value)) for name, value in playable_headers(response)]
    own = {name.encode() for name in _OWN_HEADERS}
    return [
        (name, value)
        for name, value in end_to_end(encoded)
        if name not in own and _HEADER_NAME.fullmatch(name) and not _NOT_IN_A_VALUE.search(value)
    ]


def _value(value: str) -> bytes:
    return value.strip().encode("latin-1", "replace")
