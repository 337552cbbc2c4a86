from __future__ import annotations

import asyncio
import gzip
import json
import threading
import zlib
from itertools import accumulate
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.cassette.cassette import Cassette
from harness.cassette.dialects import load_cassette
from harness.cassette.dialects.vcrpy import VcrpyWriter
from harness.play.cassette_player import CassettePlayer
from harness.play.client import async_openai_client, openai_client
from harness.play.player import MissError, Player
from harness.play.transport import PlayerTransport, RecordingTransport, playable_headers
from harness.seams import ManualClock
from harness.wire.exchange import Chunk, Exchange, Headers, Request, Response

QUESTION: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
COMPLETION = b'{"id":"x","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"hi"}}]}'
STREAM = b'data: {"choices":[{"index":0,"delta":{"content":"hi"}}]}\n\ndata: [DONE]\n\n'
JSON: Headers = (("content-type", "application/json"),)


class Fixed:
    """Answers everything alike."""

    def __init__(self, response: Response) -> None:
        self.response = response

    def answer(self, request: Request) -> Response:
        return self.response


def played(response: Response) -> httpx2.Response:
    with httpx2.Client(transport=PlayerTransport(Fixed(response))) as client:
        return client.get("http://h/")


def chat_cassette(*answers: Response, body: dict[str, Any] = QUESTION) -> Cassette:
    request = Request("POST", "https://gateway.example/api/v1/chat/completions", (), json.dumps(body).encode())
    exchanges = tuple(Exchange(request, answer, index) for index, answer in enumerate(answers))
    return Cassette(Path("session.yaml"), "vcrpy", exchanges)


def test_the_real_client_gets_recorded_answers_in_order() -> None:
    streamed = {**QUESTION, "stream": True}
    player: Player = CassettePlayer(
        chat_cassette(
            Response(429, JSON, b'{"error":{"message":"slow down"}}', reason="Too Many Requests"),
            Response(200, JSON, COMPLETION),
        )
    )
    transport = PlayerTransport(player)
    with openai_client(transport) as client:
        with pytest.raises(openai.RateLimitError, match="slow down"):
            client.chat.completions.create(**QUESTION)
        assert client.chat.completions.create(**QUESTION).choices[0].message.content == "hi"
    assert [exchange.response.status for exchange in transport.exchanges] == [429, 200]
    assert [exchange.index for exchange in transport.exchanges] == [0, 1]
    assert transport.exchanges[1].turn().content == "hi"
    assert transport.miss is None

    stream_player = CassettePlayer(chat_cassette(Response(200, (), STREAM), body=streamed))
    with openai_client(PlayerTransport(stream_player)) as client:
        chunks = list(client.chat.completions.create(stream=True, **QUESTION))
    assert [chunk.choices[0].delta.content for chunk in chunks] == ["hi"]
    assert stream_player.unused == ()


def test_a_miss_reaches_the_caller_at_once_even_where_the_client_would_retry() -> None:
    transport = PlayerTransport(CassettePlayer(chat_cassette(Response(200, JSON, COMPLETION))))
    http = httpx2.Client(transport=transport)
    with openai.OpenAI(base_url="http://h/v1", api_key="x", max_retries=5, http_client=http) as client:
        with pytest.raises(MissError, match=r"the model changed \(model at \$\.model"):
            client.chat.completions.create(**{**QUESTION, "model": "n"})
        first = transport.miss
        with pytest.raises(MissError, match=r"user message 1 changed \(history at \$\.messages\[0\]\.content"):
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": "ho"}])
        assert client.chat.completions.create(**QUESTION).choices[0].message.content == "hi"
    assert first is not None
    assert transport.miss is first
    assert len(transport.exchanges) == 1


def test_asyncio() -> None:
    transport = PlayerTransport(
        CassettePlayer(chat_cassette(Response(200, (), STREAM), body={**QUESTION, "stream": True}))
    )

    async def ask() -> list[str | None]:
        async with async_openai_client(transport) as client:
            stream = await client.chat.completions.create(stream=True, **QUESTION)
            texts = [chunk.choices[0].delta.content async for chunk in stream]
            with pytest.raises(MissError):
                await client.chat.completions.create(**QUESTION)
            return texts

    assert asyncio.run(ask()) == ["hi"]
    assert transport.miss is not None


