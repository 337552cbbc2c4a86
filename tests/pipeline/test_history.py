from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.pipeline.history import INTERRUPTED, History, HistoryError
from harness.pipeline.orchestrator import StepOutcome, ToolOrchestrator
from harness.pipeline.result import ErrorCode, ToolResult
from harness.pipeline.tool import ToolKind
from harness.seams import SequentialIds
from harness.wire.chat import ModelTurn, parse_completion
from harness.wire.rules import check_request
from tests.pipeline.tools import SmallTool, any_text, json_objects, orchestrator_with


def turn_of(message: dict[str, Any], finish_reason: str = "tool_calls") -> ModelTurn:
    body = {"choices": [{"index": 0, "message": message, "finish_reason": finish_reason}]}
    return parse_completion(json.dumps(body).encode())


def call(call_id: object, name: object = "Read", arguments: object = "{}", **more: Any) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def agent() -> ToolOrchestrator:
    return orchestrator_with(
        SmallTool("Read", kind=ToolKind.READ),
        SmallTool("Fails", lambda _: ToolResult.error(ErrorCode.EXECUTION_ERROR, "no")),
        ids=SequentialIds(),
    )


def stored(history: History, turn: ModelTurn, answers: int | None = None) -> StepOutcome:
    """The turn executed and put into the history, with its first ``answers`` observations (all by default)."""
    outcome = agent().run(turn.tool_calls)
    history.append_turn(turn, outcome.plans)
    for observation in outcome.observations[:answers]:
        history.append_observation(observation, legacy=turn.legacy_function_call)
    return outcome


def breaches(history: History) -> list[str]:
    return [f"{breach.path}: {breach.why}" for breach in check_request({"model": "m", "messages": history.messages})]


def started() -> History:
    return History([{"role": "system", "content": "be brief"}, {"role": "user", "content": "go"}])


@pytest.mark.seed("O05")
def test_an_observation_enters_as_a_tool_message_with_its_id_and_its_text() -> None:
    history = started()
    outcome = stored(history, turn_of({"role": "assistant", "content": None, "tool_calls": [call("call_a")]}))
    assert history.messages[-1] == {
        "role": "tool",
        "tool_call_id": "call_a",
        "content": outcome.observations[0].observation,
    }
    assert json.loads(history.messages[-1]["content"])["status"] == "success"


@pytest.mark.seed("W06", "E03")
def test_the_assistants_message_is_stored_as_it_came() -> None:
    message = {
        "role": "assistant",
        "content": "thinking",
        "reasoning_content": "hidden",
        "tool_calls": [
            call("call_a", arguments='{ "value" : "x", "value2": 1.0 }', index=0, extra={"keep": [], "this": {}})
        ],
    }
    history = started()
    stored(history, turn_of(message))
    assert json.dumps(history.messages[2]) == json.dumps(message)


@pytest.mark.seed("W07", "C02")
def test_every_call_is_answered_once_and_in_order() -> None:
    history = started()
    calls = [call("call_a"), call("call_b", "Fails"), call("call_c", "Nothing"), call("call_d", arguments="{broken")]
    stored(history, turn_of({"role": "assistant", "content": None, "tool_calls": calls}))
    assert [message.get("tool_call_id") for message in history.messages[3:]] == ["call_a", "call_b", "call_c", "call_d"]
    assert history.open_calls == ()
    assert breaches(history) == []


@pytest.mark.parametrize("broken", ["{broken", "[]", "null", '{"a": 1e999}', '{"a": "\\ud83d"}', '{"a": 1, "a": 2}'])
def test_arguments_that_are_no_object_are_sent_as_an_empty_one(broken: str) -> None:
    history = started()
    turn = turn_of({"role": "assistant", "content": None, "tool_calls": [call("call_a", arguments=broken)]})
    outcome = stored(history, turn)
    assert history.messages[2]["tool_calls"][0]["function"]["arguments"] == "{}"
    assert outcome.plans[0].raw_arguments == broken
    assert breaches(history) == []


