"""Task: a sub-agent in read-only mode, and every way in which it can end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from harness.pipeline.budget import BudgetPolicy
from harness.pipeline.builtin import BashTool, EditTool, ReadTool, TaskTool
from harness.pipeline.circuit_breaker import CircuitBreaker
from harness.pipeline.loop import LoopResult, LoopStatus, StepRecord
from harness.pipeline.permissions import RuntimeMode
from harness.pipeline.registry import ToolRegistry
from harness.pipeline.result import ErrorCode, ToolResult, ToolStatus
from harness.pipeline.sub_agent import SubAgentPolicy, SubAgents, Watcher
from harness.pipeline.tool import Tool, ToolKind
from harness.pipeline.workspace import Workspace
from harness.play.player import MissError
from harness.play.script import ScriptedCall, ScriptedTurn
from harness.seams import ManualClock
from tests.pipeline.playing import Session, call, calling, outcome_of, saying
from tests.pipeline.tools import SmallTool, registry_with

TASK = call("Task", '{"description": "look", "prompt": "Where is it?"}', "call_task")


class Notes:
    """A watcher that keeps what it is told."""

    def __init__(self) -> None:
        self.begun: list[tuple[str, str]] = []
        self.requests: list[dict[str, Any]] = []
        self.records: list[StepRecord] = []
        self.results: list[LoopResult] = []
        self.failures: list[Exception] = []

    def watch(self, name: str, call_id: str) -> Watcher:
        self.begun.append((name, call_id))
        return self

    def on_answer(self, request: dict[str, Any]) -> None:
        self.requests.append(request)

    def on_step(self, record: StepRecord) -> None:
        self.records.append(record)

    def on_end(self, result: LoopResult) -> None:
        self.results.append(result)

    def on_failure(self, error: Exception) -> None:
        self.failures.append(error)


class Asked:
    """A loop with the tool Task that has run a script to its end: results of the first step, and what was seen."""

    def __init__(
        self,
        workspace: Workspace,
        *turns: ScriptedTurn,
        tools: Sequence[Tool] = (),
        policy: SubAgentPolicy | None = None,
        registry: ToolRegistry | None = None,
        **config: Any,
    ) -> None:
        self.notes = Notes()
        sub_agents = SubAgents(policy)
        registry = registry or registry_with(*tools)
        registry.register_tool(TaskTool(workspace, sub_agents))
        with Session(turns, registry=registry, **config) as session:
            sub_agents.connect(session.loop, self.notes.watch)
            self.run = session.run()
            self.bodies = session.bodies

    def result(self, position: int = 0) -> ToolResult:
        return outcome_of(self.run).executions[position].result


def names(body: dict[str, Any]) -> list[str]:
    return [tool["function"]["name"] for tool in body.get("tools", [])]


def inner_result(asked: Asked, step: int, position: int = 0) -> ToolResult:
    outcome = asked.notes.records[step].outcome
    assert outcome is not None
    return outcome.executions[position].result


def test_the_last_message_of_the_sub_agent_is_the_observation(workspace: Workspace, root: Path) -> None:
    (root / "a.txt").write_text("alpha\n")
    asked = Asked(
        workspace,
        calling(TASK),
        calling(call("Read", '{"path": "a.txt"}')),
        saying("It is in a.txt."),
        saying("Thanks."),
        tools=[ReadTool(workspace)],
    )
    result = asked.result()
    assert (result.status, result.text) == (ToolStatus.SUCCESS, "It is in a.txt.")
    assert result.data == {"sub_agent": "task-1", "outcome": "answered", "steps": 2, "tool_calls": 1}
    assert asked.run.final_text == "Thanks."
    assert asked.notes.begun == [("task-1", "call_task")]
    assert [record.index for record in asked.notes.records] == [0, 1]
    assert [result.status for result in asked.notes.results] == [LoopStatus.ANSWERED]


def test_the_two_conversations_see_nothing_of_each_other(workspace: Workspace) -> None:
    asked = Asked(workspace, calling(TASK), saying("the report"), saying("end"), tools=[SmallTool("Look")])
    main, sub, main_again = asked.bodies
    assert [message["role"] for message in sub["messages"]] == ["system", "user"]
    assert sub["messages"][1]["content"] == "Where is it?"
    assert main["messages"] == main_again["messages"][:1]
    assert orjson.loads(main_again["messages"][2]["content"])["text"] == "the report"
    assert sub["model"] == main["model"]


@pytest.mark.seed("P04")
def test_tasks_run_one_by_one(workspace: Workspace) -> None:
    second = ScriptedCall("Task", TASK.arguments, "call_again")
    asked = Asked(workspace, calling(TASK, second), saying("one"), saying("two"), saying("end"))
    assert [batch.concurrency_safe for batch in outcome_of(asked.run).batches] == [False, False]
    assert [asked.result(0).text, asked.result(1).text] == ["one", "two"]
    assert asked.notes.begun == [("task-1", "call_task"), ("task-2", "call_again")]


@pytest.mark.seed("X03")
def test_a_sub_agent_is_shown_and_allowed_only_what_reads(workspace: Workspace, root: Path) -> None:
    (root / "a.txt").write_text("one\n")
    registry = ToolRegistry()
    for tool in (ReadTool(workspace), EditTool(workspace, registry.versions), BashTool(workspace), SmallTool("Deploy")):
        registry.register_tool(tool)
    registry.register_function("note", "Write a note", lambda _: ToolResult.success("noted"))
    asked = Asked(
        workspace,
        calling(TASK),
        calling(
            call("Edit", '{"path": "a.txt", "old_string": "one", "new_string": "two"}', "c1"),
            call("Bash", '{"command": "echo two > a.txt"}', "c2"),
            call("Deploy", "{}", "c3"),
            call("note", '{"input": "x"}', "c4"),
            ScriptedCall("Task", TASK.arguments, "c5"),
            call("Bash", '{"command": "ls"}', "c6"),
        ),
        saying("nothing done"),
        saying("end"),
        registry=registry,
    )
    assert names(asked.bodies[0]) == ["Bash", "Deploy", "Edit", "Read", "Task", "note"]
    assert names(asked.bodies[1]) == ["Bash", "Read"]
    denied = ErrorCode.PERMISSION_DENIED
    found = [inner_result(asked, 0, position).error_code for position in range(6)]
    assert found == [denied, denied, denied, denied, ErrorCode.UNKNOWN_TOOL, None]
    assert (root / "a.txt").read_text() == "one\n"
    assert asked.notes.begun == [("task-1", "call_task")]


def test_what_the_sub_agent_reads_is_not_read_by_the_agent(workspace: Workspace, root: Path) -> None:
    (root / "a.txt").write_text("alpha\n")
    registry = registry_with(ReadTool(workspace))
    Asked(
        workspace,
        calling(TASK),
        calling(call("Read", '{"path": "a.txt"}')),
        saying("read"),
        saying("end"),
        registry=registry,
    )
    assert registry.versions.known(root / "a.txt") is None


def test_circuits_are_not_shared(workspace: Workspace) -> None:
    def fail(_: dict[str, Any]) -> ToolResult:
        return ToolResult.error(ErrorCode.EXECUTION_ERROR, "no")

    look = SmallTool("Look", fail, kind=ToolKind.READ)
    registry = registry_with(look, breaker=CircuitBreaker(1, clock=ManualClock()))
    asked = Asked(
        workspace,
        calling(call("Look"), TASK),
        calling(call("Look")),
        saying("it fails"),
        saying("end"),
        registry=registry,
    )
    assert names(asked.bodies[1]) == ["Look"], "open for the agent, closed for the sub-agent"
    assert names(asked.bodies[2]) == []
    assert names(asked.bodies[3]) == ["Task"]
    assert len(look.runs) == 2


def test_a_sub_agent_has_its_own_step_limit(workspace: Workspace) -> None:
    looking = [calling(call("Look", f'{{"value": "{n}"}}'), text=f"look {n}") for n in range(3)]
    asked = Asked(
        workspace,
        calling(TASK),
        *looking,
        saying("end"),
        tools=[SmallTool("Look")],
        policy=SubAgentPolicy(step_limit=3),
        step_limit=2,
    )
    result = asked.result()
    assert result.error_code is ErrorCode.EXECUTION_ERROR
    assert "stopped after 3 steps" in result.text
    assert (result.data["outcome"], result.data["last_text"]) == ("step_limit", "look 2")
    assert asked.run.status is LoopStatus.ANSWERED


def test_a_sub_agent_has_its_own_budget(workspace: Workspace, root: Path) -> None:
    (root / "big.txt").write_text("x" * 2000 + "\n")
    small = BudgetPolicy(per_result_bytes=600, total_bytes=4000, max_calls=2)
    asked = Asked(
        workspace,
        calling(TASK),
        calling(call("Read", '{"path": "big.txt"}')),
        saying("end of report"),
        saying("end"),
        tools=[ReadTool(workspace)],
        policy=SubAgentPolicy(budget=small),
    )
    outcome = asked.notes.records[0].outcome
    assert outcome is not None
    assert outcome.observations[0].size <= 600
    assert outcome.truncations
    assert outcome_of(asked.run).truncations == ()


@pytest.mark.parametrize(
    ("turn", "status", "code", "text"),
    [
        (ScriptedTurn(error_status=500, error_message="overloaded"), ToolStatus.ERROR, "EXECUTION_ERROR", "overloaded"),
        (saying("half", done=False, finish_reason=None), ToolStatus.ERROR, "EXECUTION_ERROR", "without a report"),
        (saying(""), ToolStatus.ERROR, "EXECUTION_ERROR", "empty report"),
        (saying("half a rep", finish_reason="length"), ToolStatus.PARTIAL, None, "half a rep\n\n[The report was cut"),
    ],
)
def test_every_other_end_is_a_clear_result(
    workspace: Workspace, turn: ScriptedTurn, status: ToolStatus, code: str | None, text: str
) -> None:
    asked = Asked(workspace, calling(TASK), turn, saying("end"), stream=True)
    result = asked.result()
    assert (result.status, result.error_code) == (status, code)
    assert text in result.text
    assert asked.run.final_text == "end"


def test_a_circle_in_the_sub_agent_stops_it_and_is_named(workspace: Workspace) -> None:
    asked = Asked(
        workspace,
        calling(TASK),
        *[calling(call("Look")) for _ in range(6)],
        tools=[SmallTool("Look")],
        policy=SubAgentPolicy(step_limit=6),
        repeat_limit=2,
        step_limit=1,
    )
    assert asked.result().data["outcome"] == "circle"
    assert "Look" in asked.result().text


def test_only_so_many_sub_agents_may_be_started(workspace: Workspace) -> None:
    second = ScriptedCall("Task", TASK.arguments, "call_again")
    policy = SubAgentPolicy(max_sub_agents=1)
    asked = Asked(workspace, calling(TASK, second), saying("one"), saying("end"), policy=policy)
    assert asked.result(0).text == "one"
    assert asked.result(1).error_code is ErrorCode.EXECUTION_ERROR
    assert "1 sub-agents have been started" in asked.result(1).text


def test_without_a_loop_there_is_nobody_to_ask(workspace: Workspace) -> None:
    result = TaskTool(workspace, SubAgents()).run({"description": "d", "prompt": "p"})
    assert result.error_code is ErrorCode.EXECUTION_ERROR
    assert "no model" in result.text


@pytest.mark.parametrize("parameters", [{}, {"description": "d"}, {"description": "d", "prompt": " "}, {"prompt": "p"}])
def test_a_task_without_words_is_refused(workspace: Workspace, parameters: dict[str, Any]) -> None:
    assert TaskTool(workspace, SubAgents()).run(parameters).error_code is ErrorCode.INVALID_PARAM


def test_an_unanswered_request_is_told_to_the_watcher_and_raised(workspace: Workspace) -> None:
    with pytest.raises(MissError):
        asked_with_miss(workspace, notes := Notes())
    assert [type(error) for error in notes.failures] == [MissError]
    assert notes.results == []


def asked_with_miss(workspace: Workspace, notes: Notes) -> None:
    sub_agents = SubAgents()
    registry = registry_with(TaskTool(workspace, sub_agents))
    with Session([calling(TASK)], registry=registry) as session:
        sub_agents.connect(session.loop, notes.watch)
        session.run()


def test_a_read_only_agent_has_no_sub_agents(workspace: Workspace) -> None:
    registry = registry_with(TaskTool(workspace, SubAgents()), ReadTool(workspace))
    with Session([calling(TASK), saying("end")], registry=registry, mode=RuntimeMode.READ_ONLY) as session:
        run = session.run()
        assert names(session.bodies[0]) == ["Read"]
    assert outcome_of(run).executions[0].result.error_code is ErrorCode.PERMISSION_DENIED
