"""Tools as agents offer them, and what a neutral action becomes there."""

from __future__ import annotations

import json
from typing import Any

from harness.play.neutral.actions import Action
from harness.play.neutral.turn import NeutralTurn

FOLDER = "/home/dev/project"


def tool(
    name: str, properties: dict[str, Any], required: list[str] | None = None, description: str = ""
) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": list(required or properties)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def text(description: str = "") -> dict[str, Any]:
    return {"type": "string", "description": description}


BASH = tool("bash", {"command": text("The command to execute")})
READ = tool("read", {"path": text()})
EDIT = tool("edit", {"path": text(), "old_string": text(), "new_string": text()})


def body(*tools: dict[str, Any], messages: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return {"model": "m", "messages": messages or [{"role": "user", "content": "Fix it."}], "tools": list(tools)}


def call_of(action: Action, *tools: dict[str, Any], folder: str | None = FOLDER) -> tuple[str | None, Any]:
    """The name and the arguments of the one call that an action becomes."""
    (call,) = NeutralTurn((action,), folder=folder).scripted(body(*tools), 0).calls
    return call.name, json.loads(call.arguments or "null")