def test_several_threads_get_every_answer_once() -> None:
    answers = [Response(200, JSON, COMPLETION.replace(b'"x"', b'"%d"' % number)) for number in range(16)]
    transport = PlayerTransport(CassettePlayer(chat_cassette(*answers)))
    got: list[str] = []
    with openai_client(transport) as client:
        threads = [
            threading.Thread(target=lambda: got.append(client.chat.completions.create(**QUESTION).id)) for _ in answers
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(map(int, got)) == list(range(16))
    assert [exchange.index for exchange in transport.exchanges] == list(range(16))


@given(pieces=st.lists(st.binary(min_size=1, max_size=20), max_size=6))
def test_the_recorded_chunks_come_out_as_they_were_cut(pieces: list[bytes]) -> None:
    body = b"".join(pieces)
    chunks = tuple(Chunk(end, 0.0) for end in accumulate(map(len, pieces)))
    transport = PlayerTransport(Fixed(Response(200, (), body, chunks)))
    with httpx2.Client(transport=transport) as client, client.stream("GET", "http://h/") as response:
        assert list(response.iter_raw()) == pieces


@given(pieces=st.lists(st.binary(min_size=1, max_size=20), max_size=6), status=st.integers(200, 599))
def test_what_is_played_is_recorded_again_as_it_was(pieces: list[bytes], status: int) -> None:
    chunks = tuple(Chunk(end, 0.0) for end in accumulate(map(len, pieces)))
    original = Response(status, (("A", "1"), ("b", "é")), b"".join(pieces), chunks, "Fine")
    seen: list[Exchange] = []
    transport = RecordingTransport(PlayerTransport(Fixed(original)), seen.append, ManualClock())
    with httpx2.Client(transport=transport) as client, client.stream("GET", "http://h/") as response:
        list(response.iter_raw())
    expected = [("A", "1"), ("b", "é")]
    if original.body.startswith(b"\x1f\x8b"):
        expected.append(("content-encoding", "gzip"))
    assert seen[0].response == Response(status, tuple(expected), original.body, chunks, "Fine")


@pytest.mark.parametrize(
    ("encoding", "body", "kept"),
    [
        ("gzip", gzip.compress(COMPLETION, mtime=0), True),
        ("gzip", COMPLETION, False),
        ("gzip", b"\n  \n" + COMPLETION, False),
        ("deflate", zlib.compress(COMPLETION), True),
        ("deflate", COMPLETION, False),
        ("br", COMPLETION, False),
        ("br", STREAM, False),
        ("zstd", b"\x28\xb5\x2f\xfd\x00", True),
        ("gzip", b"", False),
    ],
)
def test_the_content_encoding_header_agrees_with_the_body(encoding: str, body: bytes, kept: bool) -> None:
    headers = playable_headers(Response(200, (("Content-Encoding", encoding),), body))
    assert (("Content-Encoding", encoding) in headers) is kept


def test_bodies_are_decoded_by_the_client_whatever_the_recorder_did() -> None:
    packed = gzip.compress(COMPLETION)
    for headers, body in [
        ((("content-encoding", "gzip"), ("content-length", "7")), packed),
        ((("content-encoding", "gzip"),), COMPLETION),
        ((), packed),
    ]:
        assert played(Response(200, headers, body)).content == COMPLETION


def test_length_and_transfer_headers_fit_the_body() -> None:
    headers = (("Content-Length", "5"), ("Transfer-Encoding", "chunked"), ("x", "y"))
    assert playable_headers(Response(200, headers, b"12345")) == (("Content-Length", "5"), ("x", "y"))
    assert playable_headers(Response(200, headers, b"123")) == (("x", "y"),)


def test_headers_that_no_byte_stands_for_are_played_as_utf_8() -> None:
    response = played(Response(200, (("x", "€"), ("y", "é")), b"", reason="Gut"))
    assert response.headers.raw == [(b"x", "€".encode()), (b"y", b"\xe9")]
    assert response.reason_phrase == "Gut"


def test_record_then_load_then_play(tmp_path: Path) -> None:
    writer = VcrpyWriter(tmp_path / "session.yaml")
    source = PlayerTransport(Fixed(Response(200, (), STREAM, (Chunk(10, 0.0), Chunk(len(STREAM), 0.5)))))
    with openai_client(RecordingTransport(source, writer.add, ManualClock())) as client:
        first = [chunk.to_dict() for chunk in client.chat.completions.create(stream=True, **QUESTION)]
    transport = PlayerTransport(CassettePlayer(load_cassette(writer.path)))
    with openai_client(transport) as client:
        again = [chunk.to_dict() for chunk in client.chat.completions.create(stream=True, **QUESTION)]
    assert again == first
    assert [chunk.end for chunk in transport.exchanges[0].response.chunks] == [10, len(STREAM)]
