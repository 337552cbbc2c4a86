"""Messages as steps: nothing lost, results with their calls."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from harness.trace.importing.conversation import Said, fill_lane, said_of, text_of
from harness.trace.run import Lane


def lane_of(*messages: dict[str, Any] | Said) -> Lane:
    lane = Lane("main")
    fill_lane(lane, [item if isinstance(item, Said) else said_of(item, model="m") for item in messages])
    return lane


def call(name: str = "look", call_id: str | None = "c1", arguments: Any = "{}") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def calling(*calls: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def result(call_id: str | None = "c1", content: Any = "done") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


SYSTEM = {"role": "system", "content": "be good"}
USER = {"role": "user", "content": "go"}
ANSWER = {"role": "assistant", "content": "the answer"}


def test_steps_hold_what_was_said_before_them() -> None:
    lane = lane_of(SYSTEM, USER, calling(call()), result(), {"role": "user", "content": "and?"}, ANSWER)
    assert [step.before for step in lane.steps] == [(SYSTEM, USER), ({"role": "user", "content": "and?"},)]
    assert [step.messages_sent for step in lane.steps] == [2, 5]
    assert [step.index for step in lane.steps] == [0, 1]
    assert (lane.outcome, lane.final_text) == ("answered", "the answer")
    (made,) = lane.steps[0].calls
    assert (made.name, made.observation, made.status, made.executed) == ("look", "done", "unknown", True)


def test_a_conversation_that_stops_with_calls_has_not_answered() -> None:
    lane = lane_of(USER, calling(call(), call(call_id="c2")), result("c2"))
    assert (lane.outcome, lane.final_text) == ("ended", None)
    assert [made.status for made in lane.steps[0].calls] == ["missing", "unknown"]
    assert [made.executed for made in lane.steps[0].calls] == [False, True]


def test_results_find_their_calls_by_id_and_in_order_without_one() -> None:
    lane = lane_of(calling(call("a", "1"), call("b", "2")), result("2", "of b"), result("1", "of a"))
    assert [made.observation for made in lane.steps[0].calls] == ["of a", "of b"]
    lane = lane_of(calling(call("a", None), call("b", None)), result(None, "first"), result(None, "second"))
    assert [made.observation for made in lane.steps[0].calls] == ["first", "second"]
    lane = lane_of(calling(call("a", "1"), call("b", "1")), result("1", "first"), result("1", "second"))
    assert [made.observation for made in lane.steps[0].calls] == ["first", "second"]


def test_a_result_of_no_call_is_kept_and_noted() -> None:
    lane = lane_of(calling(call()), result(), result("elsewhere", "lost"), ANSWER)
    assert lane.steps[1].before == (result("elsewhere", "lost"),)
    assert lane.steps[0].notes == ("a result for elsewhere that this step did not make",)
    lane = lane_of(ANSWER, result("c9"), USER)
    assert lane.after == (result("c9"), USER)


def test_the_older_form_of_a_call_counts() -> None:
    lane = lane_of(
        {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": '{"a": 1}'}},
        {"role": "function", "name": "look", "content": "seen"},
    )
    (made,) = lane.steps[0].calls
    assert (made.name, made.arguments, made.observation) == ("look", '{"a": 1}', "seen")


def test_arguments_that_do_not_parse_are_named() -> None:
    (step,) = lane_of(calling(call(arguments='{"a": '), call(call_id="c2", arguments={"a": 1}))).steps
    assert step.calls[0].parse_error is not None
    assert step.calls[1].parse_error is None
    assert step.calls[0].arguments == '{"a": '


def test_texts_of_contents() -> None:
    assert text_of(None) == ""
    assert text_of([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]) == "a\nb"
    assert text_of([{"type": "image_url", "image_url": "u"}]) == '{"type": "image_url", "image_url": "u"}'
    assert text_of({"a": 1}) == '{"a": 1}'


IDS = st.sampled_from(["1", "2", "3"]) | st.none()
MESSAGES = st.one_of(
    st.sampled_from([SYSTEM, USER, ANSWER]),
    st.lists(IDS, min_size=1, max_size=3).map(lambda ids: calling(*(call(call_id=each) for each in ids))),
    st.tuples(IDS, st.text(max_size=3)).map(lambda pair: result(*pair)),
)


@given(messages=st.lists(MESSAGES, max_size=12))
def test_no_message_is_lost(messages: list[dict[str, Any]]) -> None:
    lane = lane_of(*messages)
    kept = [message for step in lane.steps for message in (*step.before, step.message)] + list(lane.after)
    answered = sum(made.executed is True for step in lane.steps for made in step.calls)
    assert len(kept) + answered == len(messages)
    assert [step.message for step in lane.steps] == [each for each in messages if each["role"] == "assistant"]
    assert [step.messages_sent for step in lane.steps] == [
        position for position, each in enumerate(messages) if each["role"] == "assistant"
    ]
