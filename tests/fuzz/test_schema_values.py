from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from harness.errors import InputError
from harness.fuzz import RandomChoices, ValueMaker, schema_values
from harness.fuzz.choices import RejectedError
from tests.fuzz.validators import SCHEMAS, TREE, Schema, Validators, samples


@pytest.mark.parametrize("name", SCHEMAS)
def test_values_fit_by_both_validators(name: str) -> None:
    schema = SCHEMAS[name]
    validators = Validators(schema)
    for value in samples(schema, 60):
        assert validators.verdicts(value) == (True, True), value


@pytest.mark.parametrize("name", SCHEMAS)
def test_values_that_hypothesis_draws_fit_too(name: str) -> None:
    schema = SCHEMAS[name]
    validators = Validators(schema)

    @settings(max_examples=15, database=None, derandomize=True)
    @given(schema_values(schema))
    def fits(value: Any) -> None:
        assert validators.verdicts(value) == (True, True)

    fits()


def leaf_schemas() -> st.SearchStrategy[Schema]:
    bounds = st.integers(-4, 4)
    return st.one_of(
        st.just(True),
        st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"]).map(
            lambda kind: {"type": kind}
        ),
        st.fixed_dictionaries({"type": st.sampled_from(["integer", "number"]), "minimum": bounds}),
        st.fixed_dictionaries({"minimum": bounds, "exclusiveMaximum": st.integers(5, 9)}),
        st.fixed_dictionaries({"minLength": st.integers(0, 3), "maxLength": st.integers(3, 5)}),
        st.fixed_dictionaries({"enum": st.lists(st.sampled_from([1, "a", None, True, [], {}, 2.5]), min_size=1)}),
        st.sampled_from([{"multipleOf": 2}, {"pattern": "^a+b?$"}, {"uniqueItems": True}]),
    )


def grown(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    names = st.sampled_from("abc")
    parts = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        st.fixed_dictionaries(
            {},
            optional={
                "type": st.just("object"),
                "properties": st.dictionaries(names, inner, max_size=3),
                "required": st.lists(names, unique=True, max_size=2),
                "additionalProperties": inner | st.booleans(),
                "maxProperties": st.integers(1, 4),
            },
        ),
        st.fixed_dictionaries(
            {"type": st.just("array")},
            optional={
                "items": inner,
                "prefixItems": parts,
                "minItems": st.integers(0, 2),
                "uniqueItems": st.booleans(),
            },
        ),
        st.fixed_dictionaries({}, optional={"anyOf": parts, "allOf": parts, "oneOf": parts, "not": inner}),
    )


@settings(max_examples=150)
@given(st.recursive(leaf_schemas(), grown, max_leaves=8))
def test_whatever_the_schema_what_is_made_fits_and_nothing_fits_where_nothing_is_said_to(schema: Schema) -> None:
    validators = Validators(schema)
    maker: ValueMaker | None
    try:
        maker = ValueMaker(schema)
    except InputError as error:
        maker, why = None, error.what
    else:
        why = ""
    if maker is None:
        assert why == "no value fits the schema"
        for value in (None, True, 0, 1, 2, -4, 2.5, "", "a", "aab", "abcd", [], {}, [1], [None, "a"], {"a": 1}):
            assert validators.verdicts(value) == (False, False)
        return
    choices = RandomChoices.seeded(1)
    for _ in range(10):
        try:
            value = maker.value(choices)
        except RejectedError:
            continue
        assert validators.verdicts(value) == (True, True)


@pytest.mark.parametrize(
    "name", ["date", "time", "date-time", "email", "hostname", "ipv4", "ipv6", "uuid", "regex", "uri", "duration",
             "uri-reference", "json-pointer", "relative-json-pointer", "uri-template", "idn-email", "iri"],
)  # fmt: skip
def test_formats_are_kept_whether_or_not_they_are_demanded(name: str) -> None:
    schema: Schema = {"type": "string", "format": name}
    validators = Validators(schema, formats=True)
    for formats in (False, True):
        for value in samples(schema, 60, formats=formats):
            assert validators.verdicts(value) == (True, True), value


