from __future__ import annotations

import asyncio
import gzip
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx2
import openai
import orjson
import pytest
import uvicorn
from openai import OpenAI

from harness.errors import HarnessError
from harness.play import hosting
from harness.play.player import MissError, Player
from harness.play.script import ScriptedCall, ScriptedTurn, ScriptPlayer, render_turn
from harness.play.server import LoopbackServer
from harness.play.transport import pieces_of
from harness.wire.exchange import Chunk, Headers, Request, Response
from harness.wire.rules import check_request

QUESTION: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
CALL = ScriptedTurn(calls=(ScriptedCall("Read", '{"path":"日本🙂"}', "c1"),), finish_reason="tool_calls", fragment=3)
TEXT: Headers = (("content-type", "text/plain"),)


class Answering:
    """Answers everything alike."""

    def __init__(self, response: Response) -> None:
        self.response = response

    def answer(self, request: Request) -> Response:
        return self.response


@contextmanager
def client_of(server: LoopbackServer, retries: int = 0) -> Iterator[OpenAI]:
    """The client as any program would make it, except that the developer's proxies stay out of it."""
    with (
        httpx2.Client(trust_env=False) as http,
        OpenAI(base_url=server.base_url, api_key="k", max_retries=retries, http_client=http) as client,
    ):
        yield client


def raw_client() -> httpx2.Client:
    return httpx2.Client(trust_env=False, timeout=10)


def other_threads(known: set[threading.Thread]) -> set[threading.Thread]:
    """Threads begun since, once those that are just ending have had time to."""
    deadline = time.monotonic() + 5
    while (left := set(threading.enumerate()) - known) and time.monotonic() < deadline:
        time.sleep(0.01)
    return left


# The real client


@pytest.mark.seed("W03", "S01")
@pytest.mark.parametrize("streamed", [False, True])
def test_the_real_client_is_answered_over_http(streamed: bool) -> None:
    player = ScriptPlayer([CALL, ScriptedTurn(text="done")])
    with LoopbackServer(player) as server, client_of(server) as client:
        if streamed:
            chunks = list(client.chat.completions.create(**QUESTION, stream=True))
            deltas = [delta for chunk in chunks for delta in chunk.choices[0].delta.tool_calls or ()]
            arguments = "".join(delta.function.arguments or "" for delta in deltas if delta.function)
            called = (deltas[0].id, arguments)
        else:
            message = client.chat.completions.create(**QUESTION).choices[0].message
            assert message.tool_calls is not None
            made = message.tool_calls[0]
            assert made.type == "function"
            called = (made.id, made.function.arguments)
        final = client.chat.completions.create(**QUESTION).choices[0].message.content
    assert called == ("c1", '{"path":"日本🙂"}')
    assert final == "done"
    assert player.unused == 0
    assert server.miss is None
    assert [exchange.index for exchange in server.exchanges] == [0, 1]
    assert [exchange.response.streamed for exchange in server.exchanges] == [streamed, False]


def test_the_request_arrives_as_it_was_sent() -> None:
    tools: Any = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]
    with LoopbackServer(ScriptPlayer([ScriptedTurn()])) as server, client_of(server) as client:
        client.chat.completions.create(**QUESTION, tools=tools, extra_body={"deep": {"é": []}})
        asked = server.exchanges[0].request
    assert asked.json() == {**QUESTION, "tools": tools, "deep": {"é": []}}
    assert check_request(asked.json()) == []
    assert (asked.method, asked.path, asked.is_chat) == ("POST", "/v1/chat/completions", True)
    assert dict(asked.headers)["authorization"] == "Bearer k"


@pytest.mark.seed("K01")
def test_models_are_listed() -> None:
    player = ScriptPlayer([], models=[{"id": "m", "capabilities": ["tools"]}])
    with LoopbackServer(player) as server, client_of(server) as client:
        assert [model.id for model in client.models.list()] == ["m"]


@pytest.mark.parametrize("status", [429, 500])
def test_a_scripted_error_arrives_as_such(status: int) -> None:
    player = ScriptPlayer([ScriptedTurn(error_status=status, error_message="not now")])
    with (
        LoopbackServer(player) as server,
        client_of(server) as client,
        pytest.raises(openai.APIStatusError, match="not now") as failed,
    ):
        client.chat.completions.create(**QUESTION)
    assert failed.value.status_code == status
    assert server.miss is None


# Bytes


