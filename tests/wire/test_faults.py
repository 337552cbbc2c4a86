from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import InputError
from harness.play.script import ScriptedCall
from harness.wire.chat import ModelTurn
from harness.wire.deltas import parse_stream
from harness.wire.exchange import CHAT_PATH, Chunk, Ending, Exchange, Request, Response, decoded, header
from harness.wire.faults import KINDS, Applied, Fault, generate, parse_fault, read_fault, rng_of
from harness.wire.sse import SSEEvent, SSEParser
from tests.wire.streams import SSE, TURN, USAGE, plain, streamed, streams, with_reads


def applied(spec: str, response: Response, seed: int = 0) -> Applied:
    return parse_fault(spec).apply(response, rng_of(seed, 1, 0))


def events(body: bytes) -> list[SSEEvent]:
    parser = SSEParser()
    return [*parser.feed(body), *parser.close()]


def data(body: bytes) -> list[bytes]:
    return [event.data for event in events(body)]


def assert_chunks_cover(response: Response) -> None:
    ends = [chunk.end for chunk in response.chunks]
    assert ends == sorted(set(ends))
    assert not ends or ends[-1] == len(response.body)
    assert response.body or not ends


# Every fault, every layout


def some_faults(response: Response, seed: int) -> Sequence[Fault]:
    return generate(seed, response)


@given(streams(), st.integers(0, 10_000))
def test_any_faults_in_a_row_leave_chunks_that_cover_the_body_and_say_what_they_did(
    response: Response, seed: int
) -> None:
    for position, fault in enumerate(some_faults(response, seed)):
        before = response
        response, what = fault.apply(before, rng_of(seed, 1, position))
        assert_chunks_cover(response)
        assert what or response == before
        assert fault.apply(before, rng_of(seed, 1, position)).response == response


@given(streams(), st.integers(0, 10_000))
def test_a_fault_is_read_back_from_its_text(response: Response, seed: int) -> None:
    for fault in some_faults(response, seed):
        assert parse_fault(fault.text) == fault
        scheduled = replace(fault, at=2, times=3)
        assert parse_fault(scheduled.text) == scheduled


def test_every_kind_of_fault_is_drawn_and_the_same_seed_draws_the_same() -> None:
    response = streamed()
    drawn = [generate(seed, response) for seed in range(400)]
    assert drawn == [generate(seed, response) for seed in range(400)]
    assert {fault.name for faults in drawn for fault in faults} == set(KINDS)
    assert max(map(len, drawn)) == 3


INSIDE = "cut:event=2 drop=id drop=usage drop=finish_reason drop=done duplicate=2 swap=2 error=1 broken=2 gateway"


@given(streams(), st.sampled_from(INSIDE.split()))
def test_a_packed_stream_is_edited_inside_and_packed_again(response: Response, spec: str) -> None:
    packed = applied("gzip", response).response
    assert decoded(packed.body, packed.headers) == response.body
    edited, what = applied(spec, packed)
    bare, bare_what = applied(spec, response)
    assert decoded(edited.body, edited.headers) == bare.body
    assert what == bare_what
    assert_chunks_cover(edited)
    assert applied(spec, packed).response == edited


@given(streams())
def test_what_an_event_fault_does_not_name_stays_byte_for_byte(response: Response) -> None:
    body, found = response.body, events(response.body)
    second, third = found[1], found[2]
    first_part, rest = body[: second.start], body[third.start :]
    between = body[second.end : third.start]
    dropped = applied("drop=usage", response).response.body
    usage = found[-2]
    assert dropped == body[: usage.start] + body[usage.end :]
    twice = applied("duplicate=2", response).response.body
    assert twice == body[: second.end] + body[second.start :]
    swapped = applied("swap=2", response).response.body
    assert swapped == (
        first_part + body[third.start : third.end] + between + body[second.start : second.end] + body[third.end :]
    )
    broken = applied("broken=2", response).response.body
    assert broken.startswith(first_part)
    assert broken.endswith(between + rest)
    assert len(events(broken)) == len(found)


@given(streams())
def test_reads_outside_an_edit_stay_where_they_were(response: Response) -> None:
    found = events(response.body)
    edited = applied("broken=2", response).response
    gone = len(response.body) - len(edited.body)
    ends = {chunk.end: chunk.time for chunk in edited.chunks}
    for chunk in response.chunks:
        if chunk.end <= found[1].start:
            assert ends[chunk.end] == chunk.time
        elif chunk.end >= found[1].end:
            assert ends[chunk.end - gone] == chunk.time


