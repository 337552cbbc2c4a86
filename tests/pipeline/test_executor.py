from __future__ import annotations

import asyncio
import concurrent.futures
import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.pipeline.argument_policy import ArgumentPolicy
from harness.pipeline.circuit_breaker import CircuitBreaker, CircuitState, Permit
from harness.pipeline.decision import Decision, Ruling
from harness.pipeline.executor import GateDecision, GateMode, ToolExecutor
from harness.pipeline.file_versions import EXPECTED_KEYS, FileVersion, FileVersions, version_of
from harness.pipeline.names import unknown_tool_text
from harness.pipeline.permissions import AskRequest, RiskClassifier, RuntimeMode
from harness.pipeline.registry import ToolRegistry
from harness.pipeline.result import ErrorCode, ToolResult, ToolStatus, serialize_tool_result
from harness.pipeline.tool import ToolKind, ToolParameter
from harness.pipeline.workspace import Workspace
from harness.seams import ManualClock
from tests.pipeline.tools import SmallTool, any_text, builtin_executor, json_objects, registry_with

PATH = (ToolParameter("path", "string"),)
EDITING = (
    ToolParameter("path", "string"),
    ToolParameter("expected_mtime_ms", "integer", required=False),
    ToolParameter("expected_size_bytes", "integer", required=False),
)


class NotingVersions(FileVersions):
    def __init__(self, notes: list[str]) -> None:
        super().__init__()
        self._notes = notes

    def known(self, path: Path) -> FileVersion | None:
        self._notes.append("lock")
        return super().known(path)


class NotingBreaker(CircuitBreaker):
    def __init__(self, notes: list[str]) -> None:
        super().__init__()
        self._notes = notes

    def admit(self, tool: str) -> Permit | None:
        self._notes.append("breaker")
        return super().admit(tool)

    def record(self, permit: Permit, result: ToolResult) -> None:
        self._notes.append("record")
        super().record(permit, result)


class NotingClassifier(RiskClassifier):
    def __init__(self, registry: ToolRegistry, notes: list[str], decision: Decision = Decision.ALLOW) -> None:
        super().__init__(registry)
        self._notes = notes
        self._decision = decision

    def classify(self, name: str, parameters: Mapping[str, Any], mode: RuntimeMode = RuntimeMode.NORMAL) -> Ruling:
        self._notes.append("permission")
        return Ruling(self._decision, "for the test")


class Gates:
    """An executor that notes what each gate was asked, in order."""

    def __init__(self, root: Path, decision: Decision = Decision.ALLOW, **options: Any) -> None:
        self.notes: list[str] = []
        self.tools = {
            kind: SmallTool(kind.name, self._run, kind=kind, parameters=EDITING, path_parameter="path")
            for kind in ToolKind
        }
        registry = ToolRegistry(NotingBreaker(self.notes), NotingVersions(self.notes))
        for tool in self.tools.values():
            registry.register_tool(tool)
        self.executor = ToolExecutor(
            registry, Workspace(root), classifier=NotingClassifier(registry, self.notes, decision), **options
        )

    def _run(self, _: object) -> ToolResult:
        self.notes.append("run")
        return ToolResult.success("done")


def gates_of(executor: ToolExecutor, name: str, arguments: object) -> list[tuple[str, str]]:
    return [(decision.gate, decision.outcome) for decision in executor.execute_call(name, arguments).decisions]


@pytest.mark.seed("X01")
def test_an_edit_passes_permission_lock_breaker_and_run_in_this_order(tmp_path: Path) -> None:
    gates = Gates(tmp_path)
    done = gates.executor.execute_call("EDIT", {"path": "f"})
    assert list(dict.fromkeys(gates.notes)) == ["permission", "lock", "breaker", "run", "record"]
    assert [decision.gate for decision in done.decisions] == ["permission", "lock", "breaker", "run"]
    assert done.executed


@pytest.mark.seed("X01")
@pytest.mark.parametrize("kind", [ToolKind.READ, ToolKind.SHELL, ToolKind.OTHER])
def test_no_other_kind_of_tool_passes_the_lock(tmp_path: Path, kind: ToolKind) -> None:
    gates = Gates(tmp_path)
    done = gates.executor.execute_call(kind.name, {"path": "f"})
    assert gates.notes == ["permission", "breaker", "run", "record"]
    assert [decision.gate for decision in done.decisions] == ["permission", "breaker", "run"]