def test_chunks_arrive_as_they_were_cut() -> None:
    played = render_turn(CALL, 0, {"stream": True})
    with (
        LoopbackServer(Answering(played)) as server,
        raw_client() as http,
        http.stream("POST", f"{server.base_url}/chat/completions", json=QUESTION) as response,
    ):
        pieces = list(response.iter_raw())
    assert tuple(pieces) == pieces_of(played)
    assert len(pieces) > 5
    assert response.headers["content-type"] == "text/event-stream"


@pytest.mark.parametrize("cuts", [(), (1,), (3, 3, 7), (2, 100)])
def test_a_body_arrives_whole_however_it_was_cut(cuts: tuple[int, ...]) -> None:
    body = bytes(range(256)) * 2
    played = Response(200, TEXT, body, tuple(Chunk(end, 0.0) for end in cuts))
    with LoopbackServer(Answering(played)) as server, raw_client() as http:
        assert http.post(server.base_url).content == body


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        (
            (("content-type", "application/json"), ("content-length", "2"), ("x-odd", "é"), ("Connection", "close")),
            b"{}",
        ),
        ((("content-type", "application/json"), ("content-length", "999"), ("transfer-encoding", "chunked")), b"{}"),
        ((("content-encoding", "gzip"),), gzip.compress(b"{}", mtime=0)),
        ((("content-encoding", "gzip"),), b"{}"),
        ((("date", "yesterday"), ("server", "theirs"), ("set-cookie", "a=1"), ("set-cookie", "b=2")), b"{}"),
        ((), b"{}"),
    ],
)
def test_headers_that_are_no_longer_true_do_not_spoil_the_body(headers: Headers, body: bytes) -> None:
    with LoopbackServer(Answering(Response(203, headers, body))) as server, raw_client() as http:
        response = http.post(server.base_url)
    assert (response.status_code, response.content) == (203, b"{}")
    assert response.headers.get_list("set-cookie") == [value for name, value in headers if name == "set-cookie"]
    assert response.headers.get("x-odd") == dict(headers).get("x-odd")
    assert len(response.headers.get_list("date")) == len(response.headers.get_list("server")) == 1


# Misses


def test_a_miss_is_a_400_whose_message_says_why_and_it_stays() -> None:
    player = ScriptPlayer([ScriptedTurn(text="one")])
    with LoopbackServer(player) as server, client_of(server, retries=2) as client:
        client.chat.completions.create(**QUESTION)
        for _ in range(2):
            with pytest.raises(openai.BadRequestError, match="the script has 1 turns") as refused:
                client.chat.completions.create(**QUESTION)
        first = server.miss
        with pytest.raises(openai.BadRequestError, match="not POST /v1/embeddings"):
            client.embeddings.create(model="m", input="x")
    assert refused.value.body == {
        "message": "the script has 1 turns, the agent asked for one more",
        "type": "harness_miss",
        "param": None,
        "code": "miss",
    }
    assert isinstance(first, MissError)
    assert server.miss is first
    assert len(server.exchanges) == 1


def test_a_streaming_client_sees_a_miss_too() -> None:
    with (
        LoopbackServer(ScriptPlayer([])) as server,
        client_of(server) as client,
        pytest.raises(openai.BadRequestError, match="the script has 0 turns"),
    ):
        client.chat.completions.create(**QUESTION, stream=True)


@pytest.mark.parametrize("body", [b"", b"{", b"[]"])
def test_a_request_that_no_client_would_send_is_a_miss(body: bytes) -> None:
    with LoopbackServer(ScriptPlayer([ScriptedTurn()])) as server, raw_client() as http:
        response = http.post(f"{server.base_url}/chat/completions", content=body)
    assert response.status_code == 400
    assert response.json()["error"]["message"] == str(server.miss)


# Many at once


def test_parallel_requests_each_get_an_answer_of_their_own() -> None:
    """All eight are in the player at the same time, or the barrier breaks."""
    together = threading.Barrier(8)

    class Echo:
        def answer(self, request: Request) -> Response:
            together.wait(10)
            said = request.json()["messages"][0]["content"]
            return render_turn(ScriptedTurn(text=said, fragment=1), 0, request.json())

    with LoopbackServer(Echo()) as server, client_of(server) as client:

        def ask(number: int) -> str:
            messages: Any = [{"role": "user", "content": f"question {number}"}]
            chunks = client.chat.completions.create(model="m", messages=messages, stream=True)
            return "".join(chunk.choices[0].delta.content or "" for chunk in chunks)

        with ThreadPoolExecutor(8) as pool:
            heard = list(pool.map(ask, range(16)))
    assert heard == [f"question {number}" for number in range(16)]
    assert sorted(exchange.index for exchange in server.exchanges) == list(range(16))


