"""Two independent JSON Schema validators, and schemas that use every keyword the generators know."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema
import jsonschema_rs

from harness.fuzz.choices import Choices, RandomChoices, RejectedError, attempt
from harness.fuzz.schema import ValueMaker

Schema = dict[str, Any] | bool

TREE: Schema = {
    "$ref": "#/$defs/node",
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "value": {"type": "integer"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
                "parent": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
            },
            "required": ["value", "children"],
            "additionalProperties": False,
        }
    },
}

SCHEMAS: dict[str, Schema] = {
    "anything": True,
    "no keyword": {},
    "null": {"type": "null"},
    "boolean": {"type": "boolean"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "string": {"type": "string"},
    "array": {"type": "array"},
    "object": {"type": "object"},
    "several types": {"type": ["string", "integer", "null"]},
    "enum": {"enum": ["a", 1, None, [1], {"a": 1}]},
    "enum and type": {"type": "string", "enum": ["a", 1, None]},
    "const": {"const": {"a": [1, 2]}},
    "bounds": {"type": "integer", "minimum": -3, "maximum": 4},
    "exclusive bounds": {"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 3},
    "float bounds": {"type": "number", "minimum": 0.25, "exclusiveMaximum": 0.75},
    "between two integers": {"type": "number", "exclusiveMinimum": 1, "exclusiveMaximum": 2},
    "far bounds": {"type": "integer", "minimum": 2**60, "maximum": 2**60 + 5},
    "above only": {"type": "integer", "minimum": 2**55},
    "below only": {"type": "integer", "maximum": -(2**55)},
    "multipleOf": {"type": "integer", "multipleOf": 7, "minimum": 1, "maximum": 50},
    "multiple of a fraction": {"type": "number", "multipleOf": 0.25, "minimum": -2, "maximum": 2},
    "integer multiple of a fraction": {"type": "integer", "multipleOf": 1.5, "minimum": 1, "maximum": 40},
    "two multiples": {"allOf": [{"multipleOf": 4}, {"multipleOf": 6}], "type": "integer"},
    "lengths": {"type": "string", "minLength": 3, "maxLength": 5},
    "pattern": {"type": "string", "pattern": "^[A-Z]{2,3}-\\d+(\\.\\w)?$"},
    "pattern not anchored": {"type": "string", "pattern": "[0-9]", "minLength": 6},
    "pattern and lengths": {"type": "string", "pattern": "^[a-z_]+$", "minLength": 12, "maxLength": 20},
    "two patterns": {"type": "string", "allOf": [{"pattern": "^a"}, {"pattern": "^[ab]{4}$"}]},
    "pattern with everything": {"type": "string", "pattern": "^(?:a|b[^c-e])*?x{2}(y)\\1.[\\s\\S](?=!)!\\D\\W\\S?$"},
    "named group": {"type": "string", "pattern": "^(?P<year>\\d{4})-x$"},
    "date": {"type": "string", "format": "date"},
    "unknown format": {"type": "string", "format": "int-or-string"},
    "format that cannot be that long": {"type": "string", "format": "uuid", "maxLength": 3},
    "items": {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 4},
    "unique": {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 5}, "uniqueItems": True},
    "unique to the last": {"type": "array", "items": {"enum": ["a", "b", "c"]}, "uniqueItems": True, "minItems": 3},
    "unique beside 1 and true": {"type": "array", "items": {"enum": [1, 1.5, True, False, 0]}, "uniqueItems": True},
    "prefixItems": {"type": "array", "prefixItems": [{"type": "integer"}, {"const": "x"}], "items": False},
    "prefix and rest": {
        "prefixItems": [{"type": "null"}],
        "items": {"type": "boolean"},
        "type": "array",
        "minItems": 2,
    },
    "contains": {"type": "array", "contains": {"const": 7}, "items": {"type": "integer"}, "minContains": 2},
    "contains and a limit": {"type": "array", "contains": {"const": 1}, "maxContains": 1, "items": {"enum": [1, 2]}},
    "no items": {"type": "array", "items": False},
    "required": {"type": "object", "properties": {"a": {"type": "string"}, "b": {}}, "required": ["a", "unlisted"]},
    "additionalProperties": {"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "integer"}},
    "closed": {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False},
    "map": {"type": "object", "additionalProperties": {"type": "string"}, "minProperties": 2, "maxProperties": 3},
    "patternProperties": {
        "type": "object",
        "patternProperties": {"^x_": {"type": "integer"}, "_s$": {"minimum": 5}},
        "additionalProperties": False,
        "minProperties": 1,
    },
    "propertyNames": {"type": "object", "propertyNames": {"pattern": "^[a-z]{2,4}$"}, "minProperties": 1},
    "few of many": {"type": "object", "properties": {name: {} for name in "abcdef"}, "maxProperties": 2},
    "many needed": {
        "type": "object",
        "properties": {name: {"type": "null"} for name in "abcd"},
        "minProperties": 3,
        "additionalProperties": False,
    },
    "dependentRequired": {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}, "c": {}},
        "dependentRequired": {"a": ["b"], "b": ["c"]},
    },
    "dependentSchemas": {
        "type": "object",
        "properties": {"kind": {"enum": ["x", "y"]}, "size": {}},
        "dependentSchemas": {"kind": {"required": ["size"], "properties": {"size": {"type": "integer"}}}},
    },
    "property that must not be": {"type": "object", "properties": {"a": False, "b": {"type": "string"}}},
    "anyOf": {"anyOf": [{"type": "string", "minLength": 2}, {"type": "integer"}]},
    "nullable": {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}},
    "anyOf beside properties": {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
        "additionalProperties": False,
    },
    "oneOf": {"oneOf": [{"type": "integer", "minimum": 0}, {"type": "number", "maximum": 10}]},
    "oneOf by const": {
        "oneOf": [
            {"type": "object", "properties": {"k": {"const": "a"}, "x": {"type": "integer"}}, "required": ["k", "x"]},
            {"type": "object", "properties": {"k": {"const": "b"}, "y": {"type": "string"}}, "required": ["k", "y"]},
        ]
    },
    "allOf": {
        "allOf": [
            {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
            {"properties": {"a": {"minimum": 3}, "b": {"type": "string"}}, "required": ["b"]},
        ]
    },
    "allOf of anyOf": {
        "type": "integer",
        "allOf": [{"anyOf": [{"minimum": 5}, {"maximum": -5}]}, {"anyOf": [{"multipleOf": 2}, {"multipleOf": 3}]}],
    },
    "not a type": {"not": {"type": ["object", "array", "string"]}},
    "not a value": {"type": "integer", "minimum": 0, "maximum": 3, "not": {"const": 2}},
    "not a property": {"type": "object", "properties": {"a": {}, "b": {}}, "not": {"required": ["a"]}},
    "not a pattern": {"type": "string", "not": {"pattern": "^[a-m]"}},
    "if then else": {
        "type": "object",
        "properties": {"kind": {"enum": ["a", "b"]}, "x": {"type": "integer"}},
        "required": ["kind"],
        "if": {"properties": {"kind": {"const": "a"}}},
        "then": {"required": ["x"]},
        "else": {"properties": {"x": False}},
    },
    "unevaluatedProperties": {
        "type": "object",
        "allOf": [{"properties": {"a": {"type": "integer"}}}],
        "properties": {"b": {"type": "string"}},
        "unevaluatedProperties": False,
    },
    "recursive": TREE,
    "recursive through the root": {
        "type": "object",
        "properties": {"next": {"$ref": "#"}, "all": {"type": "array", "items": {"$ref": "#"}}},
        "additionalProperties": False,
    },
    "mutually recursive": {
        "$ref": "#/definitions/a",
        "definitions": {
            "a": {"type": "object", "properties": {"b": {"$ref": "#/definitions/b"}}, "required": ["b"]},
            "b": {"type": "array", "items": {"$ref": "#/definitions/a"}},
        },
    },
    "expressions": {
        "$ref": "#/$defs/e",
        "$defs": {
            "e": {
                "oneOf": [
                    {"type": "number"},
                    {
                        "type": "object",
                        "properties": {"op": {"enum": ["+", "-"]}, "args": {"$ref": "#/$defs/list"}},
                        "required": ["op", "args"],
                        "additionalProperties": False,
                    },
                ]
            },
            "list": {"type": "array", "items": {"$ref": "#/$defs/e"}, "minItems": 1, "maxItems": 2},
        },
    },
    "reference beside keywords": {
        "properties": {"a": {"$ref": "#/$defs/short~1text", "minLength": 2}},
        "type": "object",
        "required": ["a"],
        "$defs": {"short/text": {"type": "string", "maxLength": 3}},
    },
    "anchor": {"$ref": "#here", "$defs": {"x": {"$anchor": "here", "type": "boolean"}}},
    "names that need quoting": {
        "type": "object",
        "properties": {
            "a/b~c %20 é": {"type": "object", "properties": {"q": {"not": {"const": 1}, "type": "integer"}}}
        },
        "required": ["a/b~c %20 é"],
    },
}


class Validators:
    """The two validators of one schema, which have to agree."""

    def __init__(self, schema: Schema, *, formats: bool = False) -> None:
        checker = jsonschema.Draft202012Validator.FORMAT_CHECKER if formats else None
        self._python = jsonschema.Draft202012Validator(schema, format_checker=checker)
        self._rust = jsonschema_rs.Draft202012Validator(schema, validate_formats=formats)

    def verdicts(self, value: Any) -> tuple[bool, bool]:
        return self._python.is_valid(value), self._rust.is_valid(value)


def samples(schema: Schema, count: int, *, seed: int = 0, **options: bool) -> Iterator[Any]:
    """Values from the seeded source; one that needs more than the usual tries is a failure."""
    maker = ValueMaker(schema, **options)
    choices: Choices = RandomChoices.seeded(seed)
    for _ in range(count):
        try:
            yield attempt(maker.value, choices)
        except RejectedError as error:
            raise AssertionError(f"no value for {schema}") from error
