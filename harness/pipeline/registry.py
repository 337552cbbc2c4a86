"""The one catalogue of tools: what can be called, and what the model is told of it (seed 000, steps 1 and 2)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from harness.pipeline.arguments import ParameterValidator, SchemaError
from harness.pipeline.circuit_breaker import CircuitBreaker
from harness.pipeline.file_versions import EXPECTED_KEYS, FileVersion, FileVersions
from harness.pipeline.names import resolve_name, wire_name
from harness.pipeline.result import ErrorCode, ToolResult
from harness.pipeline.tool import Tool, ToolKind, ToolParameter
from harness.wire.rules import MAX_TOOLS, TOOL_NAME

_T = TypeVar("_T")
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
        self._renamed: dict[str, str] = {}

    def register_tool(self, tool: Tool, *, replace: bool = False) -> None:
        """Add a Tool object.

        Raises ValueError for a name that providers refuse (1 to 64 of ``A-Z a-z 0-9 _ -``), that is taken, unless
        ``replace`` or it is the same object, or that only ``-`` and ``_`` keep apart from a taken one (C08); for more
        tools than providers take (C06); SchemaError for parameters that are no JSON Schema.
        """
        self._add(self._tools, tool, replace=replace)

    def register_function(self, name: str, description: str, func: ToolFunction, *, replace: bool = False) -> None:
        """Add a plain function of one text; raises as `register_tool` does."""
        known = self._functions.get(name)
        if known is not None and known.function is func and known.description == description:
            return
        self._add(self._functions, FunctionTool(name, description, func), replace=replace)

    def register_definition(
        self,
        definition: Mapping[str, Any],
        run: RawRun,
        kind: ToolKind = ToolKind.OTHER,
        *,
        replace: bool = False,
        rename: bool = False,
    ) -> str:
        """Add a tool by its ``tools`` entry, say of an MCP server; its name in requests.

        It is sent on as it came but for what providers refuse and means nothing: without parameters it gets an object
        without properties (C03), and an empty ``required`` without properties is left out (C02). ``rename`` gives a
        name that providers refuse its `wire_name`. Raises as `register_tool` does.
        """
        tool = SchemaTool(_sendable(definition), run, kind)
        original = tool.name
        if rename and wire_name(original) != original:
            tool = SchemaTool(_named(tool.definition, wire_name(original)), run, kind)
        self._add(self._raw, tool, replace=replace)
        if tool.name != original:
            self._renamed[original] = tool.name
        return tool.name

    def register_schema_tool(self, tool: SchemaTool, *, replace: bool = False) -> None:
        """Add a ready `SchemaTool` as a recording or a scenario has it: sent exactly as it came, whatever its name.

        Raises ValueError for a taken name, SchemaError for parameters that are no JSON Schema.
        """
        self._add(self._raw, tool, replace=replace, as_it_came=True)

    def fresh(self, *, without: str) -> ToolRegistry:
        """A registry of the same tools but one, for another agent: closed circuits, and no file seen yet."""
        registry = ToolRegistry(self.breaker.fresh())
        registry._tools = _all_but(without, self._tools)
        registry._functions = _all_but(without, self._functions)
        registry._raw = _all_but(without, self._raw)
        registry._validators = _all_but(without, self._validators)
        registry._renamed = {original: name for original, name in self._renamed.items() if name != without}
        return registry

    def get(self, name: str) -> Tool | None:
        """The tool of this name, or None."""
        return self._tools.get(name) or self._functions.get(name) or self._raw.get(name)

    def resolve(self, received: str) -> str | None:
        """The name of the tool that the model means (`resolve_name`), None for an unknown or ambiguous one."""
        if received and self.get(received) is not None:
            return received
        if received in self._renamed:
            return self._renamed[received]
        return resolve_name(received, lambda name: self.get(name) is not None, self.names)

    @property
    def renamed(self) -> dict[str, str]:
        """Names that providers refuse, and those under which their tools are registered."""
        return dict(self._renamed)

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

    def validator(self, tool: Tool) -> ParameterValidator | None:
        """What judges the tool's parameters; None for a tool that is not registered."""
        return self._validators.get(tool.name)

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
        cause = self.breaker.last_failure(name)
        return ToolResult.error(
            ErrorCode.CIRCUIT_OPEN,
            f"{name} failed {self.breaker.failure_threshold} times in a row"
            + (f", the last time with {cause}," if cause else "")
            + " and is out of use"
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

    def _add(self, table: dict[str, _ToolT], tool: _ToolT, *, replace: bool, as_it_came: bool = False) -> None:
        known = self.get(tool.name)
        if known is tool:
            return
        if not as_it_came:
            self._demand_sendable(tool.name, new=known is None)
        if known is not None and not replace:
            raise ValueError(f"a tool named {tool.name!r} is registered already; pass replace=True to take its place")
        try:
            validator = ParameterValidator(tool.parameters_schema())
        except SchemaError as error:
            raise SchemaError(f"the tool {tool.name!r}: {error}; mend it where the tool is defined") from error
        for other in (self._tools, self._functions, self._raw):
            other.pop(tool.name, None)
        table[tool.name] = tool
        self._validators[tool.name] = validator

    def _demand_sendable(self, name: str, *, new: bool) -> None:
        """Raise ValueError where every request with this tool would be refused, or its calls mixed up."""
        if not TOOL_NAME.fullmatch(name):
            raise ValueError(
                f"the tool name {name[:200]!r} is refused by providers: 1 to 64 letters, digits, '_' or '-'; "
                f"name it {wire_name(name)!r}, as register_definition does with rename=True"
            )
        sanitised = name.replace("-", "_")
        if name not in self._validators:
            for other in self._validators:
                if other.replace("-", "_") == sanitised:
                    raise ValueError(
                        f"the tool name {name!r} is that of {other!r} once '-' and '_' are taken for one; "
                        "give it another name"
                    )
        if new and len(self._validators) >= MAX_TOOLS:
            kinds = (
                (len(self._tools), "Tool objects"),
                (len(self._functions), "functions"),
                (len(self._raw), "definitions"),
            )
            sources = ", ".join(f"{count} {kind}" for count, kind in kinds if count)
            raise ValueError(
                f"the tool {name!r} is one too many: providers take {MAX_TOOLS} in a request, and there are {sources}; "
                "leave some out, or register them for agents of their own"
            )


def _sendable(definition: Mapping[str, Any]) -> dict[str, Any]:
    """The definition without what providers refuse and means nothing."""
    function = definition.get("function")
    if not isinstance(function, Mapping):
        return dict(definition)
    parameters = function.get("parameters")
    if parameters is None or parameters == {}:
        parameters = {"type": "object", "properties": {}}
    elif isinstance(parameters, Mapping) and (
        parameters.get("required", ...) is None
        or (parameters.get("required") == [] and not parameters.get("properties"))
    ):
        parameters = {key: value for key, value in parameters.items() if key != "required"}
    return {**definition, "function": {**function, "parameters": parameters}}


def _named(definition: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {**definition, "function": {**definition["function"], "name": name}}


def _all_but(left_out: str, table: Mapping[str, _T]) -> dict[str, _T]:
    return {name: entry for name, entry in table.items() if name != left_out}
