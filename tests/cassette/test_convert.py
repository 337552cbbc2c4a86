"""Cassettes converted between dialects, and replayed by stock vcrpy."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import pytest
import vcr
from hypothesis import HealthCheck, given, settings
from openai import OpenAI

from harness.cassette.cassette import Cassette
from harness.cassette.convert import convert_cassette
from harness.cassette.dialects import load_cassette
from harness.cassette.dialects.vcrpy import dump_vcrpy
from harness.cassette.own import dump_cassette
from harness.errors import InputError
from harness.wire.exchange import Exchange, Request, Response
from tests.cassette.conversations import sessions
from tests.cassette.test_own_format import growing

SHIPPED = sorted((Path(__file__).parents[2] / "cassettes").glob("*.yaml"))


def cassette_at(path: Path, *exchanges: Exchange, workspace: str | None = None, home: str | None = None) -> Path:
    recorded = tuple(replace(one, index=index) for index, one in enumerate(exchanges))
    if path.name.endswith(".cassette.jsonl"):
        path.write_bytes(dump_cassette(Cassette(path, "harness", recorded, workspace, home)))
    else:
        path.write_bytes(dump_vcrpy(recorded, workspace, home))
    return path


@pytest.mark.parametrize("source", SHIPPED, ids=lambda path: path.stem)
def test_shipped_cassettes_go_there_and_back_byte_for_byte(tmp_path: Path, source: Path) -> None:
    middle, back = tmp_path / "x.cassette.jsonl", tmp_path / "x.yaml"
    assert convert_cassette(source, middle).notes == ()
    assert convert_cassette(middle, back).notes == ()
    assert load_cassette(middle).exchanges == load_cassette(source).exchanges
    assert back.read_bytes() == source.read_bytes()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(recorded=sessions())
def test_any_session_goes_there_and_back(tmp_path: Path, recorded: list[Exchange]) -> None:
    source = cassette_at(tmp_path / "a.cassette.jsonl", *recorded, workspace="/work", home="/home/é \n")
    convert_cassette(source, tmp_path / "b.yaml", force=True)
    convert_cassette(tmp_path / "b.yaml", tmp_path / "c.cassette.jsonl", force=True)
    assert (tmp_path / "c.cassette.jsonl").read_bytes() == source.read_bytes()


@pytest.mark.corpus
def test_every_cassette_of_the_corpus_goes_through_the_own_format(corpus_dir: Path, tmp_path: Path) -> None:
    """Bytes of requests and responses; pydantic-ai's dialect keeps no bytes, there its reader makes them."""
    own, back = tmp_path / "x.cassette.jsonl", tmp_path / "x.yaml"
    loaded = exchanges = in_parts = 0
    for source in sorted(path for path in corpus_dir.rglob("*") if path.suffix in {".yaml", ".yml", ".json", ".gz"}):
        try:
            recorded = load_cassette(source)
        except InputError:
            continue  # trajectories and lists of tasks; which cassettes load is another test
        loaded += 1
        exchanges += len(recorded.exchanges)
        own.write_bytes(dump_cassette(recorded))
        assert load_cassette(own).exchanges == recorded.exchanges, source
        assert own.stat().st_size < 1.3 * len(dump_vcrpy(recorded.exchanges)), source
        in_parts += own.read_bytes().count(b'"parameters":') - own.read_bytes().count(b'{"parameters":')
        done = convert_cassette(own, back, force=True)
        if not done.notes:
            assert load_cassette(back).exchanges == recorded.exchanges, source
    assert loaded >= 433
    assert in_parts > 0.9 * exchanges


def test_the_folders_of_the_session_survive_also_stock_vcrpy(tmp_path: Path) -> None:
    source = cassette_at(tmp_path / "a.cassette.jsonl", *growing(1), workspace="/srv/shop", home="/home/kim")
    target = tmp_path / "b.yaml"
    convert_cassette(source, target)
    assert (load_cassette(target).workspace, load_cassette(target).home) == ("/srv/shop", "/home/kim")
    with vcr.use_cassette(str(target), record_mode="new_episodes") as played:
        played.append(vcr.request.Request("GET", "http://h/", b"", {}), {"status": {"code": 200, "message": "OK"}})
    assert b"interactions:\n-" in target.read_bytes()
    assert (load_cassette(target).workspace, load_cassette(target).home) == ("/srv/shop", "/home/kim")


