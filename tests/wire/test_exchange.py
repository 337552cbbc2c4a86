"""Requests and responses as bytes."""

from __future__ import annotations

import gzip
import json
import zlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.wire.exchange import Exchange, Headers, Request, Response, decoded, header

ANSWER = json.dumps(
    {"choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]}
).encode()
STREAM = b'data: {"choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
REQUEST = Request("POST", "https://h.example/v1/chat/completions", (), b"{}")


def encoding(name: str) -> Headers:
    return (("Content-Encoding", name),)


def deflated(body: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(body) + packer.flush()


@given(body=st.binary(max_size=200))
def test_gzip_is_undone_with_and_without_its_header(body: bytes) -> None:
    packed = gzip.compress(body, mtime=0)
    assert decoded(packed, encoding("gzip")) == body
    assert decoded(packed, ()) == body


def test_both_forms_of_deflate_are_undone() -> None:
    assert decoded(zlib.compress(ANSWER), encoding("deflate")) == ANSWER
    assert decoded(deflated(ANSWER), encoding("deflate")) == ANSWER


@pytest.mark.parametrize("name", ["gzip", "deflate", "br", ""])
@pytest.mark.parametrize("body", [ANSWER, STREAM])
def test_a_body_that_the_recorder_has_decoded_stays(name: str, body: bytes) -> None:
    assert decoded(body, encoding(name)) == body


@pytest.mark.parametrize(
    ("body", "name"),
    [(gzip.compress(ANSWER, mtime=0)[:-9], "gzip"), (b"\x1f\x8bnonsense", ""), (b"\x00\x01\x02", "deflate")],
)
def test_a_damaged_body_is_refused_in_words(body: bytes, name: str) -> None:
    with pytest.raises(ValueError, match="cannot be decoded"):
        decoded(body, encoding(name))


@pytest.mark.parametrize(
    ("body", "headers", "streamed"),
    [
        (STREAM, (("content-type", "text/event-stream; charset=utf-8"),), True),
        (b"", (("Content-Type", "text/event-stream"),), True),
        (STREAM, (), True),
        (STREAM, (("content-type", "application/json"),), True),
        (gzip.compress(STREAM, mtime=0), (), True),
        (b": processing\n\n" + STREAM, (), True),
        (b":\n\n" + STREAM, (), True),
        (b"id: 1\n" + STREAM, (), True),
        (b"\xef\xbb\xbf" + STREAM, (), True),
        (ANSWER, (("content-type", "application/json"),), False),
        (b"\n\n" + ANSWER, (), False),
        (b"", (), False),
        (b"<html>data:", (), False),
    ],
)
def test_a_stream_is_known_by_its_type_or_its_bytes(body: bytes, headers: Headers, streamed: bool) -> None:
    assert Response(200, headers, body).streamed is streamed


@pytest.mark.parametrize(
    "body", [ANSWER, STREAM, gzip.compress(ANSWER, mtime=0), gzip.compress(STREAM, mtime=0), b"  \n" + ANSWER]
)
def test_the_turn_of_an_exchange(body: bytes) -> None:
    turn = Exchange(REQUEST, Response(200, (), body)).turn()
    assert (turn.content, turn.status) == ("hi", "complete")


@pytest.mark.parametrize("body", [b"", b"<html>", gzip.compress(ANSWER, mtime=0)[:-9]])
def test_a_body_that_is_neither_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"character|document|decoded"):
        Exchange(REQUEST, Response(200, (), body)).turn()


def test_a_turn_is_read_once_for_each_set_of_names_and_anew_for_a_changed_exchange() -> None:
    exchange = Exchange(REQUEST, Response(200, (), STREAM))
    assert exchange.turn(["a", "b"]) is exchange.turn(["b", "a"])
    other = replace(exchange, response=Response(200, (), ANSWER.replace(b"hi", b"ho")))
    assert other.turn(["a", "b"]).content == "ho"
    assert exchange == replace(exchange)


@pytest.mark.parametrize(
    ("url", "chat"),
    [
        ("https://h.example/v1/chat/completions", True),
        ("https://h.example/openai/deployments/x/chat/completions?api-version=1#stream", True),
        ("https://h.example/v1/chat/completions/", True),
        ("<API_BASE>/chat/completions", True),
        ("https://<HOST>:<PORT>/v1/chat/completions", True),
        ("https://[HOST]/v1/chat/completions?a=/b#stream", True),
        ("https://[HOST]?next=/chat/completions", False),
        ("https://h.example/v1/completions", False),
        ("https://h.example/v1/embeddings?next=/chat/completions", False),
    ],
)
def test_a_chat_exchange_is_known_by_its_path(url: str, chat: bool) -> None:
    assert Request("POST", url).is_chat is chat
    assert Exchange(Request("POST", url), Response(500)).is_chat is chat


def test_a_request_body_is_read_through_its_encoding() -> None:
    assert Request("POST", "/", encoding("gzip"), gzip.compress(b'{"a": 1}', mtime=0)).json() == {"a": 1}
    with pytest.raises(ValueError, match="document"):
        Request("POST", "/").json()


def test_headers_are_found_without_case_and_the_first_counts() -> None:
    headers = (("X-One", "1"), ("x-one", "2"))
    assert header(headers, "X-ONE") == "1"
    assert header(headers, "x-two") is None
