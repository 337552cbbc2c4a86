"""Prompt tokens by the rules, with numbers worked out by hand from the token counts of their parts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.measure.conversation import ConversationCounter
from harness.measure.encodings import CL100K, O200K, encoding, encoding_for
from harness.measure.prompt import PromptCount, count_request

n = encoding(O200K).count
MODEL = "gpt-4o"
SYSTEM = {"role": "system", "content": "You are terse."}
USER = {"role": "user", "content": "How high is the tower?"}


def tool(name: str, properties: Any = None, description: str = "", **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties or {}, **more}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


def call(name: str, arguments: str, identity: str = "c1") -> dict[str, Any]:
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def assistant(*calls: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def result(text: str, identity: str = "c1") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identity, "content": text}


def count(*messages: Any, **more: Any) -> PromptCount:
    return count_request({"model": MODEL, "messages": list(messages), **more})


def parts(counted: PromptCount) -> int:
    riders = counted.tools_tokens + counted.response_format_tokens + counted.tool_choice_tokens
    return counted.priming + counted.system_tokens + riders + counted.history_tokens


def test_messages_cost_three_and_their_role_and_text() -> None:
    counted = count(SYSTEM, USER)
    # "You are terse." is 4 tokens, "How high is the tower?" is 6, a role is 1.
    assert counted.total == 3 + (3 + 1 + 4) + (3 + 1 + 6) == 21
    assert (counted.system_tokens, counted.history) == (8, {"user": 10})
    assert [message.tokens for message in counted.messages] == [8, 10]
    assert not counted.estimate


def test_text_parts_are_joined_with_nothing_between() -> None:
    cut = {
        "role": "user",
        "content": [{"type": "text", "text": "How high is"}, {"type": "text", "text": " the tower?"}],
    }
    assert count(cut).total == count(USER).total


def test_a_developer_message_counts_like_a_system_message() -> None:
    assert count({**SYSTEM, "role": "developer"}, USER).system_tokens == 8


def test_tools_are_appended_to_the_first_system_message() -> None:
    text = (
        "# Tools\n\n## functions\n\nnamespace functions {\n\n"
        '// Measures.\n// In metres.\ntype measure = (_: { thing: string, unit?: "m" | "ft" }) => any;\n\n'
        "} // namespace functions"
    )
    measure = tool(
        "measure",
        {"thing": {"type": "string"}, "unit": {"type": "string", "enum": ["m", "ft"]}},
        "  Measures.\n   In metres.  ",
        required=["thing"],
    )
    counted = count(SYSTEM, USER, tools=[measure])
    assert counted.total == 21 + n(f"You are terse.\n\n{text}") - 1 - 4
    assert counted.tools_tokens == n(f"You are terse.\n\n{text}") - 1 - 4
    assert counted.system_tokens == 8
    assert [one.name for one in counted.tools] == ["measure"]
    assert counted.tools[0].description_tokens == n("// Measures.\n// In metres.\n")
    assert counted.tools[0].tokens < counted.tools_tokens
    assert not counted.estimate


def test_without_a_system_message_the_tools_make_one() -> None:
    text = "# Tools\n\n## functions\n\nnamespace functions {\n\ntype now = () => any;\n\n} // namespace functions"
    counted = count(USER, tools=[tool("now")])
    assert counted.tools_tokens == 4 + n(text) - 1 == 4 + 20 - 1
    assert counted.total == 3 + 10 + 23


def test_properties_with_comments_stand_a_line_each() -> None:
    properties = {"a": {"type": "integer", "description": "First."}, "b": {"type": "boolean", "default": False}}
    text = "type f = (_: {\n// First.\na: number,\nb?: boolean, // default: false\n}) => any;\n\n"
    counted = count(USER, tools=[tool("f", properties, required=["a"])])
    assert counted.tools[0].tokens == n(text)
    assert not counted.estimate


def test_references_unions_and_nested_objects_are_resolved_in_place() -> None:
    properties = {
        "at": {"$ref": "#/$defs/Point"},
        "of": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "all": {"type": "array", "items": {"$ref": "#/$defs/Point"}},
    }
    point = {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}
    defs: Any = {"$defs": {"Point": point}}
    counted = count(USER, tools=[tool("f", properties, **defs)])
    text = "type f = (_: { at?: { x: number }, of?: string | null, all?: { x: number }[] }) => any;\n\n"
    assert counted.tools[0].tokens == n(text)


def test_a_schema_that_contains_itself_ends() -> None:
    node = {"type": "object", "properties": {side: {"$ref": "#/$defs/N"} for side in "abcdef"}}
    defs: Any = {"$defs": {"N": node}}
    counted = count(USER, tools=[tool("f", {"root": {"$ref": "#/$defs/N"}}, **defs)])
    assert "schema: a schema that contains itself" in counted.reasons
    assert counted.tools[0].tokens < 60


def test_definitions_that_multiply_end() -> None:
    levels = {str(n): {"properties": {side: {"$ref": f"#/$defs/{n + 1}"} for side in "ab"}} for n in range(40)}
    defs: Any = {"$defs": levels}
    counted = count(USER, tools=[tool("f", {"root": {"$ref": "#/$defs/0"}}, **defs)])
    assert "schema: a schema nested too deep" in counted.reasons


def test_sorted_keys_are_put_in_the_order_of_required() -> None:
    body = {
        "model": MODEL,
        "messages": [USER],
        "tools": [tool("f", {"a": {"type": "string"}, "b": {}}, required=["b"])],
    }
    text = "type f = (_: { b: any, a?: string }) => any;\n\n"
    assert count_request(body, sorted_keys=True).tools[0].tokens == n(text)


def test_legacy_functions_count_as_tools() -> None:
    one = tool("f", {"a": {"type": "string"}})
    assert count(USER, functions=[one["function"]]).total == count(USER, tools=[one]).total


def test_a_call_counts_its_arguments_without_their_spaces() -> None:
    spaced = count(USER, assistant(call("measure", '{ "thing": "tower" }')), result("330"))
    assert spaced.total == count(USER, assistant(call("measure", '{"thing":"tower"}')), result("330")).total
    called = 3 + n("assistant to=functions.measure") + 2 + n('{"thing":"tower"}')
    assert spaced.history == {"user": 10, "assistant": called, "tool": 3 + 1 + n("measure") + n("330")}
    assert not spaced.estimate


def test_parallel_calls_and_their_results_are_merged() -> None:
    calls = assistant(call("f", '{"a": 1}', "c1"), call("g", "{}", "c2"))
    counted = count(USER, calls, result('{"x": "é"}', "c1"), result("done", "c2"))
    uses = (
        '{"tool_uses":[{"recipient_name":"functions.f","parameters":{"a":1}},'
        '{"recipient_name":"functions.g","parameters":{}}]}'
    )
    results = r'[{"x": "\u00e9"}, "done"]'
    assert counted.history["assistant"] == 3 + n("assistant to=multi_tool_use.parallel") + 3 + n(uses)
    assert counted.history["tool"] == 3 + n("multi_tool_use.parallel") + n(results)
    assert counted.total == parts(counted)
    assert not counted.estimate


@pytest.mark.seed("C03")
def test_parallel_calls_save_tokens_and_round_trips_against_one_call_a_turn() -> None:
    texts = {f"c{number}": f"line {number} of the file" for number in range(3)}
    calls = [call("read", json.dumps({"path": f"{identity}.txt"}), identity) for identity in texts]
    results = [result(text, identity) for identity, text in texts.items()]
    tools = [tool("read", {"path": {"type": "string", "description": "A file."}}, "Read a file.", required=["path"])]
    one_by_one: list[Any] = [SYSTEM, USER]
    requests = [count(*one_by_one, tools=tools).total]
    for one, answer in zip(calls, results, strict=True):
        one_by_one += [assistant(one), answer]
        requests.append(count(*one_by_one, tools=tools).total)
    together = [
        count(SYSTEM, USER, tools=tools).total,
        count(SYSTEM, USER, assistant(*calls), *results, tools=tools).total,
    ]
    assert len(together) == 2 < len(requests) == 4
    assert sum(together) < sum(requests)


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"response_format": {"type": "json_schema", "json_schema": {"name": "R", "schema": {}}}}, "json_schema"),
        ({"tool_choice": "none"}, "tool_choice none"),
        ({"tool_choice": {"type": "function", "function": {"name": "f"}}}, "names a tool"),
        ({"tools": [tool("f", {"a": {"type": "string", "title": "A"}})]}, "schema: title"),
        ({"tools": [tool("f", {"a": {"type": "string", "default": "x"}})]}, "default"),
        ({"tools": [tool("f", {"a": {"type": "integer", "minimum": 1}})]}, "schema: minimum"),
        ({"tools": 5}, "no list"),
        ({"model": "gpt-5"}, "not known"),
        ({"model": "claude-sonnet-4"}, "tokenizer of its own"),
        ({"model": "openai/gpt-4o"}, "gateway"),
    ],
)
def test_what_no_recording_settles_is_an_estimate_and_says_why(more: dict[str, Any], reason: str) -> None:
    counted = count(USER, **more)
    assert counted.estimate
    assert any(reason in one for one in counted.reasons)
    assert counted.total == parts(counted)


def test_a_json_schema_response_format_is_appended_after_the_tools() -> None:
    schema = {
        "type": "object",
        "required": ["a"],
        "additionalProperties": False,
        "properties": {"a": {"type": "string"}},
    }
    form = {"type": "json_schema", "json_schema": {"name": "R", "description": "D", "schema": schema}}
    section = '# Response Formats\n\n## R\n\n// D\n{"type":"object","properties":{"a":{"type":"string"}}}'
    counted = count(SYSTEM, USER, response_format=form)
    assert counted.response_format_tokens == n(f"You are terse.\n\n{section}") - 1 - 4
    assert count(SYSTEM, USER, response_format={"type": "json_object"}).total == 21


def test_images_files_and_audio_are_listed_as_not_counted() -> None:
    content = [
        {"type": "text", "text": "How high is the tower?"},
        {"type": "image_url", "image_url": {"url": "data:"}},
        {"type": "input_audio", "input_audio": {}},
        {"type": "file", "file": {}},
    ]
    counted = count(SYSTEM, {"role": "user", "content": content})
    assert counted.not_counted == ("messages[1]: image", "messages[1]: audio", "messages[1]: file")
    assert counted.estimate
    assert counted.total == 21


@pytest.mark.parametrize(
    ("model", "name", "exact"),
    [
        ("gpt-4o-mini-2024-07-18", O200K, True),
        ("gpt-4.1-nano", O200K, True),
        ("gpt-3.5-turbo-0125", CL100K, True),
        ("gpt-4", CL100K, True),
        ("gpt-4-turbo", CL100K, True),
        ("ft:gpt-4o-mini:us::id", O200K, True),
        ("gpt-4o-audio-preview", O200K, False),
        ("gpt-5-mini", O200K, False),
        ("o4-mini", O200K, False),
        ("gpt-oss-120b", O200K, False),
        ("openai/gpt-4", CL100K, False),
        ("", O200K, False),
        (None, O200K, False),
    ],
)
def test_the_encoding_goes_by_the_models_name(model: str | None, name: str, *, exact: bool) -> None:
    chosen = encoding_for(model)
    assert (chosen.encoding.name, chosen.reason is None) == (name, exact)


def test_a_text_is_encoded_once() -> None:
    table = encoding(O200K)
    text = "a text that no other test counts " * 3
    assert table.count(text) == table.count_anew(text)
    before = table.encoded_characters
    assert table.count(text) > 0
    assert table.encoded_characters == before


def test_half_a_surrogate_pair_is_counted_all_the_same() -> None:
    assert encoding(O200K).count("a \ud800 b") >= 3


def test_a_growing_conversation_encodes_only_what_is_new() -> None:
    table = encoding(O200K)
    counter = ConversationCounter()
    sent: list[Any] = [SYSTEM]
    encoded: list[int] = []
    for step in range(40):
        sent = [
            *sent,
            {"role": "user", "content": f"Step {step:04} of a conversation that goes on, and on, and on and on."},
        ]
        before = table.encoded_characters
        counted = counter.count({"model": MODEL, "messages": sent})
        encoded.append(table.encoded_characters - before)
        assert counted.messages_from == (step + 1 if step else 0)
        assert counted.total == count(*sent).total
    assert max(encoded[1:]) == len(sent[-1]["content"])


def test_a_rewritten_history_is_counted_anew_from_where_it_parts() -> None:
    counter = ConversationCounter()
    calls = assistant(call("f", "{}", "c1"), call("g", "{}", "c2"))
    for messages in (
        [SYSTEM, USER, calls],
        [SYSTEM, USER, calls, result("1", "c1")],
        [SYSTEM, USER, calls, result("1", "c1"), result("2", "c2"), USER],
        [SYSTEM, USER, calls, result("other", "c1"), result("2", "c2"), USER],
        [USER, SYSTEM],
        [],
        [SYSTEM, SYSTEM, USER],
    ):
        body = {"model": MODEL, "messages": messages, "tools": [tool("f"), tool("g")]}
        counted, anew = counter.count(body), count_request(body)
        assert (counted.total, counted.history_tokens, counted.reasons) == (
            anew.total,
            anew.history_tokens,
            anew.reasons,
        )
        assert counted.system_tokens == anew.system_tokens
    assert counter.count({"model": "gpt-4", "messages": [SYSTEM]}).encoding == CL100K


KEYS = st.sampled_from([
    "type", "properties", "items", "anyOf", "enum", "default", "title", "description", "$ref", "$defs", "required",
    "name", "function", "parameters", "role", "content", "tool_calls", "arguments", "id", "text", "image_url", "model",
    "messages", "tools", "tool_choice", "response_format", "json_schema",
])  # fmt: skip
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8) | KEYS, inner, max_size=4),
    max_leaves=12,
)
texts = st.text(max_size=20)
results = st.builds(result, texts, st.sampled_from(["c1", "c2"]))
calls = st.builds(call, st.sampled_from(["f", "g"]), texts | st.just('{"a": 1}'), st.sampled_from(["c1", "c2"]))
messages = st.one_of(
    st.builds(
        lambda role, text: {"role": role, "content": text}, st.sampled_from(["system", "user", "assistant"]), texts
    ),
    st.builds(lambda found: assistant(*found), st.lists(calls, max_size=3)),
    results,
    st.dictionaries(KEYS, json_values, max_size=5),
)
bodies = st.one_of(
    json_values,
    st.builds(
        lambda sent, more: {**more, "messages": sent},
        st.lists(messages | json_values, max_size=5),
        st.dictionaries(KEYS, json_values, max_size=4),
    ),
    st.builds(
        lambda sent, parameters: {
            "messages": sent,
            "tools": [{"type": "function", "function": {"parameters": parameters}}],
        },
        st.lists(messages, max_size=3),
        st.dictionaries(KEYS, json_values, max_size=4),
    ),
)


@given(bodies)
def test_counting_never_raises_and_the_parts_make_the_total(body: Any) -> None:
    counted = count_request(body)
    assert counted.total == parts(counted)
    assert sum(message.tokens for message in counted.messages) == counted.system_tokens + counted.history_tokens
    assert all(message.tokens >= 0 for message in counted.messages)
    again = ConversationCounter().count(body)
    assert again == counted


@given(st.lists(messages, min_size=1, max_size=8))
def test_a_further_message_lowers_the_total_only_where_results_are_merged(sent: list[Any]) -> None:
    before, after = count(*sent[:-1]), count(*sent)
    # A result that joins others may shorten the text between them by a token or two where they meet.
    floor = 2 if isinstance(sent[-1], dict) and sent[-1].get("role") == "tool" else 0
    assert after.total >= before.total - floor


@given(st.lists(messages, max_size=8), st.lists(messages, max_size=8))
def test_counting_step_by_step_gives_what_counting_anew_gives(first: list[Any], second: list[Any]) -> None:
    counter = ConversationCounter()
    for sent in (first, second, first + second):
        body = {"model": MODEL, "messages": sent}
        counted, anew = counter.count(body), count_request(body)
        assert counted.total == anew.total == parts(counted)
        assert (sorted(counted.reasons), counted.not_counted) == (sorted(anew.reasons), anew.not_counted)
