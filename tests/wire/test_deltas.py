"""Streamed calls put together: any chunking, any fragmentation, and what real providers send."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.wire.chat import ModelTurn, ToolCall, hit_output_limit
from harness.wire.deltas import DeltaAssembler, parse_stream
from harness.wire.sse import SSEParser

DONE = b"data: [DONE]\n\n"


def event(document: object) -> bytes:
    return b"data: " + json.dumps(document, ensure_ascii=False).encode() + b"\n\n"


def delta(finish_reason: str | None = None, /, **fields: Any) -> bytes:
    return event({"id": "r", "model": "m", "choices": [{"index": 0, "delta": fields, "finish_reason": finish_reason}]})


def part(
    arguments: object = "", *, index: object = 0, call_id: str | None = None, name: str | None = None, **more: Any
) -> dict[str, Any]:
    """An entry of a delta's ``tool_calls``; what is None is left out."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    entry = {"index": index, "id": call_id, "function": function, **more}
    return {key: value for key, value in entry.items() if value is not None}


def calls(*parts: Mapping[str, Any]) -> bytes:
    return delta(tool_calls=list(parts))


def turn_of(
    *events: bytes, reason: str | None = "tool_calls", done: bool = True, names: Iterable[str] = ()
) -> ModelTurn:
    ending = [delta(reason)] if reason is not None else []
    return parse_stream(b"".join([*events, *ending, *([DONE] if done else [])]), list(names))


def short(turn: ModelTurn) -> list[tuple[str | None, str | None, object]]:
    """Id, name and parsed arguments of each call."""
    return [(call.id, call.name, json.loads(call.arguments or "{}")) for call in turn.tool_calls]


