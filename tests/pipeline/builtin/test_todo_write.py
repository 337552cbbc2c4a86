"""TodoWrite: the list is replaced as a whole, or not at all."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.pipeline.builtin import TodoWriteTool
from harness.pipeline.builtin.todo_write import MAX_CONTENT_CHARACTERS, MAX_TODOS, Todo, TodoStatus
from harness.pipeline.executor import ToolExecutor
from harness.pipeline.permissions import RuntimeMode
from harness.pipeline.result import ErrorCode, ToolResult, ToolStatus
from harness.pipeline.workspace import Workspace
from tests.pipeline.tools import orchestrator_with, registry_with


def item(content: object = "Write it", status: object = "pending", **more: object) -> dict[str, object]:
    return {"content": content, "status": status, **more}


def write(tool: TodoWriteTool, *items: object) -> ToolResult:
    return tool.run({"todos": list(items)})


def test_the_list_comes_back_with_ids_and_in_short(workspace: Workspace) -> None:
    tool = TodoWriteTool(workspace)
    result = write(
        tool, item("Read", "completed"), item("Write", "in_progress"), item("Test"), item("Fly", "cancelled")
    )
    assert result.status is ToolStatus.SUCCESS
    assert result.text.splitlines() == [
        "4 items: 1 pending, 1 in_progress, 1 completed, 1 cancelled.",
        "[x] Read",
        "[>] Write",
        "[ ] Test",
        "[-] Fly",
    ]
    assert result.data["todos"][1] == {"id": "t2", "content": "Write", "status": "in_progress"}
    assert dict(result.stats) == {"total": 4, "pending": 1, "in_progress": 1, "completed": 1, "cancelled": 1}


def test_a_later_list_replaces_the_one_before(workspace: Workspace) -> None:
    tool = TodoWriteTool(workspace)
    write(tool, item("One"), item("Two"))
    write(tool, item("Two", "in_progress"))
    assert tool.todos == (Todo("t1", "Two", TodoStatus.IN_PROGRESS),)
    assert write(tool).text == "The list is empty."
    assert not tool.todos


def test_each_agent_has_its_own_list_and_no_file(workspace: Workspace) -> None:
    one, other = TodoWriteTool(workspace), TodoWriteTool(workspace)
    write(one, item())
    assert other.todos == ()
    assert list(workspace.root.iterdir()) == []


@pytest.mark.parametrize(
    ("items", "reason"),
    [
        ([item("A", "in_progress"), item("B"), item("C", "in_progress")], "t1, t3"),
        ([item(status="done")], "pending, in_progress, completed, cancelled"),
        ([item(status=None)], "item 1"),
        ([item(status=["pending"])], "item 1"),
        ([item(), item(content="  ")], "item 2 has no content"),
        ([item(content=5)], "item 1 has no content"),
        ([item(content="x" * (MAX_CONTENT_CHARACTERS + 1))], f"{MAX_CONTENT_CHARACTERS + 1} characters"),
        ([item(f"{n}") for n in range(MAX_TODOS + 1)], f"{MAX_TODOS + 1} items"),
        (["Write it"], "item 1 is no object"),
        ("Write it", "a list"),
        (None, "a list"),
    ],
)
def test_a_list_that_is_not_orderly_leaves_the_one_before(workspace: Workspace, items: object, reason: str) -> None:
    tool = TodoWriteTool(workspace)
    write(tool, item("Before"))
    result = tool.run({"todos": items})
    assert result.error_code is ErrorCode.INVALID_PARAM
    assert reason in result.text
    assert [todo.content for todo in tool.todos] == ["Before"]


def test_ids_of_the_model_are_not_used_and_lines_are_joined(workspace: Workspace) -> None:
    tool = TodoWriteTool(workspace)
    write(tool, item("One\n  two", id="99"))
    assert tool.todos == (Todo("t1", "One two", TodoStatus.PENDING),)


ITEMS = st.lists(
    st.fixed_dictionaries(
        {
            "content": st.text(max_size=MAX_CONTENT_CHARACTERS + 3),
            "status": st.sampled_from([*(status.value for status in TodoStatus), "begun"]),
        }
    ),
    max_size=6,
)


@given(lists=st.lists(ITEMS, max_size=4))
def test_after_any_lists_the_last_accepted_one_stands(
    tmp_path_factory: pytest.TempPathFactory, lists: list[list[dict[str, Any]]]
) -> None:
    workspace = Workspace(tmp_path_factory.getbasetemp())
    tool = TodoWriteTool(workspace)
    accepted: list[dict[str, Any]] = []
    for items in lists:
        result = write(tool, *items)
        orderly = sum(entry["status"] == "in_progress" for entry in items) <= 1 and all(
            entry["status"] != "begun" and entry["content"].strip() and len(entry["content"]) <= MAX_CONTENT_CHARACTERS
            for entry in items
        )
        assert (result.status is ToolStatus.SUCCESS) is orderly
        accepted = items if orderly else accepted
        assert [todo.status for todo in tool.todos] == [entry["status"] for entry in accepted]
        assert [todo.content for todo in tool.todos] == [" ".join(entry["content"].split()) for entry in accepted]


def test_the_schema_refuses_what_the_tool_refuses(workspace: Workspace) -> None:
    executor = ToolExecutor(registry_with(tool := TodoWriteTool(workspace)))
    done = executor.execute_call("TodoWrite", {"todos": [item(status="begun")]})
    assert (done.executed, done.result.error_code) == (False, ErrorCode.INVALID_PARAM)
    assert executor.execute("TodoWrite", {"todos": [item(id="t1")]}).status is ToolStatus.SUCCESS
    assert len(tool.todos) == 1


def test_it_never_runs_beside_other_calls_nor_in_read_only_mode(workspace: Workspace) -> None:
    tool = TodoWriteTool(workspace)
    assert not orchestrator_with(tool).is_concurrency_safe("TodoWrite", None)
    executor = ToolExecutor(registry_with(tool), mode=RuntimeMode.READ_ONLY)
    assert executor.execute("TodoWrite", {"todos": []}).error_code is ErrorCode.PERMISSION_DENIED
