from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.pipeline.arguments import SchemaError
from harness.pipeline.circuit_breaker import CircuitBreaker
from harness.pipeline.executor import ToolExecutor
from harness.pipeline.registry import FunctionTool, SchemaTool, ToolRegistry
from harness.pipeline.result import ErrorCode, ToolResult, ToolStatus
from harness.pipeline.tool import ToolKind, ToolParameter
from harness.seams import ManualClock
from harness.wire.rules import check_request
from tests.pipeline.tools import SmallTool, registry_with


def shout(text: str) -> ToolResult:
    return ToolResult.success(text.upper())


def definition(name: str = "lookup", **parameters: Any) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {"name": name, "description": "looks up", "parameters": {"type": "object", **parameters}},
    }


def done(_: object) -> ToolResult:
    return ToolResult.success("done")


def shown(registry: ToolRegistry) -> list[str]:
    return [entry["function"]["name"] for entry in registry.get_openai_tools()]


@pytest.mark.seed("R01")
def test_tool_objects_and_plain_functions_can_both_be_registered_and_called() -> None:
    registry = registry_with(SmallTool("Structured", lambda parameters: ToolResult.success(parameters["value"])))
    registry.register_function("shout", "says it loudly", shout)
    executor = ToolExecutor(registry)
    assert executor.execute("Structured", {"value": "v"}).text == "v"
    assert executor.execute("shout", {"input": "hey"}).text == "HEY"


def one_argument(text: str) -> ToolResult:
    return ToolResult.success(text)


def many_arguments(path: str, limit: int = 3, *rest: str, deep: bool = False, **more: str) -> ToolResult:
    return ToolResult.success(path)


@pytest.mark.seed("R03")
@pytest.mark.parametrize("function", [one_argument, many_arguments, lambda *values: ToolResult.success(values[0])])
def test_a_function_has_one_required_text_whatever_its_signature(function: Callable[[str], ToolResult]) -> None:
    registry = ToolRegistry()
    registry.register_function("f", "a function", function)
    (entry,) = registry.get_openai_tools()
    parameters = entry["function"]["parameters"]
    assert list(parameters["properties"]) == ["input"]
    assert parameters["properties"]["input"]["type"] == "string"
    assert parameters["required"] == ["input"]
    assert parameters["additionalProperties"] is False


@pytest.mark.seed("R03")
@pytest.mark.parametrize("arguments", ["", "{}", '{"input": 1}', '{"input": "a", "limit": 2}', '{"path": "a"}'])
def test_a_function_is_not_called_with_anything_but_its_one_text(arguments: str) -> None:
    called: list[str] = []
    registry = ToolRegistry()

    def function(text: str) -> ToolResult:
        called.append(text)
        return ToolResult.success(text)

    registry.register_function("f", "", function)
    executor = ToolExecutor(registry)
    assert executor.execute("f", arguments).error_code is ErrorCode.INVALID_PARAM
    assert called == []
    assert executor.execute("f", '{"input": "a"}').status is ToolStatus.SUCCESS
    assert called == ["a"]


@pytest.mark.seed("R04")
def test_the_registry_keeps_the_kinds_apart_and_finds_each_by_name() -> None:
    tool = SmallTool("Structured")
    registry = registry_with(tool)
    registry.register_function("shout", "", shout)
    registry.register_definition(definition(), done)
    assert registry.get("Structured") is tool
    assert isinstance(registry.get("shout"), FunctionTool)
    assert isinstance(registry.get("lookup"), SchemaTool)
    assert registry.get("nothing") is None
    assert registry.names == ["Structured", "shout", "lookup"]


@pytest.mark.seed("R06")
def test_schemas_list_tools_then_functions_each_by_name_then_definitions_as_they_came() -> None:
    registry = ToolRegistry()
    registry.register_definition(definition("z_raw"), done)
    registry.register_function("beta", "", shout)
    registry.register_tool(SmallTool("zeta"))
    registry.register_definition(definition("a_raw"), done)
    registry.register_function("Alpha", "", one_argument)
    registry.register_tool(SmallTool("Yota"))
    registry.register_tool(SmallTool("eta"))
    assert shown(registry) == ["Yota", "eta", "zeta", "Alpha", "beta", "z_raw", "a_raw"]


