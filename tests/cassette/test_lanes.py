"""Conversations told apart."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.cassette.lanes import Lane, find_lanes
from harness.wire.exchange import Exchange, Request, Response

Message = dict[str, Any]


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def system(text: str) -> Message:
    return {"role": "system", "content": text}


def asks(call_id: str, arguments: str = "{}") -> Message:
    function = {"name": "count", "arguments": arguments}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": call_id, "type": "function", "function": function}],
    }


def result(call_id: str, text: str) -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def says(text: str) -> Message:
    return {"role": "assistant", "content": text}


def exchange(index: int, messages: list[Message], answer: Message | None) -> Exchange:
    request = Request("POST", "https://h.example/v1/chat/completions", (), json.dumps({"messages": messages}).encode())
    if answer is None:
        return Exchange(request, Response(429, (), b'{"error": {"message": "later"}}'), index)
    body = {"choices": [{"index": 0, "message": answer, "finish_reason": "stop"}]}
    return Exchange(request, Response(200, (), json.dumps(body).encode()), index)


def lanes_of(*pairs: tuple[list[Message], Message | None]) -> list[Lane]:
    return find_lanes([exchange(index, *pair) for index, pair in enumerate(pairs)])


def indexes(lanes: list[Lane]) -> list[list[int]]:
    return [[step.exchange.index for step in lane.steps] for lane in lanes]


START = [system("s"), user("how many?")]
FIRST = asks("c1", '{"of": "beds"}')
SECOND = [*START, FIRST, result("c1", "4")]


def test_a_title_and_the_main_conversation_interleaved() -> None:
    lanes = lanes_of(
        (START, FIRST),
        ([system("give a title"), user("how many?")], says("Beds")),
        (SECOND, says("Four.")),
        ([system("give a title"), user("how many?"), says("Beds"), user("shorter")], says("B")),
        ([*SECOND, says("Four."), user("sure?")], says("Yes.")),
    )
    assert indexes(lanes) == [[0, 2, 4], [1, 3]]
    assert [lane.number for lane in lanes] == [1, 2]
    assert [(step.shared, step.adds_from) for step in lanes[0].steps] == [(0, 0), (2, 2), (4, 4)]


def test_a_repeated_request_is_a_lane_of_its_own() -> None:
    assert indexes(lanes_of((START, None), (START, FIRST), (SECOND, says("Four.")))) == [[0], [1, 2]]


def test_of_equal_requests_the_one_whose_answer_is_repeated_goes_on() -> None:
    other = asks("c9", '{"of": "pots"}')
    lanes = lanes_of(
        (START, FIRST),
        (START, other),
        (SECOND, says("Four.")),
        ([*START, other, result("c9", "90")], says("Ninety.")),
    )
    assert indexes(lanes) == [[0, 2], [1, 3]]
    answers = lanes_of((START, says("one")), (START, says("two")), ([*START, says("one"), user("sure?")], says("Yes.")))
    assert indexes(answers) == [[0, 2], [1]]


def test_equal_answers_are_told_apart_by_their_ids_then_by_who_is_free() -> None:
    twin = asks("c2", '{"of": "beds"}')
    lanes = lanes_of((START, FIRST), (START, twin), ([*START, twin, result("c2", "4")], says("Four.")))
    assert indexes(lanes) == [[0], [1, 2]]
    lanes = lanes_of((START, FIRST), (START, twin), (SECOND, says("Four.")))
    assert indexes(lanes) == [[0, 2], [1]]
    renamed = [*START, asks("x", '{"of": "beds"}'), result("x", "4")]
    lanes = lanes_of((START, FIRST), (START, twin), (renamed, says("4")), ([*renamed[:3], result("x", "5")], says("5")))
    assert sorted(indexes(lanes)) == [[0, 3], [1, 2]]


def test_two_continuations_of_one_request_share_its_step() -> None:
    lanes = lanes_of((START, FIRST), (SECOND, says("Four.")), ([*START, FIRST, result("c1", "5")], says("Five.")))
    assert indexes(lanes) == [[0, 1], [0, 2]]


def test_formatting_and_ids_do_not_part_a_conversation() -> None:
    again = [*START, asks("other", '{ "of":"beds" }'), {"role": "tool", "tool_call_id": "other", "content": "4"}]
    parts = [{**system("s"), "content": [{"type": "text", "text": "s"}]}, user("how many?"), *SECOND[2:]]
    assert indexes(lanes_of((START, FIRST), (again, says("Four.")))) == [[0, 1]]
    assert indexes(lanes_of((START, FIRST), (parts, says("Four.")))) == [[0, 1]]


def test_a_history_rewritten_within_calls_and_results_goes_on() -> None:
    third = [*START, FIRST, result("c1", "400"), says("Four."), user("sure?")]
    lanes = lanes_of((START, FIRST), (SECOND, says("Four.")), (third, says("Yes.")))
    assert indexes(lanes) == [[0, 1, 2]]
    assert (lanes[0].steps[2].shared, lanes[0].steps[2].adds_from) == (3, 4)


def test_a_history_rewritten_by_the_user_is_another_conversation() -> None:
    third = [system("s"), user("how much?"), FIRST, result("c1", "4"), says("Four."), user("sure?")]
    assert indexes(lanes_of((START, FIRST), (SECOND, says("Four.")), (third, says("Yes.")))) == [[0, 1], [2]]


def test_a_changed_system_prompt_goes_on_only_with_the_same_answer() -> None:
    changed = [system("t"), *SECOND[1:]]
    assert indexes(lanes_of((START, FIRST), (changed, says("Four.")))) == [[0, 1]]
    stranger = [system("t"), user("how many?"), asks("c7", '{"of": "pots"}'), result("c7", "90")]
    assert indexes(lanes_of((START, FIRST), (stranger, says("Ninety.")))) == [[0], [1]]


def test_agents_with_the_same_task_under_different_system_prompts_stay_apart() -> None:
    other = [system("t"), user("how many?")]
    lanes = lanes_of(
        (START, FIRST),
        (other, FIRST),
        ([*other, FIRST, result("c1", "4")], says("Four.")),
        (SECOND, says("Four.")),
    )
    assert indexes(lanes) == [[0, 3], [1, 2]]


@pytest.mark.parametrize("body", [b"[]", b'"x"', b"3"])
def test_a_body_that_is_no_object_is_refused_by_its_exchange(body: bytes) -> None:
    wrong = Exchange(Request("POST", "https://h.example/chat/completions", (), body), Response(200), 7)
    with pytest.raises(ValueError, match="exchange 7: the request body is no JSON object"):
        find_lanes([wrong])


def test_bodies_without_messages_are_lanes_of_their_own() -> None:
    assert indexes(lanes_of(([], says("a")), ([], says("b")))) == [[0], [1]]


@given(order=st.permutations([0] * 4 + [1] * 3 + [2] * 2))
def test_any_interleaving_of_conversations_is_taken_apart(order: list[int]) -> None:
    pairs: list[tuple[list[Message], Message | None]] = []
    histories: dict[int, list[Message]] = {}
    wanted: dict[int, list[int]] = {}
    for position, name in enumerate(order):
        history = histories.setdefault(name, [system("s"), user(f"task {name}")])
        answer = asks("c1", json.dumps({"turn": len(history)}))
        pairs.append((history, answer))
        histories[name] = [*history, answer, result("c1", "done")]
        wanted.setdefault(name, []).append(position)
    assert indexes(lanes_of(*pairs)) == list(wanted.values())


def test_calls_that_are_dropped_and_talked_about_leave_the_conversation_one() -> None:
    told = [*START, user("that was no JSON"), user("call count")]
    lanes = lanes_of((START, asks("c1", "{")), (told, FIRST), ([*told, FIRST, result("c1", "3")], says("3")))
    assert indexes(lanes) == [[0, 1, 2]]
    assert (lanes[0].steps[1].shared, lanes[0].steps[1].adds_from) == (2, 2)


def test_calls_may_be_dropped_in_the_middle_of_a_conversation_too() -> None:
    first = [*START, FIRST, result("c1", "3")]
    second = [*first, user("call count")]
    lanes = lanes_of((START, FIRST), (first, asks("c2", "{")), (second, asks("c3")),
                     ([*second, asks("c3"), result("c3", "4")], says("4")))  # fmt: skip
    assert indexes(lanes) == [[0, 1, 2, 3]]


def test_a_question_after_the_same_question_is_another_conversation_where_nothing_was_called() -> None:
    assert indexes(lanes_of((START, says("3")), ([*START, user("and beds?")], says("4")))) == [[0], [1]]


def test_only_the_last_step_of_a_conversation_can_have_lost_its_calls() -> None:
    goes_on = [*START, FIRST, result("c1", "3")]
    lanes = lanes_of((START, FIRST), (goes_on, says("3")), ([*START, user("and chairs?")], says("4")))
    assert indexes(lanes) == [[0, 1], [2]]