def test_stock_vcrpy_replays_what_came_from_the_own_format(tmp_path: Path) -> None:
    answer = (
        b'{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"stop",\
"message":{"role":"assistant","content":"h\xc3\xa9"}}]}'
    )
    stream = (
        b'data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":'
        b'{"content":"hel"}}]}\n\ndata: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":'
        b'[{"index":0,"delta":{"content":"lo"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    )
    url = "http://127.0.0.1:1/v1/chat/completions"
    body = b'{"messages":[{"role":"user","content":"hi"}],"model":"m"}'
    json_type, stream_type = (("content-type", "application/json"),), (("content-type", "text/event-stream"),)
    source = cassette_at(
        tmp_path / "a.cassette.jsonl",
        Exchange(Request("POST", url, json_type, body), Response(200, json_type, answer, (), "OK")),
        Exchange(
            Request("POST", url, json_type, body.replace(b"}],", b'}],"stream":true,')),
            Response(200, stream_type, stream, (), "OK"),
        ),
        workspace="/work",
    )
    target = tmp_path / "b.yaml"
    convert_cassette(source, target)
    with (
        vcr.use_cassette(str(target), record_mode="none", match_on=("method", "uri", "body")) as played,
        OpenAI(base_url="http://127.0.0.1:1/v1", api_key="k", max_retries=0) as client,
    ):
        plain = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])
        chunks = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}], stream=True)
        assert plain.choices[0].message.content == "hé"
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "hello"
        assert played.all_played


def test_a_packed_target_is_packed_the_same_each_time(tmp_path: Path) -> None:
    source = cassette_at(tmp_path / "a.cassette.jsonl", *growing(2))
    target = tmp_path / "b.cassette.jsonl.gz"
    convert_cassette(source, target)
    first = target.read_bytes()
    assert gzip.decompress(first) == source.read_bytes()
    convert_cassette(source, target, force=True)
    assert target.read_bytes() == first


def test_headers_that_vcrpy_would_reorder_are_said(tmp_path: Path) -> None:
    headers = (("a", "1"), ("b", "2"), ("a", "3"))
    source = cassette_at(tmp_path / "a.cassette.jsonl", Exchange(Request("GET", "http://h/", headers), Response(200)))
    done = convert_cassette(source, tmp_path / "b.yaml")
    assert done.notes == ("vcrpy keeps repeats of a header together: their order changed in exchange 1",)


def test_a_torn_source_is_converted_as_far_as_it_goes_and_said(tmp_path: Path) -> None:
    source = cassette_at(tmp_path / "a.cassette.jsonl", *growing(2))
    source.write_bytes(source.read_bytes()[:-5])
    done = convert_cassette(source, tmp_path / "b.yaml")
    assert len(load_cassette(done.target).exchanges) == 1
    assert "torn" in done.notes[0]


def test_what_cannot_be_converted_is_said_and_nothing_is_written(tmp_path: Path) -> None:
    source = cassette_at(tmp_path / "a.yaml", *growing(1))
    there = tmp_path / "there.yaml"
    there.write_text("old")
    for target, kind, what in (
        (there, None, "this file exists (--force replaces it)"),
        (tmp_path / "b.jsonl", None, "the name does not say what to write"),
        (tmp_path / "b.yaml.gz", None, "the name does not say what to write"),
        (tmp_path / "b.yaml", "go-vcr", "this is a cassette of vcrpy, not of go-vcr"),
        (tmp_path / "b.yaml", "nonsense", "'nonsense' is no kind of cassette (one of harness, vcrpy, "),
    ):
        with pytest.raises(InputError) as caught:
            convert_cassette(source, target, kind)
        assert what in str(caught.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.yaml", "there.yaml"]
    assert there.read_text() == "old"
    convert_cassette(source, there, "vcrpy", force=True)
    assert there.read_bytes() == source.read_bytes()
