"""Conversations that grow by a call and its result a step, as a recorder keeps them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from harness.measure.prompt import count_request
from harness.measure.task import Session, Task, read_tasks
from harness.wire.exchange import Exchange
from tests.cassette.conversations import chat

SYSTEM = {"role": "system", "content": "You mend programs."}
USER = {"role": "user", "content": "Mend the parser."}


def tool(name: str, description: str = "Does a thing.") -> dict[str, Any]:
    """A definition with one parameter."""
    parameters = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def call(name: str, identity: str, **arguments: Any) -> dict[str, Any]:
    """A call as it stands in an assistant message."""
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def answer(message: dict[str, Any], usage: dict[str, Any] | None = None, model: str = "gpt-4o-2024-08-06") -> bytes:
    """The body of an answer."""
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if "tool_calls" in message else "stop"}
    document: dict[str, Any] = {"id": "c", "model": model, "choices": [choice]}
    return json.dumps(document | ({"usage": usage} if usage is not None else {})).encode()


def talk(
    turns: Sequence[Sequence[tuple[str, str]]],
    tools: Sequence[dict[str, Any]],
    usage: dict[str, Any] | None = None,
    system: dict[str, Any] = SYSTEM,
) -> list[Exchange]:
    """One request a turn; each turn but the last makes the calls given as (tool, result), the last one answers."""
    messages: list[dict[str, Any]] = [system, USER]
    exchanges: list[Exchange] = []
    for number, calls in enumerate(turns):
        message: dict[str, Any] = {"role": "assistant", "content": None if calls else "Done."}
        if calls:
            message["tool_calls"] = [
                call(name, f"c{number}-{position}", path=f"f{number}.py") for position, (name, _) in enumerate(calls)
            ]
        body = {"model": "gpt-4o", "tools": list(tools)} if tools else {"model": "gpt-4o"}
        exchanges.append(chat(list(messages), answer(message, usage), number, **body))
        messages.append(message)
        messages += [
            {"role": "tool", "tool_call_id": f"c{number}-{position}", "content": result}
            for position, (_, result) in enumerate(calls)
        ]
    return exchanges


def task_of(exchanges: Sequence[Exchange]) -> Task:
    """The only task in some exchanges."""
    session = read_tasks(exchanges, "talk.yaml")
    assert not session.left_out
    (task,) = session.tasks
    return task


def session_of(exchanges: Sequence[Exchange]) -> Session:
    """All tasks in some exchanges."""
    return read_tasks(exchanges, "talk.yaml")


def five_tools_of(tokens: int) -> list[dict[str, Any]]:
    """Five definitions that together cost a request exactly so many tokens."""
    names = ("read", "edit", "bash", "grep", "list")
    words = 50
    while True:
        tools = [tool(name, "word" + " word" * words) for name in names]
        have = count_request({"model": "gpt-4o", "messages": [SYSTEM, USER], "tools": tools}).tools_tokens
        if have > tokens - 5:
            break
        words += max((tokens - have) // 10, 1)
    while have != tokens:
        words += (tokens > have) - (tokens < have)
        tools[-1] = tool(names[-1], "word" + " word" * words)
        have = count_request({"model": "gpt-4o", "messages": [SYSTEM, USER], "tools": tools}).tools_tokens
    return tools
