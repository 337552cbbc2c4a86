"""The neutral form of a model's turn, and how a Chat Completions answer becomes one.

Everything above `wire` reads these types only, so that another API needs a parser here and nothing else.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import orjson

from harness.wire.half_pairs import dumps, loads
from harness.wire.leaks import is_call_in_text

Status = Literal["complete", "incomplete", "truncated", "error"]


@dataclass(frozen=True, slots=True)
class Anomaly:
    """Something a strict reader of the protocol would not have sent; ``at`` is the event (0 without a stream)."""

    code: str
    at: int
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as the model sent it. ``arguments`` is the raw text; ``id`` and ``name`` are None when never sent."""

    id: str | None
    name: str | None
    arguments: str

    def to_wire(self) -> dict[str, Any]:
        """The call as an entry of ``tool_calls`` in an assistant message."""
        return {
            "id": self.id,
            "type": "function",
            "function": {"name": self.name, "arguments": self.arguments},
        }


@dataclass(frozen=True, slots=True)
class ModelTurn:
    """One answer of a model, streamed or not.

    ``message`` is the assistant message in wire form, as received (streams: as assembled), ready to enter the
    history. ``status`` says how far it can be trusted: *complete* when a finish_reason or ``[DONE]`` was read,
    *truncated* when the model ran into its token limit, *incomplete* when the answer broke off, *error* when the
    provider said so under HTTP 200.
    """

    message: dict[str, Any]
    content: str | None
    tool_calls: tuple[ToolCall, ...]
    finish_reason: str | None
    status: Status
    usage: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    model: str | None = None
    response_id: str | None = None
    legacy_function_call: bool = False
    anomalies: tuple[Anomaly, ...] = field(default=())


def parse_completion(body: bytes, tool_names: Collection[str] = ()) -> ModelTurn:
    """Read the JSON body of an answer that was not streamed; ``tool_names`` are the names the request offered.

    Leading white space is accepted (several gateways send it). Raises ValueError when the body is no JSON object.
    """
    document = loads(body)
    if not isinstance(document, dict):
        raise ValueError(  # noqa: TRY004  bad input, not a programming error
            f"a chat completion is a JSON object, not {type(document).__name__}"
        )
    anomalies: list[Anomaly] = []
    usage = document.get("usage") if isinstance(document.get("usage"), dict) else None
    error = error_of(document)
    choices = document.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else None
    if isinstance(choices, list) and len(choices) > 1:
        anomalies.append(Anomaly("several_choices", 0, f"{len(choices)} choices, the first is used"))
    if choice is None:
        return ModelTurn(
            message={"role": "assistant", "content": None},
            content=None,
            tool_calls=(),
            finish_reason=None,
            status="error" if error else "incomplete",
            usage=usage,
            error=error,
            model=_text(document.get("model")),
            response_id=_text(document.get("id")),
            anomalies=(*anomalies, *([] if error else [Anomaly("no_choices", 0)])),
        )
    message = choice.get("message")
    message = {"role": "assistant", **message} if isinstance(message, dict) else {"role": "assistant", "content": None}
    calls, legacy = _calls_of(message, anomalies)
    reason = _text(choice.get("finish_reason"))
    content = text_of(message.get("content"))
    if not calls and is_call_in_text(content, tool_names):
        anomalies.append(Anomaly("call_in_text", 0, "the message is a call, written as text: nothing of it is run"))
    return ModelTurn(
        message=message,
        content=content,
        tool_calls=calls,
        finish_reason=reason,
        status=turn_status(reason, done=reason is not None or bool(calls), error=error),
        usage=usage,
        error=error,
        model=_text(document.get("model")),
        response_id=_text(document.get("id")),
        legacy_function_call=legacy,
        anomalies=tuple(anomalies),
    )


def hit_output_limit(turn: ModelTurn, max_tokens: int | None) -> bool:
    """Whether the model ran into its token limit, also where the provider labelled the turn otherwise (A36).

    Evidence without ``length``: the last call's arguments do not parse and all of ``max_tokens`` was used.
    """
    if turn.status == "truncated":
        return True
    if turn.status != "complete" or max_tokens is None or not turn.tool_calls or turn.usage is None:
        return False
    used = turn.usage.get("completion_tokens")
    if not isinstance(used, int) or used < max_tokens:
        return False
    try:
        orjson.loads(turn.tool_calls[-1].arguments or "{}")
    except orjson.JSONDecodeError:
        return True
    return False


def turn_status(finish_reason: str | None, *, done: bool, error: object, lost: bool = False) -> Status:
    """How far a turn can be trusted; the design's rule of completeness, in one place.

    A finish_reason or ``[DONE]`` makes a turn complete; an error object outweighs both; ``length`` means that the
    model ran into its limit and its last call may be cut. An empty finish_reason says nothing: some servers send
    one in every chunk. ``lost`` says that a part of the answer could not be read: what is left is not the whole.
    """
    if error:
        return "error"
    if lost:
        return "incomplete"
    if finish_reason == "length":
        return "truncated"
    return "complete" if finish_reason or done else "incomplete"


def error_of(document: Mapping[str, Any]) -> dict[str, Any] | None:
    """The error object that a provider put into a body or event, or None."""
    error = document.get("error")
    if isinstance(error, dict) and error:
        return error
    if isinstance(error, str) and error:
        return {"message": error}
    return None


def text_of(content: object) -> str | None:
    """The text of a message's content: a string as it is, text parts joined with nothing between, else None."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = [part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str)]
        return "".join(texts)
    return None


def arguments_text(value: object) -> tuple[str, str | None]:
    """The raw text of an ``arguments`` value and the anomaly's code where it was not a string."""
    if isinstance(value, str):
        return value, None
    if value is None:
        return "", "arguments_null"
    return dumps(value).decode(), "arguments_not_text"


def _calls_of(message: Mapping[str, Any], anomalies: list[Anomaly]) -> tuple[tuple[ToolCall, ...], bool]:
    calls: list[ToolCall] = []
    entries = message.get("tool_calls") or ()
    if not isinstance(entries, list | tuple):
        anomalies.append(Anomaly("calls_not_a_list", 0, type(entries).__name__))
        entries = ()
    for entry in entries:
        function = entry.get("function") if isinstance(entry, dict) else None
        if not isinstance(function, dict):
            anomalies.append(Anomaly("call_without_function", 0, repr(entry)[:80]))
            continue
        arguments, oddity = arguments_text(function.get("arguments"))
        if oddity:
            anomalies.append(Anomaly(oddity, 0, _text(function.get("name")) or ""))
        calls.append(ToolCall(_text(entry.get("id")) or None, _text(function.get("name")), arguments))
    legacy = message.get("function_call")
    if not calls and isinstance(legacy, dict):
        arguments, _ = arguments_text(legacy.get("arguments"))
        return (ToolCall(None, _text(legacy.get("name")), arguments),), True
    return tuple(calls), False


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
