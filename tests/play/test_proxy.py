"""The recording proxy: what passes is what was sent, and what is kept is what passed."""

from __future__ import annotations

import asyncio
import gzip
import socket
import threading
from pathlib import Path
from typing import Any

import httpx2
import openai
import orjson
import pytest

from harness.cassette import own
from harness.cassette.cassette import Cassette
from harness.cassette.dialects import load_cassette
from harness.cassette.dialects.vcrpy import VcrpyWriter
from harness.errors import InputError
from harness.play.cassette_player import CassettePlayer
from harness.play.pace import pieces_of
from harness.play.proxy import RecordingProxy
from harness.play.script import ScriptedCall, ScriptedTurn, ScriptPlayer
from harness.play.server import LoopbackServer
from harness.seams import ManualClock
from harness.wire.exchange import Chunk, Ending, Exchange, Headers, Request, Response
from tests.play.raw_http import RawAnswer, ask, asking, read_answer, read_head
from tests.play.test_transport_endings import Sleeper
from tests.play.test_transport_recording import DONE, Loopback, event, serving

QUESTION: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
STREAMED = {**QUESTION, "stream": True}
SSE: Headers = (("content-type", "text/event-stream"),)


class Upstream:
    """Answers everything alike and remembers what it was asked."""

    def __init__(self, response: Response) -> None:
        self.response = response
        self.asked: list[Request] = []

    def answer(self, request: Request) -> Response:
        self.asked.append(request)
        return self.response


def through(response: Response, path: str = "/v1/chat/completions", **how: Any) -> tuple[RawAnswer, Request, Exchange]:
    """What a client gets, what the endpoint got, and what was kept."""
    upstream, seen = Upstream(response), list[Exchange]()
    with LoopbackServer(upstream) as server, RecordingProxy(server.base_url, seen.append) as proxy:
        origin = proxy.base_url.removesuffix("/v1")
        answer = ask(origin + path, **{"body": STREAMED, **how})
    assert proxy.problems == proxy.lost == []
    assert proxy.recorded == len(seen)
    return answer, upstream.asked[0], seen[0]


def test_each_chunk_passes_before_the_next_one_exists() -> None:
    seen: list[Exchange] = []
    gate = threading.Event()
    pieces = [event("one"), event("two"), DONE]
    with (
        serving(Loopback(pieces, gates=[gate])) as upstream,
        RecordingProxy(upstream.url, seen.append) as proxy,
        asking(f"{proxy.base_url}/chat/completions", STREAMED, headers="connection: close\r\n") as reader,
    ):
        read_head(reader)
        assert int(reader.readline(), 16) == len(pieces[0])
        assert reader.read(len(pieces[0])) == pieces[0]
        assert not seen
        gate.set()
        assert reader.read().endswith(b"0\r\n\r\n")
    assert list(pieces_of(seen[0].response)) == pieces


def test_the_exchange_is_kept_before_the_client_sees_the_end() -> None:
    seen: list[Exchange] = []
    upstream = Upstream(Response(200, SSE, b"abc", (Chunk(3, 0.0),)))
    with LoopbackServer(upstream) as server, RecordingProxy(server.base_url, seen.append) as proxy:
        for number in range(20):
            assert ask(proxy.base_url, STREAMED).whole
            assert len(seen) == proxy.recorded == number + 1


def test_one_can_wait_until_all_that_has_begun_is_kept() -> None:
    keeping, kept = threading.Event(), threading.Event()

    def keep(_: Exchange) -> None:
        keeping.set()
        assert kept.wait(30)

    upstream = Upstream(Response(200, SSE, DONE))
    with LoopbackServer(upstream) as server, RecordingProxy(server.base_url, keep) as proxy:
        assert proxy.settle(0)
        with asking(f"{proxy.base_url}/chat/completions", STREAMED) as connection:
            assert keeping.wait(30)
            assert not proxy.settle(0)
            kept.set()
            read_answer(connection)
        assert proxy.settle(30)
        assert proxy.recorded == 1


