"""The agent with streamed answers: text is shown as it comes, calls are put together from their pieces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from openai import OpenAI

from travel import desk


def ask(question: str, client: OpenAI, show: Callable[[str], None]) -> str:
    messages = desk.opening(question)
    while True:
        text, calls = "", dict[int, dict[str, str]]()
        with client.chat.completions.create(messages=messages, stream=True, **desk.parameters()) as stream:
            for chunk in stream:
                for choice in chunk.choices:
                    if choice.delta.content:
                        text += choice.delta.content
                        show(choice.delta.content)
                    for piece in choice.delta.tool_calls or ():
                        call = calls.setdefault(piece.index, {"id": "", "name": "", "arguments": ""})
                        call["id"] += piece.id or ""
                        if piece.function is not None:
                            call["name"] += piece.function.name or ""
                            call["arguments"] += piece.function.arguments or ""
        if not calls:
            return text
        messages.append(_said(text, list(calls.values())))
        messages += desk.answers([(call["id"], call["name"], call["arguments"]) for call in calls.values()])


def _said(text: str, calls: list[dict[str, str]]) -> dict[str, Any]:
    functions = [{"name": call["name"], "arguments": call["arguments"]} for call in calls]
    return {
        "role": "assistant",
        "content": text or None,
        "tool_calls": [
            {"id": call["id"], "type": "function", "function": function}
            for call, function in zip(calls, functions, strict=True)
        ],
    }
