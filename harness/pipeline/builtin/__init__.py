"""The tools an agent gets out of the box: Read, Grep, Glob, Edit, Bash and ListFiles; others when it names them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from harness.pipeline.builtin.bash import BashTool
from harness.pipeline.builtin.edit import EditTool
from harness.pipeline.builtin.glob import GlobTool
from harness.pipeline.builtin.grep import GrepTool
from harness.pipeline.builtin.list_files import ListFilesTool
from harness.pipeline.builtin.multi_edit import MultiEditTool
from harness.pipeline.builtin.read import ReadTool
from harness.pipeline.builtin.task import TaskTool
from harness.pipeline.builtin.todo_write import TodoWriteTool
from harness.pipeline.file_versions import FileVersions
from harness.pipeline.sub_agent import SubAgents
from harness.pipeline.tool import Tool
from harness.pipeline.workspace import Workspace

__all__ = [
    "BUILTIN_NAMES",
    "OPTIONAL_NAMES",
    "BashTool",
    "EditTool",
    "GlobTool",
    "GrepTool",
    "ListFilesTool",
    "MultiEditTool",
    "ReadTool",
    "TaskTool",
    "TodoWriteTool",
    "builtin_tools",
]

BUILTIN_NAMES = ("Read", "Grep", "Glob", "Edit", "Bash", "ListFiles")
"""The built-in tools that an agent has by default, in the order in which `builtin_tools` gives them."""

OPTIONAL_NAMES = ("MultiEdit", "TodoWrite", "Task")
"""Those it has only when they are named: each costs tokens in every request, and few tasks need them (seed 002)."""


def builtin_tools(
    workspace: Workspace,
    versions: FileVersions,
    *,
    names: Sequence[str] | None = None,
    bash_timeout_s: float = 120,
    sub_agents: SubAgents | None = None,
) -> list[Tool]:
    """The named tools (BUILTIN_NAMES by default) for one workspace, in the order of ``names``, a repeated name once.

    ``bash_timeout_s`` is how long a command may run, in seconds, unless its call says otherwise. ``sub_agents`` starts
    those of Task; without it, or before it is connected to a loop, Task says that there is no model to ask. Raises
    ValueError naming a tool that is unknown, or a time limit that no command could have.
    """
    makers: dict[str, Callable[[], Tool]] = {
        "Read": lambda: ReadTool(workspace),
        "Grep": lambda: GrepTool(workspace),
        "Glob": lambda: GlobTool(workspace),
        "Edit": lambda: EditTool(workspace, versions),
        "Bash": lambda: BashTool(workspace, timeout_s=bash_timeout_s),
        "ListFiles": lambda: ListFilesTool(workspace),
        "MultiEdit": lambda: MultiEditTool(workspace, versions),
        "TodoWrite": lambda: TodoWriteTool(workspace),
        "Task": lambda: TaskTool(workspace, sub_agents or SubAgents()),
    }
    wanted = list(dict.fromkeys(BUILTIN_NAMES if names is None else names))
    for name in wanted:
        if name not in makers:
            raise ValueError(f"there is no built-in tool {name!r}; there are {', '.join(makers)}")
    return [makers[name]() for name in wanted]