@pytest.mark.seed("R06")
@settings(deadline=None)
@given(st.permutations(["b", "c", "A", "D", "e_1"]), st.permutations(["f2", "f1", "a", "Z"]))
def test_the_order_of_the_schemas_does_not_depend_on_the_order_of_registration(
    tools: list[str], functions: list[str]
) -> None:
    registry = ToolRegistry()
    for name in functions:
        registry.register_function(name, "", shout)
    for name in tools:
        registry.register_tool(SmallTool(name))
    assert shown(registry) == [*sorted(tools), *sorted(functions)]


@pytest.mark.seed("R07")
def test_a_tool_with_an_open_circuit_is_missing_from_the_schemas_until_its_time_is_over() -> None:
    clock = ManualClock()
    failing = SmallTool("Failing", lambda _: ToolResult.error(ErrorCode.EXECUTION_ERROR, "no"))
    registry = registry_with(failing, SmallTool("Fine"), breaker=CircuitBreaker(clock=clock))
    registry.register_function("failing", "", lambda _: ToolResult.error(ErrorCode.EXECUTION_ERROR, "no"))
    executor = ToolExecutor(registry)
    for _ in range(3):
        assert shown(registry) == ["Failing", "Fine", "failing"]
        executor.execute("Failing", "")
        executor.execute("failing", {"input": ""})
    assert shown(registry) == ["Fine"]
    clock.advance(299.9)
    assert shown(registry) == ["Fine"]
    clock.advance(0.1)
    assert shown(registry) == ["Failing", "Fine", "failing"]


@pytest.mark.seed("R07", "B03")
def test_fetching_schemas_does_not_use_up_the_one_attempt() -> None:
    clock = ManualClock()
    breaker = CircuitBreaker(1, 10, clock)
    failing = SmallTool("Failing", lambda _: ToolResult.error(ErrorCode.EXECUTION_ERROR, "no"))
    registry = registry_with(failing, breaker=breaker)
    executor = ToolExecutor(registry)
    executor.execute("Failing", "")
    clock.advance(10)
    for _ in range(5):
        assert shown(registry) == ["Failing"]
    executor.execute("Failing", "")
    assert len(failing.runs) == 2


@pytest.mark.seed("R08", "R02")
def test_each_entry_is_a_function_with_name_description_and_parameters() -> None:
    tool = SmallTool("Structured", parameters=(ToolParameter("path", "string", "the file"),))
    registry = registry_with(tool)
    registry.register_function("shout", "says it loudly", shout)
    structured, function = registry.get_openai_tools()
    assert structured == {
        "type": "function",
        "function": {
            "name": "Structured",
            "description": "Structured for tests",
            "parameters": {
                "type": "object",
                "properties": {"path": {"type": "string", "description": "the file"}},
                "required": ["path"],
                "additionalProperties": False,
            },
        },
    }
    assert function["type"] == "function"
    assert function["function"]["name"] == "shout"
    assert function["function"]["description"] == "says it loudly"


@pytest.mark.seed("E01", "R08")
def test_the_entry_of_a_tool_without_parameters_is_accepted_by_a_strict_server() -> None:
    registry = registry_with(SmallTool("Bare", parameters=()))
    registry.register_definition({"type": "function", "function": {"name": "no_parameters"}}, done)
    tools = registry.get_openai_tools()
    assert json.dumps(tools[0]["function"]["parameters"]["properties"]) == "{}"
    assert check_request({"messages": [{"role": "user", "content": "x"}], "tools": tools}) == []
    bare = registry.get("no_parameters")
    assert bare is not None
    assert bare.parameters_schema() == {"type": "object", "properties": {}}


@pytest.mark.seed("R05")
def test_the_entries_are_the_callers_own_and_made_anew_each_time() -> None:
    registry = registry_with(SmallTool("Structured"))
    registry.register_definition(definition(properties={"key": {"type": "string"}}), done)
    first = registry.get_openai_tools()
    first[0]["function"]["parameters"]["properties"].clear()
    first[1]["function"]["parameters"]["properties"]["key"]["type"] = "array"
    second = registry.get_openai_tools()
    assert "value" in second[0]["function"]["parameters"]["properties"]
    assert second[1]["function"]["parameters"]["properties"]["key"] == {"type": "string"}
    registry.register_tool(SmallTool("Another"))
    assert shown(registry) == ["Another", "Structured", "lookup"]


