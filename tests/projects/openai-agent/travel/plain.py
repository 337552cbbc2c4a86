"""The agent on the standard library alone."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

from travel import desk


class DeskError(Exception):
    """What the API says of a request that it does not answer."""


def ask(question: str, base_url: str, key: str = "none") -> str:
    messages = desk.opening(question)
    while True:
        message = _post(f"{base_url}/chat/completions", {**desk.parameters(), "messages": messages}, key)
        if not message.get("tool_calls"):
            return str(message["content"])
        messages.append(message)
        calls = [
            (call["id"], call["function"]["name"], call["function"]["arguments"]) for call in message["tool_calls"]
        ]
        messages += desk.answers(calls)


def _post(url: str, body: dict[str, Any], key: str) -> dict[str, Any]:
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"content-type": "application/json", "authorization": f"Bearer {key}"}
    )
    try:
        with urllib.request.urlopen(request) as response:
            message: dict[str, Any] = json.load(response)["choices"][0]["message"]
    except urllib.error.HTTPError as error:
        with error:
            raise DeskError(json.load(error)["error"]["message"]) from None
    return message