@pytest.mark.parametrize("nothing", ["", "  ", None])
def test_empty_arguments_are_sent_as_an_empty_object(nothing: str | None) -> None:
    history = started()
    stored(history, turn_of({"role": "assistant", "content": None, "tool_calls": [call("call_a", arguments=nothing)]}))
    assert history.messages[2]["tool_calls"][0]["function"]["arguments"] == "{}"


@pytest.mark.seed("P01")
def test_arguments_that_came_as_an_object_are_sent_as_the_text_that_they_are() -> None:
    calls = [call("call_a", arguments={"value": "\u00e9"})]
    turn = turn_of({"role": "assistant", "content": None, "tool_calls": calls})
    for plans in (agent().run(calls).plans, agent().run(turn.tool_calls).plans):
        history = started()
        history.append_turn(turn, plans)
        arguments = history.messages[2]["tool_calls"][0]["function"]["arguments"]
        assert json.loads(arguments) == {"value": "\u00e9"}


def test_missing_and_repeated_ids_and_names_become_sendable_and_stay_paired() -> None:
    calls = [call("same"), call("same"), call(None), call("", ""), {"function": {"name": "Read"}}]
    history = started()
    outcome = stored(history, turn_of({"content": None, "tool_calls": calls}))
    sent = history.messages[2]
    assert sent["role"] == "assistant"
    ids = [entry["id"] for entry in sent["tool_calls"]]
    assert ids[0] == "same"
    assert len(set(ids)) == 5
    assert ids == [message["tool_call_id"] for message in history.messages[3:]]
    assert ids == [plan.tool_call_id for plan in outcome.plans]
    assert {entry["type"] for entry in sent["tool_calls"]} == {"function"}
    assert breaches(history) == []


@pytest.mark.parametrize("entries", [[], ["no call"], [{"id": "call_a"}], [{"id": "call_a", "function": None}], None])
def test_a_turn_without_a_usable_call_is_stored_without_any(entries: object) -> None:
    history = started()
    turn = turn_of({"role": "assistant", "content": None, "tool_calls": entries}, "stop")
    history.append_turn(turn, ())
    assert history.messages[2] == {"role": "assistant", "content": ""}
    assert breaches(history) == []


@pytest.mark.parametrize("role", [None, "model", "user"])
def test_a_turn_is_the_assistants_whatever_the_provider_calls_it(role: str | None) -> None:
    history = started()
    history.append_turn(turn_of({"role": role, "content": "hello"}, "stop"), ())
    assert history.messages[2] == {"role": "assistant", "content": "hello"}


LEGACY = {"role": "assistant", "content": None, "function_call": {"name": "Read", "arguments": "{}"}}


def test_a_legacy_call_is_answered_in_its_own_form() -> None:
    history = started()
    outcome = stored(history, turn_of(LEGACY, "function_call"))
    assert history.messages[2:] == [
        LEGACY,
        {"role": "function", "name": "Read", "content": outcome.observations[0].observation},
    ]
    assert breaches(history) == []


def test_an_interrupted_legacy_call_is_closed_in_its_own_form() -> None:
    history = started()
    stored(history, turn_of(LEGACY, "function_call"), answers=0)
    assert history.close_interrupted() == 1
    assert history.messages[-1] == {"role": "function", "name": "Read", "content": INTERRUPTED}
    assert breaches(history) == []


def test_an_interruption_answers_what_is_still_open_and_keeps_what_was_answered() -> None:
    history = started()
    calls = [call("call_a"), call("call_b"), call("call_c")]
    outcome = stored(history, turn_of({"role": "assistant", "content": None, "tool_calls": calls}), answers=1)
    assert history.open_calls == ("call_b", "call_c")
    assert history.close_interrupted() == 2
    contents = [message["content"] for message in history.messages[3:]]
    assert contents == [outcome.observations[0].observation, INTERRUPTED, INTERRUPTED]
    assert breaches(history) == []
    assert history.close_interrupted() == 0