def codes(turn: ModelTurn) -> list[str]:
    return [anomaly.code for anomaly in turn.anomalies]


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.text(max_size=12)
    | st.sampled_from(["ll", "--", "{}", "}"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
ARGUMENTS = st.dictionaries(st.text(max_size=6), JSON_VALUES, max_size=4)
TEXTS = st.builds(
    lambda value, ascii_only, indent: json.dumps(value, ensure_ascii=ascii_only, indent=indent),
    ARGUMENTS,
    st.booleans(),
    st.sampled_from([None, None, 1]),
)


def fragments_of(text: str, places: Iterable[int]) -> list[str]:
    edges = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    return [text[start:end] for start, end in pairwise(edges)]


FRAGMENTED = st.builds(fragments_of, TEXTS, st.lists(st.integers(0, 200), max_size=8)) | TEXTS.map(list)


def call_events(index: int, call_id: str, name: str, fragments: Iterable[str]) -> list[dict[str, Any]]:
    return [part(index=index, call_id=call_id, name=name), *(part(fragment, index=index) for fragment in fragments)]


# --- any chunking, any fragmentation


@pytest.mark.seed("S02")
@given(fragments=st.lists(FRAGMENTED, min_size=1, max_size=3), places=st.lists(st.integers(0, 5000), max_size=12))
def test_any_chunking_of_a_stream_gives_the_same_turn(fragments: list[list[str]], places: list[int]) -> None:
    entries = [entry for n, pieces in enumerate(fragments) for entry in call_events(n, f"c{n}", f"tool_{n}", pieces)]
    stream = b"".join([*(calls(entry) for entry in entries), delta("tool_calls"), DONE])
    edges = [0, *sorted(place % len(stream) for place in places), len(stream)]
    parser, assembler = SSEParser(), DeltaAssembler()
    for start, end in pairwise(edges):
        for found in parser.feed(stream[start:end]):
            assembler.feed_event(found)
    for found in parser.close():
        assembler.feed_event(found)
    turn = assembler.finish()
    assert turn == parse_stream(stream)
    assert [call.arguments for call in turn.tool_calls] == ["".join(pieces) for pieces in fragments]
    assert codes(turn) == []


@pytest.mark.seed("S01", "S02")
@given(fragments=FRAGMENTED)
def test_any_fragmentation_of_any_arguments_comes_out_as_it_went_in(fragments: list[str]) -> None:
    turn = turn_of(*(calls(entry) for entry in call_events(0, "c", "tool", fragments)))
    assert turn.tool_calls == (ToolCall("c", "tool", "".join(fragments)),)
    assert codes(turn) == []


@given(command=st.text(alphabet='la -"\\x{}', max_size=30), size=st.integers(1, 3))
def test_repeated_characters_stay(command: str, size: int) -> None:
    text = json.dumps({"command": command})
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    turn = turn_of(*(calls(entry) for entry in call_events(0, "c", "bash", pieces)))
    assert turn.tool_calls[0].arguments == text


@given(data=st.data(), fragments=st.lists(FRAGMENTED, min_size=2, max_size=4))
def test_parallel_calls_may_be_interleaved(data: st.DataObject, fragments: list[list[str]]) -> None:
    queues = [call_events(n, f"c{n}", f"tool_{n}", pieces) for n, pieces in enumerate(fragments)]
    opening = [queue.pop(0) for queue in queues]
    order = data.draw(st.permutations([n for n, queue in enumerate(queues) for _ in queue]))
    turn = turn_of(calls(*opening), *(calls(queues[n].pop(0)) for n in order))
    assert [(call.id, call.name, call.arguments) for call in turn.tool_calls] == [
        (f"c{n}", f"tool_{n}", "".join(pieces)) for n, pieces in enumerate(fragments)
    ]


@given(fragments=FRAGMENTED, kept=st.integers(0, 40))
def test_an_incomplete_stream_is_never_read_another_way(fragments: list[str], kept: int) -> None:
    events = [calls(entry) for entry in call_events(0, "c", "tool", fragments)]
    turn = turn_of(*events[: kept + 1], reason=None, done=False)
    assert turn.status == "incomplete"
    assert turn.tool_calls[0].arguments == "".join(fragments[:kept])


@pytest.mark.seed("S03")
def test_nothing_is_parsed_before_the_stream_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str | bytes] = []

    class Watched:
        JSONDecodeError = orjson.JSONDecodeError

        @staticmethod
        def loads(text: str | bytes) -> Any:
            read.append(text)
            return orjson.loads(text)

    for module in ("deltas", "json_text"):
        monkeypatch.setattr(f"harness.wire.{module}.orjson", Watched)
    for reason in (None, "tool_calls"):
        assembler = DeltaAssembler()
        for fragment in ['{"pa', 'th": ', '"a"}', " "]:
            assembler.feed_chunk({"choices": [{"index": 0, "delta": {"tool_calls": [part(fragment)]}}]})
        assembler.feed_chunk({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
        assert read == []
        assert assembler.finish().tool_calls[0].arguments == '{"path": "a"} '
        # The text of an incomplete stream is not even looked at to tell readings apart.
        assert read == ([] if reason is None else ['{"path": "a"} '])


@pytest.mark.seed("W03", "W05")
def test_a_streamed_call_is_the_message_that_a_plain_answer_holds() -> None:
    turn = turn_of(
        delta(role="assistant", content=None), *(calls(e) for e in call_events(0, "c", "f", ['{"a"', ": 1}"]))
    )
    assert turn.message == {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}],
    }
    assert (turn.finish_reason, turn.status, turn.content) == ("tool_calls", "complete", None)


@pytest.mark.seed("S01")
def test_id_and_name_come_first_and_fragments_by_index() -> None:
    assembler = DeltaAssembler()
    for entry in (part(index=0, call_id="a", name="f"), part(index=1, call_id="b", name="g"), part("{}", index=1)):
        assembler.feed_chunk({"choices": [{"index": 0, "delta": {"tool_calls": [entry]}}]})
    assembler.feed_chunk({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    assert assembler.finish_reason == "tool_calls"
    assert assembler.finish().tool_calls == (ToolCall("a", "f", ""), ToolCall("b", "g", "{}"))


# --- public bug reports, family A; the inputs are our own in the same shape


def test_a03_parallel_calls_that_all_say_index_0() -> None:
    turn = turn_of(
        calls(part('{"city":"Bern"}', call_id="w1", name="weather")),
        calls(part('{"city":"Rom"}', call_id="w2", name="weather")),
    )
    assert short(turn) == [("w1", "weather", {"city": "Bern"}), ("w2", "weather", {"city": "Rom"})]
    assert codes(turn) == ["index_reused"]


def test_a03_also_where_a_call_takes_nothing() -> None:
    turn = turn_of(calls(part(call_id="n1", name="now")), calls(part(call_id="n2", name="today")))
    assert short(turn) == [("n1", "now", {}), ("n2", "today", {})]


def test_a04_the_first_call_has_index_2() -> None:
    turn = turn_of(delta(content="One moment."), calls(part('{"city":"Bern"}', index=2, call_id="w1", name="weather")))
    assert short(turn) == [("w1", "weather", {"city": "Bern"})]
    assert turn.content == "One moment."
    assert codes(turn) == ["first_index_not_zero"]


def test_a05_later_fragments_under_another_index() -> None:
    turn = turn_of(
        calls(part('{"city":', call_id="w1", name="weather")),
        calls(part('"Be', index=1)),
        calls(part('rn"}', index=1)),
    )
    assert short(turn) == [("w1", "weather", {"city": "Bern"})]
    assert codes(turn) == ["orphan_fragment"]


def test_a07_the_id_changes_between_chunks() -> None:
    turn = turn_of(
        calls(part(call_id="w1", name="weather")),
        calls(part('{"city":', call_id="x7")),
        calls(part('"Bern"}', call_id="x8")),
    )
    assert short(turn) == [("w1", "weather", {"city": "Bern"})]
    assert codes(turn) == ["id_changed", "id_changed"]


def test_a07_the_id_changes_and_the_name_is_repeated_in_the_middle_of_the_arguments() -> None:
    turn = turn_of(
        calls(part('{"city":', call_id="w1", name="weather")),
        calls(part('"Bern"}', call_id="x7", name="weather")),
    )
    assert short(turn) == [("w1", "weather", {"city": "Bern"})]
    assert codes(turn) == ["id_changed", "name_repeated"]


def test_a_call_that_goes_on_under_another_index_is_known_by_its_id() -> None:
    turn = turn_of(
        calls(part('{"city":', call_id="w1", name="weather")),
        calls(part('"Be', index=1, call_id="w1")),
        calls(part('rn"}', index=1)),
    )
    assert short(turn) == [("w1", "weather", {"city": "Bern"})]
    assert codes(turn) == ["index_changed"]


@pytest.mark.parametrize(
    ("pieces", "known", "name", "anomaly"),
    [
        (("look_", "up"), "look_up", "look_up", "name_split"),
        (("tom", "tom"), "tomtom", "tomtom", "name_split"),
        (("look_up", "look_up"), "look_up", "look_up", "name_repeated"),
        (("tom", "tom"), "tom", "tom", "name_repeated"),
    ],
)
def test_a08_names_that_are_split_or_repeated(pieces: tuple[str, str], known: str, name: str, anomaly: str) -> None:
    turn = turn_of(
        calls(part(call_id="c", name=pieces[0])), calls(part('{"q":1}', call_id="c", name=pieces[1])), names=[known]
    )
    assert short(turn) == [("c", name, {"q": 1})]
    assert anomaly in codes(turn)


def test_a14_finish_reason_stop_with_calls() -> None:
    turn = turn_of(calls(part('{"city":"Bern"}', call_id="w1", name="weather")), reason="stop")
    assert short(turn) == [("w1", "weather", {"city": "Bern"})]
    assert (turn.status, turn.finish_reason) == ("complete", "stop")


def test_a16_chunks_with_usage_only() -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}
    stream = b"".join(
        [delta(content="fine"), delta("stop"), event({"choices": [], "usage": usage}), event({"usage": usage})]
    )
    turn = parse_stream(stream + DONE)
    assert (turn.content, turn.usage, codes(turn)) == ("fine", usage, [])


def test_a18_null_frames() -> None:
    turn = turn_of(b"data: null\n\n", delta(content="hel"), b"data: null\n\n", delta(content="lo"), reason="stop")
    assert (turn.content, turn.status) == ("hello", "complete")
    assert codes(turn) == ["null_frame", "null_frame"]


@pytest.mark.parametrize(
    "failing",
    [
        event({"choices": [], "error": {"code": 503, "message": "no worker is free"}}),
        event({"error": "no worker is free"}),
        b'event: error\ndata: {"message": "no worker is free"}\n\n',
        b"event: error\ndata: no worker is free\n\n",
    ],
)
def test_a19_an_error_inside_a_stream(failing: bytes) -> None:
    turn = parse_stream(delta(content="hal") + failing + DONE)
    assert turn.status == "error"
    assert turn.error is not None
    assert turn.error["message"] == "no worker is free"
    assert turn.content == "hal"
    assert codes(turn) == ["error_in_stream"]


@pytest.mark.parametrize(
    ("events", "status"),
    [
        ([delta(content="Bon")], "incomplete"),
        ([delta(content="Bonjour"), DONE], "complete"),
        ([calls(part('{"text":"Bon', call_id="c", name="say"))], "incomplete"),
        ([delta(content="Bonjour"), delta("stop"), DONE], "complete"),
        ([delta(content="Bonjour"), delta("stop")], "complete"),
    ],
)
def test_a20_how_a_stream_ends(events: list[bytes], status: str) -> None:
    assert parse_stream(b"".join(events)).status == status


def test_a20_an_empty_finish_reason_says_nothing() -> None:
    cut = parse_stream(delta("", content="Bon") + delta("", content="jour"))
    assert (cut.status, cut.finish_reason, codes(cut)) == ("incomplete", "", ["finish_reason_empty"])
    whole = parse_stream(delta("", content="Bonjour") + delta("stop"))
    assert (whole.status, whole.finish_reason) == ("complete", "stop")


def test_a24_framing_does_not_matter() -> None:
    document = b'data: {"id": "r",\r\ndata: "choices": [{"index": 0,\r\ndata: "delta": {"content": "b"}}]}\r\n\r\n'
    stream = b": ping\r\n\r\nevent: message\r\nid: 3\r\n" + document + delta("stop").replace(b"\n", b"\r\n")
    wanted = parse_stream(stream)
    assert (wanted.content, wanted.status) == ("b", "complete")
    for position in range(len(stream)):
        parser, assembler = SSEParser(), DeltaAssembler()
        for found in (*parser.feed(stream[:position]), *parser.feed(stream[position:]), *parser.close()):
            assembler.feed_event(found)
        assert assembler.finish() == wanted


def test_a25_characters_split_over_reads() -> None:
    stream = delta(content="grün 山🏔") + delta("stop")
    for position in range(len(stream)):
        parser, assembler = SSEParser(), DeltaAssembler()
        for found in (*parser.feed(stream[:position]), *parser.feed(stream[position:]), *parser.close()):
            assembler.feed_event(found)
        assert assembler.finish().content == "grün 山🏔"


def test_a26_an_empty_object_before_the_arguments() -> None:
    turn = turn_of(calls(part("{}", call_id="w1", name="weather")), calls(part('{"city":"Bern"}')))
    assert short(turn) == [("w1", "weather", {"city": "Bern"})]
    assert codes(turn) == ["arguments_resent"]
    genuine = turn_of(calls(part("{}", call_id="n1", name="now")))
    assert genuine.tool_calls[0].arguments == "{}"
    assert codes(genuine) == []


def test_a27_cumulative_arguments() -> None:
    turn = turn_of(
        calls(part('{"ci', call_id="w1", name="weather")), calls(part('{"city":"Be')), calls(part('{"city":"Bern"}'))
    )
    assert short(turn) == [("w1", "weather", {"city": "Bern"})]
    assert codes(turn) == ["arguments_cumulative"]


def test_a27_is_not_guessed_where_nothing_parses() -> None:
    turn = turn_of(calls(part('{"ci', call_id="w1", name="weather")), calls(part('{"city":"Be')))
    assert turn.tool_calls[0].arguments == '{"ci{"city":"Be'
    assert codes(turn) == []


def test_a28_fragments_that_begin_as_the_text_ends() -> None:
    pieces = ['{"command":"s', "s", " -", "-", "aa", 'a"}']
    turn = turn_of(*(calls(entry) for entry in call_events(0, "c", "bash", pieces)))
    assert short(turn) == [("c", "bash", {"command": "ss --aaa"})]


def test_a29_a_call_goes_on_after_it_has_become_valid() -> None:
    turn = turn_of(
        calls(part("{}", call_id="w1", name="weather")),
        calls(part("  ")),
        calls(part('{"city":')),
        calls(part('"Bern"}')),
    )
    assert short(turn) == [("w1", "weather", {"city": "Bern"})]


def test_a32_null_arguments_add_nothing() -> None:
    null = {"index": 0, "id": "w1", "function": {"name": "weather", "arguments": None}}
    other = {"index": 1, "id": "n1", "function": {"name": "now", "arguments": None}}
    turn = turn_of(calls(null), calls(part('{"city":"Bern"}')), calls(other))
    assert short(turn) == [("w1", "weather", {"city": "Bern"}), ("n1", "now", {})]
    assert codes(turn) == []


def test_a33_two_entries_of_one_call_in_one_chunk() -> None:
    turn = turn_of(calls(part('{"ci', call_id="w1", name="weather"), part('ty":"B')), calls(part('ern"}')))
    assert short(turn) == [("w1", "weather", {"city": "Bern"})]


def test_a36_the_token_limit_under_another_label() -> None:
    used = {"prompt_tokens": 5, "completion_tokens": 16, "total_tokens": 21}
    broken = parse_stream(
        calls(part('{"text":"Once', call_id="c", name="say"))
        + delta("tool_calls")
        + event({"choices": [], "usage": used})
    )
    assert broken.status == "complete"
    assert hit_output_limit(broken, 16)
    assert not hit_output_limit(broken, 17)
    assert not hit_output_limit(broken, None)
    whole = parse_stream(
        calls(part("{}", call_id="c", name="say")) + delta("tool_calls") + event({"choices": [], "usage": used})
    )
    assert not hit_output_limit(whole, 16)


def test_a37_finish_reason_length() -> None:
    turn = turn_of(
        calls(part('{"text":"a"}', call_id="c1", name="say")),
        calls(part('{"text":"b', index=1, call_id="c2", name="say")),
        reason="length",
    )
    assert turn.status == "truncated"
    assert hit_output_limit(turn, None)
    assert [call.arguments for call in turn.tool_calls] == ['{"text":"a"}', '{"text":"b']


def test_a39_whole_calls_without_an_index() -> None:
    turn = turn_of(
        calls(part('{"city":"Bern"}', index=None, call_id="w1", name="weather")),
        calls(part('{"city":"Rom"}', index=None, call_id="w2", name="weather")),
    )
    assert short(turn) == [("w1", "weather", {"city": "Bern"}), ("w2", "weather", {"city": "Rom"})]


def test_x05_one_choice_is_read_and_the_others_are_reported() -> None:
    def choice(index: int, text: str) -> bytes:
        return event({"choices": [{"index": index, "delta": {"content": text}}]})

    turn = parse_stream(choice(1, "a") + choice(1, "b") + choice(0, "z") + DONE)
    assert (turn.content, codes(turn)) == ("ab", ["choice_index_not_zero", "several_choices"])


# --- what else providers send


def test_a_choice_index_of_null_is_the_first() -> None:
    turn = parse_stream(event({"choices": [{"index": None, "delta": {"content": "a"}, "finish_reason": "stop"}]}))
    assert (turn.content, codes(turn)) == ("a", [])


def test_fields_of_a_call_that_the_protocol_does_not_have_are_kept() -> None:
    turn = turn_of(calls(part("{}", call_id="c", name="f", extra_content={"signature": "xyz"})))
    assert turn.message["tool_calls"][0] == {
        "id": "c",
        "type": "function",
        "function": {"name": "f", "arguments": "{}"},
        "extra_content": {"signature": "xyz"},
    }


def test_reasoning_and_refusal_are_kept_as_they_were_spread() -> None:
    turn = turn_of(
        delta(reasoning="Hm", details=[1]),
        delta(reasoning="m.", details=[2]),
        delta(refusal="No"),
        delta(refusal="."),
        reason="stop",
    )
    assert turn.message == {
        "role": "assistant", "content": None, "refusal": "No.", "reasoning": "Hmm.", "details": [1, 2],
    }  # fmt: skip


def test_the_legacy_function_call() -> None:
    turn = turn_of(
        delta(function_call={"name": "weather", "arguments": ""}),
        delta(function_call={"arguments": '{"city":'}),
        delta(function_call={"arguments": '"Bern"}'}),
        reason="function_call",
    )
    assert turn.legacy_function_call
    assert turn.message["function_call"] == {"name": "weather", "arguments": '{"city":"Bern"}'}
    assert turn.tool_calls == (ToolCall(None, "weather", '{"city":"Bern"}'),)
    assert codes(turn) == []


def test_a_legacy_function_call_beside_the_same_tool_call_is_left_out() -> None:
    both = [
        delta(tool_calls=[part(piece, call_id=call_id, name=name)], function_call={"name": name, "arguments": piece})
        for piece, call_id, name in (('{"city":', "w1", "weather"), ('"Bern"}', None, None))
    ]
    turn = turn_of(*both)
    assert short(turn) == [("w1", "weather", {"city": "Bern"})]
    assert codes(turn) == ["function_call_beside_tool_calls"]


def test_arguments_sent_as_an_object() -> None:
    turn = turn_of(calls(part({"city": "Bern"}, call_id="w1", name="weather")))
    assert turn.tool_calls[0].arguments == '{"city":"Bern"}'
    assert codes(turn) == ["arguments_not_text"]


@pytest.mark.parametrize(
    ("chunk", "code"),
    [
        (b"data: {oops\n\n", "broken_json"),
        (b"data: 5\n\n", "chunk_not_an_object"),
        (b"data:\n\n", "empty_event"),
        (event({"object": "ping"}), "choices_missing"),
        (delta(tool_calls=[5]), "call_delta_not_an_object"),
        (calls(part("{}", index="0", call_id="c", name="f")), "index_not_a_number"),
        (delta("stop"), "finish_reason_repeated"),
        (delta(content=[{"type": "text", "text": "x"}]), "content_not_text"),
    ],
)
def test_what_does_not_conform_is_reported_with_its_event(chunk: bytes, code: str) -> None:
    turn = parse_stream(delta(content="a") + delta("stop") + chunk + DONE)
    assert [(anomaly.code, anomaly.at) for anomaly in turn.anomalies] == [(code, 2)]
    assert turn.status == "complete"


def test_a_conforming_stream_has_no_anomaly() -> None:
    usage = event({"choices": [], "usage": {"total_tokens": 1}})
    turn = parse_stream(delta(role="assistant", content="") + delta(content="a") + delta("stop") + usage + DONE)
    assert (turn.content, turn.anomalies, turn.model, turn.response_id) == ("a", (), "m", "r")


# --- one rule, whatever the way through the code


class Slow(DeltaAssembler):
    """Without the short way for the chunks that are most of a stream."""

    def _goes_on(self, chunk: object) -> bool:
        return False


ENTRIES = st.builds(
    lambda index, call_id, name, arguments, more: part(arguments, index=index, call_id=call_id, name=name, **more),
    st.sampled_from([0, 0, 0, 1, 2, None, True, "0"]),
    st.sampled_from([None, None, None, "a", "b", ""]),
    st.sampled_from([None, None, None, "f", "g"]),
    st.sampled_from(["", "{", "}", "{}", '"a":1', " ", None]),
    st.sampled_from([{}, {}, {"type": "function"}]),
)


def chunk_of(entries: list[dict[str, Any]], reason: str | None, more: dict[str, Any]) -> dict[str, Any]:
    choice = {"index": 0, "delta": {"tool_calls": entries, **more}, "finish_reason": reason}
    return {"id": "r", "model": "m", "choices": [choice]}


CHUNKS = st.builds(
    chunk_of,
    st.lists(ENTRIES, min_size=1, max_size=2),
    st.sampled_from([None, None, None, None, "tool_calls", ""]),
    st.sampled_from([{}, {}, {"content": "x"}, {"role": "assistant"}]),
)


@given(chunks=st.lists(CHUNKS, max_size=12), keep=st.booleans())
def test_the_short_way_of_a_fragment_is_the_long_one(chunks: list[dict[str, Any]], keep: bool) -> None:
    events = SSEParser().feed(b"".join(map(event, chunks)) + DONE)
    short_way, long_way = DeltaAssembler(keep_deltas=keep), Slow(keep_deltas=keep)
    short_way.feed_events(events)
    long_way.feed_events(events)
    assert short_way.finish() == long_way.finish()
    assert short_way.deltas == long_way.deltas


@given(chunks=st.lists(CHUNKS, max_size=12))
def test_no_fragment_is_lost_whatever_the_indexes_and_ids(chunks: list[dict[str, Any]]) -> None:
    assembler = DeltaAssembler()
    for chunk in chunks:
        assembler.feed_chunk(chunk)
    turn = assembler.finish()
    sent = [
        entry["function"].get("arguments") or ""
        for chunk in chunks
        for entry in chunk["choices"][0]["delta"]["tool_calls"]
    ]
    if turn.status == "incomplete":
        assert sorted("".join(call.arguments for call in turn.tool_calls)) == sorted("".join(sent))
    assert assembler.finish() == turn


def test_a_turn_can_be_asked_for_before_the_stream_has_ended() -> None:
    assembler = DeltaAssembler()
    for found in SSEParser().feed(calls(part('{"a"', call_id="c", name="f")) + calls(part(":1}")) + delta("stop")):
        before = assembler.finish()
        assert before == assembler.finish()
        assert before.status == "incomplete"
        assembler.feed_event(found)
    assert short(assembler.finish()) == [("c", "f", {"a": 1})]


def test_a_chunk_that_cannot_be_read_leaves_the_turn_incomplete() -> None:
    opening, rest = calls(part('{"path":"/', call_id="c", name="f")), calls(part('tmp"}'))
    lost = turn_of(opening, b'data: {"id":"r","choi\n\n', rest)
    assert (lost.status, lost.finish_reason, codes(lost)) == ("incomplete", "tool_calls", ["broken_json"])
    kept_alive = turn_of(opening, b"data: ping\n\n", rest)
    assert (kept_alive.status, codes(kept_alive)) == ("complete", ["broken_json"])


def test_a08_where_the_tools_do_not_settle_a_name_both_readings_are_said() -> None:
    for names in (["ping", "pingping"], ["other"]):
        turn = turn_of(calls(part(call_id="c", name="ping")), calls(part("{}", name="ping")), names=names)
        (found,) = turn.anomalies
        assert (found.code, found.detail) == ("name_ambiguous", "pingping or ping, read as ping")


def test_a38_a_call_as_text_is_reported_and_no_call() -> None:
    leaked = turn_of(delta(content='{"name":"f","arg'), delta(content='uments":{}}'), reason="stop", names=["f"])
    assert (leaked.tool_calls, codes(leaked), leaked.status) == ((), ["call_in_text"], "complete")
    assert codes(turn_of(delta(content='{"name":"f","arguments":{}}'), reason="stop", names=["g"])) == []
    beside = turn_of(delta(content='{"name":"f","arguments":{}}'), calls(part("{}", call_id="c", name="f")))
    assert codes(beside) == []


def test_arguments_sent_three_times_or_in_pieces_and_again_are_read_once() -> None:
    thrice = turn_of(*(calls(part('{"a":1}', call_id="c", name="f")) for _ in range(3)))
    assert (short(thrice), codes(thrice)[-1]) == ([("c", "f", {"a": 1})], "arguments_cumulative")
    again = turn_of(calls(part('{"a"', call_id="c", name="f")), calls(part(":1}")), calls(part('{"a": 1}')))
    assert (short(again), codes(again)) == ([("c", "f", {"a": 1})], ["arguments_resent"])


@pytest.mark.parametrize("pieces", [('{"a":1}', '{"a":2}'), ("{}", "[]"), ('{"a":1}', "{}"), ("{}", "{}", '{"a":1}')])
def test_what_has_no_single_reading_stays_as_it_was_sent(pieces: tuple[str, ...]) -> None:
    turn = turn_of(*(calls(entry) for entry in call_events(0, "c", "f", pieces)))
    assert (turn.tool_calls[0].arguments, codes(turn)) == ("".join(pieces), [])


# Half surrogate pairs


def escaped(*entries: Mapping[str, Any], **fields: Any) -> bytes:
    """A delta whose halves are escapes, as JSON has them."""
    choice = {"index": 0, "delta": {**fields, **({"tool_calls": list(entries)} if entries else {})}}
    return b"data: " + json.dumps({"id": "r", "model": "m", "choices": [choice]}).encode() + b"\n\n"


def test_an_event_with_half_a_surrogate_pair_is_no_lost_event() -> None:
    assembler = DeltaAssembler(keep_deltas=True)
    parser = SSEParser()
    events = [
        escaped(content="a \ud83d"),
        escaped(part('{"a": "\ude00', call_id="c1", name="f")),
        escaped(part('"}'), thinking={"x": "\ud83d"}),
        delta("tool_calls"),
    ]
    assembler.feed_events(parser.feed(b"".join(events)))
    turn = assembler.finish()
    assert (turn.content, turn.status, turn.anomalies) == ("a \ud83d", "complete", ())
    assert turn.tool_calls == (ToolCall("c1", "f", '{"a": "\ude00"}'),)
    assert [one.text for one in assembler.deltas or () if one.kind in ("content", "thinking")] == [
        "a \ud83d",
        '{"x":"\\ud83d"}',
    ]


@pytest.mark.parametrize("status", ["complete", "incomplete"])
def test_a_pair_that_is_cut_between_two_deltas_is_a_character(status: str) -> None:
    events = [
        escaped(content="a\ud83d", refusal="r\ud83d", extra="e\ud83d"),
        escaped(content="\ude00b", refusal="\ude00", extra="\ude00"),
        escaped(part('{"a": "\ud83d', call_id="c1", name="f")),
        escaped(part('\ude00"}')),
    ]
    done = status == "complete"
    turn = turn_of(*events, reason="tool_calls" if done else None, done=done)
    assert (turn.status, turn.content) == (status, "a😀b")
    assert (turn.message["refusal"], turn.message["extra"]) == ("r😀", "e😀")
    assert turn.tool_calls == (ToolCall("c1", "f", '{"a": "😀"}'),)
    assert codes(turn) == []


def test_a_cut_pair_ends_a_call_all_the_same() -> None:
    first = [part('{"a": "\ud83d', call_id="c1", name="f"), part('\ude00"}')]
    turn = turn_of(*map(escaped, first), escaped(part("{}", call_id="c2", name="f")))
    assert [(made.id, made.arguments) for made in turn.tool_calls] == [("c1", '{"a": "😀"}'), ("c2", "{}")]
    assert codes(turn) == ["index_reused"]


def test_a_text_sent_again_is_found_where_pairs_are_cut() -> None:
    pieces = ['{"a": "\ud83d', '\ude00"}', '{"a": "\ud83d', '\ude00"}']
    turn = turn_of(*(escaped(part(piece, call_id="c1", name="f")) for piece in pieces))
    assert [made.arguments for made in turn.tool_calls] == ['{"a": "😀"}']
    assert "arguments_resent" in codes(turn)


def test_a_broken_event_is_told_in_the_same_words_where_it_holds_half_a_pair() -> None:
    turn = turn_of(b'data: {"a": "\\ud83d", }\n\n', delta(content="x"), reason="stop")
    assert (turn.status, codes(turn)) == ("incomplete", ["broken_json"])
    assert turn.anomalies[0].detail.startswith("no low surrogate in string: line 1 column 8")
