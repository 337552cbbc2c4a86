"""Between the real client and its network: recording what passes, or answering in its place.

Both work below the client's content decoding, on the bytes as transferred.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator

import httpx2

from harness.play.pace import Pace, pieces_of
from harness.play.player import MissError, Player
from harness.seams import Clock
from harness.wire.exchange import Chunk, Ending, Exchange, Headers, Request, Response, header

__all__ = [
    "AsyncRecordingTransport",
    "OnExchange",
    "PlayerTransport",
    "RecordingTransport",
    "never_begins",
    "pieces_of",
    "playable_headers",
]

OnExchange = Callable[[Exchange], None]

# One byte is one character in both directions, so no header is changed by being kept as text.
_HEADER_ENCODING = "latin-1"
_TEXT_STARTS = (b"{", b"[", b"<", b'"', b":", b"data:", b"event:", b"id:", b"retry:")


class RecordingTransport(httpx2.BaseTransport):
    """Passes requests to ``inner`` and each chunk of the response on at once, keeping a copy.

    ``on_exchange`` gets the exchange, secrets included, once: when the response has ended, has broken off, or is
    closed by the client; the body then holds the bytes that had arrived. A request without a response (no
    connection) is no exchange. Times are seconds since the request was handed over, to the microsecond. What
    ``on_exchange`` raises reaches the reader of the response.
    """

    def __init__(self, inner: httpx2.BaseTransport, on_exchange: OnExchange, clock: Clock) -> None:
        self._inner = inner
        self._on_exchange = on_exchange
        self._clock = clock

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send the request on; the response is recorded while it is read."""
        request.read()
        start = self._clock.monotonic()
        response = self._inner.handle_request(request)
        tape = _Tape(request, response, start, self._clock, self._on_exchange)
        assert isinstance(response.stream, httpx2.SyncByteStream)  # noqa: S101 - the contract of a sync transport
        return _with_stream(response, _RecordedStream(response.stream, tape))

    def close(self) -> None:
        """Close the inner transport."""
        self._inner.close()


class AsyncRecordingTransport(httpx2.AsyncBaseTransport):
    """`RecordingTransport` for asyncio; ``on_exchange`` is a plain function, called on the loop."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, on_exchange: OnExchange, clock: Clock) -> None:
        self._inner = inner
        self._on_exchange = on_exchange
        self._clock = clock

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send the request on; the response is recorded while it is read."""
        await request.aread()
        start = self._clock.monotonic()
        response = await self._inner.handle_async_request(request)
        tape = _Tape(request, response, start, self._clock, self._on_exchange)
        assert isinstance(response.stream, httpx2.AsyncByteStream)  # noqa: S101 - the contract of an async transport
        return _with_stream(response, _AsyncRecordedStream(response.stream, tape))

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._inner.aclose()