def test_the_request_passes_as_it_was_sent() -> None:
    body = b'{ "model":"m",\n"messages":[]}'
    headers = (
        "Authorization: Bearer sk-1\r\nX-Odd: \xe9\r\nConnection: keep-alive, x-mine\r\nX-Mine: 1\r\nTE: trailers\r\n"
    )
    answer, asked, kept = through(
        Response(200, (), b"{}"), "/v1/any%2Fpath/?q=a%20b&q=", body=body, headers=headers, method="PUT"
    )
    assert (answer.status, answer.body) == (200, b"{}")
    assert (asked.method, asked.body) == ("PUT", body)
    assert asked.url.endswith("/v1/any%2Fpath/?q=a%20b&q=")
    sent = dict(asked.headers)
    assert sent["authorization"] == "Bearer sk-1"
    assert not sent.keys() & {"x-mine", "te", "accept-encoding", "user-agent"}
    assert (kept.request.method, kept.request.body) == ("PUT", body)
    assert kept.request.url == asked.url


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE", "OPTIONS", "PATCH"])
def test_every_method_passes(method: str) -> None:
    answer, asked, kept = through(Response(200, (("content-length", "2"),), b"{}"), method=method, body=None)
    assert (answer.status, asked.method, kept.request.method) == (200, method, method)
    assert dict(answer.headers)["content-length"] == "2"
    assert answer.body == (b"" if method == "HEAD" else b"{}")


@pytest.mark.parametrize("status", [204, 301, 307, 400, 401, 404, 429, 500, 503])
def test_errors_and_redirects_come_back_unchanged(status: int) -> None:
    headers = (
        ("retry-after", "7"),
        ("location", "http://elsewhere.invalid/"),
        ("x-request-id", "r"),
        ("set-cookie", "a=b"),
    )
    answer, _, kept = through(Response(status, headers, b"" if status == 204 else b'{"error":{"message":"no"}}'))
    assert answer.status == kept.response.status == status
    assert set(headers) <= set(answer.headers)
    assert answer.body == kept.response.body
    assert [name for name, _ in answer.headers].count("date") == 1


def test_a_packed_body_stays_packed() -> None:
    packed = gzip.compress(b'{"choices":[]}', mtime=0)
    answer, asked, kept = through(
        Response(200, (("content-encoding", "gzip"),), packed, (Chunk(5, 0.0), Chunk(len(packed), 0.0))),
        headers="accept-encoding: gzip, br\r\n",
    )
    assert dict(asked.headers)["accept-encoding"] == "gzip, br"
    assert answer.body == kept.response.body == packed
    assert [len(piece) for piece in answer.pieces] == [5, len(packed) - 5]


