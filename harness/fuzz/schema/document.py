"""A schema document: its parts by their pointers, references resolved, parts judged."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn
from urllib.parse import unquote

import jsonschema_rs

from harness.errors import InputError

Schema = Mapping[str, Any] | bool

_ROOT = "urn:harness:schema"
_NOT_FOLLOWED = ("$dynamicRef", "$recursiveRef")
_IN_SCHEMAS = ("$defs", "definitions", "properties", "patternProperties", "dependentSchemas")
_IN_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")


class SchemaDocument:
    """A schema and its parts, each named by its JSON pointer (RFC 6901), ``""`` for the whole.

    Schemas that the document does not hold (what follows from a keyword, such as a name that must be absent) are added
    and get names of their own. With ``formats`` a ``format`` is demanded, otherwise it is a remark, as in the draft.
    Raises InputError for a schema that is none, and for references out of the document.
    """

    def __init__(self, schema: Schema, *, formats: bool = False) -> None:
        own = dict(schema) if isinstance(schema, Mapping) else schema
        self.formats = formats
        self.validator = self._compiled(own)
        self._root: Schema = copy.deepcopy(own)
        if isinstance(self._root, dict):
            self._root.pop("$id", None)
        self.nothing = "+nothing"
        self._added: dict[str, Schema] = {self.nothing: False}
        self._parts: dict[str, Schema] = {"": self._root}
        self._anchors = dict(_anchors(self._root, ""))
        self._registry = jsonschema_rs.Registry([(_ROOT, self._root)], retriever=_refuse)

    def part(self, pointer: str) -> Schema:
        """The schema there; raises InputError where there is none."""
        if pointer in self._added:
            return self._added[pointer]
        if pointer not in self._parts:
            self._parts[pointer] = self._found(pointer)
        return self._parts[pointer]

    def added(self, schema: Mapping[str, Any], name: str) -> str:
        """The name of a schema that the document does not hold; the same name is the same schema."""
        key = f"+{name}"
        self._added[key] = schema
        return key

    def target(self, reference: str) -> str:
        """The pointer that a ``$ref`` leads to."""
        if reference in ("#", ""):
            return ""
        if reference.startswith("#/"):
            return unquote(reference[1:])
        if reference.startswith("#") and reference[1:] in self._anchors:
            return self._anchors[reference[1:]]
        raise InputError(f"$ref {reference} leads out of the schema", hint="put what it names under $defs")

    def judge(self, pointers: Sequence[str]) -> jsonschema_rs.Draft202012Validator:
        """What accepts a value that fits all these parts of the document; parts added are left out."""
        parts = [{"$ref": f"{_ROOT}#{_quoted(pointer)}"} for pointer in pointers if pointer not in self._added]
        return jsonschema_rs.Draft202012Validator(
            {"allOf": parts} if parts else True,
            registry=self._registry,
            validate_formats=self.formats,
            retriever=_refuse,
        )

    def _compiled(self, schema: Any) -> jsonschema_rs.Draft202012Validator:
        try:
            return jsonschema_rs.Draft202012Validator(schema, validate_formats=self.formats, retriever=_refuse)
        except jsonschema_rs.ValidationError as error:
            where = "$" + "".join(f".{step}" for step in error.instance_path)
            hint = "repaired_schema gives what was meant" if error.instance_path else ""
            raise InputError(f"no JSON Schema: {error.message.splitlines()[0]}", where=where, hint=hint) from error
        except (jsonschema_rs.ReferencingError, ValueError) as error:
            raise InputError(f"no usable JSON Schema: {str(error).splitlines()[0]}") from error

    def _found(self, pointer: str) -> Schema:
        place: Any = self._root
        for step in pointer.split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            if isinstance(place, list) and name.isdigit() and int(name) < len(place):
                place = place[int(name)]
            elif isinstance(place, dict) and name in place:
                place = place[name]
            else:
                raise InputError(f"nothing stands at #{pointer}, where a $ref leads")
        if isinstance(place, dict):
            for key in _NOT_FOLLOWED:
                if key in place:
                    raise InputError(f"{key} is not followed", where=f"#{pointer}")
        if not isinstance(place, dict | bool):
            raise InputError(f"no schema stands at #{pointer}, where a $ref leads")
        return place


def step(name: str | int) -> str:
    """One step of a JSON pointer, with its slash."""
    return "/" + str(name).replace("~", "~0").replace("/", "~1")


def _anchors(schema: object, pointer: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    waiting = [(schema, pointer)]
    while waiting:
        part, place = waiting.pop()
        if not isinstance(part, Mapping):
            continue
        if isinstance(part.get("$anchor"), str):
            found.append((part["$anchor"], place))
        for key, value in part.items():
            if key in _IN_SCHEMAS and isinstance(value, Mapping):
                waiting += [(inner, place + step(key) + step(name)) for name, inner in value.items()]
            elif key in _IN_LISTS and isinstance(value, list):
                waiting += [(inner, place + step(key) + step(at)) for at, inner in enumerate(value)]
            elif isinstance(value, Mapping):
                waiting.append((value, place + step(key)))
    return found


def _quoted(pointer: str) -> str:
    return "".join(
        character if character.isascii() and (character.isalnum() or character in "/_-.~$") else _percent(character)
        for character in pointer
    )


def _percent(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogatepass"))


def _refuse(uri: str) -> NoReturn:
    raise ValueError(f"$ref {uri} leads out of the schema")
