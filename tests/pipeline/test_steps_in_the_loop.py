"""What steps look like from the model's side: the requests that the loop sends before and after them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from harness.pipeline.executor import ToolExecutor
from harness.pipeline.loop import LoopConfig, LoopStatus, ReActLoop
from harness.pipeline.orchestrator import ToolOrchestrator
from harness.pipeline.registry import ToolRegistry
from harness.pipeline.result import ErrorCode, ToolResult, ToolStatus
from harness.pipeline.tool import ToolKind
from harness.pipeline.workspace import Workspace
from harness.play.client import openai_client
from harness.play.transport import PlayerTransport
from harness.wire.chat import parse_completion
from harness.wire.exchange import Request, Response
from tests.pipeline.tools import SmallTool, orchestrator_with, registry_with


class ScriptedModel:
    """Answers each request with the next message, and keeps the bodies that were sent."""

    def __init__(self, *messages: dict[str, Any]) -> None:
        self.bodies: list[dict[str, Any]] = []
        self._messages = list(messages)

    def answer(self, request: Request) -> Response:
        self.bodies.append(request.json())
        message = {"role": "assistant", **self._messages.pop(0)}
        body = {"id": "r", "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
        return Response(200, (("content-type", "application/json"),), orjson.dumps(body))


def asked_for(*calls: tuple[str, str, str]) -> dict[str, Any]:
    return {
        "content": None,
        "tool_calls": [
            {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
            for call_id, name, arguments in calls
        ],
    }


@pytest.mark.seed("O05", "O06", "C02", "P09")
def test_the_next_request_contains_every_observation_in_the_order_of_the_calls() -> None:
    tools = [
        SmallTool(name, lambda parameters: ToolResult.success(f"saw {parameters.get('value')}"), kind=kind)
        for name, kind in (("Grep", ToolKind.READ), ("Bash", ToolKind.SHELL), ("Read", ToolKind.READ))
    ]
    call = asked_for(("c1", "Grep", '{"value":"x"}'), ("c2", "Bash", "{broken"), ("c3", "Read", '{"value":"y"}'))
    model = ScriptedModel(call, {"content": "finished"})
    orchestrator = orchestrator_with(*tools)
    with openai_client(PlayerTransport(model)) as client:
        result = ReActLoop(client, orchestrator, LoopConfig("m")).run("go")
    assert result.status is LoopStatus.ANSWERED
    assert result.steps[0].outcome is not None
    observations = result.steps[0].outcome.observations
    assert model.bodies[1]["messages"][2:] == [
        {"role": "tool", "tool_call_id": call_id, "content": observation.observation}
        for call_id, observation in zip(("c1", "c2", "c3"), observations, strict=True)
    ]
    contents = [json.loads(message["content"]) for message in model.bodies[1]["messages"][2:]]
    assert [content["text"] for content in contents][::2] == ["saw x", "saw y"]
    assert contents[1]["error"]["code"] == "INVALID_PARAM"


@pytest.mark.seed("R05", "R09")
def test_each_request_shows_exactly_the_tools_that_the_registry_has_then() -> None:
    registry = ToolRegistry()

    def run(_: object) -> ToolResult:
        registry.register_tool(SmallTool("Late", kind=ToolKind.READ))
        return ToolResult.success("")

    registry.register_tool(SmallTool("Early", run))
    model = ScriptedModel(asked_for(("c1", "Early", "")), asked_for(("c2", "Unseen", "")), {"content": "done"})
    with openai_client(PlayerTransport(model)) as client:
        result = ReActLoop(client, ToolOrchestrator(ToolExecutor(registry)), LoopConfig("m")).run("go")
    shown = [[tool["function"]["name"] for tool in body["tools"]] for body in model.bodies]
    assert shown == [["Early"], ["Early", "Late"], ["Early", "Late"]]
    assert model.bodies[1]["tools"] == registry.get_openai_tools()
    assert result.steps[1].outcome is not None
    assert result.steps[1].outcome.observations[0].result.error_code is ErrorCode.UNKNOWN_TOOL


@pytest.mark.seed("R09")
def test_without_tools_a_request_mentions_none() -> None:
    model = ScriptedModel({"content": "done"})
    with openai_client(PlayerTransport(model)) as client:
        ReActLoop(client, orchestrator_with(), LoopConfig("m")).run("go")
    assert "tools" not in model.bodies[0]


def test_calls_of_a_parsed_answer_are_planned_as_they_are(tmp_path: Path) -> None:
    body = {"choices": [{"message": asked_for(("c1", "Read", '{"value":"x"}')), "finish_reason": "tool_calls"}]}
    turn = parse_completion(orjson.dumps(body))
    executor = ToolExecutor(registry_with(SmallTool("Read", kind=ToolKind.READ)), Workspace(tmp_path))
    outcome = ToolOrchestrator(executor).run(turn.tool_calls)
    assert outcome.observations[0].tool_call_id == "c1"
    assert outcome.observations[0].result.status is ToolStatus.SUCCESS
