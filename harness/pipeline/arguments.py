"""From the arguments text of a call to checked parameters, or to a reason that the model can act on.

``""`` and null mean no arguments. Whatever is not a JSON object is refused with position and reason: never run, never
silently ``{}`` (seed 000, P03). What a strict reader refuses is refused too (half a surrogate pair, ``1e999``), because
the next request sends the text back. Nothing is repaired or coerced here; `harness.pipeline.argument_policy` does it
where it is wanted.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

import jsonschema_rs
import orjson

from harness.wire.rules import schema_breaches

DEEPEST_ARGUMENTS = 100

_NEAR = 24
_JSON_SPACE = " \t\r\n"
_STRING_OR_BRACKET = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?P<end>"?)|[{}\[\]]', re.DOTALL)


class SchemaError(ValueError):
    """A tool's parameters are not a JSON Schema that a provider accepts."""


class _RefusedError(ValueError):
    """JSON that Python would take and that no strict reader takes."""


def parse_tool_input(raw: object) -> tuple[dict[str, Any], str | None]:
    """The parameters and None, or ``{}`` and why there are none.

    ``raw`` is the arguments text, or already an object (seed 000, P01), of which the parameters are a copy. Duplicate
    keys, ``NaN`` and ``Infinity`` are refused, since which value was meant cannot be told, and so are more than 100
    levels. Raises nothing.
    """
    if raw is None or (isinstance(raw, str) and not raw.strip(_JSON_SPACE)):
        return {}, None
    if not isinstance(raw, str | Mapping):
        return {}, f"arguments are a JSON object, not {_json_type(raw)}"
    try:
        text = raw if isinstance(raw, str) else json.dumps(dict(raw), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        return {}, f"arguments are no JSON value: {error}"
    try:
        value = json.loads(text, object_pairs_hook=_unique_pairs)
        _demand_shallow(value)
        _demand_finite(value, "")
        orjson.loads(text)
    except json.JSONDecodeError as error:
        near = text[max(0, error.pos - _NEAR) : error.pos + _NEAR]
        return {}, (
            f"arguments are not valid JSON: {error.msg} at line {error.lineno} column {error.colno} "
            f"(character {error.pos} of {len(text)}), near {near!r}{_incomplete(text)}"
        )
    except _RefusedError as error:
        return {}, f"arguments are not valid JSON: {error}"
    except (ValueError, RecursionError) as error:
        return {}, f"arguments cannot be read: {str(error) or type(error).__name__}"
    if not isinstance(value, dict):
        return {}, f"arguments are a JSON object, not {_json_type(value)}"
    return value, None


class ParameterValidator:
    """A tool's parameters schema, compiled once.

    Raises SchemaError when the schema is none (an array where an object belongs, an unknown type, a dangling
    ``$ref``) or its root is not of type object. No reference is ever fetched.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        check_parameters_schema(schema)
        try:
            self._validator = jsonschema_rs.Draft202012Validator(dict(schema), retriever=_refuse_reference)
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
            raise SchemaError(f"invalid JSON schema: {_place(error)}{_first_line(error)}") from error

    def problem(self, parameters: Mapping[str, Any]) -> str | None:
        """What is wrong with the parameters, naming each, or None."""
        problems = [
            f"{'.'.join(str(step) for step in error.instance_path) or 'parameters'}: {_first_line(error)}"
            for error in self._validator.iter_errors(dict(parameters))
        ]
        return "; ".join(sorted(problems)[:5]) or None

    def refused(self, parameters: Mapping[str, Any]) -> list[tuple[tuple[str | int, ...], Any]]:
        """The values that do not fit, each with its path; a missing or surplus parameter is one of its owner's."""
        return [(tuple(error.instance_path), error.instance) for error in self._validator.iter_errors(dict(parameters))]


def check_parameters_schema(schema: object, path: str = "parameters") -> None:
    """Raise SchemaError where a provider would refuse the schema for its shape, ``[]`` in place of ``{}`` included."""
    breach = next(schema_breaches(schema, path), None)
    if breach is not None:
        raise SchemaError(f"{breach.path}: {breach.why}")
    kinds = schema.get("type", "object") if isinstance(schema, Mapping) else schema
    if kinds != "object" and not (isinstance(kinds, list) and "object" in kinds):
        raise SchemaError(f"{path}.type: the parameters of a function are an object, not {kinds!r}")


def _unique_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _RefusedError(f"the key {key!r} appears twice")
        found[key] = value
    return found


def _demand_shallow(value: object) -> None:
    level = [value]
    for _ in range(DEEPEST_ARGUMENTS + 1):
        level = [item for part in level for item in _parts(part)]
        if not level:
            return
    raise _RefusedError(f"it is nested deeper than {DEEPEST_ARGUMENTS} levels")


def _parts(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _demand_finite(value: object, path: str) -> None:
    """Python reads ``NaN``, ``Infinity`` and ``1e999``; the parameter that holds one is named (B18)."""
    if isinstance(value, float) and not math.isfinite(value):
        shown = path.encode("utf-8", "backslashreplace").decode("utf-8") or "the value"
        raise _RefusedError(f"{shown} is no finite number; JSON has neither Infinity nor NaN")
    if isinstance(value, dict):
        for key, part in value.items():
            _demand_finite(part, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for position, part in enumerate(value):
            _demand_finite(part, f"{path}[{position}]")


def _incomplete(text: str) -> str:
    """Says so of a text that stops before it is whole (B14): the model then sends it again and changes nothing."""
    if not text.lstrip(_JSON_SPACE).startswith("{"):
        return ""
    depth = 0
    for found in _STRING_OR_BRACKET.finditer(text):
        if found["end"] is None:
            depth += 1 if found.group() in "{[" else -1
        elif not found["end"]:
            return "; the arguments are incomplete: the text ends inside a string"
    return f"; the arguments are incomplete: {_brackets(depth)} not closed" if depth > 0 else ""


def _brackets(count: int) -> str:
    return "1 bracket is" if count == 1 else f"{count} brackets are"


def _refuse_reference(uri: str) -> NoReturn:
    raise ValueError(f"$ref {uri} points outside the schema")


def _place(error: Exception) -> str:
    """Where in the schema the error is, for an error that has a place."""
    path = getattr(error, "instance_path", None)
    return "".join(f".{step}" for step in ["parameters", *path]).lstrip(".") + ": " if path else ""


def _first_line(error: Exception) -> str:
    message = getattr(error, "message", None) or str(error)
    return str(message).splitlines()[0][:300]


def _json_type(value: object) -> str:
    names = {dict: "an object", list: "an array", tuple: "an array", str: "a string", bool: "a boolean"}
    if value is None:
        return "null"
    return names.get(type(value), "a number" if isinstance(value, int | float) else type(value).__name__)
