"""The canonical form of messages: what counts as the same to a model."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.cassette.messages import canonical_arguments, canonical_message, canonical_messages, digest, extensions


def asks(call_id: object, arguments: object = "{}") -> dict[str, Any]:
    function = {"name": "f", "arguments": arguments}
    return {"role": "assistant", "tool_calls": [{"id": call_id, "type": "function", "function": function}]}


@pytest.mark.parametrize("content", [None, "", [], [{"type": "text", "text": ""}]])
def test_no_content_has_many_forms(content: object) -> None:
    assert canonical_message({"role": "assistant", "content": content}) == {"role": "assistant"}


def test_a_text_and_its_parts_are_equal_and_other_parts_stay() -> None:
    parts = [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": "b"}]
    assert canonical_message({"role": "user", "content": parts}) == {"role": "user", "content": "ab"}
    image = {"type": "image_url", "image_url": {"url": "https://h.example/a.png"}}
    assert canonical_message({"role": "user", "content": [parts[1], image]})["content"] == [parts[1], image]


@given(text=st.text(min_size=1), other=st.text(min_size=1))
def test_contents_are_compared_character_by_character(text: str, other: str) -> None:
    one, two = ({"role": "user", "content": content} for content in (text, other))
    assert (canonical_message(one) == canonical_message(two)) == (text == other)


@pytest.mark.parametrize("arguments", [None, "", "{}", " { } "])
def test_no_arguments_have_many_forms(arguments: object) -> None:
    assert canonical_arguments(arguments) == {}


def test_arguments_are_compared_as_json_and_an_array_is_no_object() -> None:
    assert canonical_arguments('{"a": 1, "b": 2}') == canonical_arguments('{"b":2,"a":1}')
    assert canonical_arguments("[]") != canonical_arguments("{}")
    assert canonical_arguments('{"a": 1') == {"<not JSON>": '{"a": 1'}


def test_ids_are_numbered_so_that_equal_stays_equal_and_different_different() -> None:
    one = [asks("a"), {"role": "tool", "tool_call_id": "a", "content": "x"}, asks("b")]
    other = [asks("p"), {"role": "tool", "tool_call_id": "p", "content": "x"}, asks("q")]
    mixed = [asks("p"), {"role": "tool", "tool_call_id": "q", "content": "x"}, asks("q")]
    assert canonical_messages(one) == canonical_messages(other)
    assert canonical_messages(one) != canonical_messages(mixed)
    assert canonical_messages([asks("")])[0]["tool_calls"][0]["id"] == ""


@pytest.mark.parametrize("levels", [99, 300, 1000, 5000])
def test_arguments_nested_however_deeply_can_be_compared(levels: int) -> None:
    def nested(space: str, end: str) -> dict[str, Any]:
        text = f'{{"a":{space}' * levels + f'"b {end}"' + "}" * levels
        call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": text}}
        return canonical_message({"role": "assistant", "tool_calls": [call]})

    assert digest(nested("", "1")) != digest(nested("", "2"))
    # Beyond what any parser here reads, a text is compared as it is.
    assert (digest(nested("", "1")) == digest(nested(" ", "1"))) is (levels <= 1000)


def test_fields_outside_the_protocol_are_kept_apart() -> None:
    message: dict[str, Any] = {
        "role": "assistant",
        "content": "a",
        "reasoning_content": "hm",
        "annotations": [],
        "provider": None,
    }
    assert canonical_message(message) == {"role": "assistant", "content": "a"}
    assert extensions(message) == {"reasoning_content": "hm"}


def test_names_and_legacy_calls_count() -> None:
    assert canonical_message({"role": "user", "content": "a", "name": "x"}) != canonical_message(
        {"role": "user", "content": "a"}
    )
    legacy = {"role": "assistant", "function_call": {"name": "f", "arguments": '{ "a":1}'}}
    assert canonical_message(legacy)["function_call"] == {"name": "f", "arguments": {"a": 1}}


def test_digests_do_not_depend_on_the_order_of_keys() -> None:
    assert digest({"a": 1, "b": [1, 2]}) == digest({"b": [1, 2], "a": 1})
    assert digest({"a": [1, 2]}) != digest({"a": [2, 1]})
