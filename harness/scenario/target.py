"""The user's own tools and executors as what is under test: ``module:object`` made into a pipeline."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from harness.errors import HarnessError, InputError
from harness.pipeline.circuit_breaker import CircuitBreaker
from harness.pipeline.executor import ToolExecutor
from harness.pipeline.orchestrator import ToolOrchestrator
from harness.pipeline.registry import ToolRegistry
from harness.pipeline.result import ToolResult
from harness.pipeline.tool import Tool
from harness.pipeline.workspace import Workspace
from harness.scenario.functions import FunctionError, load_object
from harness.seams import Clock, SequentialIds

_GIVEN = frozenset({"workspace", "clock"})
_HINT = "name a ToolRegistry, Tools, a ToolExecutor or ToolOrchestrator, a function that makes one, or a plain function"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a target is made for: the folder it works in, and the clock its circuit breaker goes by."""

    workspace: Workspace
    clock: Clock


Target = Callable[[Surroundings], ToolOrchestrator]
"""Makes the pipeline under test. A factory makes it anew each time; an object that was named is shared."""


def load_target(name: str, folder: Path) -> Target:
    """The target that ``module:object`` or ``file.py:object`` names; ``folder`` is where files are looked for.

    Raises InputError where there is none, or nothing that can be made one.
    """
    try:
        value = load_object(name, folder)
    except FunctionError as error:
        raise InputError(str(error), hint=_HINT) from error
    return target_of(value, name)


def target_of(value: object, name: str = "target") -> Target:
    """The target that an object is, or makes.

    A function without parameters, or with ``workspace`` and ``clock`` alone, is a factory; any other function is
    itself the tool, described by its annotations. Raises InputError for anything else, there or when it is made.
    """
    if isinstance(value, ToolOrchestrator | ToolExecutor | ToolRegistry | Tool | list | tuple):
        return lambda around: _pipeline(value, around, name)
    if not callable(value):
        raise InputError(f"{type(value).__name__} is nothing that can be fuzzed", where=name, hint=_HINT)
    wanted = _parameters(value)
    if not wanted <= _GIVEN:
        tool = function_definition(value)
        return lambda around: _pipeline([(tool, value)], around, name)

    def make(around: Surroundings) -> ToolOrchestrator:
        given: dict[str, Any] = {"workspace": around.workspace, "clock": around.clock}
        try:
            made = value(**{key: given[key] for key in wanted})
        except HarnessError:
            raise
        except Exception as error:  # it is the user's code that runs here
            raise InputError(f"cannot be made: {type(error).__name__}: {error}", where=name) from error
        return _pipeline(made, around, name)

    return make


def function_definition(function: Callable[..., Any]) -> dict[str, Any]:
    """The ``tools`` entry of a plain function: its name, docstring and annotations. Raises InputError."""
    name = getattr(function, "__name__", type(function).__name__)
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(function)  # type: ignore[arg-type]  # a function is one kind of type to it
        schema = adapter.json_schema()
    except Exception as error:  # pydantic raises many kinds
        raise InputError(f"no schema can be made of its parameters: {error}", where=name) from error
    if schema.get("type") != "object":
        raise InputError("a function used as a tool takes its parameters by name", where=name)
    described = {"name": name, "description": inspect.getdoc(function) or "", "parameters": schema}
    return {"type": "function", "function": described}


def stubs_of(definitions: Iterable[Mapping[str, Any]]) -> Target:
    """A target of tools that are only described: each answers with what it was given."""
    entries = [(dict(definition), None) for definition in definitions]
    return lambda around: _pipeline(entries, around, "tools")


def _pipeline(made: Any, around: Surroundings, name: str) -> ToolOrchestrator:
    if isinstance(made, ToolOrchestrator):
        return made
    if isinstance(made, ToolExecutor):
        return ToolOrchestrator(made, ids=SequentialIds())
    registry = made if isinstance(made, ToolRegistry) else _registry(made, around, name)
    return ToolOrchestrator(ToolExecutor(registry, around.workspace, clock=around.clock), ids=SequentialIds())


def _registry(made: Any, around: Surroundings, name: str) -> ToolRegistry:
    registry = ToolRegistry(CircuitBreaker(clock=around.clock))
    entries = made if isinstance(made, list | tuple) else [made]
    if not entries:
        raise InputError("there are no tools", where=name)
    for entry in entries:
        try:
            if isinstance(entry, Tool):
                registry.register_tool(entry)
            elif isinstance(entry, tuple):
                registry.register_definition(entry[0], _run_of(entry[1]), rename=True)
            elif callable(entry):
                registry.register_definition(function_definition(entry), _run_of(entry), rename=True)
            else:
                raise InputError(f"{type(entry).__name__} is no tool", where=name, hint=_HINT)
        except ValueError as error:
            raise InputError(str(error), where=name) from error
    return registry


def _run_of(function: Callable[..., Any] | None) -> Callable[[Mapping[str, Any]], ToolResult]:
    if function is None:
        return lambda parameters: ToolResult.success("stub", {"given": dict(parameters)})

    def run(parameters: Mapping[str, Any]) -> ToolResult:
        found = function(**parameters)
        if isinstance(found, ToolResult):
            return found
        return ToolResult.success(found if isinstance(found, str) else json.dumps(found, ensure_ascii=False))

    return run


def _parameters(function: Callable[..., Any]) -> frozenset[str]:
    try:
        return frozenset(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return frozenset()
