from __future__ import annotations

import copy
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.fuzz import ValueMaker, repaired_schema
from tests.fuzz.validators import SCHEMAS


def codes(schema: object) -> list[tuple[str, str]]:
    return [(fault.code, fault.path) for fault in repaired_schema(schema).faults]


def test_names_of_other_languages_are_said_and_meant() -> None:
    given_schema = {
        "type": "dict",
        "properties": {
            "rate": {"type": "float", "default": 0.5},
            "pair": {"type": "tuple", "items": {"type": "int"}},
            "what": {"type": "any", "description": "d"},
            "upper": {"type": "STRING"},
            "kinds": {"type": ["str", "string", "None"]},
        },
        "required": ["rate"],
    }
    before = copy.deepcopy(given_schema)
    schema, faults = repaired_schema(given_schema)
    assert given_schema == before
    assert schema == {
        "type": "object",
        "properties": {
            "rate": {"type": "number", "default": 0.5},
            "pair": {"type": "array", "items": {"type": "integer"}},
            "what": {"description": "d"},
            "upper": {"type": "string"},
            "kinds": {"type": ["string", "null"]},
        },
        "required": ["rate"],
    }
    assert [fault.path for fault in faults] == [
        "$.type",
        "$.properties.rate.type",
        "$.properties.pair.type",
        "$.properties.pair.items.type",
        "$.properties.what.type",
        "$.properties.upper.type",
        "$.properties.kinds.type",
        "$.properties.kinds.type",
    ]
    assert faults[0].why == "'dict' is no type of JSON Schema; object is meant"
    assert faults[4].why == "'any' is no type of JSON Schema; any value is taken"


@pytest.mark.parametrize(
    ("schema", "meant", "found"),
    [
        (None, {"type": "object", "properties": {}}, []),
        ([], {}, [("object_became_array", "$")]),
        ("string", {}, [("schema_not_an_object", "$")]),
        ({"properties": []}, {"properties": {}}, [("object_became_array", "$.properties")]),
        ({"properties": {"a": []}}, {"properties": {"a": {}}}, [("object_became_array", "$.properties.a")]),
        ({"required": None}, {}, [("null_keyword", "$.required")]),
        ({"properties": {"a": {"required": True}}}, {"properties": {"a": {}}},
         [("required_flag", "$.properties.a.required")]),
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}, [("nullable", "$.nullable")]),
        ({"enum": ["a"], "nullable": True}, {"anyOf": [{"enum": ["a"]}, {"type": "null"}]},
         [("nullable", "$.nullable")]),
        ({"type": "array", "items": [{"type": "int"}], "additionalItems": False},
         {"type": "array", "prefixItems": [{"type": "integer"}], "items": False},
         [("items_is_a_list", "$.items"), ("type_unknown", "$.prefixItems[0].type")]),
        ({"anyOf": [{"type": "bool"}, {"not": {"type": "list"}}]},
         {"anyOf": [{"type": "boolean"}, {"not": {"type": "array"}}]},
         [("type_unknown", "$.anyOf[0].type"), ("type_unknown", "$.anyOf[1].not.type")]),
        ({"$defs": {"n": {"type": "dict"}}, "$ref": "#/$defs/n", "nullable": True},
         {"$defs": {"n": {"type": "object"}}, "anyOf": [{"$ref": "#/$defs/n"}, {"type": "null"}]},
         [("type_unknown", "$.$defs.n.type"), ("nullable", "$.nullable")]),
    ],
)  # fmt: skip
def test_a_fault_is_said_and_the_meaning_kept(schema: Any, meant: Any, found: list[tuple[str, str]]) -> None:
    assert repaired_schema(schema).schema == meant
    assert codes(schema) == found
    ValueMaker(meant)


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_sound_schema_stays_as_it_is(name: str) -> None:
    assert repaired_schema(SCHEMAS[name]) == (SCHEMAS[name], ())


words = st.sampled_from(["dict", "float", "any", "object", "string", "INTEGER", "nonsense", None, 3])
broken_schemas: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.just([]) | st.booleans() | words.map(lambda word: {"type": word}),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": words | st.lists(words.filter(lambda word: word is not None), min_size=1, max_size=2),
            "properties": st.dictionaries(st.text(max_size=3), inner, max_size=3) | st.just([]),
            "items": inner | st.lists(inner, min_size=1, max_size=2),
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "nullable": st.booleans(),
            "required": st.none() | st.booleans() | st.just(["a"]),
        },
    ),
    max_leaves=8,
)


@given(broken_schemas)
def test_what_comes_out_is_always_a_schema_and_has_no_fault_left(schema: Any) -> None:
    repaired = repaired_schema(schema)
    jsonschema.Draft202012Validator.check_schema(repaired.schema)
    assert repaired_schema(repaired.schema) == (repaired.schema, ())
