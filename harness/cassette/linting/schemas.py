"""Faults in the tools that a request offers, each tools array looked at once (seed 002, bug reports of family E).

The rules of names and shapes are `harness.wire.rules`; here come those a server may let pass and a model stumbles over.
Types are those of https://json-schema.org/draft/2020-12/json-schema-core.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from harness.cassette.linting.finding import Note, Severity, View
from harness.wire.half_pairs import dumps
from harness.wire.rules import check_request

_TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
_SAYS_WHAT = frozenset({
    "$ref", "allOf", "anyOf", "const", "enum", "if", "items", "not", "oneOf", "prefixItems", "properties", "type",
})  # fmt: skip
_PARTS = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
_ONE = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
_MANY = ("anyOf", "oneOf", "allOf", "prefixItems")
_MEND = "mend the schema where the agent defines the tool, and record again"
_DESCRIBE = "describe it: descriptions decide whether and how a tool is called"


def schemas(view: View) -> Iterator[Note]:
    """All rules of tools, for each tools array that no earlier request offered."""
    body = view.request
    if not view.exchange.is_chat or not isinstance(body, Mapping) or body.get("tools") is None:
        return
    tools = body["tools"]
    digest = hashlib.sha256(_dumped(tools, view)).digest()
    if digest in view.seen:
        return
    view.seen.add(digest)
    try:
        for breach in check_request({"messages": [{"role": "user", "content": ""}], "tools": tools}):
            yield Note(f"request {breach.path}", breach.code, Severity.ERROR, breach.why, _MEND)
    except RecursionError:
        yield Note("request $.tools", "schema_too_deep", Severity.ERROR, "a schema is nested too deep", _MEND)
    if isinstance(tools, list):
        yield from _similar_names(tools)
        for number, tool in enumerate(tools):
            function = tool.get("function") if isinstance(tool, Mapping) else None
            if isinstance(function, Mapping):
                yield from _tool(function, f"request $.tools[{number}].function")


def _dumped(tools: object, view: View) -> bytes:
    try:
        return dumps(tools)
    except TypeError:  # nested deeper than it writes, though it reads that
        return view.request_body or b""


def _similar_names(tools: list[Any]) -> Iterator[Note]:
    names: dict[str, str] = {}
    for number, tool in enumerate(tools):
        function = tool.get("function") if isinstance(tool, Mapping) else None
        name = function.get("name") if isinstance(function, Mapping) else None
        if not isinstance(name, str):
            continue
        plain = name.lower().replace("-", "").replace("_", "")
        other = names.setdefault(plain, name)
        if other != name:
            path = f"request $.tools[{number}].function.name"
            what = f"{name!r} differs from {other!r} in case or separators only: models mix them up"
            yield Note(path, "tool_name_similar", Severity.WARNING, what, _MEND)


def _tool(function: Mapping[str, Any], path: str) -> Iterator[Note]:
    name = function.get("name")
    if not _is_text(function.get("description")):
        what = f"the tool {name!r} has no description"
        yield Note(f"{path}.description", "tool_description", Severity.WARNING, what, _DESCRIBE)
    parameters = function.get("parameters")
    if not isinstance(parameters, Mapping):
        return
    kind = parameters.get("type")
    if parameters and kind is not None and kind != "object":
        what = f"the parameters of {name!r} are of type {kind!r}: providers take objects only"
        yield Note(f"{path}.parameters.type", "parameters_not_an_object", Severity.ERROR, what, _MEND)
    yield from _schemas(parameters, f"{path}.parameters", str(name))


def _schemas(root: Mapping[str, Any], path: str, tool: str) -> Iterator[Note]:
    """Every schema below a tool's parameters, from the outside in."""
    waiting: list[tuple[object, str, str | None]] = [(root, path, None)]
    while waiting:
        schema, where, parameter = waiting.pop()
        if not isinstance(schema, Mapping):
            continue
        if parameter is not None:
            yield from _parameter(schema, where, parameter, tool)
        yield from _type(schema, where, tool)
        yield from _reference(schema, where, root, tool)
        yield from _required(schema, where, tool)
        waiting += reversed(list(_below(schema, where)))


