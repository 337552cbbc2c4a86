from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
import vcr.serialize
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.cassette.dialects import load_cassette
from harness.cassette.dialects.vcrpy import VcrpyWriter, dump_vcrpy
from harness.wire.exchange import Chunk, Exchange, Headers, Request, Response

CHAT = "http://127.0.0.1:1/v1/chat/completions"

# What is hard to write down as YAML.
AWKWARD = [
    *("", " ", "\n", "\t", "\r", "\r\n", "\x85", "\u2028", "\ufeff", "\ufffe", "\U0001f600", "é", "data: {}\n\n"),
    *(": ", " #", "- ", '"', "'", "\\", "null", "~", "yes", "1e5", "0x1F", "2024-01-01", "|", ">", "---\n", "...\n"),
]

texts = st.lists(st.one_of(st.sampled_from(AWKWARD), st.text(max_size=8)), max_size=8).map("".join)
bodies = st.one_of(texts.map(lambda text: text.encode()), st.binary(max_size=200))
header_names = st.from_regex(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,20}", fullmatch=True)
times = st.one_of(st.just(0.0), st.floats(min_value=0, max_value=1e17, allow_nan=False))


@st.composite
def headers(draw: st.DrawFn) -> Headers:
    """Repeats of a name stand together, as cassettes keep them."""
    grouped = draw(st.dictionaries(header_names, st.lists(texts, min_size=1, max_size=3), max_size=4))
    return tuple((name, value) for name, values in grouped.items() for value in values)


@st.composite
def responses(draw: st.DrawFn) -> Response:
    body = draw(bodies)
    cuts = sorted(draw(st.lists(st.integers(0, len(body)), max_size=5)))
    ends = [*cuts, len(body)] if draw(st.booleans()) else []
    seen = sorted(draw(st.lists(times, min_size=len(ends), max_size=len(ends))))
    chunks = tuple(Chunk(end, time) for end, time in zip(ends, seen, strict=True))
    return Response(draw(st.integers(100, 599)), draw(headers()), body, chunks, draw(texts))


requests = st.builds(Request, st.sampled_from(["GET", "POST"]), texts, headers(), bodies)
exchanges = st.builds(Exchange, requests, responses())


def exchange(body: bytes = b"{}", answer: bytes = b"{}", **headers: str) -> Exchange:
    pairs = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Exchange(Request("POST", CHAT, pairs, body), Response(200, pairs, answer, reason="OK"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(recorded=st.lists(exchanges, max_size=3))
def test_what_is_written_is_read_back(tmp_path: Path, recorded: list[Exchange]) -> None:
    path = tmp_path / "session.yaml"
    path.write_bytes(dump_vcrpy(recorded))
    loaded = load_cassette(path)
    assert [one.request for one in loaded.exchanges] == [one.request for one in recorded]
    assert [one.response for one in loaded.exchanges] == [one.response for one in recorded]
    assert dump_vcrpy(loaded.exchanges) == path.read_bytes()


@pytest.mark.parametrize("loader", [yaml.SafeLoader, getattr(yaml, "CSafeLoader", yaml.SafeLoader)])
@given(recorded=exchanges)
def test_stock_readers_see_the_same_bytes(loader: Any, recorded: Exchange) -> None:
    class Serializer:
        @staticmethod
        def deserialize(text: str) -> Any:
            return yaml.load(text, Loader=loader)

    requests, responses = vcr.serialize.deserialize(dump_vcrpy([recorded]).decode(), Serializer)
    assert (requests[0].body or b"") == recorded.request.body
    assert requests[0].uri == recorded.request.url
    assert responses[0]["body"]["string"] == recorded.response.body
    assert [(name, value) for name, values in responses[0]["headers"].items() for value in values] == list(
        recorded.response.headers
    )
    chunks = [(chunk["end"], chunk["t"]) for chunk in responses[0].get("chunks", ())]
    assert chunks == [(chunk.end, chunk.time) for chunk in recorded.response.chunks]


def test_a_reviewer_can_read_it() -> None:
    stream = 'data: {"content":"héllo 😀"}\n\ndata: [DONE]\n\n'.encode()
    response = Response(200, (("content-type", "text/event-stream"),), stream, (Chunk(len(stream), 1e-05),), "OK")
    text = dump_vcrpy([Exchange(Request("POST", CHAT, (), b'{"model":"m"}'), response)]).decode()
    assert text == (
        "interactions:\n"
        "- request:\n"
        "    body: |-\n"
        '      {"model":"m"}\n'
        "    headers: {}\n"
        "    method: POST\n"
        f"    uri: {CHAT}\n"
        "  response:\n"
        "    body:\n"
        "      string: |+\n"
        '        data: {"content":"héllo 😀"}\n'
        "\n"
        "        data: [DONE]\n"
        "\n"
        "    chunks:\n"
        f"    - {{end: {len(stream)}, t: 1.0e-05}}\n"
        "    headers:\n"
        "      content-type:\n"
        "      - text/event-stream\n"
        "    status:\n"
        "      code: 200\n"
        "      message: OK\n"
        "version: 1\n"
    )


def test_after_each_exchange_the_file_is_a_whole_cassette(tmp_path: Path) -> None:
    path = tmp_path / "new" / "session.yaml"
    writer = VcrpyWriter(path)
    assert not path.exists()
    for count in range(1, 4):
        writer.add(exchange(b'{"n":%d}' % count))
        bodies = [one.request.body for one in load_cassette(path).exchanges]
        assert bodies == [b'{"n":%d}' % number for number in range(1, count + 1)]
    assert [file.name for file in path.parent.iterdir()] == ["session.yaml"]


def test_writing_from_several_threads_loses_nothing(tmp_path: Path) -> None:
    writer = VcrpyWriter(tmp_path / "session.yaml")
    threads = [threading.Thread(target=writer.add, args=(exchange(b"%d" % number),)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    loaded = load_cassette(writer.path).exchanges
    assert sorted(int(one.request.body) for one in loaded) == list(range(20))


def test_secrets_and_the_client_version_do_not_reach_the_file(tmp_path: Path) -> None:
    writer = VcrpyWriter(tmp_path / "session.yaml")
    writer.add(
        exchange(
            Authorization="Bearer secret",
            Cookie="secret",
            Set_Cookie="secret",
            api_key="secret",
            X_Api_Key="secret",
            OpenAI_Organization="secret",
            openai_project="secret",
            User_Agent="volatile",
            X_Stainless_OS="volatile",
            Accept="application/json",
        )
    )
    (loaded,) = load_cassette(writer.path).exchanges
    assert b"secret" not in writer.path.read_bytes()
    assert loaded.request.headers == (("Accept", "application/json"),)
    kept = {name for name, _ in loaded.response.headers}
    assert kept == {"Accept", "User-Agent", "X-Stainless-OS"}
