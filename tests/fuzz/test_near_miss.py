from __future__ import annotations

from collections import Counter

import jsonschema
import pytest
from hypothesis import find, given, settings

from harness.errors import InputError
from harness.fuzz import NearMissMaker, RandomChoices, attempt, near_misses
from harness.fuzz.near_miss import NearMiss
from tests.fuzz.validators import SCHEMAS, Schema, Validators

FREE = {"anything", "no keyword"}
BREAKABLE = {name: schema for name, schema in SCHEMAS.items() if name not in FREE}


def some(schema: Schema, count: int, **options: bool) -> list[NearMiss]:
    maker = NearMissMaker(schema, **options)
    choices = RandomChoices.seeded(2)
    return [attempt(maker.near_miss, choices) for _ in range(count)]


def place(steps: list[str | int]) -> str:
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)


@pytest.mark.parametrize("name", BREAKABLE)
def test_near_misses_break_one_rule_and_both_validators_name_it(name: str) -> None:
    schema = BREAKABLE[name]
    validators = Validators(schema)
    python = jsonschema.Draft202012Validator(schema)
    for value, broken in some(schema, 40):
        assert validators.verdicts(value) == (False, False), value
        (error,) = python.iter_errors(value)
        keyword = {"minContains": "contains", "maxContains": "contains", None: "false"}.get(
            error.validator, error.validator
        )
        assert keyword == broken.keyword, value
        # jsonschema names the owner where the schema of a property is false.
        assert keyword == "false" or place(list(error.absolute_path)) == broken.path, value


@pytest.mark.parametrize(
    ("keyword", "schema"),
    [
        ("type", {"type": "integer"}),
        ("enum", {"type": "string", "enum": ["a", "b"]}),
        ("const", {"const": 3}),
        ("minimum", {"type": "integer", "minimum": 1}),
        ("maximum", {"type": "number", "maximum": 0.5}),
        ("exclusiveMinimum", {"type": "integer", "exclusiveMinimum": 1}),
        ("exclusiveMaximum", {"type": "number", "exclusiveMaximum": 1}),
        ("multipleOf", {"type": "integer", "multipleOf": 6}),
        ("multipleOf", {"type": "number", "multipleOf": 0.5}),
        ("minLength", {"type": "string", "minLength": 3}),
        ("maxLength", {"type": "string", "maxLength": 3}),
        ("pattern", {"type": "string", "pattern": "^[a-z]+$"}),
        ("minItems", {"type": "array", "minItems": 2}),
        ("maxItems", {"type": "array", "maxItems": 2, "items": {"type": "integer"}, "minItems": 1}),
        ("uniqueItems", {"type": "array", "uniqueItems": True, "minItems": 1}),
        ("contains", {"type": "array", "contains": {"const": 1}}),
        ("required", {"type": "object", "properties": {"a": {}}, "required": ["a"]}),
        ("additionalProperties", {"type": "object", "properties": {"a": {}}, "additionalProperties": False}),
        ("minProperties", {"type": "object", "minProperties": 1}),
        ("maxProperties", {"type": "object", "maxProperties": 1}),
        ("dependentRequired", {"type": "object", "properties": {"a": {}}, "dependentRequired": {"a": ["b"]}}),
        ("not", {"type": "integer", "not": {"const": 2}}),
        ("anyOf", {"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        ("oneOf", {"oneOf": [{"type": "string"}, {"type": "integer"}]}),
        ("false", {"type": "object", "properties": {"a": False}}),
        ("pattern", {"type": "object", "propertyNames": {"pattern": "^[a-z]$"}}),
    ],
)
def test_every_rule_is_broken_sooner_or_later(keyword: str, schema: Schema) -> None:
    found = Counter(broken.keyword for _, broken in some(schema, 80))
    assert found[keyword] >= 4, found


def test_the_place_is_named_deep_inside() -> None:
    schema: Schema = {
        "type": "object",
        "properties": {"rows": {"type": "array", "minItems": 1, "items": {"type": "object", "required": ["n"]}}},
        "required": ["rows"],
    }
    places = {broken for _, broken in some(schema, 200)}
    assert ("required", "$.rows[0]") in places
    assert ("type", "$.rows") in places
    assert ("required", "$") in places


def test_a_format_is_broken_only_where_it_is_checked() -> None:
    schema: Schema = {"type": "string", "format": "date"}
    validators = Validators(schema, formats=True)
    assert {broken.keyword for _, broken in some(schema, 60)} == {"type"}
    found = some(schema, 60, formats=True)
    assert {broken.keyword for _, broken in found} == {"type", "format"}
    assert all(validators.verdicts(value) == (False, False) for value, _ in found)


@pytest.mark.parametrize("schema", [True, {}, {"description": "anything"}])
def test_a_schema_without_a_rule_is_refused(schema: Schema) -> None:
    with pytest.raises(InputError, match="no rule to break"):
        NearMissMaker(schema)


SCHEMA: Schema = {
    "type": "object",
    "properties": {"path": {"type": "string", "minLength": 2}, "limit": {"type": "integer", "minimum": 1}},
    "required": ["path"],
}


@settings(max_examples=60)
@given(near_misses(SCHEMA))
def test_hypothesis_draws_them(found: NearMiss) -> None:
    assert Validators(SCHEMA).verdicts(found.value) == (False, False)


def test_hypothesis_shrinks_to_the_smallest_that_breaks_a_rule() -> None:
    quick = settings(max_examples=2000, database=None, derandomize=True)
    found = find(near_misses(SCHEMA), lambda miss: miss.broken.keyword == "minimum", settings=quick)
    assert found == ({"path": "00", "limit": 0}, ("minimum", "$.limit"))
