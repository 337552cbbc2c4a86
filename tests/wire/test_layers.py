"""A stream with all its layers: reads and their times, events, deltas, message."""

from __future__ import annotations

import gzip

import pytest

from harness.cassette.dialects import load_cassette
from harness.wire.deltas import Delta, parse_stream
from harness.wire.exchange import Chunk, Response
from harness.wire.layers import read_layers, response_layers
from tests.wire.recordings import ROOT, scripted, shipped

SSE = (("content-type", "text/event-stream"),)
BODY = (
    b'data: {"id":"r","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"a"}}]}\n\n'
    b'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c",'
    b'"function":{"name":"f","arguments":"{"}}]}}]}\n\n'
    b'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]}}]}\n\n'
    b'data: {"choices":[{"index":0,"delta":{"reasoning":"Hm"},"finish_reason":"tool_calls"}],'
    b'"usage":{"total_tokens":1}}\n\n'
    b"data: [DONE]\n\n"
)


def test_deltas_say_what_each_event_added() -> None:
    layers = read_layers(BODY)
    assert layers.deltas == (
        Delta(0, "content", "a"),
        Delta(0, "role", "assistant"),
        Delta(1, "id", "c", 0),
        Delta(1, "name", "f", 0),
        Delta(1, "arguments", "{", 0),
        Delta(2, "arguments", "}", 0),
        Delta(3, "usage", '{"total_tokens":1}'),
        Delta(3, "reasoning", "Hm"),
        Delta(3, "finish_reason", "tool_calls"),
        Delta(4, "done", ""),
    )
    assert layers.turn == parse_stream(BODY)


@pytest.mark.parametrize("body", [entry.body for entry in (*shipped(), *scripted())])
def test_no_layer_loses_anything(body: bytes) -> None:
    layers = read_layers(body)
    assert b"".join(body[event.start : event.end] for event in layers.events) == body
    for number, call in enumerate(layers.turn.tool_calls):
        own = [delta for delta in layers.deltas if delta.call == number]
        assert "".join(delta.text for delta in own if delta.kind == "arguments") == call.arguments
        assert [delta.text for delta in own if delta.kind == "name"] == [call.name]
    content = [delta.text for delta in layers.deltas if delta.kind == "content"]
    assert "".join(content) == (layers.turn.content or "")
    assert layers.turn == parse_stream(body)


def test_an_event_has_the_time_of_the_read_that_completed_it() -> None:
    first, second = BODY.index(b"data:", 5), BODY.index(b"[DONE]")
    chunks = (Chunk(first - 4, 0.5), Chunk(first, 0.7), Chunk(second, 1.0), Chunk(len(BODY), 1.5))
    layers = response_layers(Response(200, SSE, BODY, chunks))
    assert [layers.time_of(number) for number in range(5)] == [0.7, 1.0, 1.0, 1.0, 1.5]
    assert read_layers(BODY).time_of(0) is None


def test_the_times_of_a_packed_body_are_those_of_the_unpacked_bytes() -> None:
    packed = gzip.compress(BODY, mtime=0)
    half = len(packed) // 2
    layers = response_layers(Response(200, SSE, packed, (Chunk(half, 1.0), Chunk(len(packed), 2.0))))
    assert layers.turn == parse_stream(BODY)
    assert layers.chunks[-1] == Chunk(len(BODY), 2.0)
    assert 0 <= layers.chunks[0].end <= len(BODY)
    assert layers.time_of(4) == 2.0


def test_recorded_times_ascend() -> None:
    for exchange in load_cassette(ROOT / "cassettes" / "smollm2-read-streamed.yaml").exchanges:
        layers = response_layers(exchange.response)
        times = [layers.time_of(number) or 0.0 for number in range(len(layers.events))]
        assert times == sorted(times)
        assert times[0] > 0
