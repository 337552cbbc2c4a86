"""Schemas that are none, but whose meaning is plain: the faults said, the meaning kept.

Function lists of the field use names of Python and of other languages for types (``dict``, ``float``, ``tuple``,
``any`` in BFCL; capitals elsewhere), ``nullable`` of OpenAPI, the list form of ``items`` of older drafts, null for what
is to be left out, and ``[]`` where a gateway re-encoded ``{}`` (bug report E02).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from harness.wire.rules import Breach

EMPTY_PARAMETERS: Mapping[str, Any] = {"type": "object", "properties": {}}
"""What a function without a schema takes."""

TYPES = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})
"""The types of JSON Schema."""

_MEANT = {
    "dict": "object",
    "map": "object",
    "mapping": "object",
    "struct": "object",
    "hashmap": "object",
    "float": "number",
    "double": "number",
    "decimal": "number",
    "int": "integer",
    "long": "integer",
    "short": "integer",
    "byte": "integer",
    "str": "string",
    "char": "string",
    "text": "string",
    "bool": "boolean",
    "list": "array",
    "tuple": "array",
    "set": "array",
    "none": "null",
    "nonetype": "null",
}
_MAPS = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE = (
    "items", "additionalProperties", "propertyNames", "not", "if", "then", "else", "contains", "unevaluatedItems",
    "unevaluatedProperties",
)  # fmt: skip
_NULL_MEANS_ABSENT = ("required", "enum", "properties", "items", "type", "additionalProperties")


class Repaired(NamedTuple):
    """A schema as it was meant, and what was wrong with it; without faults it equals what was given."""

    schema: dict[str, Any] | bool
    faults: tuple[Breach, ...]


def repaired_schema(schema: object, path: str = "$") -> Repaired:
    """The schema as it was meant, with a fault for each change; what is given is not touched.

    None means that there is no schema: a function without parameters. A type that nobody knows is said and left out.
    Faults come in the order of the schema, with the JSON path from ``path``.
    """
    if schema is None:
        return Repaired(dict(EMPTY_PARAMETERS), ())
    faults: list[Breach] = []
    return Repaired(_repaired(schema, path, faults), tuple(faults))


def _repaired(schema: object, path: str, faults: list[Breach]) -> dict[str, Any] | bool:
    if isinstance(schema, bool):
        return schema
    if not isinstance(schema, Mapping):
        if schema == []:
            faults.append(Breach("object_became_array", path, "[] stands where an object {} belongs"))
        else:
            faults.append(Breach("schema_not_an_object", path, f"a schema is an object, not {type(schema).__name__}"))
        return {}
    made = {str(key): value for key, value in schema.items()}
    for key in _NULL_MEANS_ABSENT:
        if key in made and made[key] is None:
            faults.append(Breach("null_keyword", f"{path}.{key}", f"{key} is null; leave it out"))
            del made[key]
    if "type" in made:
        _repair_type(made, path, faults)
    if isinstance(made.get("items"), list):
        _repair_items(made, path, faults)
    if isinstance(made.get("required"), bool):
        what = "required is a list of names in the schema of the object, not a flag of the property"
        faults.append(Breach("required_flag", f"{path}.required", what))
        del made["required"]
    _repair_parts(made, path, faults)
    return _nullable(made, path, faults)


def _repair_type(made: dict[str, Any], path: str, faults: list[Breach]) -> None:
    several = isinstance(made["type"], list)
    meant: list[str] = []
    for name in made["type"] if several else [made["type"]]:
        if isinstance(name, str) and name in TYPES:
            meant.append(name)
            continue
        known = _known_type(name)
        faults.append(Breach("type_unknown", f"{path}.type", f"{name!r} is no type of JSON Schema{_said(known)}"))
        if known is None:
            del made["type"]
            return
        meant.append(known)
    made["type"] = list(dict.fromkeys(meant)) if several else meant[0]


def _known_type(name: object) -> str | None:
    lower = name.lower() if isinstance(name, str) else ""
    return lower if lower in TYPES else _MEANT.get(lower)


def _said(known: str | None) -> str:
    return f"; {known} is meant" if known else "; any value is taken"


def _repair_items(made: dict[str, Any], path: str, faults: list[Breach]) -> None:
    """The tuple form of drafts before 2020-12, which strict providers refuse."""
    faults.append(Breach("items_is_a_list", f"{path}.items", "a list of schemas is called prefixItems"))
    if items := made.pop("items"):
        made["prefixItems"] = items
    if "additionalItems" in made:
        made["items"] = made.pop("additionalItems")


def _repair_parts(made: dict[str, Any], path: str, faults: list[Breach]) -> None:
    for key in _MAPS:
        if key not in made:
            continue
        if not isinstance(made[key], Mapping):
            code = "object_became_array" if made[key] == [] else "schema_not_an_object"
            faults.append(Breach(code, f"{path}.{key}", f"{key} is an object, not {type(made[key]).__name__}"))
            made[key] = {}
        made[key] = {name: _repaired(part, f"{path}.{key}.{name}", faults) for name, part in made[key].items()}
    for key in _SINGLE:
        if key in made:
            made[key] = _repaired(made[key], f"{path}.{key}", faults)
    for key in _LISTS:
        if isinstance(made.get(key), list):
            made[key] = [_repaired(part, f"{path}.{key}[{at}]", faults) for at, part in enumerate(made[key])]


def _nullable(made: dict[str, Any], path: str, faults: list[Breach]) -> dict[str, Any]:
    if made.get("nullable") is not True:
        return made
    del made["nullable"]
    faults.append(Breach("nullable", f"{path}.nullable", "JSON Schema has no nullable; null is one of the types"))
    if set(made) & {"enum", "const", "$ref", "anyOf", "oneOf", "allOf"}:
        shared: dict[str, Any] = {key: made.pop(key) for key in ("$defs", "definitions") if key in made}
        return {"anyOf": [made, {"type": "null"}], **shared}
    if "type" in made:
        kinds = made["type"] if isinstance(made["type"], list) else [made["type"]]
        made["type"] = list(dict.fromkeys([*kinds, "null"]))
    return made
