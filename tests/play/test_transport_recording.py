from __future__ import annotations

import asyncio
import gzip
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
import vcr
from hypothesis import given
from hypothesis import strategies as st

from harness.cassette.dialects import load_cassette
from harness.cassette.dialects.vcrpy import VcrpyWriter
from harness.play.client import async_openai_client, openai_client
from harness.play.transport import AsyncRecordingTransport, RecordingTransport, pieces_of
from harness.seams import ManualClock, SystemClock
from harness.wire.exchange import Chunk, Exchange


@dataclass
class Loopback:
    """An HTTP server on loopback that sends its answer in pieces.

    ``gates[i]`` must be set before piece i + 1 is sent; ``cut`` breaks the connection off after the last piece.
    """

    pieces: Sequence[bytes]
    headers: Sequence[tuple[str, str]] = (("content-type", "text/event-stream"),)
    gates: Sequence[threading.Event] = ()
    cut: bool = False
    status: int = 200
    requests: list[bytes] = field(default_factory=list)
    url: str = ""


@contextmanager
def serving(answer: Loopback) -> Iterator[Loopback]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            answer.requests.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(answer.status)
            for name, value in answer.headers:
                self.send_header(name, value)
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            try:
                for index, piece in enumerate(answer.pieces):
                    if 0 < index <= len(answer.gates):
                        assert answer.gates[index - 1].wait(10)
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                    self.wfile.flush()
                if not answer.cut:
                    self.wfile.write(b"0\r\n\r\n")
            except OSError:  # the client has closed the connection, as some tests want
                pass
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        answer.url = f"http://127.0.0.1:{server.server_port}/v1"
        try:
            yield answer
        finally:
            server.shutdown()
            thread.join()


def event(text: str) -> bytes:
    return b'data: {"choices":[{"index":0,"delta":{"content":"%b"}}]}\n\n' % text.encode()


DONE = b"data: [DONE]\n\n"
COMPLETION = b'{"id":"x","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"hi"}}]}'
QUESTION: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def texts(stream: Any) -> list[str | None]:
    return [chunk.choices[0].delta.content for chunk in stream]


def test_each_chunk_is_passed_on_before_the_next_one_exists() -> None:
    seen: list[Exchange] = []
    gate = threading.Event()
    pieces = [event("one"), event("two"), DONE]
    with (
        serving(Loopback(pieces, gates=[gate])) as server,
        openai_client(
            RecordingTransport(httpx2.HTTPTransport(), seen.append, SystemClock()), base_url=server.url
        ) as client,
    ):
        stream = iter(client.chat.completions.create(stream=True, **QUESTION))
        assert next(stream).choices[0].delta.content == "one"
        assert not seen
        gate.set()
        assert texts(stream) == ["two"]
    (exchange,) = seen
    assert exchange.response.body == b"".join(pieces)
    assert exchange.response.chunks[0].end == len(pieces[0])
    assert exchange.response.chunks[-1].end == len(exchange.response.body)
    times = [chunk.time for chunk in exchange.response.chunks]
    assert times == sorted(times)
    assert exchange.request.json()["messages"] == QUESTION["messages"]
    assert exchange.is_chat
    assert exchange.request.url == f"{server.url}/chat/completions"
    assert (exchange.response.status, exchange.response.reason) == (200, "OK")


def test_a_gzip_body_is_kept_as_transferred() -> None:
    seen: list[Exchange] = []
    packed = gzip.compress(COMPLETION)
    headers = [("content-type", "application/json"), ("content-encoding", "gzip")]
    with (
        serving(Loopback([packed[:9], packed[9:]], headers)) as server,
        openai_client(
            RecordingTransport(httpx2.HTTPTransport(), seen.append, SystemClock()), base_url=server.url
        ) as client,
    ):
        assert client.chat.completions.create(**QUESTION).choices[0].message.content == "hi"
    assert seen[0].response.body == packed
    assert seen[0].turn().content == "hi"


def test_a_stream_that_breaks_off_is_kept_as_far_as_it_came() -> None:
    seen: list[Exchange] = []
    with (
        serving(Loopback([event("one")], cut=True)) as server,
        openai_client(
            RecordingTransport(httpx2.HTTPTransport(), seen.append, SystemClock()), base_url=server.url
        ) as client,
        client.chat.completions.create(stream=True, **QUESTION) as stream,
        pytest.raises((httpx2.RemoteProtocolError, openai.APIConnectionError)),
    ):
        texts(stream)
    assert [exchange.response.body for exchange in seen] == [event("one")]
    assert seen[0].turn().status == "incomplete"


def test_a_stream_that_the_client_closes_is_kept_as_far_as_it_was_read() -> None:
    seen: list[Exchange] = []
    gate = threading.Event()
    with (
        serving(Loopback([event("one"), event("two")], gates=[gate])) as server,
        openai_client(
            RecordingTransport(httpx2.HTTPTransport(), seen.append, SystemClock()), base_url=server.url
        ) as client,
    ):
        with client.chat.completions.create(stream=True, **QUESTION) as stream:
            next(iter(stream))
        assert [exchange.response.body for exchange in seen] == [event("one")]
        gate.set()