@pytest.mark.seed("X07")
@pytest.mark.parametrize("decision", [Decision.DENY, Decision.ASK])
@pytest.mark.parametrize("kind", list(ToolKind))
def test_a_denied_call_never_reaches_the_lock_the_breaker_or_the_tool(
    tmp_path: Path, kind: ToolKind, decision: Decision
) -> None:
    gates = Gates(tmp_path, decision)
    done = gates.executor.execute_call(kind.name, {"path": "f"})
    assert done.result.error_code is ErrorCode.PERMISSION_DENIED
    assert "for the test" in done.result.text
    assert gates.notes == ["permission"]
    assert {entry.gate for entry in done.decisions} == {"permission"}
    assert gates.tools[kind].runs == []
    assert not done.executed


@pytest.mark.seed("X07", "X06")
def test_an_unknown_tool_never_reaches_the_lock_or_the_breaker(tmp_path: Path) -> None:
    gates = Gates(tmp_path, Decision.DENY)
    done = gates.executor.execute_call("Nothing", {"path": "f"})
    assert done.result.error_code is ErrorCode.UNKNOWN_TOOL
    assert gates.notes == ["permission"]


@pytest.mark.seed("P03", "S03")
@pytest.mark.parametrize("arguments", ['{"path": "f', "[]", "null", '{"path": 1}', '{"more": 1}', "{}"])
def test_arguments_that_are_refused_reach_no_gate_at_all(tmp_path: Path, arguments: str) -> None:
    gates = Gates(tmp_path)
    done = gates.executor.execute_call("EDIT", arguments)
    assert done.result.error_code is ErrorCode.INVALID_PARAM
    assert gates.notes == []
    assert [(entry.gate, entry.outcome) for entry in done.decisions] == [("arguments", "invalid")]
    assert gates.tools[ToolKind.EDIT].runs == []


@pytest.mark.seed("S03")
def test_no_part_of_an_arguments_text_is_ever_run() -> None:
    tool = SmallTool("Write", parameters=(ToolParameter("text", "string", required=False),))
    executor = ToolExecutor(registry_with(tool))
    text = '{"text": "a {} \\u00e9 [1, 2]"}'
    for length in range(1, len(text)):
        assert executor.execute("Write", text[:length]).error_code is ErrorCode.INVALID_PARAM
    assert tool.runs == []
    assert executor.execute("Write", text).status is ToolStatus.SUCCESS
    assert tool.runs == [{"text": "a {} \u00e9 [1, 2]"}]


@pytest.mark.seed("P03")
def test_the_reason_names_the_parameter_that_does_not_fit(tmp_path: Path) -> None:
    result = builtin_executor(tmp_path).execute("Read", '{"path": "f", "limit": "ten"}')
    assert result.error_code is ErrorCode.INVALID_PARAM
    assert "limit" in result.text


# The optimistic lock


@pytest.mark.seed("L01", "L02")
def test_an_edit_is_given_what_the_read_saw(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"content")
    seen = version_of(b"content", (tmp_path / "f").stat().st_mtime_ns)
    reader = SmallTool(
        "Read", lambda _: ToolResult.success("", **seen.stats()), kind=ToolKind.READ, parameters=PATH,
        path_parameter="path",
    )  # fmt: skip
    editor = SmallTool("Edit", kind=ToolKind.EDIT, parameters=EDITING, path_parameter="path")
    executor = ToolExecutor(registry_with(reader, editor), Workspace(tmp_path))
    executor.execute("Read", {"path": "f"})
    assert executor.registry.versions.known((tmp_path / "f").resolve()) == FileVersion(
        7, seen.mtime_ms * 1_000_000, seen.digest
    )
    assert gates_of(executor, "Edit", {"path": "./g/../f"})[1] == ("lock", "injected")
    assert editor.runs == [{"path": "./g/../f", **seen.expected()}]


@pytest.mark.seed("L01")
def test_a_failed_read_is_not_remembered(tmp_path: Path) -> None:
    failing = SmallTool(
        "Read",
        lambda _: ToolResult.error(ErrorCode.EXECUTION_ERROR, "no", **version_of(b"", 0).stats()),
        kind=ToolKind.READ,
        parameters=PATH,
        path_parameter="path",
    )
    executor = ToolExecutor(registry_with(failing), Workspace(tmp_path))
    executor.execute("Read", {"path": "f"})
    assert executor.registry.versions.known(tmp_path.resolve() / "f") is None


@pytest.mark.seed("L03")
@pytest.mark.parametrize("given_by_model", [{"expected_mtime_ms": 5}, {"expected_size_bytes": 7}])
def test_what_the_model_expects_itself_is_not_overwritten(tmp_path: Path, given_by_model: dict[str, int]) -> None:
    editor = SmallTool("Edit", kind=ToolKind.EDIT, parameters=EDITING, path_parameter="path")
    executor = ToolExecutor(registry_with(editor), Workspace(tmp_path))
    executor.registry.versions.remember(tmp_path.resolve() / "f", version_of(b"x", 1_000_000))
    assert gates_of(executor, "Edit", {"path": "f", **given_by_model})[1] == ("lock", "given")
    assert editor.runs == [{"path": "f", **given_by_model}]


