"""A small agent: it keeps notes in the workspace, with one tool, on the openai SDK."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import openai

from harness.scenario.agents.context import AgentContext

NOTE: Any = {
    "type": "function",
    "function": {
        "name": "note",
        "description": "Add a line to notes.txt",
        "parameters": {"type": "object", "properties": {"line": {"type": "string"}}, "required": ["line"]},
    },
}


def note(folder: Path, arguments: str) -> str:
    """What the tool does."""
    with (folder / "notes.txt").open("a", encoding="utf-8") as file:
        file.write(json.loads(arguments)["line"] + "\n")
    return "noted"


async def chat(client: openai.AsyncOpenAI, prompt: str, folder: Path, model: str) -> str:
    """Ask, do what is asked for, tell what came of it, until the model has its answer."""
    messages: list[Any] = [{"role": "system", "content": "Keep notes."}, {"role": "user", "content": prompt}]
    while True:
        answer = await client.chat.completions.create(model=model, messages=messages, tools=[NOTE])
        message = answer.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return message.content or ""
        for call in message.tool_calls:
            if call.type != "function":
                continue
            result = note(folder, call.function.arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


async def run(context: AgentContext) -> str:
    """As a function under test: what it needs is in the context."""
    client = context.async_openai_client()
    return await chat(client, context.prompt, context.workspace, context.model)


def main() -> None:
    """As a command: the model's address and key come from the environment."""
    client = openai.AsyncOpenAI(max_retries=0)
    text = asyncio.run(chat(client, sys.argv[1], Path.cwd(), os.environ["NOTES_MODEL"]))
    print(text)  # noqa: T201


if __name__ == "__main__":
    main()