class PlayerTransport(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
    """Lets a player answer in place of the network, for sync and async clients; safe to share between threads.

    The recorded chunks come out as they were cut, at once or as ``pace`` says; without chunks the body comes in one
    piece. A piece that is due later than the client's read timeout, and an answer that never ends, raise ReadTimeout
    without waiting for it; an answer that breaks off raises RemoteProtocolError behind its last piece.

    ``exchanges`` holds what was played, in the order of the answers. A miss is raised to the caller: the openai
    client (3.57) neither retries nor wraps an exception that is not one of httpx2's. Because an agent may swallow
    it all the same, ``miss`` keeps the first one for good.
    """

    def __init__(self, player: Player, pace: Pace | None = None) -> None:
        self._player = player
        self._pace = pace or Pace()
        self._lock = threading.Lock()
        self.exchanges: list[Exchange] = []
        self.miss: MissError | None = None

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer a request; raises MissError, and ReadTimeout where no answer ever begins."""
        request.read()
        return self._answer(request)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer a request; raises MissError, and ReadTimeout where no answer ever begins."""
        await request.aread()
        return self._answer(request)

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        asked = _request_of(request)
        start = self._pace.clock.monotonic()
        try:
            answer = self._player.answer(asked)
        except MissError as miss:
            with self._lock:
                self.miss = self.miss or miss
            raise
        with self._lock:
            self.exchanges.append(Exchange(asked, answer, len(self.exchanges)))
        if never_begins(answer):
            raise httpx2.ReadTimeout("no answer came", request=request)
        encoding = _HEADER_ENCODING
        return httpx2.Response(
            answer.status,
            headers=[(name.encode(encoding), _encoded(value)) for name, value in playable_headers(answer)],
            stream=_PlayedStream(answer, self._pace, start, request),
            extensions={"reason_phrase": answer.reason.encode("ascii", "replace")} if answer.reason else None,
        )


def never_begins(response: Response) -> bool:
    """Whether not even the head of the answer comes: one that never ends and has no byte of a body."""
    return response.ending is Ending.TIMEOUT and not response.body


def playable_headers(response: Response) -> Headers:
    """The headers that are true of the body as it is kept.

    Many recorders undo the content encoding or the chunked transfer and keep the headers that announced them. Where
    the body is not whole no length is said: it could be that of the part that comes.
    """
    body = response.body
    packed = body.startswith(b"\x1f\x8b")
    encoding = (header(response.headers, "content-encoding") or "").strip().lower()
    dropped = {"transfer-encoding"}
    if encoding and not _is_encoded(body, encoding):
        dropped.add("content-encoding")
    length = (header(response.headers, "content-length") or "").strip()
    if length != str(len(body)) or response.ending is not Ending.WHOLE:
        dropped.add("content-length")
    kept = tuple((name, value) for name, value in response.headers if name.lower() not in dropped)
    return (*kept, ("content-encoding", "gzip")) if packed and not encoding else kept


def _is_encoded(body: bytes, encoding: str) -> bool:
    if encoding in {"gzip", "x-gzip"}:
        return body.startswith(b"\x1f\x8b")
    return bool(body) and not body.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(_TEXT_STARTS)


class _Tape:
    """The copy of one response while it is read."""

    def __init__(
        self,
        request: httpx2.Request,
        response: httpx2.Response,
        start: float,
        clock: Clock,
        on_exchange: OnExchange,
    ) -> None:
        self._request = _request_of(request)
        self._status = response.status_code
        self._headers = _headers_of(response.headers)
        self._reason = response.reason_phrase
        self._start = start
        self._clock = clock
        self._on_exchange: OnExchange | None = on_exchange
        self._pieces: list[bytes] = []
        self._chunks: list[Chunk] = []
        self._length = 0
        self._lock = threading.Lock()

    def take(self, piece: bytes) -> None:
        if not piece:  # no network read gives nothing
            return
        self._length += len(piece)
        self._pieces.append(piece)
        self._chunks.append(Chunk(self._length, round(self._clock.monotonic() - self._start, 6)))

    def finish(self) -> None:
        """Hand the exchange over, the first time this is called."""
        with self._lock:
            on_exchange, self._on_exchange = self._on_exchange, None
        if on_exchange is None:
            return
        response = Response(
            self._status, self._headers, b"".join(self._pieces), chunks=tuple(self._chunks), reason=self._reason
        )
        on_exchange(Exchange(self._request, response))


class _RecordedStream(httpx2.SyncByteStream):
    def __init__(self, inner: Iterable[bytes], tape: _Tape) -> None:
        self._inner = inner
        self._tape = tape

    def __iter__(self) -> Iterator[bytes]:
        try:
            for piece in self._inner:
                self._tape.take(piece)
                yield piece
        finally:
            self._tape.finish()

    def close(self) -> None:
        try:
            self._tape.finish()
        finally:
            if isinstance(self._inner, httpx2.SyncByteStream):
                self._inner.close()


class _AsyncRecordedStream(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, tape: _Tape) -> None:
        self._inner = inner
        self._tape = tape

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._inner:
                self._tape.take(piece)
                yield piece
        finally:
            self._tape.finish()

    async def aclose(self) -> None:
        try:
            self._tape.finish()
        finally:
            await self._inner.aclose()


class _PlayedStream(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    def __init__(self, answer: Response, pace: Pace, start: float, request: httpx2.Request) -> None:
        self._answer = answer
        self._pace = pace
        self._start = start
        self._request = request

    def __iter__(self) -> Iterator[bytes]:
        for due, piece in self._pace.pieces(self._answer):
            if (wait := self._wait(due)) > 0:
                self._pace.block(wait)
            yield piece
        self._end()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for due, piece in self._pace.pieces(self._answer):
            if (wait := self._wait(due)) > 0:
                await self._pace.sleep(wait)
            yield piece
        self._end()

    def _wait(self, due: float) -> float:
        wait = self._pace.left(self._start, due)
        patience = self._request.extensions.get("timeout", {}).get("read")
        if patience is not None and wait > patience:
            raise httpx2.ReadTimeout(f"nothing came for {patience:g} s", request=self._request)
        return wait

    def _end(self) -> None:
        if self._answer.ending is Ending.DISCONNECT:
            raise httpx2.RemoteProtocolError("the body broke off before it was whole", request=self._request)
        if self._answer.ending is Ending.TIMEOUT:
            raise httpx2.ReadTimeout("the rest of the body never came", request=self._request)


def _with_stream(response: httpx2.Response, stream: httpx2.SyncByteStream | httpx2.AsyncByteStream) -> httpx2.Response:
    """A fresh response: one that the inner transport has already read would never read the recorded stream."""
    return httpx2.Response(
        response.status_code, headers=response.headers.raw, stream=stream, extensions=response.extensions
    )


def _request_of(request: httpx2.Request) -> Request:
    return Request(request.method, str(request.url), _headers_of(request.headers), request.content)


def _headers_of(headers: httpx2.Headers) -> Headers:
    return tuple((name.decode(_HEADER_ENCODING), value.decode(_HEADER_ENCODING)) for name, value in headers.raw)


def _encoded(value: str) -> bytes:
    """Cassettes of other recorders may hold characters that no header byte stands for."""
    try:
        return value.encode(_HEADER_ENCODING)
    except UnicodeEncodeError:
        return value.encode()
