"""The protocol's part of a message, in a form in which equal means equal to the model.

null, ``""`` and missing content are equal, a string and text parts are equal, arguments are compared as JSON, call ids
are numbered by first appearance. Fields that the protocol does not have in a request (reasoning texts, caching
marks, metadata that providers add) are kept apart: agents send them back, reword them or drop them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from harness.wire.chat import text_of
from harness.wire.half_pairs import dumps

PROTOCOL_FIELDS = frozenset(
    {"role", "content", "name", "refusal", "audio", "tool_calls", "tool_call_id", "function_call"}
)


_DEEPEST = 100
"""Levels of arguments; orjson reads 1,024 and writes 254, those around them included."""

_SPACE = re.compile(r'("(?:[^"\\]|\\.)*")|\s+')

_SYSTEM_ROLES = ("system", "developer")


class CallIds:
    """Numbers call ids by first appearance, so that equal stays equal and different stays different."""

    def __init__(self) -> None:
        self._numbers: dict[str, str] = {}

    def number(self, call_id: object) -> object:
        """The stand-in for an id; anything but a non-empty text stays as it is."""
        if not isinstance(call_id, str) or not call_id:
            return call_id
        return self._numbers.setdefault(call_id, f"<call {len(self._numbers) + 1}>")


def canonical_messages(messages: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The messages of one request in canonical form; ids are numbered over all of them."""
    ids = CallIds()
    return [canonical_message(message, ids) for message in messages]


def canonical_message(message: Mapping[str, Any], ids: CallIds | None = None) -> dict[str, Any]:
    """One message in canonical form; without ``ids`` call ids stay as they are."""
    number = ids.number if ids is not None else (lambda call_id: call_id)
    role = message.get("role")
    canonical: dict[str, Any] = {"role": role}
    content = _canonical_content(message.get("content"))
    if content not in (None, ""):
        canonical["content"] = content
    for key in ("refusal", "audio"):
        if message.get(key) is not None:
            canonical[key] = message[key]
    if message.get("name") is not None and role != "tool":
        canonical["name"] = message["name"]
    if isinstance(calls := message.get("tool_calls"), list) and calls:
        canonical["tool_calls"] = [_canonical_call(call, number) for call in calls]
    if isinstance(legacy := message.get("function_call"), Mapping):
        canonical["function_call"] = {
            "name": legacy.get("name"),
            "arguments": canonical_arguments(legacy.get("arguments")),
        }
    if "tool_call_id" in message:
        canonical["tool_call_id"] = number(message["tool_call_id"])
    return canonical


def canonical_arguments(arguments: object) -> object:
    """Arguments as JSON where they parse; ``""``, null and ``{}`` are all no arguments.

    What is nested too deeply to be written again stays a text, without its white space.
    """
    if arguments is None or arguments == "":
        return {}
    if not isinstance(arguments, str):
        return arguments
    try:
        value = orjson.loads(arguments)
    except orjson.JSONDecodeError:
        return {"<not JSON>": arguments}
    if arguments.count("{") + arguments.count("[") > _DEEPEST and _is_deep(value):
        return {"<deep JSON>": _SPACE.sub(r"\1", arguments)}
    return value


def leading_system(messages: Iterable[object]) -> int:
    """How many messages in front have the role system or developer."""
    count = 0
    for message in messages:
        if not isinstance(message, Mapping) or message.get("role") not in _SYSTEM_ROLES:
            break
        count += 1
    return count


def extensions(message: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a message that the protocol does not have, those with a value."""
    return {key: value for key, value in message.items() if key not in PROTOCOL_FIELDS and value not in (None, "", [])}


def digest(value: object) -> bytes:
    """16 bytes that are equal for equal JSON values, whatever the order of keys."""
    return hashlib.blake2b(dumps(value, option=orjson.OPT_SORT_KEYS), digest_size=16).digest()


def _is_deep(value: object) -> bool:
    level = [value]
    for _ in range(_DEEPEST):
        level = [part for whole in level for part in _parts(whole)]
        if not level:
            return False
    return True


def _parts(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _canonical_content(content: object) -> object:
    if isinstance(content, list):
        parts = [
            {key: value for key, value in part.items() if key != "cache_control"} if isinstance(part, Mapping) else part
            for part in content
        ]
        if all(isinstance(part, Mapping) and part.get("type") == "text" for part in parts):
            return text_of(parts)
        return parts
    return content


def _canonical_call(call: object, number: Any) -> object:
    if not isinstance(call, Mapping):
        return call
    function = call.get("function")
    function = function if isinstance(function, Mapping) else {}
    return {
        "id": number(call.get("id")),
        "type": call.get("type") or "function",
        "function": {"name": function.get("name"), "arguments": canonical_arguments(function.get("arguments"))},
    }
