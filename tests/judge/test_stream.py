"""One answer read from whatever file holds it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from harness.cassette.cassette import Cassette
from harness.cassette.dialects.vcrpy import dump_vcrpy
from harness.cassette.own import dump_cassette
from harness.errors import InputError
from harness.judge.stream import read_answer, tool_names_of
from harness.wire.exchange import Exchange, Request, Response
from tests.wire.recordings import scripted

JSON = (("content-type", "application/json"),)
SSE = (("content-type", "text/event-stream"),)
URL = "https://api.example.com/v1/chat/completions"
STREAM = next(recording.body for recording in scripted() if recording.name == "two calls")
CALL = {"id": "c", "type": "function", "function": {"name": "note", "arguments": '{"text":"Once'}}
USAGE = {"prompt_tokens": 3, "completion_tokens": 16, "total_tokens": 19}
PLAIN = json.dumps({
    "id": "r",
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "tool_calls": [CALL]}, "finish_reason": "tool_calls"}],
    "usage": USAGE,
}).encode()  # fmt: skip


def exchange(response: Response, index: int = 0, url: str = URL, **body: Any) -> Exchange:
    request = {"model": "m", "messages": [{"role": "user", "content": "go"}], **body}
    return Exchange(Request("POST", url, JSON, json.dumps(request).encode()), response, index)


def written(path: Path, *exchanges: Exchange) -> str:
    is_own = path.name.endswith(".jsonl")
    path.write_bytes(dump_cassette(Cassette(path, "harness", exchanges)) if is_own else dump_vcrpy(exchanges))
    return str(path)


@pytest.fixture
def sse(tmp_path: Path) -> str:
    (tmp_path / "body.sse").write_bytes(STREAM)
    return str(tmp_path / "body.sse")


def test_the_document_is_what_the_contract_says(sse: str) -> None:
    document = read_answer(sse).document()
    assert document.keys() == {
        "tool_calls", "content", "finish_reason", "usage", "status", "error", "anomalies",
    }  # fmt: skip
    assert [call["name"] for call in document["tool_calls"]] == ["note", "clock"]  # type: ignore[attr-defined]
    assert (document["status"], document["error"], document["anomalies"]) == ("complete", None, [])


@pytest.mark.parametrize("name", ["two.cassette.jsonl", "two.yaml"])
def test_a_cassette_gives_the_answer_that_its_file_holds(tmp_path: Path, sse: str, name: str) -> None:
    file = written(tmp_path / name, exchange(Response(200, JSON, PLAIN)), exchange(Response(200, SSE, STREAM), 1))
    from_cassette = read_answer(file)
    assert from_cassette.document() == read_answer(sse).document()
    assert from_cassette.source == f"{file}, exchange 1"
    assert read_answer(file, exchange=0).layers is None


def test_packed_files_and_packed_bodies_are_read(tmp_path: Path, sse: str) -> None:
    wanted = read_answer(sse).document()
    (tmp_path / "body.sse.gz").write_bytes(gzip.compress(STREAM))
    packed = Response(200, (*SSE, ("content-encoding", "gzip")), gzip.compress(STREAM))
    assert read_answer(str(tmp_path / "body.sse.gz")).document() == wanted
    assert read_answer(written(tmp_path / "one.yaml", exchange(packed))).document() == wanted
    assert read_answer("standard input", gzip.compress(STREAM)).document() == wanted


def test_the_request_of_a_cassette_says_limit_and_tools(tmp_path: Path) -> None:
    tools = [{"type": "function", "function": {"name": "pingping", "parameters": {"type": "object"}}}]
    halves = STREAM.replace(b'"name":"note"', b'"name":"ping"').replace(
        b'{"tool_calls":[{"index":0,"function":{', b'{"tool_calls":[{"index":0,"function":{"name":"ping",', 1
    )
    limited = exchange(Response(200, JSON, PLAIN), max_tokens=16)
    file = written(tmp_path / "a.yaml", limited, exchange(Response(200, SSE, halves), 1, tools=tools))
    assert read_answer(file, exchange=0).status == "truncated"
    assert read_answer(file, exchange=0, max_tokens=17).status == "complete"
    assert read_answer(file).turn.tool_calls[0].name == "pingping"
    (tmp_path / "tools.json").write_text('["ping"]')
    assert read_answer(file, tools=tmp_path / "tools.json").turn.tool_calls[0].name == "ping"


def test_a_plain_completion_and_an_error_body(tmp_path: Path) -> None:
    assert read_answer("-", b"\n  " + PLAIN).document()["finish_reason"] == "tool_calls"
    refused = read_answer("-", b'{"error": {"message": "no such model"}}').document()
    assert (refused["status"], refused["error"]) == ("error", {"message": "no such model"})


@pytest.mark.parametrize("cut", range(9))
def test_a_stream_cut_before_it_says_what_it_is_is_incomplete(cut: int) -> None:
    assert read_answer("-", STREAM[:cut]).status == "incomplete"


def test_several_streamed_answers_have_to_be_chosen_from(tmp_path: Path) -> None:
    several = [exchange(Response(200, SSE, STREAM), number) for number in range(3)]
    file = written(tmp_path / "three.yaml", *several)
    with pytest.raises(InputError, match=r"3 streamed answers \(choose with --exchange 0, 1, 2\)"):
        read_answer(file)
    with pytest.raises(InputError, match=r"no exchange 3 \(choose with --exchange 0, 1, 2\)"):
        read_answer(file, exchange=3)
    assert read_answer(file, exchange=2).status == "complete"


def test_of_exchanges_that_are_not_streamed_only_one_is_no_question(tmp_path: Path) -> None:
    one = exchange(Response(200, JSON, PLAIN))
    assert read_answer(written(tmp_path / "one.yaml", one)).turn.tool_calls[0].name == "note"
    two = written(tmp_path / "two.yaml", one, exchange(Response(200, JSON, PLAIN), 1))
    with pytest.raises(InputError, match=r"no streamed answer \(choose with --exchange 0, 1\)"):
        read_answer(two)


def test_other_traffic_is_no_answer(tmp_path: Path) -> None:
    listing = exchange(Response(200, JSON, b'{"data": []}'), url="https://api.example.com/v1/models")
    file = written(tmp_path / "models.yaml", listing)
    with pytest.raises(InputError, match="it holds no chat completion"):
        read_answer(file)
    with pytest.raises(InputError, match=r"POST /v1/models is no chat completion"):
        read_answer(file, exchange=0)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"hello", "neither a stream of events, nor a chat completion, nor a cassette"),
        (PLAIN[:-9], "broken JSON"),
        (b'{"a": 1}', "neither"),
        (b"[1, 2]", "neither"),
        (b"\xff\xfe\x00", "neither"),
        (b"\x1f\x8b nonsense", "damaged gzip"),
        (b"interactions:\n- {}\n", "neither"),
    ],
)
def test_what_is_none_of_the_three_is_refused_in_one_line(content: bytes, what: str) -> None:
    with pytest.raises(InputError, match=what) as refused:
        read_answer("answer.txt", content)
    assert "\n" not in str(refused.value)
    assert str(refused.value).startswith("answer.txt")


def test_an_answer_that_is_damaged_is_refused(tmp_path: Path) -> None:
    page = written(tmp_path / "page.yaml", exchange(Response(502, (("content-type", "text/html"),), b"<html>")))
    with pytest.raises(InputError, match=r"page\.yaml, exchange 0: the body is no chat completion"):
        read_answer(page)
    damaged = Response(200, SSE, b"\x1f\x8b nonsense")
    with pytest.raises(InputError, match="cannot be decoded"):
        read_answer(written(tmp_path / "gz.yaml", exchange(damaged)), exchange=0)


def test_exchange_is_for_cassettes(sse: str) -> None:
    for name, data in ((sse, None), ("-", PLAIN)):
        with pytest.raises(InputError, match="this is one answer"):
            read_answer(name, data, exchange=0)


@pytest.mark.parametrize(
    "document",
    [
        ["a", "b"],
        [{"type": "function", "function": {"name": "a"}}, {"name": "b", "parameters": {}}],
        {"model": "m", "tools": [{"type": "function", "function": {"name": "a"}}, {"function": {"name": "b"}}]},
    ],
)
def test_the_names_of_tools_in_their_forms(tmp_path: Path, document: object) -> None:
    (tmp_path / "tools.json").write_text(json.dumps(document))
    assert tool_names_of(tmp_path / "tools.json") == ("a", "b")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{", "not valid JSON"),
        ('{"a": 1}', "no array of tools"),
        ('["a", {}]', "entry 1 names no tool"),
        ("5", "no array"),
    ],
)
def test_other_files_of_tools_are_refused(tmp_path: Path, text: str, what: str) -> None:
    (tmp_path / "tools.json").write_text(text)
    with pytest.raises(InputError, match=what):
        tool_names_of(tmp_path / "tools.json")
    with pytest.raises(InputError, match="there is no such file"):
        tool_names_of(tmp_path / "none.json")
