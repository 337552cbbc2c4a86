"""Agents that are Python functions, for tests: each gets an AgentContext."""

import asyncio
import json
import threading
from typing import Any

import openai

from harness.scenario.agents.context import AgentContext

NOTE: Any = {
    "type": "function",
    "function": {
        "name": "note",
        "description": "Write a line into the notes",
        "parameters": {"type": "object", "properties": {"line": {"type": "string"}}, "required": ["line"]},
    },
}


def _note(context: AgentContext, line: str) -> str:
    with (context.workspace / "notes.txt").open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    return "noted"


def sync_agent(context: AgentContext) -> str:
    client = context.openai_client()
    messages: list[Any] = [
        {"role": "system", "content": context.system or "You take notes."},
        {"role": "user", "content": context.prompt},
    ]
    while True:
        answer = client.chat.completions.create(model=context.model, messages=messages, tools=[NOTE])
        message = answer.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return message.content or ""
        for call in message.tool_calls:
            assert call.type == "function"
            result = _note(context, json.loads(call.function.arguments)["line"])
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


async def async_agent(context: AgentContext) -> str:
    client = context.async_openai_client()
    text = ""
    async with await client.chat.completions.create(
        model=context.model, messages=[{"role": "user", "content": context.prompt}], stream=True
    ) as stream:
        async for chunk in stream:
            text += (chunk.choices[0].delta.content or "") if chunk.choices else ""
    return text


def own_client(context: AgentContext) -> None:
    with openai.OpenAI(max_retries=0) as client:
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": context.prompt}])


def swallows_everything(context: AgentContext) -> str:
    try:
        return sync_agent(context)
    except openai.OpenAIError:
        return "All good."


def asks_nothing(context: AgentContext) -> str:
    return "Done."


def raises(context: AgentContext) -> None:
    sync_agent(context)
    raise LookupError("the answer is not to my taste")


def hangs(context: AgentContext) -> None:
    sync_agent(context)
    threading.Event().wait()


async def hangs_async(context: AgentContext) -> None:
    await async_agent(context)
    await asyncio.Event().wait()


def runs_in_a_circle(context: AgentContext) -> None:
    client = context.openai_client()
    for _ in range(5):
        try:
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": context.prompt}])
        except openai.OpenAIError:
            continue


not_a_function = 1
