"""Differences of two requests: class, path and words."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from harness.cassette.drift import Drift, extension_differences, request_drift

Body = dict[str, Any]


def body() -> Body:
    calls = [{"id": "c1", "type": "function", "function": {"name": "count", "arguments": '{"of": "beds"}'}}]
    return {
        "model": "m-1",
        "temperature": 0.5,
        "tools": [{"type": "function", "function": {"name": "count", "description": "counts", "parameters": {}}}],
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "How many?"},
            {"role": "assistant", "content": "Let me see.", "tool_calls": calls},
            {"role": "tool", "tool_call_id": "c1", "content": "four"},
        ],
    }


def only(change: Callable[[Body], object]) -> Drift:
    """The one drift between the recorded body and the built one, which ``change`` changes."""
    built = body()
    change(built)
    (drift,) = request_drift(body(), built)
    return drift


def test_equal_requests_have_none() -> None:
    assert request_drift(body(), body()) == []


def test_what_means_the_same_is_no_drift() -> None:
    built = body()
    built["messages"][1]["content"] = [{"type": "text", "text": "How many?"}]
    call = built["messages"][2]["tool_calls"][0]
    call["id"] = built["messages"][3]["tool_call_id"] = "another"
    call["function"]["arguments"] = '{"of":"beds"}'
    built["messages"][2]["reasoning_content"] = "hm"
    assert request_drift(body(), built) == []
    assert extension_differences(body(), built) == ["reasoning_content"]
    assert extension_differences(body(), body()) == []


def test_the_model() -> None:
    drift = only(lambda built: built.update(model="m-2"))
    assert drift == Drift("model", "$.model", "the model was 'm-1', now 'm-2'")


def test_the_system_prompt() -> None:
    drift = only(lambda built: built["messages"][0].update(content="Be curt."))
    assert (drift.kind, drift.path) == ("system", "$.messages[0].content")
    assert drift.why == 'recorded "Be kind.", built "Be curt."'


def test_the_tools() -> None:
    drift = only(lambda built: built["tools"][0]["function"].update(description="adds up"))
    assert (drift.kind, drift.path) == ("tools", "$.tools[0].function.description")
    assert drift.why == 'recorded "counts", built "adds up"'
    drift = only(lambda built: built.pop("tools"))
    assert (drift.kind, drift.path) == ("tools", "$.tools")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"temperature": 0.7}, "recorded 0.5, built 0.7"),
        ({"temperature": None}, "recorded 0.5, built null"),
        ({"seed": 1}, "recorded (absent), built 1"),
    ],
)
def test_the_parameters(change: Body, why: str) -> None:
    drift = only(lambda built: built.update(change))
    assert drift == Drift("parameters", f"$.{next(iter(change))}", why)


def test_a_parameter_that_is_null_is_not_one_that_is_absent() -> None:
    recorded = {**body(), "stop": None}
    (drift,) = request_drift(recorded, body())
    assert drift == Drift("parameters", "$.stop", "recorded null, built (absent)")


def test_a_result_with_another_text() -> None:
    drift = only(lambda built: built["messages"][3].update(content="five"))
    assert (drift.kind, drift.path) == ("history", "$.messages[3].content")
    assert drift.why == 'recorded "four", built "five"'


def test_the_difference_in_a_long_text_is_shown() -> None:
    long = "x" * 500
    recorded, built = body(), body()
    recorded["messages"][3]["content"], built["messages"][3]["content"] = long + "OLD" + long, long + "NEW" + long
    (drift,) = request_drift(recorded, built)
    assert "OLD" in drift.why
    assert "NEW" in drift.why
    assert len(drift.why) < 300


def test_arguments_that_differ() -> None:
    def change(built: Body) -> None:
        built["messages"][2]["tool_calls"][0]["function"]["arguments"] = '{"of": "pots"}'

    drift = only(change)
    assert (drift.kind, drift.path) == ("history", "$.messages[2].tool_calls[0].function.arguments.of")
    assert drift.why == 'recorded "beds", built "pots"'


@pytest.mark.parametrize("text", ["Let me look.", None])
def test_other_text_of_the_model_is_the_recorded_agents_doing(text: str | None) -> None:
    drift = only(lambda built: built["messages"][2].update(content=text))
    assert (drift.kind, drift.path) == ("history", "$.messages[2].content")
    assert drift.why == (
        "the recorded agent repeats other text beside the call of count than the model sent: "
        f'recorded "Let me see.", built "{text or ""}"'
    )


def test_other_text_of_an_answer_without_calls() -> None:
    recorded, built = ({"messages": [{"role": "assistant", "content": text}]} for text in ("a", "b"))
    (drift,) = request_drift(recorded, built)
    assert "the recorded agent repeats other text than the model sent" in drift.why


def test_a_result_of_another_call() -> None:
    recorded = body()
    two = copy.deepcopy(recorded["messages"][2]["tool_calls"][0]) | {"id": "c2"}
    recorded["messages"][2]["tool_calls"].append(two)
    built = copy.deepcopy(recorded)
    built["messages"][3]["tool_call_id"] = "c2"
    (drift,) = request_drift(recorded, built)
    assert (drift.kind, drift.path) == ("history", "$.messages[3].tool_call_id")
    was, has = "the result of <call 1>: 'four'", "the result of <call 2>: 'four'"
    assert drift.why == f"{was} was recorded where the pipeline has {has}"


@pytest.mark.parametrize(("recorded_lacks", "side"), [(True, "pipeline's request"), (False, "recorded request")])
def test_a_message_that_one_side_lacks(recorded_lacks: bool, side: str) -> None:
    recorded, built = body(), body()
    del (recorded if recorded_lacks else built)["messages"][3]
    (drift,) = request_drift(recorded, built)
    assert drift == Drift("history", "$.messages[3]", f"only the {side} has the result of <call 1>: 'four'")


def test_a_message_of_another_role() -> None:
    drift = only(lambda built: built["messages"].insert(2, {"role": "user", "content": "Well?"}))
    assert (drift.kind, drift.path) == ("history", "$.messages[2]")
    assert drift.why == "an assistant message calling count was recorded, the pipeline has a message of user: 'Well?'"


def test_each_class_is_reported_once_and_in_one_order() -> None:
    built = body()
    built["model"] = "m-2"
    built["temperature"], built["seed"] = 1, 2
    for message in built["messages"]:
        message["content"] = "changed"
    built["tools"] = []
    kinds = [drift.kind for drift in request_drift(body(), built)]
    assert kinds == ["model", "system", "tools", "history", "parameters"]
