"""A player that answers from a script: turns written down, sent as a provider would send them.

Plain answers are one JSON body; streamed ones are server-sent events, a call's id and name first, its arguments in
fragments, then the finish_reason, usage where it was asked for, and ``[DONE]``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import orjson

from harness.play.player import CannotAnswerError, MissError
from harness.wire.exchange import CHAT_PATH, Chunk, Request, Response
from harness.wire.half_pairs import dumps

FRAGMENT_CHARACTERS = 8
SIDE_TEXT = "Scripted task"
"""What a request beside the conversation is answered where the script does not say."""

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

    @property
    def needs_tools(self) -> bool:
        """Whether only a request that offers tools can be answered so; what is written down goes to any request."""
        return False

    def scripted(self, body: Mapping[str, Any], number: int) -> ScriptedTurn:  # noqa: ARG002  see `Turn`
        """The turn itself, whatever the request offers."""
        return self


class Turn(Protocol):
    """An answer that a script has for a request: the same for all of them, or one that depends on the tools."""

    @property
    def needs_tools(self) -> bool:
        """Whether only a request that offers tools can be answered so."""
        ...

    def scripted(self, body: Mapping[str, Any], number: int) -> ScriptedTurn:
        """The answer as it is sent, for a request's body and the turn's number from 0.

        Raises CannotAnswerError where the request's tools cannot do what the turn says.
        """
        ...


@dataclass(slots=True)
class ScriptPlayer:
    """Plays turns in order, whatever is asked; raises MissError when the script is over.

    ``before_turn`` is called with the turn's number, from 0, before it is answered: the place for what happens to the
    world in between. ``models`` answers ``/v1/models``. Safe under threads.

    Agents ask beside the conversation too (for a title, a summary), without offering tools. Where ``side`` is a text,
    or a turn needs tools, such requests take no turn: they are answered with it, and ``asked_beside`` counts them.
    """

    turns: Sequence[Turn]
    models: Sequence[Mapping[str, Any]] = ()
    before_turn: Callable[[int], None] = lambda _: None
    side: str | None = None
    played: int = 0
    asked_beside: int = 0
    problem: str | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def unused(self) -> int:
        """Turns that nobody asked for."""
        return len(self.turns) - self.played

    @property
    def cannot(self) -> str | None:
        """Why the script cannot be put to this agent, as far as is known by now: then nothing is judged."""
        if self.problem is None and self.played == 0 and self.asked_beside and self.side is None:
            return f"no request offered tools, and the script has to use them (requests without: {self.asked_beside})"
        return self.problem

    def answer(self, request: Request) -> Response:
        """The next turn for a chat request, the list for ``/models``; raises MissError for anything else.

        Raises CannotAnswerError where the request's tools cannot do what the turn says, and for all requests since.
        """
        path = request.path.rstrip("/")
        if path.endswith("/models"):
            return Response(200, (_JSON,), orjson.dumps({"object": "list", "data": list(self.models)}))
        if not path.endswith(CHAT_PATH):
            raise MissError(f"a script answers {CHAT_PATH} and /models, not {request.method} {path}")
        body = _object_in(request)
        if not body.get("tools") and (self.side is not None or any(turn.needs_tools for turn in self.turns)):
            with self._lock:
                self.asked_beside += 1
            return render_turn(ScriptedTurn(SIDE_TEXT if self.side is None else self.side), len(self.turns), body)
        with self._lock:
            if self.problem is not None:
                raise CannotAnswerError(self.problem)
            number = self.played
            if number >= len(self.turns):
                raise MissError(f"the script has {len(self.turns)} turns, the agent asked for one more")
            self.played += 1
        self.before_turn(number)
        try:
            return render_turn(self.turns[number].scripted(body, number), number, body)
        except CannotAnswerError as error:
            self.problem = f"turn {number + 1} of the script: {error}"
            raise CannotAnswerError(self.problem) from error


def render_turn(turn: ScriptedTurn, number: int, body: Mapping[str, Any]) -> Response:
    """The HTTP response for a turn, streamed when the request asks for it. The same turn gives the same bytes."""
    if turn.error_status is not None:
        error = {"error": {"message": turn.error_message, "type": "scripted", "code": turn.error_status}}
        return Response(turn.error_status, (_JSON,), dumps(error))
    head = {"id": f"chatcmpl-script-{number}", "created": 0, "model": body.get("model")}
    if not body.get("stream"):
        return Response(200, (_JSON,), dumps(_completion(turn, head)))
    options = body.get("stream_options")
    wants_usage = isinstance(options, Mapping) and bool(options.get("include_usage"))
    events = [b"data: " + dumps(chunk) + b"\n\n" for chunk in _chunks(turn, head, wants_usage=wants_usage)]
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