@pytest.mark.seed("E03")
def test_a_ready_definition_is_sent_on_byte_for_byte() -> None:
    raw = (
        b'{"type":"function","strict":null,"function":{"parameters":{"type":"object","properties":{"b":{},"a":'
        b'{"type":"array","items":{},"default":[]}},"required":[],"$defs":{},"x-extra":{"list":[],"object":{}}},'
        b'"name":"as_it_came","description":""}}'
    )
    registry = ToolRegistry()
    registry.register_definition(orjson.loads(raw), done)
    assert orjson.dumps(registry.get_openai_tools()[0]) == raw


@pytest.mark.seed("E03")
def test_a_definition_of_a_recording_is_sent_on_byte_for_byte_whatever_its_name_and_its_faults() -> None:
    raw = (
        b'{"type":"function","function":{"name":"as.it:came","parameters":{"type":"object","required":[]}}}',
        b'{"type":"function","function":{"name":"empty","parameters":{}}}',
        b'{"type":"function","function":{"name":"none"}}',
    )
    registry = ToolRegistry()
    for entry in raw:
        registry.register_schema_tool(SchemaTool(orjson.loads(entry), done))
    assert tuple(orjson.dumps(entry) for entry in registry.get_openai_tools()) == raw


@pytest.mark.seed("E03")
def test_a_definition_changed_after_registration_does_not_change_what_is_sent() -> None:
    mine = definition(properties={"key": {"type": "string"}})
    registry = ToolRegistry()
    registry.register_definition(mine, done)
    mine["function"]["parameters"]["properties"].clear()
    assert registry.get_openai_tools()[0]["function"]["parameters"]["properties"] == {"key": {"type": "string"}}


@pytest.mark.seed("E01", "E02")
@pytest.mark.parametrize(
    ("parameters", "place"),
    [
        ([], "parameters"),
        ({"type": "object", "properties": []}, "parameters.properties"),
        ({"type": "object", "properties": {"a": []}}, "parameters.properties.a"),
        (
            {"type": "object", "properties": {"a": {"type": "object", "properties": []}}},
            "parameters.properties.a.properties",
        ),
        ({"type": "object", "properties": {"a": {"type": "array", "items": []}}}, "parameters.properties.a.items"),
        ({"type": "object", "$defs": []}, "parameters.$defs"),
    ],
)
def test_an_array_where_an_object_belongs_is_refused_and_named(parameters: object, place: str) -> None:
    registry = ToolRegistry()
    with pytest.raises(SchemaError) as raised:
        registry.register_definition({"type": "function", "function": {"name": "f", "parameters": parameters}}, done)
    assert str(raised.value).startswith(f"the tool 'f': {place}: [] stands where an object {{}} belongs")
    assert str(raised.value).endswith("mend it where the tool is defined")
    assert registry.names == []


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"type": "string"}, "an object, not 'string'"),
        ({"type": ["array", "null"]}, "an object, not"),
        (True, "an object, not True"),
        ("{}", "not str"),
        ({"type": "object", "properties": {"a": {"type": "strin"}}}, "strin"),
        ({"type": "object", "properties": {"a": {"$ref": "#/$defs/nothing"}}}, "nothing"),
        ({"type": "object", "properties": {"a": {"$ref": "https://schemas.invalid/a"}}}, "schemas.invalid"),
        ({"type": "object", "properties": {"a": {"pattern": "("}}}, "regex"),
        ({"type": "object", "required": {}}, "array"),
    ],
)
def test_parameters_that_are_no_schema_of_an_object_are_refused(parameters: object, reason: str) -> None:
    with pytest.raises(SchemaError, match=reason):
        ToolRegistry().register_definition(
            {"type": "function", "function": {"name": "f", "parameters": parameters}}, done
        )


@pytest.mark.parametrize(
    "bad", [{}, {"type": "web_search"}, {"function": []}, {"function": {}}, {"function": {"name": ""}}]
)
def test_a_definition_of_no_function_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(SchemaError):
        ToolRegistry().register_definition(bad, done)


