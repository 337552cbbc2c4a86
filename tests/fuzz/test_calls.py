from __future__ import annotations

from collections import Counter
from typing import Any

import orjson
import pytest
from hypothesis import given, settings

from harness.errors import InputError
from harness.fuzz import (
    Due,
    FuzzedCall,
    RandomChoices,
    ToolSchema,
    as_sent,
    flat,
    tool_call_lists,
    tool_calls,
)
from harness.fuzz.calls import call_list, fuzzed_call, tool_schemas, valid_call
from harness.pipeline.arguments import ParameterValidator, parse_tool_input
from harness.pipeline.circuit_breaker import CircuitBreaker
from harness.pipeline.executor import ToolExecutor
from harness.pipeline.orchestrator import ToolOrchestrator
from harness.pipeline.permissions import ask_allows
from harness.pipeline.tool import ToolParameter
from tests.pipeline.tools import SmallTool, registry_with

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "Search",
            "parameters": {
                "type": "object",
                "properties": {"query": {"type": "string"}, "limit": {"type": "integer", "minimum": 1}},
                "required": ["query"],
            },
        },
    },
    {"type": "function", "function": {"name": "Stop"}},
]


def fuzzed(count: int = 600) -> list[FuzzedCall]:
    schemas, choices = tool_schemas(TOOLS), RandomChoices.seeded(1)
    return [fuzzed_call(choices, schemas, number) for number in range(count)]


def test_calls_of_every_kind_come() -> None:
    calls = fuzzed()
    assert set(Due) == {made.due for made in calls}
    families = Counter(made.family for made in calls)
    assert families["valid"] > 100
    assert families["near_miss"] > 100
    assert len(families) > 40
    assert {made.name_family for made in calls} >= {"known", "unknown", "case", "prefix", "suffix", "missing"}
    assert {made.tool for made in calls} == {"Search", "Stop"}


def test_what_is_due_is_what_name_text_and_schema_say() -> None:
    validators = {schema.name: ParameterValidator(schema.schema) for schema in tool_schemas(TOOLS)}
    for made in fuzzed():
        parameters, problem = parse_tool_input(made.call.arguments)
        fits = problem is None and validators[made.tool].problem(parameters) is None
        known = made.call.name == made.tool
        seen_through = made.name_family in ("case", "prefix", "suffix")
        assert known == (made.name_family == "known")
        if made.due is Due.ACCEPT:
            assert known
            assert fits, made
            assert parameters == made.value
        elif made.due is Due.REFUSE:
            assert not ((known or seen_through) and fits), made
        assert (made.broken is not None) == (made.family == "near_miss")


def test_a_list_has_bad_ids_now_and_then_and_valid_ones_never() -> None:
    schemas, choices = tool_schemas(TOOLS), RandomChoices.seeded(2)
    lists = [call_list(choices, schemas) for _ in range(200)]
    assert {made.id_family for calls in lists for made in calls} == {
        "fresh",
        "missing",
        "empty",
        "twice",
        "long",
        "odd",
    }
    assert max(map(len, lists)) == 6
    for _ in range(50):
        calls = call_list(choices, schemas, 4, valid_call)
        assert all(made.due is Due.ACCEPT for made in calls)
        assert [made.call.id for made in calls] == [f"call_{number}" for number in range(1, len(calls) + 1)]


def search_and_stop() -> tuple[SmallTool, SmallTool]:
    limit = ToolParameter("limit", "integer", required=False, extra={"minimum": 1})
    return SmallTool("Search", parameters=(ToolParameter("query", "string"), limit)), SmallTool("Stop", parameters=())


@settings(max_examples=80)
@given(tool_call_lists(registry_with(*search_and_stop()).get_openai_tools()))
def test_the_pipeline_answers_each_call_once_and_runs_what_is_due(calls: list[FuzzedCall]) -> None:
    search, stop = search_and_stop()
    registry = registry_with(search, stop, breaker=CircuitBreaker(1_000_000))
    orchestrator = ToolOrchestrator(ToolExecutor(registry, ask=ask_allows))
    outcome = orchestrator.run([as_sent(made) for made in calls])
    assert len(outcome.executions) == len(calls)
    for made, execution in zip(calls, outcome.executions, strict=True):
        if made.due is Due.ACCEPT:
            assert execution.executed, made
        elif made.due is Due.REFUSE:
            assert not execution.executed, made
    for tool in (search, stop):
        assert all(run in [made.value for made in calls if made.tool == tool.name] for run in tool.runs)


@given(tool_calls(TOOLS, valid=True))
def test_both_forms_of_a_call_say_the_same(made: FuzzedCall) -> None:
    assert made.due is Due.ACCEPT
    assert made.call.arguments is not None
    assert orjson.loads(made.call.arguments) == made.value
    sent = as_sent(made)
    assert flat(made) == {"id": sent["id"], **sent["function"]}


def test_faults_of_a_schema_are_said_and_what_was_meant_is_used() -> None:
    schema = ToolSchema.of({"name": "f", "parameters": {"type": "dict", "properties": {"a": {"type": "float"}}}})
    assert [fault.path for fault in schema.faults] == ["f.parameters.type", "f.parameters.properties.a.type"]
    assert schema.schema == {"type": "object", "properties": {"a": {"type": "number"}}}


@pytest.mark.parametrize("tools", [[], [{"type": "function"}], [{"function": {"name": 3}}]])
def test_tools_that_are_none_are_an_input_error(tools: list[dict[str, Any]]) -> None:
    with pytest.raises(InputError):
        tool_calls(tools)