def test_an_event_put_in_between_two_reads_is_a_read_of_its_own() -> None:
    response = streamed()
    for spec in ("duplicate=2", "error=2", "error=0"):
        edited = applied(spec, response).response
        assert [chunk.end for chunk in edited.chunks] == [event.end for event in events(edited.body)]
    last = len(events(response.body))
    for spec in (f"duplicate={last}", f"error={last}"):
        assert len(applied(spec, response).response.chunks) == len(response.chunks) + 1


# Cut, disconnect, timeout


@given(streams(), st.integers(0, 3000))
def test_cut_at_a_byte_keeps_the_bytes_before_it(response: Response, byte: int) -> None:
    cut, what = applied(f"cut:byte={byte}", response)
    assert cut.body == response.body[:byte]
    assert bool(what) == (byte < len(response.body))
    assert_chunks_cover(cut)
    kept = [chunk for chunk in response.chunks if chunk.end <= byte]
    assert list(cut.chunks[: len(kept)]) == kept


def test_cut_at_an_event_or_a_delta_lets_so_many_through() -> None:
    response = streamed()
    whole = data(response.body)
    for number in range(len(whole)):
        assert data(applied(f"cut:event={number}", response).response.body) == whole[:number]
    assert applied(f"cut:event={len(whole)}", response) == (response, "")
    assert parse_stream(applied("cut:delta=2", response).response.body).tool_calls[0].arguments == '{"path": "'
    assert parse_stream(applied("cut:delta=1,of=text", response).response.body).content == 'hé "🙂'
    assert applied("cut:delta=99", response).what == ""
    assert applied("cut:delta=3,of=any", response).what == "cut after 3 of 7 deltas of arguments and text"


@pytest.mark.parametrize("number", range(22))
def test_cut_at_a_character_ends_right_behind_it(number: int) -> None:
    response = streamed()
    arguments = "".join(call.arguments for call in parse_stream(response.body).tool_calls)
    cut = applied(f"cut:character={number}", response).response
    assert response.body.startswith(cut.body)
    last = events(cut.body)[-1]
    opened = last.data.decode().rpartition('"arguments":"')[2]
    before = parse_stream(cut.body[: last.start]).tool_calls
    assert "".join(call.arguments for call in before) + json.loads(f'"{opened}"') == arguments[:number]


def test_a_plain_answer_is_cut_at_a_byte_or_a_character() -> None:
    cut = applied("cut:character=10", plain()).response
    assert cut.body.endswith(b'"arguments":"{\\"path\\": \\"')
    assert applied("cut:character=4,of=text", plain()).response.body.endswith('"content":"hé \\"'.encode())
    assert applied("cut:event=1", plain()).what == ""
    indented = Response(200, (), json.dumps(json.loads(plain().body), indent=1).encode())
    assert json.dumps("hé")[1:-1].encode() in applied("cut:character=2,of=text", indented).response.body[-9:]


def test_without_a_place_a_cut_is_drawn_and_an_ending_comes_behind_everything() -> None:
    response = streamed()
    lengths = {len(applied("cut", response, seed).response.body) for seed in range(20)}
    assert len(lengths) > 10
    for name, ending in (("disconnect", Ending.DISCONNECT), ("timeout", Ending.TIMEOUT)):
        whole = applied(name, response).response
        assert (whole.body, whole.chunks, whole.ending) == (response.body, response.chunks, ending)
        part = applied(f"{name}:event=2", response)
        assert (data(part.response.body), part.response.ending) == (data(response.body)[:2], ending)
        assert part.what.startswith("cut after 2 of ")


def test_a_true_length_stays_true_unless_the_connection_breaks() -> None:
    body = plain().body
    response = Response(200, (("content-length", str(len(body))),), body)
    assert header(applied("cut:byte=10", response).response.headers, "content-length") == "10"
    assert header(applied("disconnect:byte=10", response).response.headers, "content-length") == str(len(body))


# What is left out


