from __future__ import annotations

from pathlib import Path

import pytest

from harness.pipeline.decision import Decision, Ruling, strictest
from harness.pipeline.executor import ToolExecutor
from harness.pipeline.permissions import (
    AskRequest,
    RiskClassifier,
    RuntimeMode,
    ask_allows,
    ask_denies,
    is_shown,
)
from harness.pipeline.registry import ToolRegistry
from harness.pipeline.result import ErrorCode, ToolResult, ToolStatus
from harness.pipeline.tool import ToolKind, ToolParameter
from harness.pipeline.workspace import Workspace
from tests.pipeline.tools import SmallTool, builtin_executor, registry_with

COMMAND = (ToolParameter("command", "string"),)
PATH = (ToolParameter("path", "string"),)

EDIT_ARGUMENTS = {"path": "f.txt", "old_string": "a", "new_string": "b"}


def classifier(root: Path) -> RiskClassifier:
    executor = builtin_executor(root)
    return RiskClassifier(executor.registry, executor.workspace)


def ruling_on(root: Path, command: str, mode: RuntimeMode = RuntimeMode.NORMAL) -> Decision:
    return classifier(root).classify("Bash", {"command": command}, mode).decision


@pytest.mark.seed("X02")
@pytest.mark.parametrize("mode", list(RuntimeMode))
@pytest.mark.parametrize(
    ("name", "parameters"), [("Read", {"path": "f.txt"}), ("Grep", {"pattern": "a"}), ("Glob", {"pattern": "*"})]
)
def test_reading_tools_are_allowed_at_once_in_every_mode(
    tmp_path: Path, name: str, parameters: dict[str, str], mode: RuntimeMode
) -> None:
    assert classifier(tmp_path).classify(name, parameters, mode).decision is Decision.ALLOW


