"""The agent's folder: what the harness was told, or what a request says of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

PLACEHOLDER = "${CWD}"

# As opencode, kilo, cline, pi and qwen say it in their system prompts or first messages.
_SAID = re.compile(
    r"(?:working directory|working in the directory|current directory|\bcwd)"
    r"\s*(?:is\s*)?[:=]?\s*[\"'`]?(/[^\s\"'`<>,;]*)",
    re.IGNORECASE,
)


def folder_said(body: Mapping[str, Any]) -> str | None:
    """The working folder that the first messages of a request name, if they name exactly one; no trailing slash."""
    found = {
        match.rstrip(".").rstrip("/") or "/"
        for text in _texts(body)
        for match in _SAID.findall(text)
    }  # fmt: skip
    return found.pop() if len(found) == 1 else None


def _texts(body: Mapping[str, Any]) -> Iterator[str]:
    """The texts before the model's first answer."""
    messages = body.get("messages")
    for message in messages if isinstance(messages, list) else ():
        if not isinstance(message, Mapping) or message.get("role") == "assistant":
            return
        content = message.get("content")
        if isinstance(content, str):
            yield content
        elif isinstance(content, list):
            yield from (part["text"] for part in content if isinstance(part, Mapping) and _is_text(part.get("text")))


def _is_text(value: object) -> bool:
    return isinstance(value, str)