def test_times_are_seconds_since_the_request_was_passed_on() -> None:
    clock = ManualClock(50)
    seen: list[Exchange] = []

    class Stream(httpx2.AsyncByteStream):
        async def __aiter__(self) -> Any:
            for piece in (b"a", b"bc"):
                clock.advance(1.5)
                yield piece

    class Network(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            clock.advance(0.25)
            return httpx2.Response(200, stream=Stream())

    with RecordingProxy("https://api.example.com/v1", seen.append, clock=clock, transport=Network) as proxy:
        assert ask(f"{proxy.base_url}/chat/completions", STREAMED).pieces == [b"a", b"bc"]
    assert seen[0].response.chunks == (Chunk(1, 1.75), Chunk(3, 3.25))
    assert seen[0].request.url == "https://api.example.com/v1/chat/completions"


# What goes wrong


def test_an_endpoint_that_is_not_there_is_a_502_and_said() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
        seen: list[Exchange] = []
        with RecordingProxy(url, seen.append) as proxy:
            answer = ask(f"{proxy.base_url}/chat/completions", STREAMED)
    error = orjson.loads(answer.body)["error"]
    assert (answer.status, error["code"]) == (502, "upstream_failed")
    assert error["message"].startswith(
        f"{url.removesuffix('/v1')} did not answer POST /v1/chat/completions: ConnectError"
    )
    assert proxy.problems == [error["message"]]
    assert (seen, proxy.recorded) == ([], 0)


def test_an_endpoint_that_breaks_off_breaks_off_for_the_client_too() -> None:
    seen: list[Exchange] = []
    upstream = Upstream(Response(200, SSE, b"abcdef", (Chunk(2, 0.0), Chunk(6, 0.0)), ending=Ending.DISCONNECT))
    with LoopbackServer(upstream) as server, RecordingProxy(server.base_url, seen.append) as proxy:
        answer = ask(f"{proxy.base_url}/chat/completions", STREAMED)
    assert (answer.pieces, answer.whole) == ([b"ab", b"cdef"], False)
    assert [exchange.response.body for exchange in seen] == [b"abcdef"]
    (problem,) = proxy.problems
    assert "broke off its answer to /v1/chat/completions: RemoteProtocolError" in problem


def test_a_client_that_leaves_is_kept_as_far_as_it_came_and_the_endpoint_is_let_go() -> None:
    kept = threading.Event()
    seen: list[Exchange] = []

    def keep(exchange: Exchange) -> None:
        seen.append(exchange)
        kept.set()

    upstream = Upstream(Response(200, SSE, b"ab", (Chunk(2, 0.0),), ending=Ending.TIMEOUT))
    with LoopbackServer(upstream) as server, RecordingProxy(server.base_url, keep) as proxy:
        with asking(f"{proxy.base_url}/chat/completions", STREAMED) as reader:
            read_head(reader)
            assert reader.readline() == b"2\r\n"
        assert kept.wait(10)
        upstream.response = Response(200, SSE, b"next")
        assert ask(f"{proxy.base_url}/chat/completions", STREAMED).body == b"next"
    assert [exchange.response.body for exchange in seen] == [b"ab", b"next"]
    assert proxy.problems == []


def test_an_exchange_that_cannot_be_kept_is_said_and_the_session_goes_on() -> None:
    def keep(exchange: Exchange) -> None:
        raise OSError("no space left on device")

    with LoopbackServer(Upstream(Response(200, SSE, b"ab"))) as server, RecordingProxy(server.base_url, keep) as proxy:
        assert [ask(f"{proxy.base_url}/chat/completions", STREAMED).body for _ in range(2)] == [b"ab"] * 2
    assert proxy.lost == ["POST /v1/chat/completions was not recorded: no space left on device"] * 2
    assert proxy.recorded == 0


def status_for(target: bytes, address: list[str]) -> int:
    with socket.create_connection((address[0], int(address[1]))) as connection:
        connection.sendall(b"GET " + target + b" HTTP/1.1\r\nhost: elsewhere.invalid\r\n\r\n")
        with connection.makefile("rb") as reader:
            return read_head(reader)[0]


def test_only_the_endpoint_is_contacted() -> None:
    """Neither a redirect, nor a host header, nor an absolute target leads elsewhere."""
    hosts: list[str] = []

    class Network(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            hosts.append(f"{request.url.host} {request.headers['host']}")
            return httpx2.Response(
                302, headers={"location": "http://elsewhere.invalid/"}, stream=httpx2.ByteStream(b"")
            )

    with RecordingProxy("https://api.example.com:8443/v1", lambda _: None, transport=Network) as proxy:
        address = proxy.base_url.removeprefix("http://").removesuffix("/v1").split(":")
        for target in (b"/v1/x", b"//elsewhere.invalid/x", b"/@elsewhere.invalid/x"):
            assert status_for(target, address) == 302
        for target in (b"http://elsewhere.invalid/v1/x", b"@elsewhere.invalid/x", b".elsewhere.invalid/x", b"*"):
            assert status_for(target, address) == 400
    assert set(hosts) == {"api.example.com api.example.com:8443"}


@pytest.mark.parametrize(
    "url", ["", "api.example.com/v1", "ftp://h/v1", "http://", "http://h:x/v1", "http://u:p@h/v1", "http://h/v1?a=b"]
)
def test_a_url_that_is_no_base_url_is_refused(url: str) -> None:
    with pytest.raises(InputError, match="is not the base URL of an API"):
        RecordingProxy(url, lambda _: None)


# Record, then replay

TURNS = [
    ScriptedTurn(calls=(ScriptedCall("Read", '{"path":"日本🙂"}', "c1"),), finish_reason="tool_calls", fragment=3),
    ScriptedTurn(text="done 🙂", usage={"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}, fragment=1),
]


def talk(base_url: str) -> list[RawAnswer]:
    messages = [*QUESTION["messages"]]
    answers = []
    for streamed in (True, True, False):
        body = {"model": "m", "messages": messages, "stream": streamed, "stream_options": {"include_usage": True}}
        answers.append(
            ask(f"{base_url}/chat/completions", body, headers="authorization: Bearer sk-abcdef0123456789\r\n")
        )
        messages = [*messages, {"role": "assistant", "content": "ok"}, {"role": "user", "content": "on"}]
    return answers


@pytest.mark.parametrize("name", ["c.cassette.jsonl", "c.yaml"])
def test_what_was_recorded_is_replayed_byte_for_byte_and_chunk_for_chunk(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    script = ScriptPlayer([*TURNS, ScriptedTurn(text="plain")])
    with LoopbackServer(script) as upstream:
        if name.endswith(own.SUFFIX):
            with own.CassetteWriter(path) as writer, RecordingProxy(upstream.base_url, writer.add) as proxy:
                recorded = talk(proxy.base_url)
        else:
            with RecordingProxy(upstream.base_url, VcrpyWriter(path).add) as proxy:
                recorded = talk(proxy.base_url)
    assert b"sk-abcdef" not in path.read_bytes()
    player = CassettePlayer(load_cassette(path))
    with LoopbackServer(player) as server:
        played = talk(server.base_url)
    assert [answer.pieces for answer in played] == [answer.pieces for answer in recorded]
    assert len(recorded[0].pieces) > 5
    assert [answer.whole for answer in played] == [True] * 3
    assert b'"usage":{"prompt_tokens":7' in played[1].body
    assert (player.unused, server.miss) == ((), None)


@pytest.mark.parametrize(("speed", "total"), [(0.0, 0.0), (1.0, 2.5), (10.0, 0.25)])
def test_recorded_times_are_kept_at_recorded_speed_and_never_waited_for_at_full_speed(
    speed: float, total: float
) -> None:
    body = b"".join([event("one"), event("two"), DONE])
    ends = (len(event("one")), len(event("one") + event("two")), len(body))
    chunks = tuple(Chunk(end, time) for end, time in zip(ends, (0.5, 2.0, 2.5), strict=True))
    request = Request("POST", "http://h/v1/chat/completions", (), orjson.dumps(STREAMED))
    cassette = Cassette(Path("c"), "own", (Exchange(request, Response(200, SSE, body, chunks)),))
    sleeper = Sleeper()
    with LoopbackServer(CassettePlayer(cassette), pace=sleeper.pace(speed)) as server:
        assert ask(f"{server.base_url}/chat/completions", STREAMED).body == body
    assert sum(sleeper.waits) == pytest.approx(total)
    assert len(sleeper.waits) == (3 if speed else 0)


def test_the_real_async_client_speaks_through_the_proxy() -> None:
    seen: list[Exchange] = []

    async def speak(base_url: str) -> list[str | None]:
        async with (
            httpx2.AsyncClient(trust_env=False) as http,
            openai.AsyncOpenAI(base_url=base_url, api_key="k", max_retries=0, http_client=http) as client,
        ):
            stream = await client.chat.completions.create(**STREAMED)
            return [chunk.choices[0].delta.content async for chunk in stream if chunk.choices]

    with (
        LoopbackServer(ScriptPlayer([TURNS[1]])) as upstream,
        RecordingProxy(upstream.base_url, seen.append) as proxy,
    ):
        heard = asyncio.run(speak(proxy.base_url))
    assert "".join(filter(None, heard)) == "done 🙂"
    assert seen[0].turn().status == "complete"


def test_raw_answers_are_read_to_the_end() -> None:
    """The helper itself tells a body that lacks its end from a whole one."""
    with serving(Loopback([b"a"], cut=True)) as upstream, asking(f"{upstream.url}/x", QUESTION) as reader:
        assert not read_answer(reader).whole
    with serving(Loopback([b"a"])) as upstream, asking(f"{upstream.url}/x", QUESTION) as reader:
        assert read_answer(reader).whole