@pytest.mark.seed("X02")
def test_nobody_is_asked_about_a_read(tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_text("a")
    asked: list[AskRequest] = []

    def policy(request: AskRequest) -> bool:
        asked.append(request)
        return False

    executor = builtin_executor(tmp_path, ask=policy)
    assert executor.execute("Read", {"path": "f.txt"}).status is ToolStatus.SUCCESS
    assert asked == []


@pytest.mark.seed("X03")
def test_edit_is_denied_inside_a_read_only_sub_agent_and_the_file_stays(tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_text("a")
    executor = builtin_executor(tmp_path, mode=RuntimeMode.READ_ONLY, ask=ask_allows)
    result = executor.execute("Edit", EDIT_ARGUMENTS)
    assert result.error_code is ErrorCode.PERMISSION_DENIED
    assert "read-only mode" in result.text
    assert (tmp_path / "f.txt").read_text() == "a"


@pytest.mark.seed("X03")
def test_edit_is_allowed_where_the_agent_is_not_read_only(tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_text("a")
    assert builtin_executor(tmp_path).execute("Edit", EDIT_ARGUMENTS).status is ToolStatus.SUCCESS
    assert (tmp_path / "f.txt").read_text() == "b"


@pytest.mark.seed("X03")
def test_a_read_only_sub_agent_is_not_shown_what_it_may_not_use(tmp_path: Path) -> None:
    registry = builtin_executor(tmp_path).registry
    registry.register_tool(SmallTool("Task"))

    def shown(mode: RuntimeMode) -> set[str]:
        entries = registry.get_openai_tools(lambda tool: is_shown(tool, mode))
        return {entry["function"]["name"] for entry in entries}

    assert shown(RuntimeMode.NORMAL) == {"Read", "Grep", "Glob", "Edit", "MultiEdit", "Bash", "ListFiles", "Task"}
    assert shown(RuntimeMode.READ_ONLY) == {"Read", "Grep", "Glob", "Bash", "ListFiles"}


@pytest.mark.parametrize("kind", [ToolKind.EDIT, ToolKind.OTHER])
def test_in_read_only_mode_no_tool_that_may_write_is_allowed_whatever_its_name(kind: ToolKind) -> None:
    rules = RiskClassifier(registry_with(SmallTool("Read", kind=kind)))
    assert rules.classify("Read", {}, RuntimeMode.READ_ONLY).decision is Decision.DENY
    assert rules.classify("Read", {}).decision is Decision.ALLOW


@pytest.mark.seed("X04")
@pytest.mark.parametrize(
    "command",
    ["sudo ls", "rm f.txt", "rm -rf .", "git reset --hard", "bash -c 'ls'", "sh -c ls", "cd src && rm f.txt"],
)
def test_bash_with_what_destroys_is_denied(tmp_path: Path, command: str) -> None:
    assert ruling_on(tmp_path, command) is Decision.DENY


@pytest.mark.seed("X04")
def test_a_denied_command_does_not_run_even_where_everything_asked_is_granted(tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_text("a")
    result = builtin_executor(tmp_path, ask=ask_allows).execute("Bash", {"command": "rm f.txt"})
    assert result.error_code is ErrorCode.PERMISSION_DENIED
    assert (tmp_path / "f.txt").exists()


@pytest.mark.seed("X05")
@pytest.mark.parametrize("command", ["mv a b", "pip install requests", "python -m pip install requests"])
def test_bash_with_what_changes_has_to_be_asked_for(tmp_path: Path, command: str) -> None:
    assert ruling_on(tmp_path, command) is Decision.ASK


@pytest.mark.seed("X05")
@pytest.mark.parametrize("command", ["ls -la", "cat f.txt", "git status", "grep -n a f.txt | head -3"])
@pytest.mark.parametrize("mode", list(RuntimeMode))
def test_bash_that_only_looks_is_allowed(tmp_path: Path, command: str, mode: RuntimeMode) -> None:
    assert ruling_on(tmp_path, command, mode) is Decision.ALLOW


@pytest.mark.seed("X05")
def test_a_command_to_ask_for_runs_when_the_answer_is_yes_and_only_then(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("content")
    refused = builtin_executor(tmp_path).execute("Bash", {"command": "mv a b"})
    assert refused.error_code is ErrorCode.PERMISSION_DENIED
    assert "needs approval, which was not given" in refused.text
    assert not (tmp_path / "b").exists()
    granted = builtin_executor(tmp_path, ask=ask_allows).execute("Bash", {"command": "mv a b"})
    assert granted.status is ToolStatus.SUCCESS
    assert (tmp_path / "b").read_text() == "content"


def test_a_read_only_sub_agent_is_denied_what_others_are_asked_about(tmp_path: Path) -> None:
    assert ruling_on(tmp_path, "mv a b", RuntimeMode.READ_ONLY) is Decision.DENY
    assert ruling_on(tmp_path, "rm a", RuntimeMode.READ_ONLY) is Decision.DENY


@pytest.mark.seed("X06")
@pytest.mark.parametrize("name", ["Delete", "Rea", "", "read file/../../x:y", "Re\nad"])
def test_an_unknown_tool_is_denied_and_the_known_ones_are_named(tmp_path: Path, name: str) -> None:
    executor = builtin_executor(tmp_path, ask=ask_allows)
    ruling = RiskClassifier(executor.registry, executor.workspace).classify(name, {"path": "f.txt"})
    assert ruling.decision is Decision.DENY
    assert ", ".join(executor.registry.names) in ruling.reason
    result = executor.execute(name, {"path": "f.txt"})
    assert result.error_code is ErrorCode.UNKNOWN_TOOL
    assert repr(name) in result.text


@pytest.mark.seed("X06")
def test_without_any_tool_everything_is_denied() -> None:
    ruling = RiskClassifier(ToolRegistry()).classify("Read", {})
    assert ruling == Ruling(Decision.DENY, "there is no tool 'Read'; the tools are: none")


@pytest.mark.parametrize("path", ["../outside.txt", "/etc/passwd", "a/../../b", "a\0b", "\ud800", "link/f"])
@pytest.mark.parametrize("kind", [ToolKind.READ, ToolKind.EDIT])
def test_a_path_that_leads_out_of_the_workspace_is_denied(tmp_path: Path, path: str, kind: ToolKind) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "link").symlink_to(tmp_path)
    tool = SmallTool("T", kind=kind, parameters=PATH, path_parameter="path")
    ruling = RiskClassifier(registry_with(tool), Workspace(root)).classify("T", {"path": path})
    assert ruling.decision is Decision.DENY


def test_a_path_inside_the_workspace_is_no_escape_however_it_is_spelled(tmp_path: Path) -> None:
    tool = SmallTool("T", kind=ToolKind.READ, parameters=PATH, path_parameter="path")
    rules = RiskClassifier(registry_with(tool), Workspace(tmp_path))
    for path in ("f", "./f", "a/../f", str(tmp_path / "f"), "."):
        assert rules.classify("T", {"path": path}).decision is Decision.ALLOW


def test_the_policy_is_told_what_it_is_asked() -> None:
    asked: list[AskRequest] = []

    def policy(request: AskRequest) -> bool:
        asked.append(request)
        return bool(request.parameters["command"] == "mv a b")

    shell = SmallTool("Shell", lambda _: ToolResult.success("ran"), kind=ToolKind.SHELL, parameters=COMMAND)
    executor = ToolExecutor(registry_with(shell), ask=policy)
    assert executor.execute("Shell", {"command": "mv a b"}).text == "ran"
    assert executor.execute("Shell", {"command": "mv c d"}).error_code is ErrorCode.PERMISSION_DENIED
    assert [(request.tool_name, request.parameters["command"]) for request in asked] == [
        ("Shell", "mv a b"),
        ("Shell", "mv c d"),
    ]
    assert all("mv" in request.reason for request in asked)
    assert shell.runs == [{"command": "mv a b"}]


def test_the_ready_policies_say_no_and_yes() -> None:
    request = AskRequest("Bash", {"command": "mv a b"}, "mv moves")
    assert ask_denies(request) is False
    assert ask_allows(request) is True


def test_the_strictest_of_several_rulings_wins_and_of_equals_the_first() -> None:
    allow, ask, deny = (Ruling(decision, decision.value) for decision in (Decision.ALLOW, Decision.ASK, Decision.DENY))
    assert strictest([allow, deny, ask]) is deny
    assert strictest([allow, ask]) is ask
    assert strictest([ask, Ruling(Decision.ASK, "second")]) is ask
    with pytest.raises(ValueError, match="empty"):
        strictest([])