@pytest.mark.seed("L03", "L04")
def test_a_wrong_expectation_of_the_model_is_a_conflict_although_the_read_was_fresh(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("abc")
    executor = builtin_executor(tmp_path)
    executor.execute("Read", {"path": "f"})
    edit = {"path": "f", "old_string": "b", "new_string": "B"}
    assert executor.execute("Edit", edit | {"expected_size_bytes": 4}).error_code is ErrorCode.CONFLICT
    assert (tmp_path / "f").read_text() == "abc"
    assert executor.execute("Edit", edit | {"expected_size_bytes": 3}).status is ToolStatus.SUCCESS


@pytest.mark.seed("L04")
def test_an_edit_of_a_file_changed_since_the_read_is_a_conflict_and_writes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_text("one two")
    executor = builtin_executor(tmp_path)
    executor.execute("Read", {"path": "f"})
    before = file.stat()
    file.write_text("ONE two")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    result = executor.execute("Edit", {"path": "f", "old_string": "two", "new_string": "2"})
    assert result.error_code is ErrorCode.CONFLICT
    assert file.read_text() == "ONE two"
    executor.execute("Read", {"path": "f"})
    assert executor.execute("Edit", {"path": "f", "old_string": "two", "new_string": "2"}).status is ToolStatus.SUCCESS
    assert file.read_text() == "ONE 2"


@pytest.mark.seed("L05")
def test_an_edit_without_a_read_is_given_no_expected_values(tmp_path: Path) -> None:
    editor = SmallTool("Edit", kind=ToolKind.EDIT, parameters=EDITING, path_parameter="path")
    executor = ToolExecutor(registry_with(editor), Workspace(tmp_path))
    executor.registry.versions.remember(tmp_path.resolve() / "other", version_of(b"x", 1))
    assert gates_of(executor, "Edit", {"path": "f"})[1] == ("lock", "unread")
    assert editor.runs == [{"path": "f"}]
    assert not set(EXPECTED_KEYS) & editor.runs[0].keys()


@pytest.mark.seed("L05")
def test_an_unread_file_can_be_edited_unless_reading_is_required(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a")
    edit = {"path": "f", "old_string": "a", "new_string": "b"}
    strict = builtin_executor(tmp_path, require_read=True)
    refused = strict.execute_call("Edit", edit)
    assert refused.result.error_code is ErrorCode.CONFLICT
    assert "has not been read" in refused.result.text
    assert not refused.executed
    assert (tmp_path / "f").read_text() == "a"
    strict.execute("Read", {"path": "f"})
    assert strict.execute("Edit", edit).status is ToolStatus.SUCCESS
    assert builtin_executor(tmp_path).execute(
        "Edit", {"path": "f", "old_string": "b", "new_string": "c"}
    ).status is ToolStatus.SUCCESS  # fmt: skip


def test_two_own_edits_in_a_row_are_no_conflict(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a b")
    executor = builtin_executor(tmp_path, require_read=True)
    executor.execute("Read", {"path": "f"})
    for old, new in (("a", "A"), ("b", "B")):
        result = executor.execute("Edit", {"path": "f", "old_string": old, "new_string": new})
        assert result.status is ToolStatus.SUCCESS
    assert (tmp_path / "f").read_text() == "A B"


def test_one_file_has_one_identity_however_it_is_spelled(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "f").write_text("a")
    (tmp_path / "e").symlink_to("d")
    executor = builtin_executor(tmp_path, require_read=True)
    executor.execute("Read", {"path": "d/f"})
    for path, old, new in (("./d/../d/f", "a", "b"), (str(tmp_path / "d" / "f"), "b", "c"), ("e/f", "c", "d")):
        result = executor.execute("Edit", {"path": path, "old_string": old, "new_string": new})
        assert result.status is ToolStatus.SUCCESS
    assert (tmp_path / "d" / "f").read_text() == "d"


# The breaker


@pytest.mark.seed("B08", "B01", "B02")
def test_the_result_of_each_run_updates_the_breaker() -> None:
    outcomes = iter([False, False, True, False, False, False])

    def behave(_: object) -> ToolResult:
        return ToolResult.success("") if next(outcomes) else ToolResult.error(ErrorCode.EXECUTION_ERROR, "no")

    tool = SmallTool("T", behave)
    executor = ToolExecutor(registry_with(tool, breaker=CircuitBreaker(clock=ManualClock())))
    codes = [executor.execute("T", "").error_code for _ in range(8)]
    assert codes[:6] == [ErrorCode.EXECUTION_ERROR] * 2 + [None] + [ErrorCode.EXECUTION_ERROR] * 3
    assert codes[6:] == [ErrorCode.CIRCUIT_OPEN] * 2
    assert len(tool.runs) == 6


@pytest.mark.seed("B08")
def test_a_refused_call_reaches_the_breaker_and_not_the_tool() -> None:
    tool = SmallTool("T", lambda _: ToolResult.error(ErrorCode.TIMEOUT, "slow"))
    executor = ToolExecutor(registry_with(tool, breaker=CircuitBreaker(1, clock=ManualClock())))
    assert gates_of(executor, "T", "")[-2:] == [("breaker", CircuitState.CLOSED), ("run", ToolStatus.ERROR)]
    assert gates_of(executor, "T", "")[-1] == ("breaker", CircuitState.OPEN)
    assert len(tool.runs) == 1


def test_refusals_do_not_count_as_failures_of_the_tool(tmp_path: Path) -> None:
    executor = builtin_executor(tmp_path)
    for _ in range(10):
        executor.execute("Bash", {"command": "rm x"})
        executor.execute("Bash", {"command": "mv a b"})
        executor.execute("Bash", "{broken")
        executor.execute("Bash", {"command": 1})
    assert executor.registry.breaker.state("Bash") is CircuitState.CLOSED
    assert executor.execute("Bash", {"command": "ls"}).status is ToolStatus.SUCCESS


def test_an_interrupted_probe_gives_its_permit_back() -> None:
    clock = ManualClock()
    behaviours: list[BaseException] = [OSError("gone"), KeyboardInterrupt()]

    def behave(_: object) -> ToolResult:
        if behaviours:
            raise behaviours.pop(0)
        return ToolResult.success("back")

    executor = ToolExecutor(registry_with(SmallTool("T", behave), breaker=CircuitBreaker(1, 10, clock)))
    executor.execute("T", "")
    clock.advance(10)
    with pytest.raises(KeyboardInterrupt):
        executor.execute("T", "")
    assert executor.execute("T", "").text == "back"


# What the decisions say


def decisions_of(executor: ToolExecutor, name: str, arguments: object) -> list[GateDecision]:
    return list(executor.execute_call(name, arguments).decisions)


def an_editor(root: Path, **options: Any) -> ToolExecutor:
    editor = SmallTool("Edit", kind=ToolKind.EDIT, parameters=EDITING, path_parameter="path")
    return ToolExecutor(registry_with(editor), Workspace(root), **options)


RAN = [GateDecision("breaker", CircuitState.CLOSED), GateDecision("run", ToolStatus.SUCCESS)]


def test_every_decision_of_the_lock_is_said_in_words(tmp_path: Path) -> None:
    executor = an_editor(tmp_path)
    unread = decisions_of(executor, "Edit", {"path": "f"})
    assert unread[1:] == [GateDecision("lock", "unread", "the file has not been read"), *RAN]
    executor.registry.versions.remember(tmp_path.resolve() / "f", version_of(b"x", 1_000_000))
    injected = decisions_of(executor, "Edit", {"path": "f"})
    assert injected[1:] == [GateDecision("lock", "injected", "expected values of the last Read"), *RAN]
    own = decisions_of(executor, "Edit", {"path": "f", "expected_size_bytes": 1})
    assert own[1:] == [GateDecision("lock", "given", "the model gave expected values itself"), *RAN]
    strict = an_editor(tmp_path, require_read=True).execute("Edit", {"path": "f"})
    assert strict.text == "the file has not been read; Read it, then edit"


def test_every_decision_of_the_breaker_and_the_run_is_said_in_words() -> None:
    tool = SmallTool("T", lambda _: ToolResult.error(ErrorCode.TIMEOUT, "slow"))
    executor = ToolExecutor(registry_with(tool, breaker=CircuitBreaker(1, clock=ManualClock())))
    assert decisions_of(executor, "T", "")[-2:] == [
        GateDecision("breaker", CircuitState.CLOSED),
        GateDecision("run", ToolStatus.ERROR, "TIMEOUT"),
    ]
    assert decisions_of(executor, "T", "")[-1] == GateDecision("breaker", CircuitState.OPEN, "refused")


@pytest.mark.parametrize(("answer", "word"), [(True, "granted"), (False, "refused")])
def test_a_question_says_what_is_asked_and_its_answer_is_noted(answer: bool, word: str) -> None:
    asked: list[AskRequest] = []

    def policy(request: AskRequest) -> bool:
        asked.append(request)
        return answer

    tool = SmallTool("Shell", kind=ToolKind.SHELL, parameters=(ToolParameter("command", "string"),))
    registry = registry_with(tool)
    classifier = NotingClassifier(registry, [], Decision.ASK)
    executor = ToolExecutor(registry, ask=policy, classifier=classifier)
    done = executor.execute_call("Shell", {"command": "mv a b"})
    assert asked == [AskRequest("Shell", {"command": "mv a b"}, "for the test")]
    assert done.decisions[:2] == (
        GateDecision("permission", "ask", "for the test"),
        GateDecision("permission", word, "the answer to the question"),
    )
    assert done.executed is answer
    assert answer or done.result.text == "needs approval, which was not given: for the test"


def test_a_denial_says_why() -> None:
    registry = registry_with(SmallTool("T"))
    executor = ToolExecutor(registry, classifier=NotingClassifier(registry, [], Decision.DENY))
    assert executor.execute("T", "").text == "denied: for the test"
    assert decisions_of(executor, "T", "") == [GateDecision("permission", "deny", "for the test")]


def test_a_classifier_that_fails_is_said_in_words() -> None:
    class Broken(RiskClassifier):
        def classify(self, name: str, parameters: Mapping[str, Any], mode: RuntimeMode = RuntimeMode.NORMAL) -> Ruling:
            raise RuntimeError("no rules today")

    registry = registry_with(SmallTool("T"))
    executor = ToolExecutor(registry, classifier=Broken(registry))
    reason = "the call could not be judged: RuntimeError: no rules today"
    assert decisions_of(executor, "T", "") == [GateDecision("permission", "deny", reason)]


def test_a_question_that_fails_is_said_in_words() -> None:
    def policy(_: AskRequest) -> bool:
        raise ConnectionError("nobody there")

    registry = registry_with(SmallTool("T"))
    executor = ToolExecutor(registry, ask=policy, classifier=NotingClassifier(registry, [], Decision.ASK))
    assert decisions_of(executor, "T", "")[1:] == [
        GateDecision("permission", "refused", "the question failed: ConnectionError: nobody there")
    ]


def test_a_name_that_is_read_as_another_is_a_decision_too() -> None:
    executor = ToolExecutor(registry_with(SmallTool("Look", kind=ToolKind.READ)))
    name = "functions.Look"
    first, *_ = decisions_of(executor, name, "")
    assert first == GateDecision("name", "resolved", "'functions.Look' is Look")
    asked: list[AskRequest] = []

    def policy(request: AskRequest) -> bool:
        asked.append(request)
        return False

    registry = registry_with(SmallTool("Look"))
    classifier = NotingClassifier(registry, [], Decision.ASK)
    ToolExecutor(registry, ask=policy, classifier=classifier).execute("functions.Look", "")
    assert [request.tool_name for request in asked] == ["Look"]
    assert not [decision for decision in decisions_of(executor, "Look", "") if decision.gate == "name"]
    long = "Look<|channel|>" + "x" * 200
    assert decisions_of(executor, long, "")[0].reason == f"{long[:80]!r} is Look"


def test_what_is_wrong_with_arguments_is_the_reason_of_the_decision_and_the_text_of_the_answer() -> None:
    executor = ToolExecutor(registry_with(SmallTool("T")))
    done = executor.execute_call("T", '{"value": 1}')
    assert done.decisions == (GateDecision("arguments", "invalid", done.result.text),)
    assert "value" in done.result.text


def test_an_unknown_tool_is_answered_also_where_gates_only_observe() -> None:
    executor = ToolExecutor(registry_with(SmallTool("Look")), gates=GateMode.OBSERVE)
    done = executor.execute_call("Lok", "")
    assert done.result.error_code is ErrorCode.UNKNOWN_TOOL
    assert done.result.text == unknown_tool_text("Lok", ["Look"])
    assert not done.executed


def test_without_a_classifier_of_ones_own_paths_are_judged_by_the_workspace(tmp_path: Path) -> None:
    for path, code in (("../f", ErrorCode.PERMISSION_DENIED), ("f", None)):
        assert an_editor(tmp_path).execute("Edit", {"path": path}).error_code is code


def test_without_an_id_a_tool_that_asks_for_one_gets_an_empty_one() -> None:
    class Echo(SmallTool):
        def run_call(self, parameters: Mapping[str, Any], call_id: str) -> ToolResult:
            return ToolResult.success(f"<{call_id}>")

    assert ToolExecutor(registry_with(Echo("Echo"))).execute("Echo", "").text == "<>"


def test_repaired_and_coerced_arguments_are_decisions_too() -> None:
    counting = SmallTool("T", parameters=(ToolParameter("n", "integer"),))
    executor = ToolExecutor(registry_with(counting), arguments=ArgumentPolicy(repair=True, coerce=True))
    done = executor.execute_call("T", "{'n': '5',}")
    repaired, coerced, *_ = done.decisions
    assert (repaired.gate, repaired.outcome) == ("arguments", "repaired")
    assert (coerced.gate, coerced.outcome) == ("arguments", "coerced")
    assert repaired.reason == "; ".join(done.result.context["repaired"])
    assert "; " in repaired.reason
    assert coerced.reason == "; ".join(done.result.context["coerced"])
    assert counting.runs == [{"n": 5}]


@pytest.mark.parametrize("gates", list(GateMode))
def test_a_read_only_executor_shares_everything_but_the_registry_and_asks_nobody(
    tmp_path: Path, gates: GateMode
) -> None:
    clock = ManualClock()
    policy = ArgumentPolicy(repair=True)
    own = ToolExecutor(
        registry_with(), Workspace(tmp_path), gates=gates, arguments=policy, clock=clock, ask=lambda _: True
    )
    look, change = SmallTool("Look", kind=ToolKind.READ), SmallTool("Change", kind=ToolKind.EDIT)
    registry = registry_with(look, change)

    def slow(_: object) -> ToolResult:
        clock.advance(2)
        return ToolResult.success("")

    registry.register_tool(SmallTool("Slow", slow, kind=ToolKind.READ))
    other = own.read_only(registry)
    assert (other.registry, other.workspace, other.mode, other.gates) == (
        registry, own.workspace, RuntimeMode.READ_ONLY, gates,
    )  # fmt: skip
    assert other.execute("Look", '{"value": "v",}').status is ToolStatus.SUCCESS
    assert other.execute("Slow", "").stats["time_ms"] == 2000
    refused = other.execute("Change", "").error_code is ErrorCode.PERMISSION_DENIED
    assert refused is (gates is GateMode.ENFORCE)


def test_the_tools_own_path_parameter_is_resolved_and_no_other(tmp_path: Path) -> None:
    seen = version_of(b"x", 0)
    reader = SmallTool(
        "Read", lambda _: ToolResult.success("", **seen.stats()), kind=ToolKind.READ,
        parameters=(ToolParameter("path", "string"),), path_parameter=None,
    )  # fmt: skip
    executor = ToolExecutor(registry_with(reader), Workspace(tmp_path))
    executor.execute("Read", {"path": "f"})
    assert executor.registry.versions.known(tmp_path.resolve() / "f") is None


# What tools do


class SaysNothingError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("this error cannot even be printed")


class OnlyBase(BaseException):
    pass


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (KeyError(), "T raised KeyError"),
        (TimeoutError(), "T raised TimeoutError"),
        (ValueError("  "), "T raised ValueError"),
        (ValueError("half \ud83d"), "T raised ValueError: half "),
        (asyncio.CancelledError(), "T raised CancelledError"),
        (concurrent.futures.CancelledError("stopped"), "T raised CancelledError: stopped"),
        (SystemExit(3), "T raised SystemExit: 3"),
        (RecursionError("deep"), "T raised RecursionError: deep"),
        (MemoryError(), "T raised MemoryError"),
        (SaysNothingError(), "T raised SaysNothingError"),
    ],
)
def test_whatever_a_tool_raises_becomes_a_result_that_names_it(error: BaseException, text: str) -> None:
    def behave(_: object) -> ToolResult:
        raise error

    result = ToolExecutor(registry_with(SmallTool("T", behave))).execute("T", "")
    cancelled = isinstance(error, asyncio.CancelledError | concurrent.futures.CancelledError)
    assert result.error_code is (ErrorCode.CANCELLED if cancelled else ErrorCode.EXECUTION_ERROR)
    assert result.text.startswith(text)
    assert result.text == text or "half" in text
    serialize_tool_result(result).encode("utf-8")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OnlyBase()])
