"""Bug reports of family C: what providers refuse is mended where it means nothing, else refused at registration."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.pipeline.arguments import SchemaError
from harness.pipeline.executor import ToolExecutor
from harness.pipeline.names import wire_name
from harness.pipeline.registry import SchemaTool, ToolRegistry
from harness.pipeline.result import ToolResult, ToolStatus
from harness.pipeline.tool import ToolKind
from harness.wire.rules import MAX_TOOLS, TOOL_NAME, check_request
from tests.pipeline.tools import SmallTool, json_objects, registry_with


def done(_: object) -> ToolResult:
    return ToolResult.success("done")


def definition(name: str, **function: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, **function}}


def sent(registry: ToolRegistry) -> list[dict[str, Any]]:
    """The ``tools`` of the next request, which a strict server takes."""
    tools = registry.get_openai_tools()
    assert check_request({"messages": [{"role": "user", "content": "x"}], "tools": tools}) == []
    return tools


def parameters_sent(parameters: object) -> dict[str, Any]:
    registry = ToolRegistry()
    registry.register_definition(definition("now", parameters=parameters), done)
    sent_parameters: dict[str, Any] = sent(registry)[0]["function"]["parameters"]
    return sent_parameters


@pytest.mark.parametrize(
    ("parameters", "wanted"),
    [
        ({"type": "object", "required": []}, {"type": "object"}),
        ({"type": "object", "properties": {}, "required": []}, {"type": "object", "properties": {}}),
        ({"type": "object", "properties": {"a": {}}, "required": None}, {"type": "object", "properties": {"a": {}}}),
    ],
)
def test_c02_an_empty_required_is_left_out(parameters: dict[str, Any], wanted: dict[str, Any]) -> None:
    given_by_caller = copy.deepcopy(parameters)
    assert parameters_sent(parameters) == wanted
    assert parameters == given_by_caller


def test_c02_a_required_that_says_something_stays() -> None:
    parameters = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    assert parameters_sent(parameters) == parameters


def test_c02_a_tool_object_without_a_required_parameter_has_no_such_key() -> None:
    registry = registry_with(SmallTool("Optional"), SmallTool("Bare", parameters=()))
    for entry in sent(registry):
        assert "required" not in entry["function"]["parameters"]


@pytest.mark.parametrize("function", [{}, {"parameters": {}}, {"parameters": None}])
def test_c03_a_tool_without_parameters_is_sent_with_an_object_root(function: dict[str, Any]) -> None:
    registry = ToolRegistry()
    registry.register_definition(definition("now", **function), done)
    assert sent(registry)[0]["function"]["parameters"] == {"type": "object", "properties": {}}
    assert ToolExecutor(registry).execute("now", "").status is ToolStatus.SUCCESS


def test_c03_a_python_function_has_an_object_root_too() -> None:
    """The report wants no properties for ``def now()``; seed 000 (R03) gives every function its one text."""
    registry = ToolRegistry()
    registry.register_function("now", "what time it is", lambda _: ToolResult.success("x"))
    parameters = sent(registry)[0]["function"]["parameters"]
    assert parameters["type"] == "object"
    assert list(parameters["properties"]) == ["input"]


def test_c04_a_dot_in_a_name_is_refused_at_registration_with_tool_and_remedy() -> None:
    registry = ToolRegistry()
    with pytest.raises(ValueError, match=r"'mail\.send' is refused by providers.*name it 'mail_send_[0-9a-f]{8}'"):
        registry.register_definition(definition("mail.send"), done)
    assert registry.names == []


def test_c04_or_mapped_to_a_name_that_is_taken_and_can_be_called_by_both() -> None:
    registry = ToolRegistry()
    name = registry.register_definition(definition("mail.send"), done, ToolKind.READ, rename=True)
    assert registry.register_definition(definition("plain"), done, rename=True) == "plain"
    assert registry.renamed == {"mail.send": name}
    assert [entry["function"]["name"] for entry in sent(registry)] == [name, "plain"]
    executor = ToolExecutor(registry)
    for called in (name, "mail.send", "functions." + name):
        assert executor.execute(called, "{}").status is ToolStatus.SUCCESS
    assert registry.fresh(without="plain").renamed == {"mail.send": name}
    assert registry.fresh(without=name).renamed == {}


def test_c05_long_names_are_shortened_so_that_they_stay_different() -> None:
    names = ["mcp_" + "s" * 40 + "__" + "t" * 30 + end for end in ("_a", "_b")]
    registry = ToolRegistry()
    for name in names:
        with pytest.raises(ValueError, match="1 to 64 letters"):
            registry.register_definition(definition(name), done)
    wire = [registry.register_definition(definition(name), done, rename=True) for name in names]
    assert len(set(wire)) == 2
    assert all(TOOL_NAME.fullmatch(name) for name in wire)
    assert wire == [wire_name(name) for name in names]
    assert len(sent(registry)) == 2


def test_c06_more_tools_than_providers_take_are_refused_before_sending_with_their_sources() -> None:
    registry = ToolRegistry()
    for number in range(100):
        registry.register_definition(definition(f"tool_{number}"), done)
    for number in range(100, MAX_TOOLS):
        registry.register_tool(SmallTool(f"tool_{number}"))
    with pytest.raises(ValueError, match=r"'tool_128' is one too many.* 28 Tool objects, 100 definitions"):
        registry.register_function("tool_128", "", done)
    assert len(sent(registry)) == MAX_TOOLS
    registry.register_tool(SmallTool("tool_5"), replace=True)
    assert len(sent(registry)) == MAX_TOOLS


def test_c07_a_taken_name_is_refused_unless_it_is_replaced_or_the_same_object() -> None:
    first, second = SmallTool("search"), SmallTool("search")
    registry = registry_with(first, first)
    with pytest.raises(ValueError, match="'search' is registered already; pass replace=True"):
        registry.register_tool(second)
    assert registry.get("search") is first
    registry.register_tool(second, replace=True)
    assert registry.get("search") is second


@pytest.mark.parametrize("second", ["read_file", "read-file"])
def test_c08_names_that_sanitising_would_make_equal_are_refused(second: str) -> None:
    first = "read-file" if second == "read_file" else "read_file"
    registry = registry_with(SmallTool(first))
    for replace in (False, True):
        with pytest.raises(ValueError, match=f"'{second}' is that of '{first}' once '-' and '_' are taken for one"):
            registry.register_function(second, "", done, replace=replace)
    registry.register_tool(SmallTool(first), replace=True)
    assert registry.names == [first]


def test_a_faulty_schema_is_refused_with_tool_place_and_remedy() -> None:
    parameters = {"type": "object", "properties": {"a": {"type": "strin"}}}
    with pytest.raises(SchemaError) as raised:
        ToolRegistry().register_definition(definition("f", parameters=parameters), done)
    text = str(raised.value)
    assert text.startswith("the tool 'f': invalid JSON schema: parameters.properties.a.type: ")
    assert text.endswith("; mend it where the tool is defined")


@given(st.none() | json_objects | st.lists(st.integers()), json_objects)
def test_a_definition_is_refused_or_sent_so_that_a_strict_server_takes_it(parameters: object, more: Any) -> None:
    registry = ToolRegistry()
    entry = {"type": "function", "function": {**more, "name": "f", "parameters": parameters}}
    kept = copy.deepcopy(entry)
    try:
        registry.register_definition(entry, done)
    except SchemaError:
        assert registry.names == []
    else:
        assert len(sent(registry)) == 1
    assert entry == kept


def test_what_a_recording_offered_is_never_judged_by_these_rules() -> None:
    registry = ToolRegistry()
    for name in ("read-file", "read_file", "a.b", *(f"t{number}" for number in range(MAX_TOOLS))):
        registry.register_schema_tool(SchemaTool(definition(name), done))
    assert len(registry.get_openai_tools()) == MAX_TOOLS + 3