def test_a_tool_whose_own_parameters_are_no_schema_is_refused() -> None:
    registry = ToolRegistry()
    with pytest.raises(SchemaError, match="text"):
        registry.register_tool(SmallTool("T", parameters=(ToolParameter("a", "text"),)))
    assert registry.get("T") is None


@pytest.mark.parametrize("name", ["", " ", "a b", "a.b", "é", "a/b", "x" * 65, "a\n", "name:1"])
def test_a_name_that_providers_refuse_is_refused(name: str) -> None:
    registry = ToolRegistry()
    with pytest.raises(ValueError, match="refused by providers"):
        registry.register_tool(SmallTool(name))
    with pytest.raises(ValueError, match="refused by providers"):
        registry.register_function(name, "", shout)
    assert registry.names == []


@pytest.mark.parametrize("name", ["a", "A-b_9", "x" * 64])
def test_a_name_that_providers_take_is_taken(name: str) -> None:
    assert registry_with(SmallTool(name)).names == [name]


def registrations(registry: ToolRegistry, *, replace: bool = False) -> dict[str, Callable[[], object]]:
    return {
        "tool": lambda: registry.register_tool(SmallTool("same"), replace=replace),
        "function": lambda: registry.register_function("same", "", shout, replace=replace),
        "definition": lambda: registry.register_definition(definition("same"), done, replace=replace),
    }


@pytest.mark.seed("R04")
@pytest.mark.parametrize("second", ["tool", "function", "definition"])
@pytest.mark.parametrize("first", ["tool", "function", "definition"])
def test_a_name_is_taken_once_over_all_kinds_unless_it_is_replaced(first: str, second: str) -> None:
    registry = ToolRegistry()
    registrations(registry)[first]()
    taken = registry.get("same")
    if first != second or first != "function":
        with pytest.raises(ValueError, match="'same' is registered already"):
            registrations(registry)[second]()
        assert registry.get("same") is taken
        registrations(registry, replace=True)[second]()
        assert registry.get("same") is not taken
    assert registry.names == ["same"]
    assert len(registry.get_openai_tools()) == 1


def test_registering_the_same_tool_or_function_again_changes_nothing() -> None:
    tool = SmallTool("T")
    registry = registry_with(tool, tool)
    registry.register_function("shout", "loud", shout)
    registry.register_function("shout", "loud", shout)
    assert registry.names == ["T", "shout"]
    with pytest.raises(ValueError, match="registered already"):
        registry.register_function("shout", "loud", one_argument)


def test_a_replaced_tool_is_checked_by_its_own_parameters() -> None:
    registry = registry_with(SmallTool("T", parameters=(ToolParameter("old", "string"),)))
    registry.register_tool(SmallTool("T", parameters=(ToolParameter("new", "string"),)), replace=True)
    executor = ToolExecutor(registry)
    assert executor.execute("T", {"old": "x"}).error_code is ErrorCode.INVALID_PARAM
    assert executor.execute("T", {"new": "x"}).status is ToolStatus.SUCCESS


def test_only_what_the_filter_lets_through_is_shown() -> None:
    registry = registry_with(SmallTool("R", kind=ToolKind.READ), SmallTool("E", kind=ToolKind.EDIT))
    entries = registry.get_openai_tools(lambda tool: tool.read_only)
    assert [entry["function"]["name"] for entry in entries] == ["R"]


@pytest.mark.seed("B02")
def test_the_refusal_of_an_open_circuit_says_how_long_it_lasts() -> None:
    clock = ManualClock()
    registry = ToolRegistry(CircuitBreaker(1, 300, clock))
    permit = registry.breaker.admit("T")
    assert permit is not None
    registry.breaker.record(permit, ToolResult.error(ErrorCode.TIMEOUT, "slow"))
    clock.advance(100)
    refusal = registry.create_circuit_open_result("T")
    assert refusal.error_code is ErrorCode.CIRCUIT_OPEN
    assert "failed 1 times" in refusal.text
    assert "200 s" in refusal.text
    clock.advance(200)
    assert registry.breaker.admit("T") is not None
    assert "one attempt is under way" in registry.create_circuit_open_result("T").text
