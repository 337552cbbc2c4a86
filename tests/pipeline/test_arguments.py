from __future__ import annotations

import json
import string
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from harness.pipeline.arguments import (
    DEEPEST_ARGUMENTS,
    ParameterValidator,
    SchemaError,
    check_parameters_schema,
    parse_tool_input,
)
from tests.pipeline.tools import any_text, json_objects, json_values

JSON_PIECES = ["{", "}", "[", "]", '"', ":", ",", "null", "true", "1", "-", "1e999", "NaN", "\\u", "\\ud83d", " ", "é"]

almost_json = st.lists(st.sampled_from(JSON_PIECES) | any_text, max_size=12).map("".join)


def is_empty(text: str) -> bool:
    return text.strip(" \t\r\n") == ""


@pytest.mark.seed("P01", "W04")
def test_arguments_may_be_a_json_text_or_an_object() -> None:
    expected = {"path": "a.py", "limit": 3}
    assert parse_tool_input('{"path": "a.py", "limit": 3}') == (expected, None)
    assert parse_tool_input({"path": "a.py", "limit": 3}) == (expected, None)
    assert parse_tool_input(MappingProxyType({"path": "a.py", "limit": 3})) == (expected, None)


@pytest.mark.seed("P01", "W04")
@settings(deadline=None)
@given(json_objects)
def test_text_and_object_give_the_same_parameters(value: dict[str, Any]) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=2)):
        assert parse_tool_input(text) == (value, None)
    assert parse_tool_input(value) == (value, None)


@pytest.mark.parametrize("nothing", ["", " ", "\n\t \r", None, "{}", " { } ", {}])
def test_nothing_means_no_arguments(nothing: object) -> None:
    assert parse_tool_input(nothing) == ({}, None)


@pytest.mark.seed("S03", "P03")
@settings(deadline=None)
@given(any_text | almost_json)
@example("null")
@example("[]")
@example('"{}"')
@example("\u00a0")
@example("\ufeff{}")
@example("[" * 100_000)
@example('{"a":' * 5000)
@example("1" * 5000)
@example('{"a":' + "9" * 400 + "}")
def test_no_text_raises_and_none_but_an_empty_one_silently_becomes_no_arguments(text: str) -> None:
    parameters, problem = parse_tool_input(text)
    assert isinstance(parameters, dict)
    if problem is not None:
        assert parameters == {}
        assert problem.startswith("arguments ")
    elif not is_empty(text):
        assert json.loads(text) == parameters


@pytest.mark.seed("S03")
@settings(deadline=None)
@given(json_objects.filter(bool), st.data())
def test_a_part_of_an_arguments_text_is_never_taken_for_the_whole(value: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps(value, ensure_ascii=False)
    length = data.draw(st.integers(1, len(text) - 1))
    parameters, problem = parse_tool_input(text[:length])
    assert parameters == {}
    assert problem is not None
    assert "not valid JSON" in problem


@settings(deadline=None)
@given(almost_json | json_objects.map(json.dumps))
def test_what_is_taken_is_what_a_strict_reader_takes(text: str) -> None:
    parameters, problem = parse_tool_input(text)
    if problem is None and not is_empty(text):
        strict = orjson.loads(text)
        assert isinstance(strict, dict)
        assert set(strict) == set(parameters)


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from("ab"), json_values), min_size=1, max_size=4))
def test_a_key_that_appears_twice_is_refused_and_named(pairs: list[tuple[str, object]]) -> None:
    keys = [key for key, _ in pairs]
    text = "{" + ", ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in pairs) + "}"
    parameters, problem = parse_tool_input(text)
    if len(set(keys)) == len(keys):
        assert (parameters, problem) == (dict(pairs), None)
    else:
        twice = next(key for position, key in enumerate(keys) if key in keys[:position])
        assert parameters == {}
        assert problem == f"arguments are not valid JSON: the key {twice!r} appears twice"


def test_a_huge_object_with_a_key_twice_is_refused_in_no_time() -> None:
    text = "{" + ",".join(f'"k{number}":0' for number in range(100_000)) + ',"k99999":1}'
    assert "'k99999' appears twice" in str(parse_tool_input(text)[1])


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        ("null", "null"),
        ("[]", "an array"),
        ('[{"path": "a"}]', "an array"),
        ('"{\\"path\\": \\"a\\"}"', "a string"),
        ("1", "a number"),
        ("1.5", "a number"),
        ("true", "a boolean"),
        ([], "an array"),
        (("a",), "an array"),
        (7, "a number"),
        (True, "a boolean"),
        (b"{}", "bytes"),
    ],
)
def test_what_is_no_object_is_refused_with_what_it_is(raw: object, kind: str) -> None:
    assert parse_tool_input(raw) == ({}, f"arguments are a JSON object, not {kind}")


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1,}',
        "{'a': 1}",
        '```json\n{"a": 1}\n```',
        '{"a": None}',
        '{"a": 1} {"b": 2}',
        '{"a": "tab\there"}',
        '{"a": 1}}',
        "{a: 1}",
        '{"a": NaN}',
        '{"a": -Infinity}',
        '{"a": 1e999}',
        '{"a": "half \\ud83d pair"}',
        '{"a": "half \ud83d pair"}',
    ],
)
def test_nothing_is_repaired(text: str) -> None:
    parameters, problem = parse_tool_input(text)
    assert parameters == {}
    assert str(problem).startswith("arguments are not valid JSON: ")


