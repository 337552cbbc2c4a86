"""The protocol's rules: each breach is found, named with its path, and not seen where there is none."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.wire.rules import MAX_TOOLS, check_request

Body = dict[str, Any]


def call(call_id: str, name: str = "weather", arguments: str = '{"city": "Bern"}') -> Body:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def result(call_id: str, content: str = "sunny") -> Body:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def tool(name: str, parameters: object = None) -> Body:
    return {
        "type": "function",
        "function": {"name": name, "parameters": parameters or {"type": "object", "properties": {}}},
    }


def body() -> Body:
    return {
        "model": "m",
        "tools": [tool("weather"), tool("now")],
        "messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": "u"},
            {"role": "assistant", "content": None, "tool_calls": [call("a"), call("b", "now", "{}")]},
            result("a"),
            result("b"),
            {"role": "assistant", "content": "Sunny."},
        ],
    }


def found(change: Callable[[Body], object]) -> list[tuple[str, str]]:
    """Code and path of each breach of a valid body that was changed."""
    changed = body()
    change(changed)
    return [(breach.code, breach.path) for breach in check_request(changed)]


def first_call(changed: Body) -> Body:
    entry: Body = changed["messages"][2]["tool_calls"][0]
    return entry


def arguments(value: object) -> Callable[[Body], object]:
    return lambda changed: first_call(changed)["function"].update(arguments=value)


def swap_results(changed: Body) -> None:
    messages = changed["messages"]
    messages[3], messages[4] = messages[4], messages[3]


def parameters(value: object) -> Callable[[Body], object]:
    return lambda changed: changed["tools"][0]["function"].update(parameters=value)


ARGUMENTS = "$.messages[2].tool_calls[0].function.arguments"
PARAMETERS = "$.tools[0].function.parameters"

BREACHES: list[tuple[str, Callable[[Body], object], list[tuple[str, str]]]] = [
    ("no messages", lambda b: b.pop("messages"), [("messages_missing", "$.messages")]),
    ("empty messages", lambda b: b.update(messages=[]), [("messages_missing", "$.messages")]),
    ("unknown role", lambda b: b["messages"][1].update(role="human"), [("role_unknown", "$.messages[1].role")]),
    ("no message", lambda b: b["messages"].insert(0, "hi"), [("role_unknown", "$.messages[0].role")]),
    ("stray result", lambda b: b["messages"].append(result("a")), [("result_without_call", "$.messages[6]")]),
    (
        "strange result",
        lambda b: b["messages"].insert(3, result("z")),
        [("result_without_call", "$.messages[3].tool_call_id")],
    ),
    ("second result", lambda b: b["messages"].insert(4, result("a")), [("result_twice", "$.messages[4].tool_call_id")]),
    ("missing result", lambda b: b["messages"].pop(3), [("result_missing", "$.messages[2]")]),
    ("order", swap_results, [("results_out_of_order", "$.messages[3]")]),
    ("no list", lambda b: b["messages"][2].update(tool_calls="x"),
     [("calls_not_a_list", "$.messages[2].tool_calls"), ("result_without_call", "$.messages[3]"),
      ("result_without_call", "$.messages[4]")]),
    ("no function", lambda b: first_call(b).pop("function"),
     [("call_without_function", "$.messages[2].tool_calls[0]")]),
    ("no name", lambda b: first_call(b)["function"].update(name=""),
     [("call_without_name", "$.messages[2].tool_calls[0].function.name")]),
    ("an object", arguments({}), [("arguments_not_text", ARGUMENTS)]),
    ("null", arguments(None), [("arguments_not_text", ARGUMENTS)]),
    ("cut", arguments('{"city": "B'), [("arguments_not_json", ARGUMENTS)]),
    ("a text", arguments('"Bern"'), [("arguments_not_an_object", ARGUMENTS)]),
    ("a filled array", arguments("[1]"), [("arguments_not_an_object", ARGUMENTS)]),
    ("tools no list", lambda b: b.update(tools={}), [("tools_not_a_list", "$.tools")]),
    ("too many tools", lambda b: b.update(tools=[tool(f"t{n}") for n in range(MAX_TOOLS + 1)]),
     [("too_many_tools", "$.tools")]),
    ("tool without function", lambda b: b["tools"][0].pop("function"), [("tool_without_function", "$.tools[0]")]),
    ("tool is no object", lambda b: b["tools"].append(5), [("tool_without_function", "$.tools[2]")]),
    ("tool name", lambda b: b["tools"][0]["function"].update(name="a.b"),
     [("tool_name", "$.tools[0].function.name")]),
    ("long tool name", lambda b: b["tools"][0]["function"].update(name="a" * 65),
     [("tool_name", "$.tools[0].function.name")]),
    ("same tool name", lambda b: b["tools"][1]["function"].update(name="weather"),
     [("tool_name_taken", "$.tools[1].function.name")]),
    ("schema", parameters("object"), [("schema_not_an_object", PARAMETERS)]),
    ("C02", parameters({"type": "object", "required": []}), [("required_empty", f"{PARAMETERS}.required")]),
    ("C02 null", parameters({"type": "object", "properties": {}, "required": None}),
     [("required_null", f"{PARAMETERS}.required")]),
    ("C03", lambda b: b["tools"][0]["function"].update(parameters={}), [("schema_empty", PARAMETERS)]),
]  # fmt: skip


@pytest.mark.seed("W06", "W07", "C02")
def test_a_valid_request_has_no_breach() -> None:
    assert check_request(body()) == []


@pytest.mark.parametrize(("change", "wanted"), [case[1:] for case in BREACHES], ids=[case[0] for case in BREACHES])
def test_each_breach_is_named_with_its_path(change: Callable[[Body], object], wanted: list[tuple[str, str]]) -> None:
    assert found(change) == wanted


@pytest.mark.parametrize("missing", [None, ""])
def test_calls_without_an_id(missing: str | None) -> None:
    assert found(lambda b: first_call(b).update(id=missing))[0] == (
        "call_without_id",
        "$.messages[2].tool_calls[0].id",
    )


def test_an_id_used_twice_in_one_message_and_not_in_two() -> None:
    def twice(changed: Body) -> None:
        changed["messages"][2]["tool_calls"][1]["id"] = "a"
        changed["messages"][4]["tool_call_id"] = "a"

    assert found(twice) == [("id_used_twice", "$.messages[2].tool_calls[1].id")]
    assert found(lambda b: b["messages"].extend(b["messages"][2:5])) == []


@pytest.mark.parametrize(
    "change",
    [
        arguments(""),
        arguments("{}"),
        arguments(' {"city": null} '),
        arguments('{"a":' * 2000 + "1" + "}" * 2000),
        lambda b: b["messages"][0].update(role="developer"),
        lambda b: b["messages"].insert(5, {"role": "user", "content": "and?"}),
        lambda b: b["messages"][5].update(tool_calls=[]),
        lambda b: b["messages"][5].update(tool_calls=None),
        lambda b: b["messages"].append({"role": "function", "name": "now", "content": "12"}),
        lambda b: b.pop("tools"),
        lambda b: b.update(tools=[]),
        lambda b: b.update(tools=[tool(f"t{n}") for n in range(MAX_TOOLS)]),
        lambda b: b["tools"].append({"type": "custom", "custom": {"name": "x"}}),
        lambda b: b["tools"][0]["function"].update(name="a" * 64),
        lambda b: b["tools"][0]["function"].pop("parameters"),
        parameters({"type": "object"}),
        parameters({"type": "object", "properties": {}, "required": []}),
        parameters({"type": "object", "properties": {"a": {"enum": [], "default": [], "type": "array", "items": {}}}}),
        parameters({"type": "object", "properties": {"a": True}, "required": [], "additionalProperties": False}),
    ],
)
def test_what_is_near_a_breach_is_none(change: Callable[[Body], object]) -> None:
    assert found(change) == []


# --- the empty array in place of an empty object (E02)


@pytest.mark.seed("E01")
@pytest.mark.parametrize(
    ("change", "path"),
    [
        (arguments("[]"), ARGUMENTS),
        (arguments(" [ ] "), ARGUMENTS),
        (arguments([]), ARGUMENTS),
        (
            lambda b: b["messages"][5].update(function_call={"name": "now", "arguments": "[]"}),
            "$.messages[5].function_call.arguments",
        ),
        (parameters([]), PARAMETERS),
        (parameters({"type": "object", "properties": []}), f"{PARAMETERS}.properties"),
        (parameters({"properties": {"a": []}}), f"{PARAMETERS}.properties.a"),
        (parameters({"properties": {"a": {"properties": []}}}), f"{PARAMETERS}.properties.a.properties"),
        (parameters({"properties": {"a": {"items": []}}}), f"{PARAMETERS}.properties.a.items"),
        (parameters({"anyOf": [{}, {"properties": []}]}), f"{PARAMETERS}.anyOf[1].properties"),
        (parameters({"additionalProperties": []}), f"{PARAMETERS}.additionalProperties"),
        (parameters({"$defs": []}), f"{PARAMETERS}.$defs"),
        (parameters({"definitions": {"d": {"not": []}}}), f"{PARAMETERS}.definitions.d.not"),
    ],
)
def test_an_object_that_became_an_array_is_named(change: Callable[[Body], object], path: str) -> None:
    assert found(change) == [("object_became_array", path)]


def test_a_filled_array_is_another_fault() -> None:
    assert found(parameters({"properties": ["a"]})) == [("schema_not_an_object", f"{PARAMETERS}.properties")]


# --- orders and pairs, generated


@given(data=st.data(), count=st.integers(1, 6))
def test_only_the_order_of_the_calls_is_accepted(data: st.DataObject, count: int) -> None:
    ids = [f"c{number}" for number in range(count)]
    order = data.draw(st.permutations(ids))
    messages = [{"role": "assistant", "tool_calls": [call(each) for each in ids]}, *(result(each) for each in order)]
    codes = [breach.code for breach in check_request({"messages": messages})]
    assert codes == ([] if list(order) == ids else ["results_out_of_order"])


@given(data=st.data(), count=st.integers(1, 6))
def test_each_missing_result_is_named_and_the_rest_keeps_its_order(data: st.DataObject, count: int) -> None:
    ids = [f"c{number}" for number in range(count)]
    kept = [each for each in ids if data.draw(st.booleans())]
    messages = [{"role": "assistant", "tool_calls": [call(each) for each in ids]}, *(result(each) for each in kept)]
    breaches = check_request({"messages": messages})
    assert [breach.code for breach in breaches] == ["result_missing"] * (count - len(kept))
    assert [breach.why for breach in breaches] == [
        f"the call {each!r} has no result" for each in ids if each not in kept
    ]


def test_the_place_of_a_result_out_of_order_is_right_behind_a_stray_one() -> None:
    def change(changed: Body) -> None:
        swap_results(changed)
        changed["messages"].insert(3, result("z"))

    assert found(change) == [
        ("result_without_call", "$.messages[3].tool_call_id"),
        ("results_out_of_order", "$.messages[4]"),
    ]


def test_checking_changes_nothing() -> None:
    given_body = body()
    before = copy.deepcopy(given_body)
    check_request(given_body)
    assert given_body == before
