"""What all agents of the desk share: the prompt, the tools, and what the tools do."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

MODEL = "gpt-5-mini"
TEMPERATURE = 0.2
PROMPT = "You are a travel desk. Answer in one terse sentence."

FARES = {"Lisbon": 74, "Oslo": 131}
SKIES = {"Lisbon": "sunny", "Oslo": "snow"}


def fare(city: str) -> dict[str, Any]:
    """Euros for a one-way ticket; raises LookupError where nothing flies."""
    if city not in FARES:
        raise LookupError(f"no flights to {city}")
    return {"city": city, "euros": FARES[city]}


def sky(city: str) -> dict[str, Any]:
    return {"city": city, "sky": SKIES[city]}


TOOLS: dict[str, Callable[..., dict[str, Any]]] = {"fare": fare, "sky": sky}
DESCRIPTIONS = {"fare": "The cheapest one-way fare to a city, in euros", "sky": "The weather in a city today"}
CITY = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "Its English name"}},
    "required": ["city"],
}


def tools() -> list[Any]:
    return [
        {"type": "function", "function": {"name": name, "description": DESCRIPTIONS[name], "parameters": CITY}}
        for name in TOOLS
    ]


def opening(question: str) -> list[Any]:
    return [{"role": "system", "content": PROMPT}, {"role": "user", "content": question}]


def parameters() -> dict[str, Any]:
    return {"model": MODEL, "temperature": TEMPERATURE, "tools": tools()}


def result(name: str, arguments: str) -> str:
    """What the model is told of a call; an error is told too."""
    try:
        return json.dumps(TOOLS[name](**json.loads(arguments)))
    except LookupError as error:
        return f"error: {error}"


def answers(calls: list[tuple[str, str, str]]) -> list[Any]:
    """The results of a turn's calls, each ``(id, name, arguments)``."""
    return [{"role": "tool", "tool_call_id": key, "content": result(name, text)} for key, name, text in calls]