def test_a_whole_surrogate_pair_is_one_character() -> None:
    assert parse_tool_input('{"a": "\\ud83d\\ude42"}') == ({"a": "\U0001f642"}, None)


def test_integers_keep_all_their_digits() -> None:
    assert parse_tool_input('{"a": 9007199254740993, "b": 123456789012345678901234567890}') == (
        {"a": 9007199254740993, "b": 123456789012345678901234567890},
        None,
    )


def test_the_reason_names_position_and_surroundings() -> None:
    _, problem = parse_tool_input('{"path": "a.py",\n "limit": 3 "offset": 4}')
    assert problem is not None
    assert "Expecting ',' delimiter at line 2 column 13 (character 29 of 41)" in problem
    assert '"limit": 3 "offset"' in problem


def nested(levels: int, opening: str, closing: str) -> str:
    return '{"a":' + opening * levels + "1" + closing * levels + "}"


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_arguments_are_as_deep_as_any_tool_needs_and_no_deeper(opening: str, closing: str) -> None:
    assert parse_tool_input(nested(DEEPEST_ARGUMENTS - 1, opening, closing))[1] is None
    for levels in (DEEPEST_ARGUMENTS, 500, 20_000):
        parameters, problem = parse_tool_input(nested(levels, opening, closing))
        assert parameters == {}
        assert problem is not None


@pytest.mark.parametrize("value", [{"a": object()}, {"a": float("inf")}, {("a",): 1}, {"a": {1, 2}}, {"a": b"x"}])
def test_an_object_that_json_cannot_say_is_refused(value: object) -> None:
    parameters, problem = parse_tool_input(value)
    assert parameters == {}
    assert str(problem).startswith("arguments are no JSON value: ")


def test_an_object_that_holds_itself_is_refused() -> None:
    circle: dict[str, Any] = {}
    circle["a"] = circle
    assert "no JSON value" in str(parse_tool_input(circle)[1])


def test_parameters_share_nothing_with_the_object_they_come_from() -> None:
    given_by_caller = {"rows": [{"n": 1}]}
    parameters, _ = parse_tool_input(given_by_caller)
    parameters["rows"][0]["n"] = 2
    assert given_by_caller == {"rows": [{"n": 1}]}


VALIDATOR = ParameterValidator(
    {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "limit": {"type": "integer", "minimum": 1},
            "options": {"type": "object", "properties": {"mode": {"enum": ["a", "b"]}}},
        },
        "required": ["path"],
        "additionalProperties": False,
    }
)


@pytest.mark.parametrize(
    ("parameters", "names"),
    [
        ({}, ["path"]),
        ({"path": 1}, ["path"]),
        ({"path": "a", "limit": "3"}, ["limit"]),
        ({"path": "a", "limit": 0}, ["limit"]),
        ({"path": "a", "more": 1}, ["more"]),
        ({"path": "a", "options": {"mode": "c"}}, ["options.mode"]),
        ({"path": None, "limit": 1.5}, ["path", "limit"]),
    ],
)
def test_what_does_not_fit_the_schema_is_named(parameters: dict[str, Any], names: list[str]) -> None:
    problem = VALIDATOR.problem(parameters)
    assert problem is not None
    for name in names:
        assert name in problem


def test_what_fits_the_schema_has_no_problem() -> None:
    assert VALIDATOR.problem({"path": "a", "limit": 3, "options": {"mode": "a"}}) is None


def test_a_problem_stays_short_however_much_is_wrong() -> None:
    problem = VALIDATOR.problem(
        {"path": "x" * 100_000, **{f"k{number}": 1 for number in range(1000)}, "limit": "y" * 9999}
    )
    assert problem is not None
    assert len(problem) < 2000


@settings(deadline=None)
@given(json_objects)
def test_the_validator_never_raises_and_agrees_with_itself(parameters: dict[str, Any]) -> None:
    first = VALIDATOR.problem(parameters)
    assert first == VALIDATOR.problem(json.loads(json.dumps(parameters)))
    if set(parameters) != {"path"} or not isinstance(parameters["path"], str):
        assert first is not None


@pytest.mark.parametrize("check", [check_parameters_schema, ParameterValidator])
def test_a_schema_without_a_type_or_with_object_among_its_types_is_taken(check: Callable[[Any], object]) -> None:
    check({})
    check({"properties": {"a": True}})
    check({"type": ["object", "null"]})
    with pytest.raises(SchemaError):
        check({"type": "array"})


@settings(deadline=None)
@given(st.text(string.printable, max_size=30))
def test_schema_checks_raise_nothing_but_schema_error(kind: str) -> None:
    schema = {"type": "object", "properties": {"a": {"type": kind}}}
    if kind in ("string", "number", "integer", "boolean", "object", "array", "null"):
        ParameterValidator(schema)
    else:
        with pytest.raises(SchemaError, match=r"invalid JSON schema: \S"):
            ParameterValidator(schema)
