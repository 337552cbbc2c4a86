"""JSON Schema of a tool's parameters in the notation that the model is shown, which looks like TypeScript.

Worked out from recordings with usage (docs/token-counting.md, rules 7 to 12): comments above properties, `?` for
optional ones, one line where no property has a comment or default.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

_MAX_DEPTH = 24
_MAX_TYPES = 20_000
# What recordings settle. Any other keyword may be shown to the model in a way that is not known.
_SETTLED = frozenset({
    "$defs", "$ref", "$schema", "additionalProperties", "anyOf", "default", "definitions", "description", "enum",
    "items", "properties", "required", "strict", "type",
})  # fmt: skip
_NAMES = {
    "string": "string",
    "boolean": "boolean",
    "null": "null",
    "integer": "number",
    "number": "number",
    "object": "object",
}


@dataclass(slots=True)
class SchemaRenderer:
    """Renders schemas of one tool; ``unsure`` collects what no recording has settled."""

    root: Mapping[str, Any]
    sorted_keys: bool = False
    unsure: list[str] = field(default_factory=list)
    _open: list[str] = field(default_factory=list)
    _types: int = 0

    def parameters(self) -> str | None:
        """The parameter object, or None for a tool without properties."""
        self._note_unsettled(self.root)
        if not properties_of(self.root):
            return None
        return self._object(self.root, 0)

    def _object(self, schema: Mapping[str, Any], depth: int) -> str:
        entries = list(self._ordered(schema))
        required = schema.get("required")
        needed = set(filter(_is_text, required)) if isinstance(required, list) else set()
        fields = [(name, "" if name in needed else "?", sub) for name, sub in entries]
        if not any(_has_notes(sub) for _, _, sub in fields):
            inner = ", ".join(f"{name}{mark}: {self.type_of(sub, depth + 1)}" for name, mark, sub in fields)
            return f"{{ {inner} }}"
        lines = ["{"]
        for name, mark, sub in fields:
            lines += self._comments(sub)
            line = f"{name}{mark}: {self.type_of(sub, depth + 1)},"
            if isinstance(sub, Mapping) and "default" in sub:
                line += f" // default: {as_json(sub['default'])}"
            lines.append(line)
        return "\n".join([*lines, "}"])

    def _comments(self, schema: object) -> Iterator[str]:
        if not isinstance(schema, Mapping):
            return
        title = schema.get("title")
        if isinstance(title, str) and title:
            yield from comment_lines(title)
        description = schema.get("description")
        if isinstance(description, str) and description:
            yield from comment_lines(description)

    def _ordered(self, schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        properties = properties_of(schema)
        required = schema.get("required")
        if self.sorted_keys and isinstance(required, list):
            first = [name for name in dict.fromkeys(required) if _is_text(name) and name in properties]
            yield from ((name, properties[name]) for name in first)
            yield from ((name, sub) for name, sub in properties.items() if name not in first)
        else:
            yield from properties.items()

    def type_of(self, schema: object, depth: int) -> str:
        """The type of a property."""
        if not isinstance(schema, Mapping):
            self._note("a schema that is no object")
            return "any"
        self._types += 1
        if depth > _MAX_DEPTH or self._types > _MAX_TYPES:
            self._note("a schema nested too deep")
            return "any"
        self._note_unsettled(schema)
        if "$ref" in schema:
            return self._referenced(schema, depth)
        if isinstance(schema.get("enum"), list):
            if not all(map(_is_text, schema["enum"])):
                self._note("an enum of other things than text")
            return " | ".join(map(as_json, schema["enum"]))
        if "const" in schema:
            self._note("const")
            return as_json(schema["const"])
        for key in ("anyOf", "oneOf"):
            if isinstance(schema.get(key), list):
                return self._union(schema[key], key, depth)
        kind = schema.get("type")
        if isinstance(kind, list):
            self._note("a list of types")
            return " | ".join(self.type_of({**schema, "type": one}, depth + 1) for one in kind)
        return self._plain(schema, kind, depth)

    def _plain(self, schema: Mapping[str, Any], kind: object, depth: int) -> str:
        if kind == "array":
            if not isinstance(schema.get("items"), Mapping):
                self._note("an array of anything")
                return "any[]"
            if not {"type", "$ref"} & schema["items"].keys() or "enum" in schema["items"]:
                self._note("an array of choices")
            return f"{self.type_of(schema['items'], depth + 1)}[]"
        if properties_of(schema):
            return self._object(schema, depth)
        if isinstance(schema.get("additionalProperties"), Mapping):
            self._note("a map")
        if kind is None or not isinstance(kind, str) or kind not in _NAMES:
            self._note("a property without a type")
            return "any"
        return _NAMES[kind]

    def _union(self, options: list[Any], key: str, depth: int) -> str:
        if key != "anyOf":
            self._note(key)
        return " | ".join(self.type_of(option, depth + 1) for option in options)

    def _referenced(self, schema: Mapping[str, Any], depth: int) -> str:
        target = self._target(schema["$ref"])
        if target is None:
            self._note("a reference that leads nowhere")
            return "any"
        if schema["$ref"] in self._open:
            self._note("a schema that contains itself")
            return "any"
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        self._open.append(schema["$ref"])
        rendered = self.type_of({**target, **rest}, depth + 1)
        self._open.pop()
        return rendered

    def _target(self, reference: object) -> Mapping[str, Any] | None:
        if not isinstance(reference, str) or not reference.startswith("#"):
            return None
        found: Any = self.root
        for part in filter(None, reference[1:].split("/")):
            key = part.replace("~1", "/").replace("~0", "~")
            found = found.get(key) if isinstance(found, Mapping) else None
        return found if isinstance(found, Mapping) else None

    def _note_unsettled(self, schema: Mapping[str, Any]) -> None:
        for key in (key for key in schema if key not in _SETTLED):
            self._note(key if _is_text(key) else "a key that is no text")
        if not isinstance(schema.get("default", False), bool):
            self._note("a default that is neither true nor false")

    def _note(self, what: str) -> None:
        if what not in self.unsure:
            self.unsure.append(what)


def comment_lines(text: str) -> list[str]:
    """A description as comment lines: stripped as a whole, then each line (rule 7)."""
    return [f"// {line.strip()}".rstrip() for line in text.strip().split("\n")]


def properties_of(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The properties of a schema, none where it has none."""
    properties = schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def as_json(value: object) -> str:
    """A value as compact JSON, non-ASCII as it is."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str, skipkeys=True)
    except (ValueError, RecursionError):  # nested without end, or a number too long to write
        return "null"


def _has_notes(schema: object) -> bool:
    return (
        isinstance(schema, Mapping)
        and any((isinstance(schema.get(key), str) and schema[key]) for key in ("description", "title"))
    ) or (isinstance(schema, Mapping) and "default" in schema)


def _is_text(value: object) -> bool:
    return isinstance(value, str)
