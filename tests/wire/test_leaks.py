"""Calls that were written as text (A38)."""

from __future__ import annotations

import pytest

from harness.wire.leaks import is_call_in_text

BARE = '{"name": "read", "arguments": {"path": "a"}}'


@pytest.mark.parametrize(
    "content",
    [
        BARE,
        f"  {BARE}\n",
        f"[{BARE}, {BARE}]",
        f"```json\n{BARE}\n```",
        '{"name": "read", "parameters": {"path": "a"}}',
        '{"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}',
        f"<tool_call>\n{BARE}\n</tool_call>",
        f"<tool_call>{BARE}</tool_call>\n<tool_call>{BARE}</tool_call>",
        '<tool_call>{"name": "read", "argum</tool_call>',
        "<function=read><parameter=path>a</parameter></function>",
        "<|tool_calls_begin|>read<|tool_sep|>{}<|tool_calls_end|>",
        "<\uff5ctool\u2581calls\u2581begin\uff5c>read{}<\uff5ctool\u2581calls\u2581end\uff5c>",
        '[TOOL_CALLS] [{"name": "read", "arguments": {}}]',
        '<|python_tag|>{"name": "read", "parameters": {}}',
    ],
)
def test_a38_a_message_that_is_a_call_and_nothing_else(content: str) -> None:
    assert is_call_in_text(content)


@pytest.mark.parametrize(
    "content",
    [
        None,
        "",
        "done",
        f"Shall I send {BARE}?",
        f"{BARE} - do you want it?",
        f"Here: <tool_call>{BARE}</tool_call>",
        "{}",
        "[]",
        "[1, 2]",
        '{"name": "Kim", "age": 7}',
        '{"name": "Kim"}',
        '{"name": "read", "arguments": {}, "price": 3}',
        '{"name": 1, "arguments": {}}',
        '{"name": "read", "arguments": 5}',
        "<b>bold</b>",
        "```json\n{}\n```",
        "{broken",
    ],
)
def test_a38_prose_and_other_json_are_answers(content: str | None) -> None:
    assert not is_call_in_text(content)


def test_a38_where_the_tools_are_known_an_object_has_to_name_one() -> None:
    assert is_call_in_text(BARE, ["read", "write"])
    assert not is_call_in_text(BARE, ["write"])


def test_a38_a_long_text_of_many_marks_is_judged_at_once() -> None:
    assert not is_call_in_text("<tool_call></tool_call>" * 5000 + "x")
