from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.pipeline.history import INTERRUPTED, HistoryError
from harness.pipeline.resuming import resumed
from harness.seams import SequentialIds
from harness.wire.rules import check_request
from tests.pipeline.tools import any_text


def asking(*ids: str, arguments: Any = "{}") -> dict[str, Any]:
    calls = [{"id": call_id, "type": "function", "function": {"name": "T", "arguments": arguments}} for call_id in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def answering(call_id: str | None, content: str = "ok") -> dict[str, Any]:
    return {"role": "tool", **({"tool_call_id": call_id} if call_id is not None else {}), "content": content}


USER = {"role": "user", "content": "go"}


def breaches(messages: list[dict[str, Any]]) -> list[str]:
    return [breach.why for breach in check_request({"messages": messages})]


def test_a_sound_conversation_stays_as_it_is() -> None:
    saved = [USER, asking("a", "b", arguments='{ "x" : 1.0 }'), answering("a"), answering("b"), USER]
    history = resumed(saved)
    assert history.messages == saved
    assert history.open_calls == ()
    assert history.call_ids == {"a", "b"}


def test_nothing_gives_an_empty_history() -> None:
    assert resumed([]).messages == []


def test_what_is_given_is_not_changed() -> None:
    saved = [USER, asking("a", arguments="{cut")]
    resumed(saved)
    assert saved == [USER, asking("a", arguments="{cut")]


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [("{cut", "{}"), ("", "{}"), ("[]", "{}"), (None, "{}"), ({"x": 1}, '{"x": 1}'), ('{"x":1}', '{"x":1}')],
)
def test_arguments_become_a_text_of_an_object(arguments: Any, sent: str) -> None:
    history = resumed([USER, asking("a", arguments=arguments), answering("a")])
    assert history.messages[1]["tool_calls"][0]["function"]["arguments"] == sent


def test_answers_are_put_in_the_order_of_their_calls() -> None:
    history = resumed([USER, asking("a", "b"), answering("b", "B"), answering("a", "A")])
    assert [message["content"] for message in history.messages[2:]] == ["A", "B"]


def test_calls_at_the_end_stay_open_and_others_are_closed() -> None:
    history = resumed([USER, asking("a", "b"), answering("b", "B"), USER, asking("c", "d"), answering("c", "C")])
    assert [message["content"] for message in history.messages[2:4]] == [INTERRUPTED, "B"]
    assert history.open_calls == ("d",)
    assert history.close_interrupted() == 1
    assert breaches(history.messages) == []


def test_a_call_of_the_old_form_is_answered_in_it() -> None:
    asked = {"role": "assistant", "content": None, "function_call": {"name": "T", "arguments": "{cut"}}
    answered = {"role": "function", "name": "T", "content": "ok"}
    assert resumed([USER, asked, answered]).messages[1]["function_call"]["arguments"] == "{}"
    history = resumed([USER, asked])
    assert history.close_interrupted() == 1
    assert history.messages[2] == {**answered, "content": INTERRUPTED}
    assert resumed([USER, asked, USER]).messages[2]["role"] == "function"
    for wrong in ([answered, answered], [answering("T")]):
        with pytest.raises(HistoryError, match="answers no call"):
            resumed([USER, asked, *wrong])


@pytest.mark.parametrize(
    ("saved", "reason"),
    [
        ([USER, answering("a")], r"\[1\]: answers no call"),
        ([answering("a")], r"\[0\]: 'a' answers no call|result_without_call|answers no call"),
        ([USER, asking("a"), answering("b")], r"\[2\]: 'b' answers no call"),
        ([USER, asking("a"), answering("a"), answering("a")], r"\[3\]: 'a' has been answered"),
        ([USER, asking("a", "a"), answering("a"), answering("a")], "used twice"),
        ([USER, asking("a", "b"), answering(None), answering(None)], "2 calls that it may be of"),
        ([USER, asking("a"), answering("a"), answering(None)], "0 calls that it may be of"),
        ([USER, asking("")], "not a list of calls"),
        ([USER, {"role": "assistant", "tool_calls": ["x"]}], "not a list of calls"),
        ([USER, {"role": "assistant", "tool_calls": {"a": 1}}], "not a list of calls"),
        ([{"role": "robot", "content": "x"}], "no message has the role"),
    ],
)
def test_what_cannot_be_told_is_refused_with_its_place(saved: list[dict[str, Any]], reason: str) -> None:
    with pytest.raises(HistoryError, match=reason):
        resumed(saved)


_ids = st.sampled_from(["a", "b", "call_fresh_0001"])
_messages = (
    st.builds(
        lambda ids, arguments: asking(*ids, arguments=arguments), st.lists(_ids, max_size=3), any_text | st.none()
    )
    | st.builds(answering, _ids | st.none(), st.just("ok"))
    | st.sampled_from([USER, {"role": "assistant", "content": None}, {"role": "system", "content": "s"}])
    | st.sampled_from([{"role": "assistant", "function_call": {"name": "T"}}, {"role": "function", "name": "T"}])
)


@settings(deadline=None)
@given(st.lists(_messages, max_size=10))
def test_any_conversation_is_made_valid_or_refused(saved: list[dict[str, Any]]) -> None:
    try:
        history = resumed(saved, SequentialIds())
    except HistoryError:
        return
    history.close_interrupted()
    messages = history.messages
    assert not messages or breaches(messages) == []
    ids = [entry["id"] for message in messages for entry in message.get("tool_calls") or ()]
    assert len(ids) == len(set(ids))