def _below(schema: Mapping[str, Any], path: str) -> Iterator[tuple[object, str, str | None]]:
    for key in _PARTS:
        parts = schema.get(key)
        if isinstance(parts, Mapping):
            for name, part in parts.items():
                yield part, f"{path}.{key}.{name}", name if key == "properties" else None
    yield from ((schema[key], f"{path}.{key}", None) for key in _ONE if key in schema)
    for key in _MANY:
        parts = schema.get(key)
        if isinstance(parts, list):
            yield from ((part, f"{path}.{key}[{number}]", None) for number, part in enumerate(parts))


def _parameter(schema: Mapping[str, Any], path: str, name: str, tool: str) -> Iterator[Note]:
    if not _SAYS_WHAT & schema.keys():
        what = f"the parameter {name!r} of {tool!r} has no type"
        yield Note(path, "type_missing", Severity.WARNING, what, _MEND)
    if not _is_text(schema.get("description")) and "$ref" not in schema:
        what = f"the parameter {name!r} of {tool!r} has no description"
        yield Note(f"{path}.description", "parameter_description", Severity.WARNING, what, _DESCRIBE)


def _type(schema: Mapping[str, Any], path: str, tool: str) -> Iterator[Note]:
    kinds = schema.get("type")
    named = kinds if isinstance(kinds, list) else [] if kinds is None else [kinds]
    for kind in named:
        if not isinstance(kind, str) or kind not in _TYPES:
            what = f"{str(kind)[:40]!r} is no type of JSON Schema (tool {tool!r})"
            yield Note(f"{path}.type", "type_unknown", Severity.ERROR, what, f"one of {', '.join(sorted(_TYPES))}")
    if "array" in named and not {"items", "prefixItems"} & schema.keys():
        what = f"an array without items (tool {tool!r}): some providers refuse it"
        yield Note(path, "items_missing", Severity.WARNING, what, _MEND)


def _reference(schema: Mapping[str, Any], path: str, root: Mapping[str, Any], tool: str) -> Iterator[Note]:
    reference = schema.get("$ref")
    if not isinstance(reference, str):
        return
    if not reference.startswith("#"):
        what = f"$ref {reference[:80]!r} leads out of the schema of {tool!r}: no provider follows it"
        yield Note(f"{path}.$ref", "ref_dangling", Severity.ERROR, what, "put the definition under $defs")
    elif not _leads_somewhere(reference, root):
        what = f"$ref {reference[:80]!r} leads nowhere in the schema of {tool!r}"
        yield Note(f"{path}.$ref", "ref_dangling", Severity.ERROR, what, "add the definition: it was lost on the way")


def _leads_somewhere(reference: str, root: Mapping[str, Any]) -> bool:
    """A JSON pointer (RFC 6901) as a fragment; anchors are looked for in the definitions."""
    pointer = unquote(reference[1:])
    if pointer and not pointer.startswith("/"):
        definitions = [part for key in ("$defs", "definitions") for part in _members(root.get(key))]
        return any(isinstance(part, Mapping) and part.get("$anchor") == pointer for part in definitions)
    value: object = root
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, Mapping) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
        else:
            return False
    return True


def _members(value: object) -> list[object]:
    return list(value.values()) if isinstance(value, Mapping) else []


def _required(schema: Mapping[str, Any], path: str, tool: str) -> Iterator[Note]:
    required = schema.get("required")
    if required is None:
        return
    if not isinstance(required, list):
        what = f"required is a list of names, not {type(required).__name__} (tool {tool!r})"
        yield Note(f"{path}.required", "required_not_a_list", Severity.ERROR, what, _MEND)
        return
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return
    for name in required:
        if name not in properties:
            what = f"{str(name)[:60]!r} is required and no property of the schema (tool {tool!r})"
            yield Note(f"{path}.required", "required_unknown", Severity.WARNING, what, _MEND)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())