def test_a_response_nobody_reads_is_kept_once_when_closed() -> None:
    seen: list[Exchange] = []
    inner = httpx2.MockTransport(lambda request: httpx2.Response(500, content=b"broken"))
    with httpx2.Client(transport=RecordingTransport(inner, seen.append, ManualClock())) as client:
        with client.stream("POST", "http://h/", content=b"x"):
            pass
        assert client.post("http://h/", content=b"y").content == b"broken"
    assert [(one.request.body, one.response.body, one.response.status) for one in seen] == [
        (b"x", b"", 500),
        (b"y", b"broken", 500),
    ]


def test_without_a_connection_there_is_no_exchange() -> None:
    seen: list[Exchange] = []

    def refuse(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused")

    transport = RecordingTransport(httpx2.MockTransport(refuse), seen.append, ManualClock())
    with openai_client(transport) as client, pytest.raises(openai.APIConnectionError):
        client.chat.completions.create(**QUESTION)
    assert not seen


class Paced(httpx2.BaseTransport):
    """A second passes before each chunk."""

    def __init__(self, pieces: list[bytes], clock: ManualClock, *, breaks: bool = False) -> None:
        self.pieces, self.clock, self.breaks = pieces, clock, breaks

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        outer = self

        class Stream(httpx2.SyncByteStream):
            def __iter__(self) -> Iterator[bytes]:
                for piece in outer.pieces:
                    outer.clock.advance(1)
                    yield piece
                if outer.breaks:
                    raise httpx2.ReadError("gone")

        return httpx2.Response(200, headers=[(b"X-Caf\xe9", b"\xe9"), (b"a", b"1"), (b"a", b"2")], stream=Stream())


@given(pieces=st.lists(st.binary(min_size=1, max_size=20), max_size=6), breaks=st.booleans())
def test_chunks_and_times_are_those_of_the_wire(pieces: list[bytes], breaks: bool) -> None:
    seen: list[Exchange] = []
    passed: list[bytes] = []
    clock = ManualClock(100)
    with (
        httpx2.Client(transport=RecordingTransport(Paced(pieces, clock, breaks=breaks), seen.append, clock)) as client,
        client.stream("GET", "http://h/") as response,
    ):
        try:
            passed.extend(response.iter_raw())
        except httpx2.ReadError:
            assert breaks
    (exchange,) = seen
    assert passed == pieces
    assert list(pieces_of(exchange.response)) == pieces
    ends = [sum(map(len, pieces[: count + 1])) for count in range(len(pieces))]
    assert exchange.response.chunks == tuple(Chunk(end, float(count + 1)) for count, end in enumerate(ends))
    assert exchange.response.headers == (("X-Caf\xe9", "\xe9"), ("a", "1"), ("a", "2"))


def test_asyncio() -> None:
    seen: list[Exchange] = []

    async def ask(url: str) -> list[str | None]:
        transport = AsyncRecordingTransport(httpx2.AsyncHTTPTransport(), seen.append, SystemClock())
        async with async_openai_client(transport, base_url=url) as client:
            stream = await client.chat.completions.create(stream=True, **QUESTION)
            return [chunk.choices[0].delta.content async for chunk in stream]

    with serving(Loopback([event("one"), event("two"), DONE])) as server:
        assert asyncio.run(ask(server.url)) == ["one", "two"]
    assert seen[0].response.body == event("one") + event("two") + DONE


@pytest.mark.parametrize("packed", [False, True])
def test_what_is_recorded_is_replayed_by_stock_vcrpy(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / "session.yaml"
    writer = VcrpyWriter(path)
    pieces = [event("héllo 😀"), event("two"), DONE]
    plain = Loopback([gzip.compress(COMPLETION)] if packed else [COMPLETION])
    plain.headers = [("content-type", "application/json"), *([("content-encoding", "gzip")] if packed else [])]
    url = "http://127.0.0.1:1/v1"

    class Redirected(httpx2.HTTPTransport):
        """Asks the server of the test under the address that the recording shall have."""

        def handle_request(self, request: httpx2.Request) -> httpx2.Response:
            target = httpx2.URL(server.url + "/chat/completions")
            return super().handle_request(
                httpx2.Request(request.method, target, headers=request.headers, content=request.content)
            )

    with openai_client(RecordingTransport(Redirected(), writer.add, SystemClock()), base_url=url) as client:
        with serving(Loopback(pieces)) as server:
            assert texts(client.chat.completions.create(stream=True, **QUESTION)) == ["héllo 😀", "two"]
        with serving(plain) as server:
            assert client.chat.completions.create(**QUESTION).choices[0].message.content == "hi"

    assert "chunks:" in path.read_text(encoding="utf-8")
    assert len(load_cassette(path).chat_exchanges) == 2
    before = path.read_bytes()
    with (
        vcr.VCR(record_mode="none").use_cassette(str(path)) as played,
        openai.OpenAI(base_url=url, api_key="x", max_retries=0) as stock,
    ):
        assert texts(stock.chat.completions.create(stream=True, **QUESTION)) == ["héllo 😀", "two"]
        assert stock.chat.completions.create(**QUESTION).choices[0].message.content == "hi"
        assert played.play_count == 2
    assert path.read_bytes() == before
