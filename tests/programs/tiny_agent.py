"""A small agent on plain HTTP: two tools, one loop, nothing but the standard library.

The task is the first argument; the model's address comes from the environment. ``--swallow`` ends with exit code 0
whatever the endpoint says.
"""

import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "read_file",
            "description": "Read a file of the project",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
        },
    },
    {
        "type": "function",
        "function": {
            "name": "write_file",
            "description": "Write a file of the project",
            "parameters": {
                "type": "object",
                "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
                "required": ["path", "content"],
            },
        },
    },
]


def ask(messages: list[dict[str, Any]]) -> dict[str, Any]:
    body = {"model": "tiny", "messages": messages, "tools": TOOLS}
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps(body).encode(),
        {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]},
    )
    with urllib.request.urlopen(request) as answer:
        message: dict[str, Any] = json.load(answer)["choices"][0]["message"]
    return message


def run(name: str, arguments: dict[str, str]) -> str:
    path = Path.cwd() / arguments["path"]
    if name == "read_file":
        return path.read_text("utf-8") if path.is_file() else "no such file"
    path.write_text(arguments["content"], "utf-8")
    return f"wrote {arguments['path']}"


def main(task: str) -> str:
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": f"You work in {Path.cwd()}."},
        {"role": "user", "content": task},
    ]
    while True:
        message = ask(messages)
        messages.append(message)
        if not message.get("tool_calls"):
            return str(message["content"])
        for call in message["tool_calls"]:
            result = run(call["function"]["name"], json.loads(call["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})


if __name__ == "__main__":
    try:
        print(main(sys.argv[1]))  # noqa: T201  what the program is for
    except urllib.error.HTTPError as error:
        sys.stderr.write(error.read().decode() + "\n")
        sys.exit(0 if "--swallow" in sys.argv else 1)