@pytest.mark.parametrize("response", [streamed(), plain()], ids=["streamed", "plain"])
def test_parts_are_left_out_and_nothing_else(response: Response) -> None:
    def turn(changed: Response) -> ModelTurn:
        return Exchange(Request("POST", CHAT_PATH), changed).turn()

    whole = turn(response)
    no_usage, no_reason, no_id = (
        turn(applied(f"drop={what}", response).response) for what in ("usage", "finish_reason", "id")
    )
    assert (whole.usage, no_usage.usage) == (USAGE, None)
    assert (whole.finish_reason, no_reason.finish_reason) == ("tool_calls", None)
    assert [call.id for call in no_id.tool_calls] == [None, None]
    for changed in (no_usage, no_reason, no_id):
        calls = [(call.name, call.arguments) for call in changed.tool_calls]
        assert calls == [(call.name, call.arguments) for call in whole.tool_calls]


def test_done_and_indexes_are_parts_of_streams_only() -> None:
    response = streamed()
    assert data(applied("drop=done", response).response.body) == data(response.body)[:-1]
    assert b'"tool_calls":[{"index"' not in applied("drop=index", response).response.body
    assert parse_stream(applied("drop=index", response).response.body).status == "complete"
    for what in ("done", "index"):
        assert applied(f"drop={what}", plain()).what == ""


def test_usage_beside_choices_goes_and_null_stays() -> None:
    first = b'data: {"choices":[{"delta":{},"finish_reason":null}],"usage":{"a":1}}\n\n'
    body = first + b'data: {"usage":null,"choices":[]}\n\n'
    edited = applied("drop=usage", with_reads(body, [])).response.body
    assert edited == body.replace(b',"usage":{"a":1}', b"")
    assert applied("drop=finish_reason", with_reads(body, [])).what == ""


# Events


def test_an_error_event_is_read_as_an_error_in_both_forms() -> None:
    for form in ("data", "event"):
        edited, what = applied(f'error=2,message="too, much",form={form}', streamed())
        turn = parse_stream(edited.body)
        assert turn.status == "error"
        assert (turn.error or {})["message"] == "too, much"
        assert what == f"an error event after 2 of {len(events(streamed().body))} events"


def test_a_last_event_without_a_blank_line_is_closed_before_another_follows() -> None:
    body = b'data: {"choices":[]}\n\ndata: [DONE]'
    for spec, wanted in (
        ("duplicate=2", [b'{"choices":[]}', b"[DONE]", b"[DONE]"]),
        ("swap=1", [b"[DONE]", b'{"choices":[]}']),
    ):
        for tail in (b"", b"\n"):
            edited = applied(spec, with_reads(body + tail, [23])).response
            assert data(edited.body) == wanted
            assert_chunks_cover(edited)
    assert len(data(applied("error=2", with_reads(body, [])).response.body)) == 3


def test_what_is_not_there_cannot_be_broken() -> None:
    for spec in ("duplicate=99", "swap=99", "swap=0", "broken=99", "error=99"):
        assert applied(spec, streamed()) == (streamed(), "")
    for spec in ("duplicate", "swap", "broken", "error"):
        assert applied(spec, plain()) == (plain(), "")
    done = len(events(streamed().body))
    assert applied(f"broken={done}", streamed()).what == ""
    assert applied("swap", Response(200, SSE, b"")).what == ""


# Transfer


@given(streams(), st.integers(1, 40))
def test_rechunking_keeps_bytes_and_times_that_grow(response: Response, size: int) -> None:
    for spec in (f"rechunk={size}", f"rechunk:largest={size}"):
        changed = applied(spec, response).response
        assert changed.body == response.body
        assert_chunks_cover(changed)
        ends = [0, *(chunk.end for chunk in changed.chunks)]
        assert all(0 < end - start <= size for start, end in pairwise(ends))
        times = [chunk.time for chunk in changed.chunks]
        assert times == sorted(times)


def test_a_delay_comes_before_each_read_or_before_an_event() -> None:
    response = streamed()
    everywhere = applied("delay=0.5", response).response
    assert everywhere.paced
    assert [chunk.time for chunk in everywhere.chunks] == [
        0.5 * number for number in range(1, len(response.chunks) + 1)
    ]
    third = events(response.body)[2]
    once = applied("delay=2,event=3", replace(response, chunks=(Chunk(len(response.body), 9.0),))).response
    assert once.chunks == (Chunk(third.start, 0.0), Chunk(len(response.body), 2.0))
    assert applied("delay:event=99", response).what == ""


