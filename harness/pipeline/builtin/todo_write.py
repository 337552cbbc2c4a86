"""TodoWrite: the agent's own list of what there is to do, written anew as a whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from harness.pipeline.builtin.base import Arguments, BuiltinTool, CallError, counted, echo
from harness.pipeline.result import ErrorCode, ToolResult
from harness.pipeline.tool import ToolParameter
from harness.pipeline.workspace import Workspace

MAX_TODOS = 50
MAX_CONTENT_CHARACTERS = 200


class TodoStatus(StrEnum):
    """How far one item is."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    CANCELLED = "cancelled"


_MARKS = {
    TodoStatus.PENDING: "[ ]",
    TodoStatus.IN_PROGRESS: "[>]",
    TodoStatus.COMPLETED: "[x]",
    TodoStatus.CANCELLED: "[-]",
}


@dataclass(frozen=True, slots=True)
class Todo:
    """One item. ``id`` is ``t1`` for the first of the list: an id is a place, given by the tool."""

    id: str
    content: str
    status: TodoStatus


class TodoWriteTool(BuiltinTool):
    """Replaces the list, which lives as long as the agent and is in no file; `todos` is its present state.

    At most one item is in progress, contents have up to MAX_CONTENT_CHARACTERS and are kept as single lines, MAX_TODOS
    items at most; anything else is INVALID_PARAM and leaves the list as it was. ``data``: ``todos`` with their ids.
    ``text``: the counts and the list, an item a line. Ids that the model sends are not used.
    """

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(
            workspace,
            "TodoWrite",
            "Write down the whole list of what there is to do, in place of the one before. For tasks of several "
            "steps: at most one item in_progress, and each marked completed as soon as it is done.",
        )
        self.todos: tuple[Todo, ...] = ()

    def get_parameters(self) -> Sequence[ToolParameter]:
        """The list."""
        item = {
            "type": "object",
            "properties": {
                "id": {"type": "string", "description": "Given by the tool; may be left out."},
                "content": {"type": "string", "minLength": 1, "maxLength": MAX_CONTENT_CHARACTERS},
                "status": {"type": "string", "enum": [status.value for status in TodoStatus]},
            },
            "required": ["content", "status"],
            "additionalProperties": False,
        }
        return (ToolParameter("todos", "array", "All items, in order.", extra={"items": item, "maxItems": MAX_TODOS}),)

    def perform(self, arguments: Arguments) -> ToolResult:
        """Take the list, or refuse it as a whole."""
        todos = _todos(arguments.values.get("todos"))
        _demand_orderly(todos)
        self.todos = todos
        counts = Counter(todo.status.value for todo in todos)
        lines = [f"{_MARKS[todo.status]} {todo.content}" for todo in todos]
        data = {"todos": [{"id": todo.id, "content": todo.content, "status": todo.status.value} for todo in todos]}
        stats = {status.value: counts[status.value] for status in TodoStatus}
        return ToolResult.success("\n".join([_summary(counts), *lines]), data, total=len(todos), **stats)


def _todos(values: object) -> tuple[Todo, ...]:
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise CallError(ErrorCode.INVALID_PARAM, "todos is a list of items")
    if len(values) > MAX_TODOS:
        raise CallError(ErrorCode.INVALID_PARAM, f"todos has {len(values)} items, the most is {MAX_TODOS}")
    return tuple(_todo(value, number) for number, value in enumerate(values, 1))


def _todo(value: object, number: int) -> Todo:
    if not isinstance(value, Mapping):
        raise CallError(ErrorCode.INVALID_PARAM, f"item {number} is no object with content and status")
    content, status = value.get("content"), value.get("status")
    if not isinstance(content, str) or not content.strip():
        raise CallError(ErrorCode.INVALID_PARAM, f"item {number} has no content")
    if len(content) > MAX_CONTENT_CHARACTERS:
        text = f"item {number} has {len(content)} characters, the most is {MAX_CONTENT_CHARACTERS}; put it shorter"
        raise CallError(ErrorCode.INVALID_PARAM, text)
    if status not in list(TodoStatus):
        known = ", ".join(TodoStatus)
        raise CallError(ErrorCode.INVALID_PARAM, f"item {number} has the status {echo(str(status))!r}, not of {known}")
    return Todo(f"t{number}", " ".join(content.split()), TodoStatus(status))


def _demand_orderly(todos: Sequence[Todo]) -> None:
    active = [todo.id for todo in todos if todo.status is TodoStatus.IN_PROGRESS]
    if len(active) > 1:
        text = f"{len(active)} items are in_progress ({', '.join(active)}); at most one is, the others are pending"
        raise CallError(ErrorCode.INVALID_PARAM, text)


def _summary(counts: Mapping[str, Any]) -> str:
    total = sum(counts.values())
    if not total:
        return "The list is empty."
    parts = [f"{counts[status.value]} {status.value}" for status in TodoStatus if counts.get(status.value)]
    return f"{counted(total, 'item', 'items')}: {', '.join(parts)}."
