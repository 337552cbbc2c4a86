"""A shell command as a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness.play.neutral.actions import RunCommand
from harness.play.neutral.call import Call, Offer
from harness.play.neutral.choosing import chosen, impossible
from harness.play.neutral.folder import PLACEHOLDER
from harness.play.neutral.offered import COMMAND, COMMANDS, OfferedTool
from harness.play.player import CannotAnswerError

_KNOWN = (
    "bash", "shell", "runshellcommand", "runcommand", "runcommands", "executecommand", "executebash", "runinterminal",
    "terminal", "shellcommand", "execcommand", "exec", "runterminalcmd", "localshell",
)  # fmt: skip
_WORDS = frozenset({"bash", "shell", "terminal", "command", "commands", "exec", "execute", "sh", "run"})


def can_run(offer: Offer) -> bool:
    """Whether some tool runs shell commands."""
    return any(_way(tool) is not None for tool in offer.tools)


def run_call(action: RunCommand, offer: Offer) -> Call:
    """The call that runs a command; raises CannotAnswerError where no tool does, or several unknown ones would."""
    ways = [(tool, way) for tool in offer.tools if (way := _way(tool)) is not None]
    found = chosen(ways, _KNOWN, str(action))
    if found is None:
        raise impossible(str(action), offer.tools, "runs shell commands")
    tool, way = found
    if PLACEHOLDER in action.command and offer.folder is None:
        raise CannotAnswerError(f"{action}: the agent's folder is not known; --workspace DIR says it")
    return Call(tool, way(action.command.replace(PLACEHOLDER, offer.folder or "")))


def _way(tool: OfferedTool) -> Callable[[str], dict[str, Any]] | None:
    """How a tool takes a command: as a text, as a list of commands, or as a list of words."""
    if not tool.words & _WORDS:
        return None
    one = tool.parameter(COMMAND)
    if one is not None and "enum" not in tool.properties[one]:
        return lambda command: {one: command}
    several = tool.parameter(COMMANDS, "array")
    if several is not None:
        return lambda command: {several: [command]}
    words = tool.parameter(COMMAND, "array")
    if words is not None:
        return lambda command: {words: ["bash", "-lc", command]}
    return None