def test_two_servers_do_not_get_in_each_others_way() -> None:
    players = [ScriptPlayer([ScriptedTurn(text=name)]) for name in "ab"]
    with LoopbackServer(players[0]) as one, LoopbackServer(players[1]) as two:
        assert one.base_url != two.base_url
        with client_of(two) as client:
            assert client.chat.completions.create(**QUESTION).choices[0].message.content == "b"
    assert (players[0].unused, players[1].unused) == (1, 0)


# Beginning and end


def test_only_this_machine_can_reach_it() -> None:
    with LoopbackServer(ScriptPlayer([])) as server:
        address = urlsplit(server.base_url)
        assert address.hostname == "127.0.0.1"
        assert address.port is not None
        socket.create_connection(("127.0.0.1", address.port), 5).close()
        # Another loopback address stands for every other interface: a server on 0.0.0.0 would answer there.
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.2", address.port), 5)


def test_it_leaves_neither_thread_nor_port() -> None:
    known = set(threading.enumerate())
    with LoopbackServer(ScriptPlayer([ScriptedTurn()])) as server, client_of(server) as client:
        client.chat.completions.create(**QUESTION)
        assert set(threading.enumerate()) - known
    assert other_threads(known) == set()
    port = urlsplit(server.base_url).port
    assert port is not None
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", port), 5)


def test_a_client_that_keeps_its_connection_open_does_not_hold_it_up() -> None:
    known = set(threading.enumerate())
    server = LoopbackServer(ScriptPlayer([ScriptedTurn()]))
    with raw_client() as http:
        with server:
            http.post(f"{server.base_url}/chat/completions", json=QUESTION)
            started = time.monotonic()
        assert time.monotonic() - started < 5
        assert other_threads(known) == set()


def test_a_client_that_stopped_reading_does_not_hold_it_up() -> None:
    known = set(threading.enumerate())
    server = LoopbackServer(Answering(Response(200, TEXT, bytes(32_000_000))))
    with socket.socket() as stalled:
        with server:
            stalled.connect(("127.0.0.1", urlsplit(server.base_url).port))
            stalled.sendall(b"GET /v1/x HTTP/1.1\r\nhost: h\r\n\r\n")
            assert stalled.recv(10)
            started = time.monotonic()
        assert time.monotonic() - started < 8
        assert other_threads(known) == set()


def test_it_is_closed_also_when_the_body_of_its_context_fails() -> None:
    known = set(threading.enumerate())
    with pytest.raises(KeyError), LoopbackServer(ScriptPlayer([])):
        raise KeyError("agent")
    assert other_threads(known) == set()


def test_a_server_that_does_not_come_up_is_said_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async def sleepy(server: uvicorn.Server, sockets: object = None) -> None:
        while not server.should_exit:
            await asyncio.sleep(0.01)

    known = set(threading.enumerate())
    monkeypatch.setattr(uvicorn.Server, "serve", sleepy)
    monkeypatch.setattr(hosting, "_START_TIMEOUT_S", 0.1)
    server = LoopbackServer(ScriptPlayer([]))
    with pytest.raises(HarnessError, match=r"^the server at http://127\.0\.0\.1:\d+ did not start$"), server:
        pass
    assert other_threads(known) == set()
    bound = server._host._socket
    assert bound is not None
    assert bound.fileno() == -1


def test_a_server_whose_thread_ends_at_once_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    async def end_at_once(server: uvicorn.Server, sockets: object = None) -> None:
        server.server_state.connections.clear()

    monkeypatch.setattr(uvicorn.Server, "serve", end_at_once)
    with pytest.raises(HarnessError, match="did not start"), LoopbackServer(ScriptPlayer([])):
        pass


def test_it_can_be_opened_again() -> None:
    player: Player = ScriptPlayer([ScriptedTurn(text="one"), ScriptedTurn(text="two")])
    server = LoopbackServer(player)
    heard = []
    for _ in range(2):
        with server, client_of(server) as client:
            heard.append(client.chat.completions.create(**QUESTION).choices[0].message.content)
    assert heard == ["one", "two"]
    assert len(server.exchanges) == 2
    assert orjson.loads(server.exchanges[1].response.body)["choices"][0]["message"]["content"] == "two"
