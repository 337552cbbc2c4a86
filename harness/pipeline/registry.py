"""The one catalogue of tools: what can be called, and what the model is told of it (seed 000, steps 1 and 2)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from harness.pipeline.arguments import ParameterValidator, SchemaError
from harness.pipeline.circuit_breaker import CircuitBreaker
from harness.pipeline.file_versions import EXPECTED_KEYS, FileVersion, FileVersions
from harness.pipeline.result import ErrorCode, ToolResult
from harness.pipeline.tool import Tool, ToolKind, ToolParameter
from harness.wire.rules import TOOL_NAME

_ToolT = TypeVar("_ToolT", bound=Tool)

ToolFunction = Callable[[str], ToolResult]
RawRun = Callable[[Mapping[str, Any]], ToolResult]


class FunctionTool(Tool):
    """A plain function as a tool: one required string ``input``, whatever the function's signature (R03)."""

    def __init__(self, name: str, description: str, function: ToolFunction) -> None:
        super().__init__(name, description)
        self.function = function

    def get_parameters(self) -> Sequence[ToolParameter]:
        """The one parameter."""
        return (ToolParameter("input", "string", "the input as plain text"),)

    def run(self, parameters: Mapping[str, Any]) -> ToolResult:
        """Call the function with the input text."""
        return self.function(parameters["input"])


class SchemaTool(Tool):
    """A tool described by a ready entry of a request's ``tools``, sent on exactly as it came (E03).

    Raises SchemaError for an entry that no provider accepts, ``[]`` in place of ``{}`` included.
    """

    def __init__(self, definition: Mapping[str, Any], run: RawRun, kind: ToolKind = ToolKind.OTHER) -> None:
        function = definition.get("function")
        if definition.get("type", "function") != "function" or not isinstance(function, Mapping):
            raise SchemaError(f"not a function definition: type is {definition.get('type')!r}")
        name = function.get("name")
        if not isinstance(name, str) or not name:
            raise SchemaError("a function definition without a name")
        super().__init__(name, str(function.get("description") or ""))
        self.definition = copy.deepcopy(dict(definition))
        self.kind = kind
        self._run = run

    def get_parameters(self) -> Sequence[ToolParameter]:
        """None in structured form; `parameters_schema` has them."""
        return ()

    def parameters_schema(self) -> dict[str, Any]:
        """The parameters as they came; an object without properties where there were none."""
        schema = self.definition["function"].get("parameters")
        return {"type": "object", "properties": {}} if schema is None else copy.deepcopy(schema)

    def run(self, parameters: Mapping[str, Any]) -> ToolResult:
        """Call what was registered with the definition."""
        return self._run(parameters)