def test_an_interrupt_by_the_user_goes_on_up(error: BaseException) -> None:
    def behave(_: object) -> ToolResult:
        raise error

    with pytest.raises(type(error)):
        ToolExecutor(registry_with(SmallTool("T", behave))).execute("T", "")


@pytest.mark.seed("T01")
@pytest.mark.parametrize("returned", ["a bare string", None, {"status": "success"}, b"", 1, ToolStatus.SUCCESS])
def test_a_tool_that_returns_no_result_is_told_so(returned: object) -> None:
    result = ToolExecutor(registry_with(SmallTool("T", lambda _: returned))).execute("T", "")
    assert result.error_code is ErrorCode.INTERNAL_ERROR
    assert result.text == f"T returned {type(returned).__name__}; every tool returns a ToolResult"


@pytest.mark.seed("T01")
def test_a_function_that_returns_a_bare_string_is_told_so() -> None:
    registry = ToolRegistry()
    registry.register_function("f", "", lambda text: text)  # type: ignore[arg-type, return-value]
    assert ToolExecutor(registry).execute("f", {"input": "x"}).error_code is ErrorCode.INTERNAL_ERROR


@pytest.mark.parametrize(
    "data", [{"a": float("nan")}, {"a": {1, 2}}, {"n": 10**5000}], ids=["not a number", "a set", "a huge integer"]
)
def test_a_tool_whose_payload_json_cannot_say_fails_alone(data: dict[str, Any]) -> None:
    result = ToolExecutor(registry_with(SmallTool("T", lambda _: ToolResult.success("", data)))).execute("T", "")
    assert result.error_code is ErrorCode.EXECUTION_ERROR
    assert "data." in result.text