def test_what_would_make_the_history_invalid_is_refused_and_changes_nothing() -> None:
    history = started()
    turn = turn_of({"role": "assistant", "content": None, "tool_calls": [call("call_a"), call("call_b")]})
    outcome = stored(history, turn, answers=0)
    before = history.messages
    with pytest.raises(HistoryError, match="calls without an answer: call_a, call_b"):
        history.append({"role": "user", "content": "and?"})
    with pytest.raises(HistoryError, match="without an answer"):
        history.append_turn(turn, outcome.plans)
    with pytest.raises(HistoryError, match="without an answer"):
        history.compact(0, "short")
    with pytest.raises(HistoryError, match="an answer to call_b where call_a is due"):
        history.append_observation(outcome.observations[1])
    assert history.messages == before
    history.append_observation(outcome.observations[0])
    with pytest.raises(HistoryError, match="an answer to call_a where call_b is due"):
        history.append_observation(outcome.observations[0])
    history.append_observation(outcome.observations[1])
    with pytest.raises(HistoryError, match="where no call is due"):
        history.append_observation(outcome.observations[1])


def test_nobody_can_change_the_past_through_what_the_history_gave_or_was_given() -> None:
    first = {"role": "user", "content": [{"type": "text", "text": "go"}]}
    history = History([first])
    first["content"] = "changed"
    message = {"role": "assistant", "content": None, "tool_calls": [call("call_a", extra={"k": [1]})]}
    turn = turn_of(message)
    stored(history, turn)
    turn.message["tool_calls"][0]["extra"]["k"].append(2)
    history.messages[0]["content"][0]["text"] = "changed"
    history.messages[1]["tool_calls"].clear()
    assert history.messages[0]["content"] == [{"type": "text", "text": "go"}]
    assert history.messages[1]["tool_calls"][0]["extra"] == {"k": [1]}
    assert len(history) == 3


def long_history() -> History:
    history = started()
    for number in range(3):
        calls = [call(f"call_{number}a"), call(f"call_{number}b")]
        stored(history, turn_of({"role": "assistant", "content": None, "tool_calls": calls}))
        history.append({"role": "user", "content": f"more {number}"})
    return history


@pytest.mark.parametrize("keep_last", range(16))
def test_compaction_tears_no_call_from_its_answers_and_keeps_at_least_what_was_asked(keep_last: int) -> None:
    history = long_history()
    before = history.messages
    replaced = history.compact(keep_last, "what happened")
    after = history.messages
    assert breaches(history) == []
    assert after[0] == before[0]
    assert len(after) == len(before) - replaced + (1 if replaced else 0)
    kept = after[2:] if replaced else after[1:]
    assert before[len(before) - len(kept) :] == kept
    assert len(kept) >= min(keep_last, len(before) - 1)
    assert len(kept) <= keep_last + 2 or not replaced
    if replaced:
        assert after[1] == {"role": "user", "content": "what happened"}


def test_compaction_of_nothing_changes_nothing() -> None:
    for history in (History(), History([{"role": "system", "content": "s"}]), started()):
        before = history.messages
        assert history.compact(5, "summary") == 0
        assert history.messages == before


usable_ids = st.sampled_from(["a", "b", "c", "call_fresh_0001"])
wild_calls = st.builds(
    call,
    usable_ids | st.none() | st.just(""),
    st.sampled_from(["Read", "Fails", "Nothing", "", None]),
    json_objects.map(json.dumps)
    | json_objects
    | st.sampled_from(["", "{", "[]", "null", '{"value": "x"}', '{"a": "\\ud800"}', '{"a": 1e400}', None]),
)
wild_messages = st.fixed_dictionaries(
    {
        "content": st.none() | st.just("") | st.just("text"),
        "tool_calls": st.lists(wild_calls | st.just({"id": "no function"}), max_size=4),
    },
    optional={"role": st.sampled_from(["assistant", None]), "reasoning_content": st.just("hidden")},
) | st.sampled_from([LEGACY, {"role": "assistant", "content": None}, {"role": "assistant"}])