class ToolRegistry:
    """Tools by name, in three tables: Tool objects, functions, and raw definitions.

    Holds the circuit breaker and the file versions, because what the model is shown and what an edit expects depend
    on them.
    """

    def __init__(self, breaker: CircuitBreaker | None = None, versions: FileVersions | None = None) -> None:
        self.breaker = breaker or CircuitBreaker()
        self.versions = versions or FileVersions()
        self._tools: dict[str, Tool] = {}
        self._functions: dict[str, FunctionTool] = {}
        self._raw: dict[str, SchemaTool] = {}
        self._validators: dict[str, ParameterValidator] = {}

    def register_tool(self, tool: Tool, *, replace: bool = False) -> None:
        """Add a Tool object.

        Raises ValueError for a name that providers refuse (1 to 64 of ``A-Z a-z 0-9 _ -``) or that is taken, unless
        ``replace`` or it is the same object; SchemaError for parameters that are no JSON Schema.
        """
        self._add(self._tools, tool, replace=replace)

    def register_function(self, name: str, description: str, func: ToolFunction, *, replace: bool = False) -> None:
        """Add a plain function of one text; raises as `register_tool` does."""
        known = self._functions.get(name)
        if known is not None and known.function is func and known.description == description:
            return
        self._add(self._functions, FunctionTool(name, description, func), replace=replace)

    def register_definition(
        self, definition: Mapping[str, Any], run: RawRun, kind: ToolKind = ToolKind.OTHER, *, replace: bool = False
    ) -> None:
        """Add a tool by its ready ``tools`` entry; raises SchemaError, or ValueError for a taken name."""
        self.register_schema_tool(SchemaTool(definition, run, kind), replace=replace)

    def register_schema_tool(self, tool: SchemaTool, *, replace: bool = False) -> None:
        """Add a ready `SchemaTool`; any name that its definition has is taken. Raises ValueError for a taken one."""
        self._add(self._raw, tool, replace=replace, any_name=True)

    def get(self, name: str) -> Tool | None:
        """The tool of this name, or None."""
        return self._tools.get(name) or self._functions.get(name) or self._raw.get(name)

    @property
    def names(self) -> list[str]:
        """All names, in the order in which the schemas list them."""
        return [tool.name for tool in self._in_order()]

    def get_openai_tools(self, shown: Callable[[Tool], bool] = lambda _: True) -> list[dict[str, Any]]:
        """The ``tools`` of the next request: Tool objects by name, functions by name, raw definitions as they came.

        A tool with an open circuit is left out (R07), and so is one that ``shown`` turns down. The entries are the
        caller's own copies.
        """
        return [self._entry(tool) for tool in self._in_order() if self.breaker.is_available(tool.name) and shown(tool)]

    def problem_with(self, tool: Tool, parameters: Mapping[str, Any]) -> str | None:
        """What is wrong with the parameters by the tool's schema, naming each, or None."""
        return self._validators[tool.name].problem(parameters)

    def inject_optimistic_lock_params(self, path: Path | None, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters with what the model last saw of the file as expected values (L02).

        Nothing is added where the model gave any expected value itself (L03) or has not seen the file (L05).
        """
        injected = dict(parameters)
        known = self.versions.known(path) if path is not None else None
        if known is None or any(key in parameters for key in EXPECTED_KEYS):
            return injected
        return injected | known.expected()

    def cache_read_result(self, path: Path | None, result: ToolResult) -> None:
        """After a Read: remember which version of the file the model has now seen (L01)."""
        version = FileVersion.from_stats(result.stats)
        if path is not None and version is not None:
            self.versions.remember(path, version)

    def create_circuit_open_result(self, name: str) -> ToolResult:
        """The refusal of a call whose tool has an open circuit."""
        wait = self.breaker.retry_after_s(name)
        return ToolResult.error(
            ErrorCode.CIRCUIT_OPEN,
            f"{name} failed {self.breaker.failure_threshold} times in a row and is out of use"
            + (f" for another {wait:.0f} s" if wait else " while one attempt is under way")
            + "; go on without it",
        )

    def _in_order(self) -> list[Tool]:
        tools = sorted(self._tools.values(), key=lambda tool: tool.name)
        functions = sorted(self._functions.values(), key=lambda tool: tool.name)
        return [*tools, *functions, *self._raw.values()]

    def _entry(self, tool: Tool) -> dict[str, Any]:
        if isinstance(tool, SchemaTool):
            return copy.deepcopy(tool.definition)
        return {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters_schema(),
            },
        }

    def _add(self, table: dict[str, _ToolT], tool: _ToolT, *, replace: bool, any_name: bool = False) -> None:
        if not any_name and not TOOL_NAME.fullmatch(tool.name):
            raise ValueError(
                f"the tool name {tool.name!r} is refused by providers: 1 to 64 letters, digits, '_' or '-'"
            )
        known = self.get(tool.name)
        if known is tool:
            return
        if known is not None and not replace:
            raise ValueError(f"a tool named {tool.name!r} is registered already; pass replace=True to take its place")
        validator = ParameterValidator(tool.parameters_schema())
        for other in (self._tools, self._functions, self._raw):
            other.pop(tool.name, None)
        table[tool.name] = tool
        self._validators[tool.name] = validator
