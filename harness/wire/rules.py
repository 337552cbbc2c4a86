"""What a strict Chat Completions server demands of a request; each breach named with its JSON path.

Sources: the provider's reference for messages and tools, seed 002 (pairing by id, the ``[]`` in place of ``{}``),
bug reports of families C and D.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

MAX_TOOLS = 128
LONGEST_TOOL_NAME = 64
TOOL_NAME = re.compile(rf"[A-Za-z0-9_-]{{1,{LONGEST_TOOL_NAME}}}")
"""What providers take as the name of a tool, as a whole."""

CODES = frozenset({
    "arguments_not_an_object", "arguments_not_json", "arguments_not_text", "call_without_function", "call_without_id",
    "call_without_name", "calls_not_a_list", "id_used_twice", "messages_missing", "object_became_array",
    "required_empty", "required_null", "result_missing", "result_twice", "result_without_call", "results_out_of_order",
    "role_unknown", "schema_empty", "schema_not_an_object", "too_many_tools", "tool_name", "tool_name_taken",
    "tool_without_function", "tools_not_a_list",
})  # fmt: skip
"""The code of every rule here."""

_TOO_DEEP = "depth limit"
"""How orjson's message begins for more than 1,024 levels."""

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")  # a tuple: what is sent may be no text


@dataclass(frozen=True, slots=True)
class Breach:
    """One rule that a request breaks: a code, the JSON path in the body, and why in words."""

    code: str
    path: str
    why: str


