"""What goes over the socket: frames, times, endings, and clients that leave."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.play.hosting import ClientGoneError
from harness.play.http import Connection, read_body, send_response
from harness.play.pace import Pace, pieces_of
from harness.play.script import ScriptedTurn, ScriptPlayer, render_turn
from harness.play.server import LoopbackServer
from harness.seams import ManualClock
from harness.wire.exchange import Chunk, Ending, Headers, Request, Response
from tests.play.raw_http import ask, asking, read_answer, read_head
from tests.play.test_transport_endings import Sleeper

SSE: Headers = (("content-type", "text/event-stream"),)
QUESTION: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": True}


def cut(body: bytes, *ends: int) -> tuple[Chunk, ...]:
    return tuple(Chunk(end, number + 1.0) for number, end in enumerate(ends))


class Changing:
    """Plays whatever the test puts there."""

    def __init__(self) -> None:
        self.response = Response(200)

    def answer(self, request: Request) -> Response:
        return self.response


@pytest.fixture(scope="module")
def changing() -> Iterator[tuple[Changing, str]]:
    player = Changing()
    with LoopbackServer(player) as server:
        yield player, server.base_url


# Frames


@settings(max_examples=40)
@given(body=st.binary(max_size=80), cuts=st.lists(st.integers(0, 80), max_size=12))
def test_a_chunk_is_a_frame(changing: tuple[Changing, str], body: bytes, cuts: list[int]) -> None:
    player, url = changing
    ends = sorted({min(end, len(body)) for end in cuts} - {0})
    player.response = Response(200, SSE, body, cut(body, *ends))
    answer = ask(f"{url}/chat/completions", QUESTION)
    assert tuple(answer.pieces) == pieces_of(player.response)
    assert answer.whole


def test_the_cut_of_a_character_in_two_stays(changing: tuple[Changing, str]) -> None:
    player, url = changing
    body = "data: 🙂\r\n\r\n".encode()
    player.response = Response(200, SSE, body, cut(body, 7, 8, 9, len(body)))
    assert ask(f"{url}/chat/completions", QUESTION).pieces == [body[:7], body[7:8], body[8:9], body[9:]]


def test_a_body_with_a_recorded_length_keeps_it(changing: tuple[Changing, str]) -> None:
    player, url = changing
    player.response = Response(200, (("Content-Length", "6"),), b"abcdef", cut(b"abcdef", 2, 6))
    answer = ask(f"{url}/models", method="GET")
    assert (dict(answer.headers)["content-length"], answer.body) == ("6", b"abcdef")
    assert "transfer-encoding" not in dict(answer.headers)


@pytest.mark.parametrize("status", [204, 304])
def test_an_answer_without_a_body_has_none(changing: tuple[Changing, str], status: int) -> None:
    player, url = changing
    player.response = Response(status)
    assert ask(url).status == status


def test_headers_that_no_http_line_can_hold_are_left_out(changing: tuple[Changing, str]) -> None:
    player, url = changing
    odd = (("x bad", "1"), ("x-split", "a\r\nset-cookie: b"), ("x-fine", " é "), ("x-smile", "🙂"), ("keep-alive", "9"))
    player.response = Response(200, odd, b"{}")
    headers = dict(ask(url).headers)
    assert (headers["x-fine"], headers["x-smile"]) == ("é", "?")
    assert not headers.keys() & {"x bad", "x-split", "set-cookie", "keep-alive"}


# Endings


@pytest.mark.parametrize("length", [False, True])
def test_a_disconnect_comes_behind_the_pieces(changing: tuple[Changing, str], length: bool) -> None:
    player, url = changing
    headers = (*SSE, ("content-length", "6")) if length else SSE
    player.response = Response(200, headers, b"abcdef", cut(b"abcdef", 2, 6), ending=Ending.DISCONNECT)
    with asking(f"{url}/chat/completions", QUESTION) as reader:
        answer = read_answer(reader)
        assert reader.read() == b""
    assert (answer.pieces, answer.whole) == ([b"ab", b"cdef"], False)
    player.response = Response(200, SSE, b"next")
    assert ask(url).body == b"next"


def test_a_disconnect_before_the_first_byte_shows_the_head_only(changing: tuple[Changing, str]) -> None:
    player, url = changing
    player.response = Response(200, SSE, ending=Ending.DISCONNECT)
    answer = ask(f"{url}/chat/completions", QUESTION)
    assert (answer.status, answer.pieces, answer.whole) == (200, [], False)


@pytest.mark.parametrize("body", [b"", b"abc"])
def test_an_answer_that_never_ends_is_held_until_the_server_stops(body: bytes) -> None:
    asked = threading.Event()

    class Hanging:
        def answer(self, request: Request) -> Response:
            asked.set()
            return Response(200, SSE, body, ending=Ending.TIMEOUT)

    server = LoopbackServer(Hanging())
    with server:
        held = asking(f"{server.base_url}/chat/completions", QUESTION)
        reader = held.__enter__()
        if body:
            assert read_head(reader)[0] == 200
            assert reader.readline() == b"3\r\n"
            assert reader.readline() == b"abc\r\n"
        assert asked.wait(10)
    rest = reader.read()
    held.__exit__(None, None, None)
    assert b"0\r\n\r\n" not in rest
    if not body:
        assert rest == b""


# Without a socket: times, and clients that leave


@dataclass
class Wire:
    """One ASGI connection, in memory."""

    gone: asyncio.Event = field(default_factory=asyncio.Event)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    sent: list[Any] = field(default_factory=list)

    async def receive(self) -> dict[str, Any]:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.sent.append(message)

    @property
    def connection(self) -> Connection:
        return Connection(self.receive, self.send, self.stopping)

    @property
    def pieces(self) -> list[bytes]:
        return [message["body"] for message in self.sent if message.get("more_body")]

    @property
    def whole(self) -> bool:
        return bool(self.sent) and self.sent[-1].get("more_body") is False


@pytest.mark.parametrize(
    ("speed", "paced", "waits"),
    [(0.0, False, []), (1.0, False, [1.0, 1.0]), (0.5, False, [2.0, 2.0]), (0.0, True, [1.0, 1.0])],
)
def test_pieces_go_out_at_their_times(speed: float, paced: bool, waits: list[float]) -> None:
    sleeper = Sleeper()

    async def play() -> Wire:
        wire = Wire()
        response = Response(200, SSE, b"abcd", cut(b"abcd", 2, 4), paced=paced)
        await send_response(response, sleeper.pace(speed), 0.0, wire.connection)
        return wire

    wire = asyncio.run(play())
    assert (wire.pieces, wire.whole, sleeper.waits) == ([b"ab", b"cd"], True, waits)


@pytest.mark.parametrize("what", ["gone", "stopping"])
def test_nobody_waits_for_a_client_that_has_left(what: str) -> None:
    async def play() -> tuple[Wire, int]:
        wire = Wire()

        async def sleep(_: float) -> None:
            getattr(wire, what).set()
            await asyncio.Event().wait()

        response = Response(200, SSE, b"abcd", (Chunk(2, 0.0), Chunk(4, 60.0)), paced=True)
        with pytest.raises(ClientGoneError):
            await send_response(response, Pace(0, ManualClock(), sleep), 0.0, wire.connection)
        return wire, len(asyncio.all_tasks())

    wire, tasks = asyncio.run(play())
    assert (wire.pieces, wire.whole, tasks) == ([b"ab"], False, 1)


@pytest.mark.parametrize("what", ["gone", "stopping"])
@pytest.mark.parametrize("body", [b"", b"ab"])
def test_an_answer_that_never_ends_is_let_go_of(what: str, body: bytes) -> None:
    async def play() -> Wire:
        wire = Wire()
        getattr(wire, what).set()
        with pytest.raises(ClientGoneError):
            await send_response(Response(200, SSE, body, ending=Ending.TIMEOUT), Pace(), 0.0, wire.connection)
        return wire

    wire = asyncio.run(play())
    assert not wire.whole
    assert wire.pieces == ([body] if body else [])
    assert bool(wire.sent) == bool(body)


def test_a_body_that_breaks_off_is_no_request() -> None:
    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    with pytest.raises(ClientGoneError):
        asyncio.run(read_body(receive))


def test_a_client_that_leaves_in_mid_stream_harms_no_other() -> None:
    """One client reads a byte of a large answer and goes; another one's stream, begun before, ends as it should."""
    large = Response(200, SSE, bytes(8_000_000), cut(b"", *range(1000, 8_000_001, 1000)))
    turn = render_turn(ScriptedTurn(text="all of it", fragment=1), 0, {"stream": True})

    class Two:
        def answer(self, request: Request) -> Response:
            return large if request.path.endswith("/large") else turn

    with LoopbackServer(Two()) as server:
        with asking(f"{server.base_url}/chat/completions", QUESTION) as other:
            for _ in range(5):
                with asking(f"{server.base_url}/large", method="GET") as reader:
                    assert reader.read(1)
            answer = read_answer(other)
        assert (tuple(answer.pieces), answer.whole) == (pieces_of(turn), True)
        assert ask(f"{server.base_url}/chat/completions", QUESTION).body == turn.body


def test_a_request_cut_short_by_its_client_is_not_asked() -> None:
    player = ScriptPlayer([ScriptedTurn()])
    with LoopbackServer(player) as server:
        address = urlsplit(server.base_url)
        with socket.create_connection((address.hostname or "", address.port or 0)) as connection:
            connection.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nhost: h\r\ncontent-length: 9\r\n\r\n{")
        assert ask(f"{server.base_url}/chat/completions", QUESTION).whole
    assert (player.played, server.sessions.all[0].requests) == (1, 1)
