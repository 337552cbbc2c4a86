from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from harness.fuzz import FaultyStream, RandomChoices, faulty_streams, fragmented_streams, turn_of
from harness.fuzz.streams import faulty, fragmented
from harness.play.script import ScriptedCall, ScriptedTurn
from harness.wire.deltas import DeltaAssembler, parse_stream
from harness.wire.exchange import Response
from harness.wire.sse import SSEParser

CALLS = (
    ScriptedCall("Read", '{"path": "日本🙂.txt"}', "call_1"),
    ScriptedCall("List", "{}", "call_2"),
    ScriptedCall("Edit", '{"path": "a", "old_string": "\\u0000", "new_string": ""}', "call_3"),
)
TURN = turn_of(CALLS, 'hé "🙂" x')


def read_in_chunks(response: Response) -> DeltaAssembler:
    parser, assembler = SSEParser(), DeltaAssembler()
    start = 0
    for chunk in response.chunks:
        assembler.feed_events(parser.feed(response.body[start : chunk.end]))
        start = chunk.end
    assembler.feed_events(parser.close())
    return assembler


@settings(max_examples=150)
@given(fragmented_streams(TURN))
def test_a_turn_in_any_fragments_is_the_same_message(response: Response) -> None:
    ends = [chunk.end for chunk in response.chunks]
    assert ends == sorted(set(ends))
    assert ends[-1] == len(response.body)
    turn = read_in_chunks(response).finish()
    assert turn.status == "complete"
    assert [(call.id, call.name, call.arguments) for call in turn.tool_calls] == [
        (call.id, call.name, call.arguments) for call in CALLS
    ]
    assert turn.content == TURN.text
    assert turn.anomalies == ()


@given(st.text(max_size=30))
def test_a_turn_that_only_speaks_is_a_stream_too(text: str) -> None:
    response = fragmented(RandomChoices.seeded(len(text)), turn_of([], text))
    assert parse_stream(response.body).content == text


def test_fragments_of_calls_come_side_by_side_at_times() -> None:
    choices = RandomChoices.seeded(1)
    orders = set()
    for _ in range(50):
        parser, assembler = SSEParser(), DeltaAssembler(keep_deltas=True)
        assembler.feed_events(parser.feed(fragmented(choices, TURN).body))
        assert assembler.deltas is not None
        places = [delta.call for delta in assembler.deltas if delta.kind == "arguments"]
        orders.add(places == sorted(places, key=lambda place: place or 0))
    assert orders == {True, False}


@settings(max_examples=150)
@given(faulty_streams(TURN))
def test_a_faulty_stream_says_what_was_done_to_it(stream: FaultyStream) -> None:
    assert 1 <= len(stream.faults) <= 3
    assert len(stream.done) == len(stream.faults)


def test_the_same_seed_gives_the_same_streams() -> None:
    made = [[faulty(RandomChoices.seeded(seed), TURN) for seed in range(40)] for _ in range(2)]
    assert made[0] == made[1]
    assert len({stream.response.body for stream in made[0]}) > 20


def test_a_turn_without_an_end_stays_without_one() -> None:
    turn = ScriptedTurn(calls=CALLS, finish_reason=None, done=False)
    for seed in range(20):
        assert read_in_chunks(fragmented(RandomChoices.seeded(seed), turn)).finish().status == "incomplete"
