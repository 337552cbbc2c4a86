"""What holds of every stream: of those recorded here, and of any that a server might send."""

from __future__ import annotations

import json

from hypothesis import example, given
from hypothesis import strategies as st

from harness.play.script import ScriptedCall, ScriptedTurn, render_turn
from harness.wire.chat import parse_completion
from harness.wire.deltas import parse_stream
from tests.wire.forms import plain_form, rechunked
from tests.wire.recordings import completing_byte, scripted, shipped

RECORDED = [recording.body for recording in (*shipped(), *scripted())]

_TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
_ARGUMENTS = st.dictionaries(_TEXTS, _TEXTS | st.integers() | st.booleans(), max_size=3).map(json.dumps)
_CALLS = st.lists(st.tuples(st.sampled_from(["read", "write"]), _ARGUMENTS), max_size=3)
_TURNS = st.builds(
    lambda text, calls, reason, fragment, done: ScriptedTurn(
        text=text,
        calls=tuple(ScriptedCall(name, arguments, f"c{n}") for n, (name, arguments) in enumerate(calls)),
        finish_reason=reason,
        fragment=fragment,
        done=done or reason is None,
        usage={"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
    ),
    st.none() | _TEXTS,
    _CALLS,
    st.sampled_from(["stop", "tool_calls", "length", None]),
    st.integers(1, 30),
    st.booleans(),
)
_REQUEST = {"model": "m", "stream": True, "stream_options": {"include_usage": True}}
_FRAMINGS = st.sampled_from([b"\n", b"\r\n", b"\r"])


def _body(turn: ScriptedTurn, line_end: bytes = b"\n") -> bytes:
    return render_turn(turn, 0, _REQUEST).body.replace(b"\n", line_end)


_BODIES = st.sampled_from(RECORDED) | st.builds(_body, _TURNS, _FRAMINGS)


@given(body=_BODIES, places=st.lists(st.integers(0, 30_000), max_size=20))
def test_any_chunking_gives_the_same_message(body: bytes, places: list[int]) -> None:
    assert rechunked(body, sorted(place % len(body) for place in places)) == parse_stream(body)


@given(turn=_TURNS)
def test_the_streamed_and_the_plain_form_of_an_answer_give_the_same_message(turn: ScriptedTurn) -> None:
    streamed = parse_stream(_body(turn))
    plain = parse_completion(render_turn(turn, 0, {"model": "m"}).body)
    assert (plain.content or None) == (streamed.content or None)
    assert plain.tool_calls == streamed.tool_calls
    assert (plain.finish_reason, plain.usage) == (streamed.finish_reason, streamed.usage)
    if turn.finish_reason is not None:
        assert plain.status == streamed.status


@given(body=st.sampled_from(RECORDED))
def test_the_plain_form_of_a_recording_gives_the_same_message(body: bytes) -> None:
    streamed = parse_stream(body)
    plain = plain_form(streamed)
    assert (plain.message, plain.tool_calls, plain.usage) == (streamed.message, streamed.tool_calls, streamed.usage)
    if streamed.finish_reason is not None:
        assert (plain.finish_reason, plain.status) == (streamed.finish_reason, streamed.status)


@given(body=_BODIES, place=st.integers(0, 30_000))
@example(body=RECORDED[0], place=completing_byte(RECORDED[0]) - 1)
def test_a_prefix_is_incomplete_until_the_line_that_completes_it(body: bytes, place: int) -> None:
    cut = place % (len(body) + 1)
    turn = parse_stream(body[:cut])
    assert turn.status == ("incomplete" if cut < completing_byte(body) else parse_stream(body).status)
    # What was read stays what it was: arguments only grow.
    whole = parse_stream(body)
    for before, after in zip(turn.tool_calls, whole.tool_calls, strict=False):
        assert after.arguments.startswith(before.arguments)
        assert before.id in (None, after.id)
