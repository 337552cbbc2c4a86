"""The agent for asyncio, and two questions at the same time."""

from __future__ import annotations

import asyncio

from openai import AsyncOpenAI

from travel import desk


async def ask(question: str, client: AsyncOpenAI) -> str:
    messages = desk.opening(question)
    while True:
        completion = await client.chat.completions.create(messages=messages, **desk.parameters())
        message = completion.choices[0].message
        if not message.tool_calls:
            return message.content or ""
        messages.append(message.model_dump(exclude_none=True))
        calls = [(call.id, call.function.name, call.function.arguments) for call in message.tool_calls
                 if call.type == "function"]  # fmt: skip
        messages += desk.answers(calls)


async def ask_all(questions: list[str], client: AsyncOpenAI) -> list[str]:
    return await asyncio.gather(*(ask(question, client) for question in questions))