def test_gzip_is_announced_and_the_same_each_time() -> None:
    response = streamed()
    packed = applied("gzip", response).response
    assert header(packed.headers, "content-encoding") == "gzip"
    assert packed.body == applied("gzip", response).response.body
    assert packed.body[4:8] == bytes(4)
    assert packed.body[9:10] == b"\xff"
    assert applied("gzip", packed).what == ""
    assert Exchange(Request("POST", CHAT_PATH), packed).turn() == parse_stream(response.body)


def test_a_damaged_packed_body_is_left_alone() -> None:
    damaged = applied("cut:byte=40", applied("gzip", streamed()).response).response
    for kind in KINDS:
        assert isinstance(applied(kind, damaged), Applied)
    assert applied("drop=usage", damaged).what == ""


def test_the_content_type_is_replaced() -> None:
    changed = applied("content_type=text/html", streamed()).response
    assert changed.headers == (("content-type", "text/html"),)
    assert changed.streamed


# HTTP errors


@pytest.mark.parametrize("status", [429, 500, 503])
def test_an_error_stands_in_place_of_an_answer(status: int) -> None:
    fault = parse_fault(f"status={status},times=2,retry_after=1")
    instead = fault.instead()
    assert instead is not None
    assert instead.response.status == status
    assert header(instead.response.headers, "retry-after") == "1"
    assert json.loads(instead.response.body)["error"]["message"]
    assert [fault.happens_at(number) for number in (1, 2, 3)] == [True, True, False]


def test_no_response_at_all_is_a_timeout_without_a_body() -> None:
    instead = parse_fault("status=timeout").instead()
    assert instead is not None
    assert (instead.response.body, instead.response.ending) == (b"", Ending.TIMEOUT)


@pytest.mark.parametrize(
    ("spec", "answers"),
    [
        ("gzip", [1, 2, 3, 4, 5]),
        ("gzip:at=3", [3]),
        ("gzip:times=2", [1, 2]),
        ("gzip:at=2,times=2", [2, 3]),
        ("gzip:at=all", [1, 2, 3, 4, 5]),
        ("status=500", [1]),
        ("status=500,at=4", [4]),
        ("status=500,at=all", [1, 2, 3, 4, 5]),
    ],
)
def test_when_a_fault_happens(spec: str, answers: list[int]) -> None:
    assert [number for number in range(1, 6) if parse_fault(spec).happens_at(number)] == answers


# The gateway


TOOLS = {"tools": [{"function": {"name": "f", "parameters": {"type": "object", "properties": {}, "required": []}}}]}


def test_a_gateway_turns_every_empty_object_of_a_request_into_an_array() -> None:
    body = {
        **TOOLS,
        "messages": [
            {"role": "user", "content": "{} stays"},
            {"tool_calls": [{"function": {"name": "arguments", "arguments": '{"o": { }, "t": "{}"}'}}]},
            {"tool_calls": [{"function": {"name": "f", "arguments": "{\n}"}}]},
        ],
    }
    request = Request("POST", CHAT_PATH, (), json.dumps(body).encode())
    mangled, what = parse_fault("gateway").mangle(request)
    assert len(mangled.body) == len(request.body)
    changed = json.loads(mangled.body)
    assert changed["tools"][0]["function"]["parameters"]["properties"] == []
    assert changed["messages"][0] == {"role": "user", "content": "{} stays"}
    assert changed["messages"][1]["tool_calls"][0]["function"]["arguments"] == '{"o": [ ], "t": "{}"}'
    assert changed["messages"][2]["tool_calls"][0]["function"]["arguments"] == "[\n]"
    assert what == (
        "{} became [] at $.tools[0].function.parameters.properties, "
        "$.messages[1].tool_calls[0].function.arguments.o, "
        "$.messages[2].tool_calls[0].function.arguments of the request"
    )
    assert parse_fault("gateway=response").mangle(request) == (request, "")
    assert parse_fault("gateway").mangle(Request("POST", CHAT_PATH, (), b"no json")).what == ""


