"""The event stream, whatever the split of its bytes."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.wire.sse import SSEEvent, SSEParser


def reference(stream: bytes) -> list[tuple[bytes, str, bool]]:
    """Data, type and termination of each event, line by line and all at once, as the standard words it."""
    lines = re.split(rb"\r\n|\n|\r", stream.removeprefix(b"\xef\xbb\xbf"))
    unfinished = lines.pop()
    events: list[tuple[bytes, str, bool]] = []
    data: list[bytes] = []
    kind = b""
    for number, line in enumerate([*lines, unfinished, b""]):
        if not line and number == len(lines):
            continue
        if not line:
            if data:
                events.append((b"\n".join(data), (kind or b"message").decode(), number < len(lines)))
            data, kind = [], b""
        elif not line.startswith(b":"):
            name, _, value = line.partition(b":")
            value = value[1:] if value[:1] == b" " else value
            if name == b"data":
                data.append(value)
            elif name == b"event":
                kind = value
    return events


def parsed(pieces: list[bytes]) -> tuple[list[SSEEvent], int]:
    parser = SSEParser()
    events = [event for piece in pieces for event in parser.feed(piece)]
    return [*events, *parser.close()], parser.comments


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(stream) + 1) for place in places), len(stream)]
    return [stream[start:end] for start, end in pairwise(edges)]


def seen(events: list[SSEEvent]) -> list[tuple[bytes, str, bool]]:
    return [(event.data, event.event, event.terminated) for event in events]


VALUES = st.sampled_from(["", "x", " two", "a:b", ": c", '{"a": 1}', "[DONE]", "日本🙂", "data: x", "\ufeff"])
LINES = st.one_of(
    st.builds("data: {}".format, VALUES),
    st.builds("data:{}".format, VALUES),
    st.just("data"),
    st.builds("event: {}".format, st.sampled_from(["error", "ping", ""])),
    st.builds("id: {}".format, st.integers(0, 9)),
    st.builds(":{}".format, VALUES),
    st.sampled_from(["retry: 10", "other: thing", "\tdata: x", "", "", ""]),
)
STREAMS = st.builds(
    lambda bom, lines, ends, rest: (
        bom + b"".join(line.encode() + end.encode() for line, end in zip(lines, ends, strict=False)) + rest.encode()
    ),
    st.sampled_from([b"", b"", b"\xef\xbb\xbf"]),
    st.lists(LINES, max_size=20),
    st.one_of(
        st.lists(st.sampled_from(["\n", "\r\n", "\r"]), min_size=20, max_size=20),
        st.sampled_from(["\n", "\r\n", "\r"]).map(lambda end: [end] * 20),
    ),
    st.sampled_from(["", "", "data: rest", "data: rest\r", "event: error", ":"]),
)


@given(stream=STREAMS, places=st.lists(st.integers(0, 400), max_size=12))
def test_any_chunking_gives_the_events_of_the_reference(stream: bytes, places: list[int]) -> None:
    whole, comments = parsed([stream])
    assert seen(whole) == reference(stream)
    assert parsed(cut(stream, places)) == (whole, comments)
    assert parsed([bytes([byte]) for byte in stream]) == (whole, comments)


@given(stream=st.binary(max_size=60), places=st.lists(st.integers(0, 60), max_size=8))
def test_any_bytes_are_read_and_chunked_alike(stream: bytes, places: list[int]) -> None:
    assert parsed(cut(stream, places)) == parsed([stream])


@given(stream=STREAMS)
def test_offsets_cover_the_bytes_of_each_event(stream: bytes) -> None:
    events, _ = parsed([stream])
    before = 0
    for event in events:
        assert before <= event.start < event.end <= len(stream)
        own = stream[event.start : event.end]
        assert seen(parsed([own])[0]) == [(event.data, event.event, event.terminated)]
        between = parsed([stream[before : event.start]])[0]
        assert between == []
        before = event.end
    assert parsed([stream[before:]])[0] == []


def test_offsets_of_neighbouring_events_meet() -> None:
    stream = b"data: one\n\ndata: two\n\n: hello\n\ndata: three\r\n\r\n"
    events, comments = parsed([stream])
    assert [(event.start, event.end) for event in events] == [(0, 11), (11, 22), (31, len(stream))]
    assert comments == 1


@pytest.mark.parametrize("position", range(len("data: 日本🙂\n\n".encode()) + 1))
def test_a_character_split_over_two_reads_is_whole(position: int) -> None:
    stream = "data: 日本🙂\n\n".encode()
    events, _ = parsed([stream[:position], stream[position:]])
    assert [event.data.decode() for event in events] == ["日本🙂"]


def test_an_event_comes_out_with_the_bytes_that_end_it() -> None:
    parser = SSEParser()
    assert parser.feed(b"data: a") == []
    assert parser.feed(b"\n") == []
    assert [event.data for event in parser.feed(b"\ndata: b")] == [b"a"]
    assert [event.data for event in parser.feed(b"\n\ndata: c\n\n")] == [b"b", b"c"]
    assert parser.close() == []


def test_a_last_event_without_a_blank_line_is_given_out_and_marked() -> None:
    for stream in (b"data: a\n\ndata: b\n", b"data: a\n\ndata: b"):
        assert seen(parsed([stream])[0]) == [(b"a", "message", True), (b"b", "message", False)]


def test_an_event_without_data_is_none_and_leaves_no_type_behind() -> None:
    assert seen(parsed([b"event: error\n\ndata: a\n\n"])[0]) == [(b"a", "message", True)]


def test_only_a_byte_order_mark_at_the_start_is_dropped() -> None:
    mark = b"\xef\xbb\xbf"
    assert seen(parsed([mark[:1], mark[1:] + b"data: a\n\n"])[0]) == [(b"a", "message", True)]
    assert parsed([b"data: a\n\n" + mark + b"data: b\n\n"])[0][1:] == []
    assert parsed([mark]) == ([], 0)
