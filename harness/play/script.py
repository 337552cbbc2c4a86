"""A player that answers from a script: turns written down, sent as a provider would send them.

Plain answers are one JSON body; streamed ones are server-sent events, a call's id and name first, its arguments in
fragments, then the finish_reason, usage where it was asked for, and ``[DONE]``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from harness.play.player import MissError
from harness.wire.exchange import CHAT_PATH, Chunk, Request, Response

FRAGMENT_CHARACTERS = 8
_JSON = ("content-type", "application/json")
_SSE = ("content-type", "text/event-stream")


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """A call as the model would send it. ``arguments`` is the raw text; None leaves the key out."""

    name: str | None
    arguments: str | None
    id: str | None


@dataclass(frozen=True, slots=True)
class ScriptedTurn:
    """One answer.

    ``finish_reason`` None means that none is sent. ``fragment`` is how many characters of arguments or text go into
    one delta, at least 1. ``error_status`` answers with that HTTP status and ``error_message`` instead.
    """

    text: str | None = None
    calls: tuple[ScriptedCall, ...] = ()
    finish_reason: str | None = "stop"
    usage: Mapping[str, Any] | None = None
    fragment: int = FRAGMENT_CHARACTERS
    done: bool = True
    error_status: int | None = None
    error_message: str = ""

    def __post_init__(self) -> None:
        if self.fragment < 1:
            raise ValueError(f"fragment is {self.fragment}; a delta holds at least 1 character")


@dataclass(slots=True)
class ScriptPlayer:
    """Plays turns in order, whatever is asked; raises MissError when the script is over.

    ``before_turn`` is called with the turn's number, from 0, before it is answered: the place for what happens to the
    world in between. ``models`` answers ``/v1/models``. Safe under threads.
    """

    turns: Sequence[ScriptedTurn]
    models: Sequence[Mapping[str, Any]] = ()
    before_turn: Callable[[int], None] = lambda _: None
    played: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def unused(self) -> int:
        """Turns that nobody asked for."""
        return len(self.turns) - self.played

    def answer(self, request: Request) -> Response:
        """The next turn for a chat request, the list for ``/models``; raises MissError for anything else."""
        path = request.path.rstrip("/")
        if path.endswith("/models"):
            return Response(200, (_JSON,), orjson.dumps({"object": "list", "data": list(self.models)}))
        if not path.endswith(CHAT_PATH):
            raise MissError(f"a script answers {CHAT_PATH} and /models, not {request.method} {path}")
        body = _object_in(request)
        with self._lock:
            number = self.played
            if number >= len(self.turns):
                raise MissError(f"the script has {len(self.turns)} turns, the agent asked for one more")
            self.played += 1
        self.before_turn(number)
        return render_turn(self.turns[number], number, body)


def render_turn(turn: ScriptedTurn, number: int, body: Mapping[str, Any]) -> Response:
    """The HTTP response for a turn, streamed when the request asks for it. The same turn gives the same bytes."""
    if turn.error_status is not None:
        error = {"error": {"message": turn.error_message, "type": "scripted", "code": turn.error_status}}
        return Response(turn.error_status, (_JSON,), orjson.dumps(error))
    head = {"id": f"chatcmpl-script-{number}", "created": 0, "model": body.get("model")}
    if not body.get("stream"):
        return Response(200, (_JSON,), orjson.dumps(_completion(turn, head)))
    options = body.get("stream_options")
    wants_usage = isinstance(options, Mapping) and bool(options.get("include_usage"))
    events = [b"data: " + orjson.dumps(chunk) + b"\n\n" for chunk in _chunks(turn, head, wants_usage=wants_usage)]
    if turn.done:
        events.append(b"data: [DONE]\n\n")
    ends: list[Chunk] = []
    offset = 0
    for event in events:
        offset += len(event)
        ends.append(Chunk(offset, 0.0))
    return Response(200, (_SSE,), b"".join(events), tuple(ends))


def _object_in(request: Request) -> dict[str, Any]:
    try:
        body = request.json()
    except ValueError as error:
        raise MissError(f"a script answers requests in JSON; this one is not: {error}") from error
    if not isinstance(body, dict):
        raise MissError(f"a script answers JSON objects, not {type(body).__name__}")
    return body


def _completion(turn: ScriptedTurn, head: Mapping[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": turn.text}
    if turn.calls:
        message["tool_calls"] = [_entry(call) for call in turn.calls]
    completion = {
        **head,
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": turn.finish_reason}],
    }
    return completion if turn.usage is None else {**completion, "usage": dict(turn.usage)}


def _entry(call: ScriptedCall) -> dict[str, Any]:
    function: dict[str, Any] = {"name": call.name}
    if call.arguments is not None:
        function["arguments"] = call.arguments
    return {"id": call.id, "type": "function", "function": function}


def _chunks(turn: ScriptedTurn, head: Mapping[str, Any], *, wants_usage: bool) -> Iterator[dict[str, Any]]:
    def chunk(delta: Mapping[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": dict(delta), "finish_reason": finish_reason}
        return {**head, "object": "chat.completion.chunk", "choices": [choice]}

    yield chunk({"role": "assistant", "content": None if turn.text is None else ""})
    for piece in _pieces(turn.text, turn.fragment):
        yield chunk({"content": piece})
    for index, call in enumerate(turn.calls):
        first = _entry(call if call.arguments is None else replace(call, arguments=""))
        yield chunk({"tool_calls": [{"index": index, **first}]})
        for piece in _pieces(call.arguments, turn.fragment):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    if turn.finish_reason is not None:
        yield chunk({}, turn.finish_reason)
    if wants_usage and turn.usage is not None:
        yield {**head, "object": "chat.completion.chunk", "choices": [], "usage": dict(turn.usage)}


def _pieces(text: str | None, size: int) -> Iterator[str]:
    for start in range(0, len(text or ""), size):
        yield (text or "")[start : start + size]