@given(streams())
def test_a_gateway_changes_the_arguments_of_a_stream_as_it_changes_those_of_an_answer(response: Response) -> None:
    changed = applied("gateway", response).response
    assert len(changed.body) == len(response.body)
    assert changed.chunks == response.chunks
    (before,), (after,) = parse_stream(response.body).tool_calls, parse_stream(changed.body).tool_calls
    wanted = {"{}": "[]", '{"o": {}, "é": "🙂"}': '{"o": [], "é": "🙂"}'}
    assert after.arguments == wanted.get(before.arguments, before.arguments)


def test_a_gateway_changes_a_plain_answer() -> None:
    first, second = json.loads(applied("gateway", plain()).response.body)["choices"][0]["message"]["tool_calls"]
    assert (first["function"]["arguments"], second["function"]["arguments"]) == ('{"path": "日本🙂.txt"}', "[]")
    assert applied("gateway=request", plain()).what == ""


# Written down


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("ct:event=1", r"no fault 'ct' \(did you mean cut\?\)"),
        ("conect", r"no fault 'conect'"),
        ("cut:evnt=1", r"cut: no setting 'evnt' \(did you mean event\?\)"),
        ("cut:event=x", "cut: event is 'x', not a whole number"),
        ("cut:event=-1", "cut: event is -1; a count is not negative"),
        ("cut=3", r"cut: which setting has this value\? \(the settings are byte, event"),
        ("cut:event=1,byte=2", "one place is enough: byte or event"),
        ("cut:of=text", "of says what delta or character counts"),
        ("cut:event=1,event=2", "event is given twice"),
        ("cut:event", "'event' is not KEY=VALUE"),
        ("gzip:at=0", "at is 0; it is at least 1"),
        ("status=200", "status is 200; an error is 400 to 599, or timeout"),
        ("status=soon", "status is 'soon', not timeout or a whole number"),
        ("rechunk=0", "size is 0; a read has at least 1 byte"),
        ("delay=-1", "seconds is -1"),
        ("drop=usge", "what is 'usge', not done or usage"),
        ('error:message="x', "is no value"),
        ("", "is no fault"),
    ],
)
def test_what_is_written_wrongly_is_said_with_the_nearest_name(spec: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        parse_fault(spec)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("cut:event=3", "cut:event=3"),
        ({"cut": {"event": 3}, "at": 2}, "cut:event=3,at=2"),
        ({"status": 429, "times": 2, "retry_after": 1}, "status=429,retry_after=1,times=2"),
        ({"gzip": None}, "gzip"),
        ({"gzip": True, "at": "all"}, "gzip:at=all"),
        ({"error": {"message": "a, b"}}, 'error:message="a, b"'),
        ({"delay": 1}, "delay=1"),
        ({"status": "timeout"}, "status=timeout"),
    ],
)
def test_a_scenario_may_write_a_mapping(value: object, text: str) -> None:
    fault = read_fault(value)
    assert fault.text == text
    assert read_fault(fault) is fault


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"ct": {"event": 3}}, "did you mean cut"),
        ({"at": 3}, "no fault ''"),
        ({"cut": {"event": 3}, "gzip": None}, "one fault each: cut and gzip"),
        ({"cut": {"event": 3, "at": 1}, "at": 1}, "at is given twice"),
        ({"cut": {"event": True}}, "event is True, not a whole number"),
        (3, "a text or a mapping, not int"),
    ],
)
def test_a_mapping_that_is_no_fault_is_said(value: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_fault(value)


def test_the_place_of_one_fault_does_not_depend_on_the_others() -> None:
    assert isinstance(rng_of(1, 2, 3), Random)
    assert rng_of(1, 2, 3).random() == rng_of(1, 2, 3).random() != rng_of(1, 2, 4).random()


DROPS = ["drop=usage", "drop=finish_reason", "drop=id", "drop=index", "gateway"]


@pytest.mark.parametrize("spec", [*DROPS, "duplicate:at=3", "swap:at=3", "broken:at=3", "error:at=3"])
@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_with_half_a_surrogate_pair_is_broken_like_any_other(spec: str, stream: bool) -> None:
    def broken(half: str) -> tuple[str, bytes]:
        calls = (ScriptedCall("Read", f'{{"path": "{half}"}}', "call_1"), ScriptedCall("List", "{}", "call_2"))
        turn = replace(TURN, text=f"a {half} b {half}", calls=calls)
        found = applied(spec, streamed(turn) if stream else plain(turn))
        return found.what, found.response.body.replace(b"\\ud83d", "é".encode())

    assert broken("\ud83d") == broken("é")
