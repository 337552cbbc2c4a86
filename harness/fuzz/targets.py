"""What is fuzzed, by the name that a command line gives it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from harness.errors import InputError
from harness.fuzz.calls import ToolSchema
from harness.fuzz.definitions import definitions_in
from harness.fuzz.schema import repaired_schema
from harness.pipeline.builtin import BUILTIN_NAMES, builtin_tools
from harness.pipeline.circuit_breaker import CircuitBreaker
from harness.pipeline.names import wire_name
from harness.pipeline.registry import ToolRegistry
from harness.pipeline.workspace import Workspace
from harness.scenario.target import Surroundings, Target, stubs_of, target_of
from harness.scenario.target import load_target as load_object
from harness.seams import Clock, ManualClock

BUILTIN = "builtin"
BUILTIN_TOOLS = (*BUILTIN_NAMES, "MultiEdit", "TodoWrite")
"""The tools of the shipped pipeline that a fuzz run plays with; Task needs a model."""

_GROUP = 100
"""Definitions of a file that make one registry; providers take 128 tools."""

Kind = Literal["builtin", "object", "tools"]


@dataclass(frozen=True, slots=True)
class LoadedTarget:
    """A target, the schemas of its tools, and the definitions where it has nothing but those."""

    make: Target
    tools: tuple[ToolSchema, ...]
    definitions: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class TargetName:
    """A target that another process can load as well: ``builtin``, ``module:object``, or a file of definitions."""

    kind: Kind
    name: str

    @classmethod
    def parse(cls, text: str) -> TargetName:
        """From the word of a command line; raises InputError for a word that is none of the three."""
        if text == BUILTIN:
            return cls("builtin", text)
        if Path(text).is_file() and ":" not in text:
            return cls("tools", text)
        if ":" in text:
            return cls("object", text)
        raise InputError(
            "nothing to fuzz", where=text, hint="module:object, file.py:object, a file of tool definitions, or builtin"
        )

    def load(self, around: Surroundings) -> list[LoadedTarget]:
        """The targets that are meant, one as a rule, many for a large file; raises InputError."""
        if self.kind == "tools":
            return list(_of_file(Path(self.name)))
        make = target_of(_builtin) if self.kind == "builtin" else load_object(self.name, Path.cwd())
        return [loaded(make, around)]


def load_target(name: TargetName) -> list[LoadedTarget]:
    """The target's parts, loaded in this process; raises InputError."""
    with tempfile.TemporaryDirectory(prefix="harness-fuzz-") as folder:
        return name.load(Surroundings(Workspace(folder), ManualClock()))


def loaded(make: Target, around: Surroundings) -> LoadedTarget:
    """The target with the schemas of what it offers; raises InputError where it offers nothing."""
    offered = make(around).executor.registry.get_openai_tools()
    if not offered:
        raise InputError("the target offers no tools, so there is nothing to call")
    return LoadedTarget(make, tuple(ToolSchema.of(tool) for tool in offered))


def _builtin(workspace: Workspace, clock: Clock) -> ToolRegistry:
    registry = ToolRegistry(CircuitBreaker(clock=clock))
    for tool in builtin_tools(workspace, registry.versions, names=BUILTIN_TOOLS):
        registry.register_tool(tool)
    return registry


def _of_file(path: Path) -> Iterator[LoadedTarget]:
    """Groups of the file's tools, faults of their schemas repaired, names made ones that a request can have."""
    usable: list[tuple[dict[str, Any], ToolSchema]] = []
    for definition in definitions_in(path):
        name = wire_name(definition.name)
        repaired = repaired_schema(definition.parameters, f"{definition.where}: {definition.name}").schema
        parameters = {"type": "object", **repaired} if isinstance(repaired, dict) else {"type": "object"}
        try:
            schema = ToolSchema(name, parameters)
        except InputError:
            continue  # no arguments fit it: there is no call to make
        usable.append(({"type": "function", "function": {"name": name, "parameters": parameters}}, schema))
    if not usable:
        raise InputError("there are no definitions of functions", where=str(path))
    for group in _groups(usable):
        definitions = [definition for definition, _ in group]
        yield LoadedTarget(stubs_of(definitions), tuple(schema for _, schema in group), tuple(definitions))


def _groups(
    usable: Sequence[tuple[dict[str, Any], ToolSchema]],
) -> Iterator[list[tuple[dict[str, Any], ToolSchema]]]:
    """At most so many tools each, no two of one name once ``-`` and ``_`` are taken for one."""
    waiting = list(usable)
    while waiting:
        group: dict[str, tuple[dict[str, Any], ToolSchema]] = {}
        later = []
        for entry in waiting:
            key = entry[1].name.replace("-", "_")
            if key in group or len(group) >= _GROUP:
                later.append(entry)
            else:
                group[key] = entry
        yield list(group.values())
        waiting = later
