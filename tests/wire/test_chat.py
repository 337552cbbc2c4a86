"""Answers that were not streamed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.wire.chat import ToolCall, arguments_text, error_of, parse_completion, text_of, turn_status


def body(message: dict[str, Any] | None = None, finish_reason: str | None = "stop", **more: Any) -> bytes:
    choice = {"index": 0, "message": message, "finish_reason": finish_reason}
    return json.dumps({"id": "r", "model": "m", "choices": [choice], **more}).encode()


def call(**function: Any) -> dict[str, Any]:
    return {"id": "c1", "type": "function", "function": {"name": "weather", **function}}


ASKING: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": [call(arguments='{"city": "Bern"}')]}


@pytest.mark.seed("W03", "W05")
def test_a_call_is_read_as_it_was_sent_and_kept_in_the_message() -> None:
    turn = parse_completion(body(ASKING, "tool_calls", usage={"total_tokens": 3}))
    assert turn.tool_calls == (ToolCall("c1", "weather", '{"city": "Bern"}'),)
    assert turn.message == ASKING
    assert (turn.content, turn.finish_reason, turn.status) == (None, "tool_calls", "complete")
    assert (turn.usage, turn.model, turn.response_id, turn.anomalies) == ({"total_tokens": 3}, "m", "r", ())


def test_a_call_goes_back_onto_the_wire_as_it_came() -> None:
    (found,) = parse_completion(body(ASKING)).tool_calls
    assert found.to_wire() == ASKING["tool_calls"][0]


@pytest.mark.parametrize("start", [b"\n\n  ", b"\t"])
def test_white_space_before_the_body_is_accepted(start: bytes) -> None:
    assert parse_completion(start + body({"role": "assistant", "content": "a"})).content == "a"


@pytest.mark.parametrize(
    ("arguments", "text", "code"),
    [(None, "", "arguments_null"), ({"a": 1}, '{"a":1}', "arguments_not_text"), ([], "[]", "arguments_not_text")],
)
def test_arguments_that_are_no_text_are_read_and_reported(arguments: object, text: str, code: str) -> None:
    turn = parse_completion(body({"role": "assistant", "tool_calls": [call(arguments=arguments)]}))
    assert turn.tool_calls[0].arguments == text
    assert [anomaly.code for anomaly in turn.anomalies] == [code]
    assert arguments_text(arguments) == (text, code)


def test_missing_ids_and_names_are_none() -> None:
    entries = [{"function": {"arguments": "{}"}}, {"id": "", "function": {"name": "f", "arguments": "{}"}}]
    turn = parse_completion(body({"role": "assistant", "tool_calls": entries}))
    assert turn.tool_calls == (ToolCall(None, None, "{}"), ToolCall(None, "f", "{}"))


@pytest.mark.parametrize("entry", [5, {}, {"id": "c", "function": "f"}])
def test_an_entry_that_is_no_call_is_left_out_and_reported(entry: object) -> None:
    turn = parse_completion(body({"role": "assistant", "tool_calls": [entry, call(arguments="{}")]}))
    assert [found.id for found in turn.tool_calls] == ["c1"]
    assert [anomaly.code for anomaly in turn.anomalies] == ["call_without_function"]


@pytest.mark.parametrize("entries", [5, {"id": "c"}, "x"])
def test_calls_that_are_no_list_are_reported(entries: object) -> None:
    turn = parse_completion(body({"role": "assistant", "tool_calls": entries}))
    assert (turn.tool_calls, [anomaly.code for anomaly in turn.anomalies]) == ((), ["calls_not_a_list"])


def test_the_legacy_function_call() -> None:
    legacy = {"role": "assistant", "content": None, "function_call": {"name": "weather", "arguments": "{}"}}
    turn = parse_completion(body(legacy, "function_call"))
    assert (turn.tool_calls, turn.legacy_function_call) == ((ToolCall(None, "weather", "{}"),), True)
    both = parse_completion(body({**legacy, "tool_calls": [call(arguments="{}")]}))
    assert (both.tool_calls[0].id, both.legacy_function_call) == ("c1", False)


def test_a38_a_call_as_text_is_reported() -> None:
    leaked = {"role": "assistant", "content": '{"name": "weather", "arguments": {}}'}
    turn = parse_completion(body(leaked))
    assert (turn.tool_calls, [anomaly.code for anomaly in turn.anomalies]) == ((), ["call_in_text"])
    assert parse_completion(body(leaked), ["clock"]).anomalies == ()


def test_a_message_without_a_role_is_the_assistants() -> None:
    assert parse_completion(body({"content": "a"})).message == {"role": "assistant", "content": "a"}


def test_an_error_under_http_200() -> None:
    turn = parse_completion(b'{"error": {"message": "busy", "code": 502}}')
    assert (turn.status, turn.error, turn.anomalies) == ("error", {"message": "busy", "code": 502}, ())
    assert parse_completion(body({"role": "assistant", "content": "a"}, error="busy")).status == "error"


def test_an_answer_without_choices_is_incomplete() -> None:
    for document in (b"{}", b'{"choices": []}', b'{"choices": [5]}', b'{"choices": null}'):
        turn = parse_completion(document)
        assert (turn.status, [anomaly.code for anomaly in turn.anomalies]) == ("incomplete", ["no_choices"])


def test_of_several_choices_the_first_is_read() -> None:
    choices = [{"message": {"content": text}, "finish_reason": "stop"} for text in ("a", "b")]
    turn = parse_completion(json.dumps({"choices": choices}).encode())
    assert (turn.content, [anomaly.code for anomaly in turn.anomalies]) == ("a", ["several_choices"])


@pytest.mark.parametrize("document", [b"", b"<html>", b"[]", b'"a"', body()[:-3]])
def test_what_is_no_object_is_refused(document: bytes) -> None:
    with pytest.raises(ValueError, match=r"JSON|character|document|end"):
        parse_completion(document)


@pytest.mark.parametrize(
    ("reason", "done", "error", "status"),
    [
        ("stop", False, None, "complete"),
        ("tool_calls", True, None, "complete"),
        (None, True, None, "complete"),
        (None, False, None, "incomplete"),
        ("", False, None, "incomplete"),
        ("", True, None, "complete"),
        ("length", True, None, "truncated"),
        ("stop", True, {"message": "x"}, "error"),
        ("length", True, {"message": "x"}, "error"),
    ],
)
def test_how_far_a_turn_is_to_be_trusted(reason: str | None, done: bool, error: object, status: str) -> None:
    assert turn_status(reason, done=done, error=error) == status
    assert turn_status(reason, done=done, error=error, lost=True) == ("error" if error else "incomplete")


def test_the_text_of_contents() -> None:
    assert text_of("a") == "a"
    assert text_of([{"type": "text", "text": "a"}, {"type": "image_url"}, {"type": "text", "text": "b"}]) == "ab"
    assert text_of(None) is None
    assert text_of({"text": "a"}) is None


def test_errors_in_their_forms() -> None:
    assert error_of({"error": "busy"}) == {"message": "busy"}
    assert error_of({"error": {"message": "busy"}}) == {"message": "busy"}
    nothings: list[object] = [None, {}, "", False]
    for nothing in nothings:
        assert error_of({"error": nothing}) is None
    assert error_of({}) is None


def test_half_a_surrogate_pair_is_read_as_it_was_sent() -> None:
    halves: dict[str, Any] = {
        "role": "assistant",
        "content": "a \ud83d b",
        "tool_calls": [call(arguments='{"city": "\ude00"}'), call(arguments={"city": "\ud83d"})],
    }
    turn = parse_completion(body(halves, "tool_calls"))
    assert turn.content == "a \ud83d b"
    assert [made.arguments for made in turn.tool_calls] == ['{"city": "\ude00"}', '{"city":"\\ud83d"}']
    assert (turn.message, turn.status) == (halves, "complete")
    assert [anomaly.code for anomaly in turn.anomalies] == ["arguments_not_text"]
