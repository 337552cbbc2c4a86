"""Small recordings for the replay tests, built the way an agent and a provider would make them."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.cassette.cassette import Cassette
from harness.judge.replay import judge_replay
from harness.judge.verdict import Case
from harness.scenario.replay import ReplayedCassette, replay_cassette
from harness.wire.exchange import Exchange, Request, Response

URL = "https://models.example/v1/chat/completions"
JSON_HEADERS = (("content-type", "application/json"),)
STREAM_HEADERS = (("content-type", "text/event-stream"),)

SYSTEM = {"role": "system", "content": "You look after a greenhouse."}
USER = {"role": "user", "content": "How are the ferns?"}

Message = dict[str, Any]


def tool(name: str, properties: Mapping[str, Any] | None = None, description: str = "a tool") -> dict[str, Any]:
    """An entry of ``tools``."""
    parameters = {"type": "object", "properties": dict(properties or {})}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


TOOLS = [tool("measure", {"place": {"type": "string"}}), tool("list_plants")]


def call(call_id: str | None, name: str, arguments: str) -> dict[str, Any]:
    """An entry of ``tool_calls``; without an id for None."""
    entry: dict[str, Any] = {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
    if call_id is None:
        del entry["id"]
    return entry


def asks(*calls: Mapping[str, Any], text: str | None = None) -> Message:
    """An assistant message that calls tools."""
    return {"role": "assistant", "content": text, "tool_calls": [dict(entry) for entry in calls]}


def says(text: str) -> Message:
    """An assistant message that answers."""
    return {"role": "assistant", "content": text}


def result(call_id: str, text: str) -> Message:
    """A tool message."""
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def request(messages: Sequence[Message], *, stream: bool = False, tools: object = TOOLS, **more: Any) -> Request:
    """A chat request; no ``tools`` for None."""
    body: dict[str, Any] = {"model": "m-1", "messages": list(messages), **more}
    if tools is not None:
        body["tools"] = tools
    if stream:
        body["stream"] = True
    return Request("POST", URL, JSON_HEADERS, json.dumps(body).encode())


def plain(message: Message, finish_reason: str | None = None, **more: Any) -> Response:
    """The answer in one JSON body."""
    reason = finish_reason or ("tool_calls" if message.get("tool_calls") else "stop")
    choice = {"index": 0, "message": message, "finish_reason": reason}
    body = {"id": "r-1", "object": "chat.completion", "model": "m-1", "choices": [choice], **more}
    return Response(200, JSON_HEADERS, json.dumps(body).encode(), reason="OK")


def event(delta: Mapping[str, Any], finish_reason: str | None = None) -> bytes:
    """One event of a stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return b"data: " + json.dumps({"id": "r-1", "model": "m-1", "choices": [choice]}).encode() + b"\n\n"


def deltas(message: Message, size: int = 4) -> list[dict[str, Any]]:
    """The deltas of a message: id and name first, then the arguments in fragments of ``size`` characters."""
    found: list[dict[str, Any]] = []
    if message.get("content"):
        found.append({"content": message["content"]})
    for index, entry in enumerate(message.get("tool_calls", ())):
        head = {key: value for key, value in entry.items() if key != "function"}
        name, arguments = entry["function"]["name"], entry["function"]["arguments"]
        found.append({"tool_calls": [{"index": index, **head, "function": {"name": name, "arguments": ""}}]})
        pieces = [arguments[start : start + size] for start in range(0, len(arguments), size)]
        found += [{"tool_calls": [{"index": index, "function": {"arguments": piece}}]} for piece in pieces]
    return found


def streamed(message: Message, finish_reason: str | None = None, *, size: int = 4) -> Response:
    """The answer as a stream."""
    reason = finish_reason or ("tool_calls" if message.get("tool_calls") else "stop")
    return stream_of([*(event(delta) for delta in deltas(message, size)), event({}, reason), b"data: [DONE]\n\n"])


def stream_of(events: Iterable[bytes]) -> Response:
    """A stream of ready events."""
    return Response(200, STREAM_HEADERS, b"".join(events), reason="OK")


def cassette(*pairs: tuple[Request, Response]) -> Cassette:
    """The exchanges as one session."""
    exchanges = tuple(Exchange(asked, answered, index) for index, (asked, answered) in enumerate(pairs))
    return Cassette(Path("greenhouse.yaml"), "vcrpy", exchanges)


def conversation(
    *turns: Message | Sequence[Message], stream: bool = False, tools: object = TOOLS, system: Message = SYSTEM
) -> Cassette:
    """The session of one agent: ``turns`` are the model's answers, each followed by a list of what the agent adds."""
    answers: Callable[[Message], Response] = streamed if stream else plain
    history: list[Message] = [system, USER]
    pairs: list[tuple[Request, Response]] = []
    for turn in turns:
        if isinstance(turn, Mapping):
            pairs.append((request(history, stream=stream, tools=tools), answers(turn)))
            history = [*history, turn]
        else:
            history = [*history, *turn]
    return cassette(*pairs)


MEASURE_A = call("call_a", "measure", '{"place": "north bed"}')
MEASURE_B = call("call_b", "measure", '{"place": "south bed"}')


def parallel(*, stream: bool = False) -> Cassette:
    """Two calls in one turn, their results, and the answer."""
    return conversation(
        asks(MEASURE_A, MEASURE_B),
        [result("call_a", "14 degrees"), result("call_b", "17 degrees")],
        says("The south is warmer."),
        stream=stream,
    )


def without_parameters(*, stream: bool = False) -> Cassette:
    """A call of a tool that takes nothing, and the answer."""
    return conversation(
        asks(call("call_l", "list_plants", "{}")), [result("call_l", "fern, moss")], says("Two."), stream=stream
    )


def with_request(recorded: Cassette, index: int, change: Callable[[dict[str, Any]], None]) -> Cassette:
    """The session with one request body changed in place."""
    exchange = recorded.exchanges[index]
    body = copy.deepcopy(exchange.request.json())
    change(body)
    changed = replace(exchange, request=replace(exchange.request, body=json.dumps(body).encode()))
    return _with(recorded, index, changed)


def with_requests_from(recorded: Cassette, index: int, change: Callable[[dict[str, Any]], None]) -> Cassette:
    """The session with all request bodies from one on changed alike."""
    for position in range(index, len(recorded.exchanges)):
        recorded = with_request(recorded, position, change)
    return recorded


def with_response(recorded: Cassette, index: int, response: Response) -> Cassette:
    """The session with another answer in one place."""
    return _with(recorded, index, replace(recorded.exchanges[index], response=response))


def without_event(recorded: Cassette, index: int, dropped: bytes) -> Cassette:
    """The session with one streamed event missing, the only one that holds ``dropped``."""
    events = [part + b"\n\n" for part in recorded.exchanges[index].response.body.split(b"\n\n") if part]
    kept = [part for part in events if dropped not in part]
    assert len(kept) == len(events) - 1, "the text to drop stands in one event"
    return with_response(recorded, index, stream_of(kept))


def judged(recorded: Cassette) -> tuple[Case, ReplayedCassette]:
    """The session replayed, and its verdict."""
    replayed = replay_cassette(recorded, "greenhouse")
    return judge_replay(replayed, "greenhouse.yaml"), replayed


def _with(recorded: Cassette, index: int, exchange: Exchange) -> Cassette:
    exchanges = list(recorded.exchanges)
    exchanges[index] = exchange
    return replace(recorded, exchanges=tuple(exchanges))
