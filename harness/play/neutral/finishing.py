"""Ending the conversation: by a text, by a tool that ends it, or by a command that the agent waits for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from harness.play.neutral.actions import RunCommand
from harness.play.neutral.call import Call, Offer
from harness.play.neutral.offered import OfferedTool, plain
from harness.play.neutral.running import run_call
from harness.play.player import CannotAnswerError

_KNOWN = frozenset(
    {
        "attemptcompletion", "finish", "submit", "completetask", "taskcomplete", "taskcompleted", "taskdone",
        "finaloutput", "finalanswer", "finalresult", "submitandexit",
    }
)  # fmt: skip
_TEXT = frozenset({"result", "message", "text", "summary", "answer", "output", "response", "content", "finaloutput"})
_COMMANDS = {
    "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT",
    "MINI_SWE_AGENT_FINAL_OUTPUT": "echo MINI_SWE_AGENT_FINAL_OUTPUT",
}
"""What mini-swe-agent 2 and 1 tell the model to run at the end, by the word that their prompts have."""


def finish_call(text: str, offer: Offer, body: Mapping[str, Any]) -> Call | None:
    """The call that ends the conversation, None where a text does; raises CannotAnswerError where it cannot be made."""
    for tool in offer.tools:
        if tool.plain_name in _KNOWN:
            return Call(tool, _said(tool, text))
    for word, command in _COMMANDS.items():
        if any(word in said for said in _prompts(body)):
            return run_call(RunCommand(command), offer)
    return None


def finishing_text(name: str, arguments: Mapping[str, Any]) -> str | None:
    """The text with which such a call ends a conversation, None where a call of that name and arguments ends none."""
    if plain(name) in _KNOWN:
        return next((value for key, value in arguments.items() if plain(key) in _TEXT and isinstance(value, str)), "")
    commands = [value for value in arguments.values() if isinstance(value, str)]
    return "" if any(word in command for command in commands for word in _COMMANDS) else None


def _said(tool: OfferedTool, text: str) -> dict[str, Any]:
    """The text in the parameter that is made for it; a tool that has no parameter takes none."""
    parameter = tool.parameter(_TEXT)
    if parameter is not None:
        return {parameter: text}
    if tool.required:
        names = ", ".join(tool.required)
        raise CannotAnswerError(
            f"finish: the tool {tool.name} takes {names} and no text; write the call under `calls:`"
        )
    return {}


def _prompts(body: Mapping[str, Any]) -> Iterator[str]:
    """What the agent tells the model itself: system and user messages."""
    messages = body.get("messages")
    for message in messages if isinstance(messages, list) else ():
        if not isinstance(message, Mapping) or message.get("role") not in {"system", "developer", "user"}:
            continue
        content = message.get("content")
        parts = content if isinstance(content, list) else [{"text": content}]
        yield from (text for part in parts if isinstance(part, Mapping) and isinstance(text := part.get("text"), str))