# What every result carries


@pytest.mark.seed("T06")
def test_every_result_says_how_long_it_took_where_it_ran_and_what_it_was_given(tmp_path: Path) -> None:
    clock = ManualClock(100)

    def behave(_: object) -> ToolResult:
        clock.advance(0.25)
        return ToolResult.success("", lines=3)

    executor = ToolExecutor(registry_with(SmallTool("T", behave)), Workspace(tmp_path), clock=clock)
    result = executor.execute("T", '{"value": "v"}')
    assert result.stats == {"time_ms": 250, "lines": 3}
    assert result.context == {"cwd": str(tmp_path.resolve()), "params_input": {"value": "v"}}


@pytest.mark.seed("T06")
@pytest.mark.parametrize(
    ("name", "arguments", "given_parameters"),
    [
        ("T", '{"wrong": [1]}', {"wrong": (1,)}),
        ("T", "{broken", {}),
        ("Nothing", '{"a": {}}', {"a": {}}),
    ],
)
def test_refusals_carry_them_too(name: str, arguments: str, given_parameters: dict[str, Any]) -> None:
    result = ToolExecutor(registry_with(SmallTool("T")), clock=ManualClock()).execute(name, arguments)
    assert result.status is ToolStatus.ERROR
    assert result.stats == {"time_ms": 0}
    assert result.context == {"params_input": given_parameters}


