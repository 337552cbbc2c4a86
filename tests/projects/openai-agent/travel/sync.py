"""The agent as most people write it."""

from __future__ import annotations

from openai import OpenAI

from travel import desk


def ask(question: str, client: OpenAI | None = None) -> str:
    """The desk's answer; without a client one is made from the environment."""
    client = client or OpenAI()
    messages = desk.opening(question)
    while True:
        message = client.chat.completions.create(messages=messages, **desk.parameters()).choices[0].message
        if not message.tool_calls:
            return message.content or ""
        messages.append(message.model_dump(exclude_none=True))
        calls = [(call.id, call.function.name, call.function.arguments) for call in message.tool_calls
                 if call.type == "function"]  # fmt: skip
        messages += desk.answers(calls)