@pytest.mark.parametrize(
    ("schema", "where"),
    [
        (False, "#"),
        ({"type": "array", "enum": ["a"]}, "#"),
        ({"type": "integer", "minimum": 3, "maximum": 2}, "#"),
        ({"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 2}, "#"),
        ({"type": "integer", "multipleOf": 5, "minimum": 1, "maximum": 4}, "#"),
        ({"type": "string", "minLength": 3, "maxLength": 2}, "#"),
        ({"type": "array", "items": False, "minItems": 1}, "#/items"),
        ({"type": "object", "required": ["a", "b"], "maxProperties": 1}, "#"),
        ({"type": "object", "required": ["a"], "properties": {"a": {"enum": [1], "type": "string"}}}, "#/properties/a"),
        ({"type": "object", "required": ["next"], "properties": {"next": {"$ref": "#"}}}, "#"),
        ({"not": {}}, "#"),
    ],
)
def test_a_schema_that_nothing_fits_is_said_with_its_place(schema: Schema, where: str) -> None:
    with pytest.raises(InputError) as raised:
        ValueMaker(schema)
    assert raised.value.what == "no value fits the schema"
    assert where in raised.value.where


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "dict"}, r"\$\.type: no JSON Schema: .*repaired_schema"),
        ({"$ref": "#/$defs/x"}, r"'/\$defs/x' does not exist$"),
        ({"$ref": "https://example.com/schema.json"}, "leads out of the schema"),
        ({"type": "string", "pattern": "("}, "no JSON Schema"),
        ({"type": "object", "patternProperties": {"^\\p{L}$": {}}, "properties": {"a": {}}}, "cannot be read"),
    ],
)
def test_a_schema_that_cannot_be_used_is_an_input_error(schema: Schema, said: str) -> None:
    with pytest.raises(InputError, match=said):
        ValueMaker(schema)


def depth(value: object) -> int:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(depth, parts), default=-1)


def test_recursive_values_stay_shallow_but_do_recur() -> None:
    depths = [depth(value) for value in samples(TREE, 300)]
    assert max(depths) <= 5
    assert max(depths) >= 4
    assert min(depths) == 1


def test_the_same_seed_gives_the_same_values() -> None:
    for schema in SCHEMAS.values():
        first, second = (json.dumps(list(samples(schema, 20, seed=5))) for _ in range(2))
        assert first == second


def test_optional_parts_come_and_go() -> None:
    schema: Schema = {"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "null"}}}
    seen = {frozenset(value) for value in samples(schema, 300)}
    assert {frozenset(), frozenset("a"), frozenset("b"), frozenset("ab")} <= seen
    assert any(names - {"a", "b"} for names in seen)
    assert all(not set(value) - {"a", "b"} for value in samples(schema, 300, extras=False))


def test_an_integer_may_be_written_as_a_float() -> None:
    values = list(samples({"type": "integer"}, 400))
    assert {type(value) for value in values} == {int, float}


def test_hypothesis_shrinks_to_the_smallest_value() -> None:
    schema: Schema = {
        "type": "object",
        "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}, "tags": {"type": "array"}},
        "required": ["path"],
    }
    quick = settings(max_examples=2000, database=None, derandomize=True)
    assert find(schema_values(schema), lambda _: True, settings=quick) == {"path": ""}
    assert find(schema_values(schema), lambda value: value.get("limit", 0) > 10, settings=quick) == {
        "path": "",
        "limit": 11,
    }
    assert find(schema_values(TREE), lambda value: len(value["children"]) > 1, settings=quick) == {
        "value": 0,
        "children": [{"value": 0, "children": []}, {"value": 0, "children": []}],
    }


def test_one_maker_serves_many_threads() -> None:
    maker = ValueMaker(SCHEMAS["patternProperties"])
    validators = Validators(SCHEMAS["patternProperties"])
    failed: list[object] = []

    def work(seed: int) -> None:
        choices = RandomChoices.seeded(seed)
        for _ in range(50):
            value = maker.value(choices)
            if validators.verdicts(value) != (True, True):
                failed.append(value)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
