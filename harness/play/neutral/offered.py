"""The tools that a request offers, as far as the mapping looks at them: names, words, and what parameters mean.

What a parameter means is told by its name; names are compared without case and punctuation (``filePath`` is
``file_path``). The names are those of the agents recorded in the shared material and of widely used tool sets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Schema = Mapping[str, Any]

PATH = frozenset({"path", "filepath", "absolutepath", "absolutefilepath", "filename", "file", "targetfile"})
PATHS = frozenset({"paths", "filepaths", "files", "filenames"})
OLD = frozenset({"oldstring", "oldtext", "oldstr", "old", "oldcontent", "search", "searchtext", "find"})
NEW = frozenset(
    {"newstring", "newtext", "newstr", "new", "newcontent", "replace", "replacetext", "replacement", "replacewith"}
)
EDITS = frozenset({"edits", "changes", "replacements"})
EVERYWHERE = frozenset({"replaceall", "all", "allowmultiple"})
COMMAND = frozenset({"command", "cmd", "commandline", "shellcommand"})
COMMANDS = frozenset({"commands"})
CONTENT = frozenset({"content", "contents", "filecontent", "text"})
PATCH = frozenset({"patch", "patchtext", "input", "diff"})
FOLDER = frozenset({"cwd", "workdir", "workingdirectory", "directory", "dirpath"})


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool of a request: its name, description and the schema of its parameters."""

    name: str
    description: str
    schema: Schema

    @property
    def properties(self) -> Mapping[str, Schema]:
        """The parameters' schemas by name; what is no schema object says nothing."""
        found = self.schema.get("properties")
        if not isinstance(found, Mapping):
            return {}
        return {str(name): schema if isinstance(schema, Mapping) else {} for name, schema in found.items()}

    @property
    def required(self) -> tuple[str, ...]:
        """The parameters that a call cannot do without."""
        found = self.schema.get("required")
        return tuple(name for name in found if isinstance(name, str)) if isinstance(found, list) else ()

    @property
    def plain_name(self) -> str:
        """The name without case and punctuation."""
        return plain(self.name)

    @property
    def words(self) -> frozenset[str]:
        """The words of the name: ``run_shell_command`` and ``runShellCommand`` have the same."""
        return frozenset(word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", self.name))

    def parameter(self, meaning: frozenset[str], *kinds: str) -> str | None:
        """The parameter of that meaning and of one of the JSON types, if there is one."""
        return named(self.properties, meaning, *kinds)

    def verb(self, *verbs: str) -> tuple[str, str] | None:
        """The parameter by which a tool that does several things is told what to do, and the verb that it knows."""
        for name, schema in self.properties.items():
            known = schema.get("enum")
            if isinstance(known, list):
                for verb in verbs:
                    if verb in known:
                        return name, verb
        return None


def offered_tools(body: Mapping[str, Any]) -> tuple[OfferedTool, ...]:
    """The function tools of a request, in its order; entries that are none are passed over."""
    tools = body.get("tools")
    functions = (
        [entry.get("function") for entry in tools if isinstance(entry, Mapping)] if isinstance(tools, list) else []
    )
    return tuple(
        OfferedTool(
            function["name"],
            text if isinstance(text := function.get("description"), str) else "",
            schema if isinstance(schema := function.get("parameters"), Mapping) else {},
        )
        for function in functions
        if isinstance(function, Mapping) and isinstance(function.get("name"), str)
    )


def plain(name: str) -> str:
    """A name without case and punctuation."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def named(properties: Mapping[str, Schema], meaning: frozenset[str], *kinds: str) -> str | None:
    """The first property whose name has that meaning and whose schema allows one of the JSON types."""
    for name, schema in properties.items():
        if plain(name) in meaning and any(allows(schema, kind) for kind in kinds or ("string",)):
            return name
    return None


def allows(schema: Schema, kind: str) -> bool:
    """Whether a value of that JSON type can be meant; a schema that names no type allows all."""
    if any(isinstance(schema.get(key), list) for key in ("anyOf", "oneOf")):
        options = [option for key in ("anyOf", "oneOf") for option in schema.get(key) or ()]
        return any(allows(option, kind) for option in options if isinstance(option, Mapping))
    found = schema.get("type")
    return found is None or found == kind or (isinstance(found, list) and kind in found)


def items_of(schema: Schema) -> Schema:
    """The schema of a list's items, where it names one."""
    if isinstance(found := schema.get("items"), Mapping):
        return found
    for option in schema.get("anyOf") or schema.get("oneOf") or ():
        if isinstance(option, Mapping) and isinstance(found := option.get("items"), Mapping):
            return found
    return {}


def properties_of(schema: Schema) -> Mapping[str, Schema]:
    """The properties of an object's schema."""
    found = schema.get("properties")
    if not isinstance(found, Mapping):
        return {}
    return {str(name): inner if isinstance(inner, Mapping) else {} for name, inner in found.items()}