def check_request(body: Mapping[str, Any]) -> list[Breach]:
    """All breaches of a request body, in the order of the body; an empty list for a valid one."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return [Breach("messages_missing", "$.messages", "a request has a list of at least one message")]
    return [*_message_breaches(messages), *_tools_breaches(body)]


def _message_breaches(messages: Sequence[object]) -> Iterator[Breach]:
    position = 0
    while position < len(messages):
        message = messages[position]
        path = f"$.messages[{position}]"
        position += 1
        if not isinstance(message, Mapping) or message.get("role") not in _ROLES:
            yield Breach("role_unknown", f"{path}.role", f"no message has the role {_role(message)!r}")
            continue
        if message["role"] == "tool":
            yield Breach("result_without_call", path, f"{message.get('tool_call_id')!r} answers no call before it")
            continue
        if message["role"] != "assistant":
            continue
        if isinstance(legacy := message.get("function_call"), Mapping):
            yield from _arguments_breaches(legacy.get("arguments"), f"{path}.function_call.arguments")
        calls = message.get("tool_calls")
        if not calls:
            continue
        if not isinstance(calls, list):
            yield Breach("calls_not_a_list", f"{path}.tool_calls", "tool_calls is an array")
            continue
        yield from _call_breaches(calls, path)
        results: list[tuple[int, Mapping[str, Any]]] = []
        while position < len(messages) and _role(messages[position]) == "tool":
            result = messages[position]
            if isinstance(result, Mapping):
                results.append((position, result))
            position += 1
        yield from _pairing_breaches(calls, results, path)


def _call_breaches(calls: Sequence[object], path: str) -> Iterator[Breach]:
    seen: set[str] = set()
    for number, call in enumerate(calls):
        where = f"{path}.tool_calls[{number}]"
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(call, Mapping) or not isinstance(function, Mapping):
            yield Breach("call_without_function", where, "a call has a function with name and arguments")
            continue
        call_id = call.get("id")
        if not isinstance(call_id, str) or not call_id:
            yield Breach("call_without_id", f"{where}.id", "a call has an id")
        elif call_id in seen:
            yield Breach("id_used_twice", f"{where}.id", f"{call_id!r} is the id of an earlier call of this message")
        else:
            seen.add(call_id)
        if not isinstance(function.get("name"), str) or not function.get("name"):
            yield Breach("call_without_name", f"{where}.function.name", "a call names a function")
        yield from _arguments_breaches(function.get("arguments"), f"{where}.function.arguments")


def _arguments_breaches(arguments: object, path: str) -> Iterator[Breach]:
    if arguments == []:
        yield Breach("object_became_array", path, "arguments is [] where the text of an object belongs")
        return
    if not isinstance(arguments, str):
        yield Breach("arguments_not_text", path, f"arguments is a JSON text, not {type(arguments).__name__}")
        return
    if not arguments:
        return
    try:
        value = orjson.loads(arguments)
    except orjson.JSONDecodeError as error:
        # What is nested more deeply than it reads may well be JSON.
        if not str(error).startswith(_TOO_DEEP):
            yield Breach("arguments_not_json", path, f"arguments is not valid JSON: {error}")
        return
    if value == []:
        yield Breach("object_became_array", path, "arguments is [] where an object {} belongs")
    elif not isinstance(value, dict):
        yield Breach("arguments_not_an_object", path, f"arguments is a JSON object, not {type(value).__name__}")


def _pairing_breaches(
    calls: Sequence[object], results: Sequence[tuple[int, Mapping[str, Any]]], path: str
) -> Iterator[Breach]:
    """Each call is answered exactly once, in the order of the calls."""
    wanted = [call.get("id") for call in calls if isinstance(call, Mapping)]
    unanswered = list(wanted)
    answers: list[tuple[int, object]] = []
    for position, result in results:
        call_id = result.get("tool_call_id")
        where = f"$.messages[{position}].tool_call_id"
        if call_id in unanswered:
            unanswered.remove(call_id)
            answers.append((position, call_id))
        elif call_id in wanted:
            yield Breach("result_twice", where, f"{call_id!r} has been answered already")
        else:
            yield Breach("result_without_call", where, f"{call_id!r} answers no call of {path}")
    for call_id in unanswered:
        yield Breach("result_missing", path, f"the call {call_id!r} has no result")
    due = list(wanted)
    for call_id in unanswered:
        due.remove(call_id)
    for (position, call_id), expected in zip(answers, due, strict=True):
        if call_id != expected:
            yield Breach(
                "results_out_of_order",
                f"$.messages[{position}]",
                f"the result of {call_id!r} stands where that of {expected!r} belongs: "
                "results were stored in the order of completion, or ids were swapped",
            )
            return


def _tools_breaches(body: Mapping[str, Any]) -> Iterator[Breach]:
    tools = body.get("tools")
    if tools is None:
        return
    if not isinstance(tools, list):
        yield Breach("tools_not_a_list", "$.tools", "tools is an array")
        return
    if len(tools) > MAX_TOOLS:
        yield Breach("too_many_tools", "$.tools", f"{len(tools)} tools; providers take {MAX_TOOLS}")
    names: set[str] = set()
    for number, tool in enumerate(tools):
        path = f"$.tools[{number}]"
        function = tool.get("function") if isinstance(tool, Mapping) else None
        if not isinstance(function, Mapping):
            if not isinstance(tool, Mapping) or tool.get("type", "function") == "function":
                yield Breach("tool_without_function", path, "a tool has a function with name and parameters")
            continue
        name = function.get("name")
        if not isinstance(name, str) or not TOOL_NAME.fullmatch(name):
            yield Breach("tool_name", f"{path}.function.name", f"{name!r} is not 1 to 64 letters, digits, '_' or '-'")
        elif name in names:
            yield Breach("tool_name_taken", f"{path}.function.name", f"{name!r} is the name of an earlier tool")
        else:
            names.add(name)
        parameters = function.get("parameters")
        if parameters is not None:
            yield from root_breaches(parameters, f"{path}.function.parameters")
            yield from schema_breaches(parameters, f"{path}.function.parameters")


def root_breaches(parameters: object, path: str) -> Iterator[Breach]:
    """What some providers refuse at the root of a parameters schema (C02, C03)."""
    if not isinstance(parameters, Mapping):
        return
    if not parameters:
        yield Breach("schema_empty", path, 'an empty object where {"type": "object", "properties": {}} belongs')
    if "required" not in parameters:
        return
    if parameters["required"] is None:
        yield Breach("required_null", f"{path}.required", "required is null; leave it out")
    elif parameters["required"] == [] and "properties" not in parameters:
        yield Breach(
            "required_empty", f"{path}.required", "required is empty and there are no properties; leave it out"
        )


def schema_breaches(schema: object, path: str) -> Iterator[Breach]:
    """Faults of shape in a parameters schema: an array where an object belongs, above all (E02)."""
    if isinstance(schema, bool):
        return
    if not isinstance(schema, Mapping):
        yield _array_or_other(schema, path)
        return
    for key in ("properties", "$defs", "definitions", "patternProperties"):
        if key not in schema:
            continue
        parts = schema[key]
        if not isinstance(parts, Mapping):
            yield _array_or_other(parts, f"{path}.{key}")
            continue
        for name, part in parts.items():
            yield from schema_breaches(part, f"{path}.{key}.{name}")
    for key in ("items", "additionalProperties", "not"):
        if schema.get(key) is not None:
            yield from schema_breaches(schema[key], f"{path}.{key}")
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        parts = schema.get(key)
        for number, part in enumerate(parts if isinstance(parts, list) else ()):
            yield from schema_breaches(part, f"{path}.{key}[{number}]")


def _array_or_other(value: object, path: str) -> Breach:
    if value == []:
        return Breach("object_became_array", path, "[] stands where an object {} belongs: the body was re-encoded")
    return Breach("schema_not_an_object", path, f"a schema is an object, not {type(value).__name__}")


def _role(message: object) -> object:
    return message.get("role") if isinstance(message, Mapping) else None