operations = st.lists(
    st.tuples(st.just("turn"), wild_messages, st.integers(0, 5))
    | st.tuples(st.just("say"), st.sampled_from(["user", "developer", "system"]), st.just(0))
    | st.tuples(st.just("compact"), st.none(), st.integers(0, 8)),
    max_size=10,
)


@pytest.mark.seed("W06", "W07", "O05", "C02")
@settings(deadline=None)
@given(st.booleans(), operations)
def test_the_history_is_valid_for_a_strict_server_after_anything(
    system: bool, steps: list[tuple[str, Any, int]]
) -> None:
    history = History([{"role": "system", "content": "s"}] if system else [])
    history.append({"role": "user", "content": "go"})
    for kind, what, number in steps:
        if kind == "say":
            history.append({"role": what, "content": "words"})
        elif kind == "compact":
            history.compact(number, "summary")
        else:
            turn = turn_of(what)
            outcome = stored(history, turn, answers=number)
            open_before = len(outcome.plans) - min(number, len(outcome.plans))
            assert history.close_interrupted() == open_before
        assert breaches(history) == []
        assert history.open_calls == ()
        for message in history.messages:
            assert message.get("content") is not None or message.get("tool_calls") or message.get("function_call")
            assert message.get("tool_calls") != []
    orjson.dumps(history.messages)


@settings(deadline=None)
@given(any_text)
def test_no_arguments_text_makes_the_history_unsendable(text: str) -> None:
    history = started()
    plans = agent().plan_tool_calls([{"id": "call_a", "name": "Read", "arguments": text}])
    history.append_turn(turn_of({"role": "assistant", "content": None, "tool_calls": [call("call_a")]}), plans)
    history.close_interrupted()
    assert breaches(history) == []
    orjson.dumps(history.messages)


HALF = "\ud83d"


def test_half_a_surrogate_pair_is_sent_as_the_replacement_character() -> None:
    history = History([{"role": "system", "content": f"a{HALF}"}])
    history.append({"role": "user", "content": [{"type": "text", "text": f"{HALF}b😀"}]})
    stored(history, turn_of({"role": "assistant", "content": f"c{HALF}", "reasoning_content": HALF}))
    history.append({"role": "user", "content": "go on"})
    stored(
        history, turn_of({"role": "assistant", "content": None, "tool_calls": [call("call_a", more={HALF: [HALF]})]})
    )
    orjson.dumps(history.messages)
    contents = [message["content"] for message in history.messages[:3]]
    assert contents == ["a\ufffd", [{"type": "text", "text": "\ufffdb😀"}], "c\ufffd"]
    assert history.messages[2]["reasoning_content"] == "\ufffd"
    assert history.messages[4]["tool_calls"][0]["more"] == {"\ufffd": ["\ufffd"]}
    assert history.compact(0, f"all{HALF}") > 0
    assert history.messages[1]["content"] == "all\ufffd"
    assert breaches(history) == []


@pytest.mark.parametrize(
    "message",
    [
        {"tool_calls": [call("c1", "Read", f'{{"a": "{HALF}"}}')]},
        {"function_call": {"name": "Read", "arguments": f'{{"a": "{HALF}"}}'}},
    ],
)
def test_arguments_with_half_a_pair_are_sent_as_none(message: dict[str, Any]) -> None:
    history = started()
    outcome = stored(history, turn_of({"role": "assistant", "content": None, **message}))
    assert outcome.observations[0].result.error_code is ErrorCode.INVALID_PARAM
    orjson.dumps(history.messages)
    sent = history.messages[2]
    function = sent["tool_calls"][0]["function"] if "tool_calls" in sent else sent["function_call"]
    assert function["arguments"] == "{}"
    assert breaches(history) == []


def test_an_open_call_of_a_saved_conversation_is_answered_under_the_id_that_is_sent() -> None:
    asked = {"role": "assistant", "content": None, "tool_calls": [call(f"c{HALF}")]}
    history = History([{"role": "user", "content": "go"}, asked], open_calls=[f"c{HALF}"])
    assert history.close_interrupted() == 1
    orjson.dumps(history.messages)
    assert breaches(history) == []