@pytest.mark.seed("T06")
def test_what_a_tool_says_of_itself_outweighs_what_is_added(tmp_path: Path) -> None:
    own = ToolResult(ToolStatus.SUCCESS, "", stats={"time_ms": 7}, context={"cwd": "elsewhere"})
    result = ToolExecutor(registry_with(SmallTool("T", lambda _: own)), Workspace(tmp_path)).execute("T", "")
    assert result.stats["time_ms"] == 7
    assert result.context == {"cwd": "elsewhere", "params_input": {}}


@pytest.mark.seed("T06")
def test_the_input_is_kept_as_given_although_the_tool_changes_its_copy() -> None:
    rows = (ToolParameter("rows", "array"),)

    def behave(parameters: dict[str, Any]) -> ToolResult:
        parameters["rows"].append(object())
        parameters["more"] = object()
        return ToolResult.success("")

    mine = {"rows": [1]}
    result = ToolExecutor(registry_with(SmallTool("T", behave, parameters=rows))).execute("T", mine)
    assert result.context["params_input"] == {"rows": (1,)}
    assert mine == {"rows": [1]}


def test_the_lock_does_not_show_in_the_input(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a")
    executor = builtin_executor(tmp_path)
    executor.execute("Read", {"path": "f"})
    edit = {"path": "f", "old_string": "a", "new_string": "b"}
    assert executor.execute("Edit", edit).context["params_input"] == edit


# Policies and seams


def test_a_question_that_fails_is_no_yes() -> None:
    def policy(_: AskRequest) -> bool:
        raise ConnectionError("nobody there")

    tool = SmallTool("Shell", kind=ToolKind.SHELL, parameters=(ToolParameter("command", "string"),))
    done = ToolExecutor(registry_with(tool), ask=policy).execute_call("Shell", {"command": "mv a b"})
    assert done.result.error_code is ErrorCode.PERMISSION_DENIED
    assert done.decisions[-1].outcome == "refused"
    assert "ConnectionError: nobody there" in done.decisions[-1].reason
    assert tool.runs == []


def test_a_call_that_cannot_be_judged_is_denied() -> None:
    class Broken(RiskClassifier):
        def classify(self, name: str, parameters: Mapping[str, Any], mode: RuntimeMode = RuntimeMode.NORMAL) -> Ruling:
            raise RuntimeError("no rules today")

    tool = SmallTool("T")
    registry = registry_with(tool)
    result = ToolExecutor(registry, classifier=Broken(registry)).execute("T", "")
    assert result.error_code is ErrorCode.PERMISSION_DENIED
    assert "RuntimeError: no rules today" in result.text
    assert tool.runs == []


def test_observing_gates_record_what_they_would_have_decided_and_let_the_call_run(tmp_path: Path) -> None:
    gates = Gates(tmp_path, Decision.DENY, gates=GateMode.OBSERVE)
    done = gates.executor.execute_call("EDIT", {"path": 1})
    assert [(entry.gate, entry.outcome) for entry in done.decisions] == [
        ("arguments", "invalid"),
        ("permission", "deny"),
        ("lock", "observed"),
        ("breaker", "closed"),
        ("run", "success"),
    ]
    assert done.result.status is ToolStatus.SUCCESS


def test_an_observed_open_circuit_lets_the_call_run() -> None:
    tool = SmallTool("T", lambda _: ToolResult.error(ErrorCode.TIMEOUT, "slow"))
    registry = registry_with(tool, breaker=CircuitBreaker(1, clock=ManualClock()))
    executor = ToolExecutor(registry, gates=GateMode.OBSERVE)
    executor.execute("T", "")
    done = executor.execute_call("T", "")
    assert [entry.outcome for entry in done.decisions if entry.gate == "breaker"] == ["open"]
    assert len(tool.runs) == 2


def test_the_call_id_reaches_a_tool_that_asks_for_it() -> None:
    class Answering(SmallTool):
        def run_call(self, parameters: Mapping[str, Any], call_id: str) -> ToolResult:
            return ToolResult.success(call_id)

    assert ToolExecutor(registry_with(Answering("T"))).execute_call("T", "", "call_7").result.text == "call_7"


NO_ARGUMENTS: tuple[object, ...] = (object(), {"value": float("inf")}, b"{}", 1, [])


@settings(deadline=None)
@given(
    st.sampled_from(["Read", "Bash", "Edit", "Nothing"]) | any_text,
    any_text | json_objects.map(json.dumps) | json_objects | st.sampled_from(NO_ARGUMENTS),
)
def test_no_call_raises_and_every_answer_can_be_sent(name: str, arguments: object) -> None:
    path = (ToolParameter("path", "string", required=False), ToolParameter("value", "string", required=False))
    kinds = {"Read": ToolKind.READ, "Edit": ToolKind.EDIT, "Bash": ToolKind.SHELL}
    tools = [SmallTool(each, kind=kind, parameters=path, path_parameter="path") for each, kind in kinds.items()]
    executor = ToolExecutor(registry_with(*tools), Workspace(Path(__file__).parent), ask=lambda _: True)
    serialize_tool_result(executor.execute(name, arguments)).encode("utf-8")


@pytest.mark.parametrize("levels", [90, 600, 5_000])
@pytest.mark.parametrize("name", ["T", "Nothing"])
def test_arguments_nested_beyond_all_reason_are_answered(name: str, levels: int) -> None:
    executor = ToolExecutor(registry_with(SmallTool("T")))
    for text in ('{"a":' * levels + "1" + "}" * levels, '{"a":' + "[" * levels + "]" * levels + "}"):
        result = executor.execute(name, text)
        assert result.status is ToolStatus.ERROR
        json.loads(serialize_tool_result(result))


@pytest.mark.seed("B03")
def test_of_many_threads_one_probes_and_the_others_are_refused() -> None:
    clock = ManualClock()
    release = threading.Event()
    failing = [True]

    def behave(_: object) -> ToolResult:
        if failing:
            failing.clear()
            return ToolResult.error(ErrorCode.TIMEOUT, "slow")
        release.wait(10)
        return ToolResult.success("back")

    tool = SmallTool("T", behave)
    executor = ToolExecutor(registry_with(tool, breaker=CircuitBreaker(1, 10, clock)))
    executor.execute("T", "")
    clock.advance(10)
    codes: list[ErrorCode | None] = []
    guard = threading.Lock()

    def call() -> None:
        code = executor.execute("T", "").error_code
        with guard:
            codes.append(code)
            if len(codes) == 15:
                release.set()

    threads = [threading.Thread(target=call) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sorted(map(str, codes)) == sorted(["CIRCUIT_OPEN"] * 15 + ["None"])
    assert len(tool.runs) == 2
