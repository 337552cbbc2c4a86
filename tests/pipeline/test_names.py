"""One name for a call, before permission, lock, batching and breaker; and names that providers take."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given

from harness.errors import InputError
from harness.pipeline.circuit_breaker import CircuitBreaker
from harness.pipeline.decision import Decision
from harness.pipeline.executor import ToolExecutor
from harness.pipeline.loop import LoopStatus
from harness.pipeline.names import (
    NAMES_TOLD,
    PLACEHOLDER_NAME,
    plain_name,
    resolve_name,
    sendable_name,
    unknown_tool_text,
    wire_name,
)
from harness.pipeline.orchestrator import ToolOrchestrator
from harness.pipeline.permissions import RuntimeMode, ask_allows
from harness.pipeline.registry import ToolRegistry
from harness.pipeline.result import ErrorCode, ToolResult, ToolStatus
from harness.pipeline.tool import ToolKind
from harness.scenario.runner import run_scenario
from harness.wire.rules import TOOL_NAME, check_request
from tests.pipeline.playing import Session, call, calling, codes_of, saying
from tests.pipeline.tools import SmallTool, any_text, builtin_executor, flat, registry_with
from tests.scenario.scenarios import scenario

SPELLINGS = [
    "Read_File",
    "READ_FILE",
    "functions.read_file",
    "functions.Read_File",
    " read_file ",
    "read_file\n",
    "\u200bread_file\ufeff",
    "read_file<|channel|>commentary",
    "functions.read_file<|channel|>json",
    "read_file<|constrain|>json<|message|>",
    "<|start|>read_file",
    "<\uff5ctool\u2581sep\uff5c>read_file",
]
OTHERS = ["", " ", "read", "readfile", "read-file", "read file", "functions.", "tools.read_file", "<|channel|>", "\x00",
          "read_file2", "read_file()", "r\u0435ad_file", "\u212aread_file", "read file/../../x:y",
          "serch_files"]  # fmt: skip


def reader() -> SmallTool:
    return SmallTool("read_file", kind=ToolKind.READ)


@pytest.mark.parametrize("received", SPELLINGS)
def test_b27_every_spelling_of_a_name_passes_the_gates_and_is_batched_as_the_tool(received: str) -> None:
    tool = reader()
    executor = ToolExecutor(
        registry_with(tool, SmallTool("write_file", kind=ToolKind.EDIT)), mode=RuntimeMode.READ_ONLY
    )
    outcome = ToolOrchestrator(executor).run([flat(received), flat("read_file")])
    assert [plan.tool_name for plan in outcome.plans] == ["read_file"] * 2
    assert [plan.received_name for plan in outcome.plans] == [received, None]
    assert len(outcome.batches) == 1
    assert [item.result.status for item in outcome.observations] == [ToolStatus.SUCCESS] * 2
    assert len(tool.runs) == 2
    named = [decision for decision in outcome.executions[0].decisions if decision.gate == "name"]
    assert [decision.outcome for decision in named] == ["resolved"]


def test_b27_another_case_is_no_way_around_the_permission_gate() -> None:
    tool = SmallTool("write_file", kind=ToolKind.EDIT)
    executor = ToolExecutor(registry_with(tool), mode=RuntimeMode.READ_ONLY, ask=ask_allows)
    for received in ("Write_file", "functions.WRITE_FILE"):
        assert executor.execute(received, "{}").error_code is ErrorCode.PERMISSION_DENIED
    assert tool.runs == []


def test_b27_all_spellings_share_one_circuit() -> None:
    failing = SmallTool("read_file", lambda _: ToolResult.error(ErrorCode.TIMEOUT, "slow"), kind=ToolKind.READ)
    executor = ToolExecutor(registry_with(failing, breaker=CircuitBreaker(3)))
    for received in SPELLINGS[:3]:
        executor.execute(received, "{}")
    assert executor.execute("read_file", "{}").error_code is ErrorCode.CIRCUIT_OPEN


def test_b27_another_spelling_takes_part_in_the_lock(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a")
    executor = builtin_executor(tmp_path)
    executor.execute("READ", {"path": "f"})
    (tmp_path / "f").write_text("a changed")
    change = {"path": "f", "old_string": "a", "new_string": "b"}
    assert executor.execute("functions.edit", change).error_code is ErrorCode.CONFLICT


def test_b27_an_unknown_name_among_a_scenarios_tools_is_an_error_of_configuration() -> None:
    text = 'prompt: x\nagent: {tools: [read, Bash]}\nplayer: {script: [{text: y}]}\nexpect: {final_text: "y"}\n'
    with pytest.raises(InputError, match="no built-in 'read'"):
        run_scenario(scenario(text))


@pytest.mark.parametrize("received", OTHERS)
def test_b24_another_name_is_answered_with_the_known_ones_and_runs_nothing(received: str) -> None:
    tools = [reader(), SmallTool("write_file"), SmallTool("list_tasks")]
    executor = ToolExecutor(registry_with(*tools), ask=ask_allows)
    done = executor.execute_call(received, '{"query":"x"}')
    assert done.result.error_code is ErrorCode.UNKNOWN_TOOL
    assert "list_tasks, read_file, write_file" in done.result.text
    assert [decision.outcome for decision in done.decisions] == [Decision.DENY]
    assert [tool.runs for tool in tools] == [[], [], []]


@pytest.mark.parametrize("received", OTHERS)
def test_b24_the_loop_goes_on_and_the_history_stays_sendable(received: str) -> None:
    turns = [calling(call(received, '{"query":"x"}'), call("read_file", "{}", "c2")), saying("ok")]
    with Session(turns, reader()) as session:
        result = session.run()
    assert result.status is LoopStatus.ANSWERED
    assert codes_of(result) == [ErrorCode.UNKNOWN_TOOL, None]
    for body in session.bodies:
        for message in body["messages"]:
            for entry in message.get("tool_calls") or ():
                assert TOOL_NAME.fullmatch(entry["function"]["name"])


def test_b24_the_same_unknown_call_counts_as_a_circle() -> None:
    with Session([calling(call("serch_files"))] * 10, reader()) as session:
        assert session.run().status is LoopStatus.CIRCLE


def test_b24_the_list_of_names_is_bounded_and_the_nearest_is_named() -> None:
    names = [f"tool_{number:03}" for number in range(120)]
    text = unknown_tool_text("tool_o99", names)
    assert f"and {120 - NAMES_TOLD} more" in text
    assert "did you mean tool_" in text
    assert len(text) < 1000
    assert "did you mean search_files?" in unknown_tool_text("serch_files", ["read_file", "search_files"])
    assert unknown_tool_text("x", []) == "there is no tool 'x'; the tools are: none"


def test_b28_an_empty_name_is_answered_and_the_next_request_is_valid() -> None:
    with Session([calling(call("", '{"":"x"}')), saying("ok")], reader()) as session:
        result = session.run()
    assert codes_of(result) == [ErrorCode.UNKNOWN_TOOL]
    stored = session.bodies[1]["messages"][1]["tool_calls"][0]
    assert stored["function"] == {"name": PLACEHOLDER_NAME, "arguments": '{"":"x"}'}
    assert "the call names no tool ('')" in session.bodies[1]["messages"][2]["content"]
    assert check_request(session.bodies[1]) == []


def test_b28_a_tool_of_the_placeholders_name_is_not_what_an_empty_name_calls() -> None:
    tool = SmallTool(PLACEHOLDER_NAME, kind=ToolKind.READ)
    outcome = ToolOrchestrator(ToolExecutor(registry_with(tool))).run([flat(""), flat(PLACEHOLDER_NAME)])
    assert [item.result.error_code for item in outcome.observations] == [ErrorCode.UNKNOWN_TOOL, None]
    assert [plan.concurrency_safe for plan in outcome.plans] == [False, True]
    assert len(tool.runs) == 1


HOSTILE = ["read file/../../x:y", "\x1b[31m", "a\ud800b", "\n\n", "x" * 100_000, "{}", "../../etc/passwd", "é", "a.b"]


@pytest.mark.parametrize("received", HOSTILE)
def test_b30_a_hostile_name_is_only_echoed_escaped_and_shortened(received: str, tmp_path: Path) -> None:
    executor = builtin_executor(tmp_path)
    outcome = ToolOrchestrator(executor).run([flat(received)])
    (observation,) = outcome.observations
    assert outcome.plans[0].tool_name == PLACEHOLDER_NAME
    assert observation.result.error_code is ErrorCode.UNKNOWN_TOOL
    assert repr(received[:80]) in observation.result.text
    assert len(observation.result.text) < 600
    assert json.loads(observation.observation)
    assert list(tmp_path.iterdir()) == []


@given(any_text)
@example("functions.functions.Read")
@example("<|a|>functions.<|b|>Read")
def test_a_name_resolves_to_a_registered_one_or_none_and_always_the_same_way(received: str) -> None:
    names = ["Read", "read_file", "Grep"]
    known = resolve_name(received, names.__contains__, names)
    assert known is None or known in names
    assert known is None or resolve_name(known, names.__contains__, names) == known
    assert TOOL_NAME.fullmatch(sendable_name(received))
    assert plain_name(received) in received


@given(any_text, any_text)
@example("a.b", "a:b")
@example("mcp_" + "s" * 40 + "__" + "t" * 30 + "_a", "mcp_" + "s" * 40 + "__" + "t" * 30 + "_b")
def test_c05_wire_names_are_taken_by_providers_and_stay_different(one: str, other: str) -> None:
    for name in (one, other):
        assert TOOL_NAME.fullmatch(wire_name(name))
        assert wire_name(wire_name(name)) == wire_name(name)
    assert (wire_name(one) == wire_name(other)) == (one == other)


def test_c05_a_wire_name_is_the_same_on_every_machine() -> None:
    assert wire_name("mail.send") == "mail_send_b72927ae"
    assert wire_name("read_file") == "read_file"


def test_c08_two_names_that_differ_in_case_are_called_by_their_exact_names_only() -> None:
    tools: list[SmallTool] = [SmallTool("Search"), SmallTool("search")]
    executor = ToolExecutor(registry_with(*tools))
    for name in ("Search", "search", "functions.search"):
        assert executor.execute(name, "{}").status is ToolStatus.SUCCESS
    ambiguous = executor.execute("SEARCH", "{}")
    assert ambiguous.error_code is ErrorCode.UNKNOWN_TOOL
    assert "did you mean Search or search?" in ambiguous.text
    assert [len(tool.runs) for tool in tools] == [1, 2]


def test_an_exact_name_wins_over_any_reading_of_it() -> None:
    names: dict[str, Any] = {"functions.read": 1, "read": 2, " read": 3}
    for name in names:
        assert resolve_name(name, names.__contains__, names) == name
    assert ToolRegistry().resolve("") is None
