"""Agents to be fuzzed over the wire: a sound one, and others with one fault each."""

from __future__ import annotations

import json
from typing import Any

from harness.pipeline.executor import ToolExecutor
from harness.pipeline.loop import LoopConfig, ReActLoop
from harness.pipeline.orchestrator import ToolOrchestrator
from harness.pipeline.registry import ToolRegistry
from harness.pipeline.result import ToolResult
from harness.scenario.agents.context import AgentContext

PARAMETERS = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "depth": {"type": "integer", "minimum": 1},
        "order": {"enum": ["name", "size"]},
    },
    "required": ["path"],
    "additionalProperties": False,
}
LOOK: dict[str, Any] = {
    "type": "function",
    "function": {"name": "look", "description": "Look at a file.", "parameters": PARAMETERS},
}


def sound(context: AgentContext) -> str:
    """The shipped loop as an agent of its own."""
    return _pipeline(context, stream=False)


def streaming(context: AgentContext) -> str:
    return _pipeline(context, stream=True)


def _pipeline(context: AgentContext, *, stream: bool) -> str:
    registry = ToolRegistry()
    registry.register_definition(LOOK, lambda parameters: ToolResult.success(f"saw {parameters['path']}"))
    loop = ReActLoop(
        context.openai_client(),
        ToolOrchestrator(ToolExecutor(registry)),
        LoopConfig(context.model, stream=stream, repeat_limit=0),
    )
    result = loop.run(context.prompt)
    if result.final_text is None:
        raise RuntimeError(f"{result.status}: {result.reason}")
    return result.final_text


class _Agent:
    """A small loop of its own; what is done with calls, and how answers are read, differs."""

    def __init__(self, context: AgentContext) -> None:
        # Any: the messages are whatever the model has made of them.
        self.client: Any = context.openai_client()
        self.model = context.model
        self.messages: list[dict[str, Any]] = [{"role": "user", "content": context.prompt}]

    def run(self) -> str:
        while True:
            message = self.answer()
            calls = message.get("tool_calls") or []
            if not calls:
                return str(message.get("content"))
            self.messages.append(
                {"role": "assistant", "content": None, "tool_calls": [self.told(call) for call in calls]}
            )
            self.messages += self.results(calls)

    def answer(self) -> dict[str, Any]:
        completion = self.client.chat.completions.create(model=self.model, messages=self.messages, tools=[LOOK])
        answered: dict[str, Any] = completion.choices[0].message.model_dump(exclude_none=True)
        return answered

    def told(self, call: dict[str, Any]) -> dict[str, Any]:
        """A call as it is sent back, whatever it was."""
        readable = _object(call["function"].get("arguments")) is not None
        function = {
            "name": call["function"].get("name") or "unknown",
            "arguments": call["function"]["arguments"] if readable else "{}",
        }
        return {"id": self.id_of(call), "type": "function", "function": function}

    def results(self, calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{"role": "tool", "tool_call_id": self.id_of(call), "content": self.run_tool(call)} for call in calls]

    def run_tool(self, call: dict[str, Any]) -> str:
        return f"saw {_object(call['function'].get('arguments'))}"

    def id_of(self, call: dict[str, Any]) -> str:
        return call.get("id") or "call_without_id"


def _object(text: str | None) -> dict[str, Any] | None:
    try:
        value = json.loads(text or "")
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


class _Trusting(_Agent):
    def run_tool(self, call: dict[str, Any]) -> str:
        return str(json.loads(call["function"]["arguments"]))


def trusts_arguments(context: AgentContext) -> str:
    """Broken arguments end it."""
    return _Trusting(context).run()


class _Forgetful(_Agent):
    def results(self, calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return super().results([call for call in calls if call["function"].get("name") == "look"])


def leaves_unknown_tools(context: AgentContext) -> str:
    """A call of a tool that it does not have gets no result."""
    return _Forgetful(context).run()


class _Verbatim(_Agent):
    def told(self, call: dict[str, Any]) -> dict[str, Any]:
        return {"id": self.id_of(call), "type": "function", "function": dict(call["function"])}


def repeats_arguments(context: AgentContext) -> str:
    """Arguments that are no JSON are sent back as they came."""
    return _Verbatim(context).run()


class _Endless(_Agent):
    def results(self, calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
        if any(_object(call["function"].get("arguments")) is None for call in calls):
            self.messages.pop()
            while True:
                self.answer()
        return super().results(calls)


def asks_for_ever(context: AgentContext) -> str:
    """It asks again and again for better arguments, whatever it is told."""
    return _Endless(context).run()


class _Hasty(_Agent):
    def answer(self) -> dict[str, Any]:
        calls: dict[int, dict[str, Any]] = {}
        text = ""
        stream = self.client.chat.completions.create(
            model=self.model, messages=self.messages, tools=[LOOK], stream=True
        )
        try:
            for chunk in stream:
                for choice in chunk.choices:
                    text += choice.delta.content or ""
                    for part in choice.delta.tool_calls or ():
                        call = calls.setdefault(part.index, {"function": {"name": None, "arguments": ""}})
                        call["id"] = part.id or call.get("id")
                        call["function"]["name"] = part.function.name or call["function"]["name"]
                        call["function"]["arguments"] += part.function.arguments or ""
        except Exception:  # noqa: BLE001  this is its fault
            pass
        return {"content": text, "tool_calls": [calls[index] for index in sorted(calls)]}


def takes_what_has_come(context: AgentContext) -> str:
    """The end of a stream is the end of the answer, whatever was missing."""
    return _Hasty(context).run()


def offers_nothing(context: AgentContext) -> str:
    client = context.openai_client()
    messages: Any = [{"role": "user", "content": context.prompt}]
    return str(client.chat.completions.create(model=context.model, messages=messages).choices[0].message.content)


def raises_at_once(context: AgentContext) -> str:
    context.openai_client().chat.completions.create(
        model=context.model,
        messages=[{"role": "user", "content": context.prompt}],
        tools=[LOOK],  # type: ignore[list-item]
    )
    raise RuntimeError("no such luck")
