"""A list of messages as the steps of a lane: what every format of trajectories comes down to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.pipeline.arguments import parse_tool_input
from harness.trace.run import CallRecord, Lane, Step

SUCCESS, ERROR, UNKNOWN, MISSING = "success", "error", "unknown", "missing"


@dataclass(frozen=True, slots=True)
class Said:
    """One message in the form of the chat protocol, and what was recorded beside it.

    ``by_model``: an assistant's message that a model wrote, so a step. ``answers`` is the id of the call that a result
    belongs to; a message with ``is_result`` and no id is the next one due. ``failed`` says whether the call failed,
    None where the trajectory does not tell. ``tools`` are the names offered, where they are known.
    """

    message: dict[str, Any]
    by_model: bool = False
    is_result: bool = False
    answers: str | None = None
    failed: bool | None = None
    model: str | None = None
    finish_reason: str | None = None
    usage: dict[str, Any] | None = None
    cost_usd: float | None = None
    duration_s: float | None = None
    tools: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


FailedText = Callable[[str], bool | None]
"""Whether a result of this text is that of a failed call; None where texts do not tell."""


def said_of(message: Mapping[str, Any], failed: FailedText = lambda _: None, **recorded: Any) -> Said:
    """A message of the chat protocol; those of the role assistant count as the model's."""
    message = dict(message)
    role = message.get("role")
    is_result = role in ("tool", "function")
    answers = message.get("tool_call_id")
    return Said(
        message,
        by_model=role == "assistant",
        is_result=is_result,
        answers=answers if isinstance(answers, str) else None,
        failed=failed(text_of(message.get("content"))) if is_result else None,
        **recorded,
    )


def text_of(content: Any) -> str:
    """The text of a message's content: itself, or the texts of its parts; other parts as JSON."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        return "\n".join(
            str(part["text"]) if isinstance(part, Mapping) and "text" in part else json.dumps(part, ensure_ascii=False)
            for part in content
        )
    return json.dumps(content, ensure_ascii=False)


@dataclass(slots=True)
class _Open:
    """A step whose results are being collected."""

    said: Said
    before: tuple[dict[str, Any], ...]
    sent: int
    results: list[Said] = field(default_factory=list)


def fill_lane(lane: Lane, conversation: Iterable[Said], reason: str = "") -> None:
    """Add the steps of a conversation, and say how it ended: *answered* with a text, else *ended*.

    Results belong to the calls of the step before them: by id, and in order where there is no id. A result that
    belongs to no call of it is kept among the messages before the next step (or after the last), with a note.
    """
    step: _Open | None = None
    before: list[dict[str, Any]] = []
    for sent, said in enumerate(conversation):
        if said.by_model:
            if step is not None:
                before = _close(lane, step) + before
            step, before = _Open(said, tuple(before), sent), []
        elif said.is_result and step is not None and not before:
            step.results.append(said)
        else:
            before.append(said.message)
    if step is not None:
        before = _close(lane, step) + before
    lane.after = tuple(before)
    last = lane.steps[-1] if lane.steps else None
    answered = last is not None and not last.calls
    text = text_of(last.message.get("content")) if answered and last is not None and last.message else None
    lane.outcome, lane.reason, lane.final_text = "answered" if answered else "ended", reason, text


def _close(lane: Lane, step: _Open) -> list[dict[str, Any]]:
    """Add the step to the lane; returns the results that belong to no call of it."""
    said = step.said
    calls, stray = _calls(said.message, step.results)
    notes = [
        *said.notes,
        *(f"a result for {result.answers or 'no call'} that this step did not make" for result in stray),
    ]
    lane.steps.append(
        Step(
            index=len(lane.steps),
            exchange=None,
            model=said.model,
            tools=said.tools,
            messages_sent=step.sent,
            message=said.message,
            finish_reason=said.finish_reason,
            status="complete",
            usage=said.usage,
            anomalies=(),
            calls=calls,
            error=None,
            notes=tuple(notes),
            before=step.before,
            duration_s=said.duration_s,
            cost_usd=said.cost_usd,
        )
    )
    return [result.message for result in stray]


def _calls(message: Mapping[str, Any], results: Sequence[Said]) -> tuple[tuple[CallRecord, ...], list[Said]]:
    due = list(results)
    by_id: dict[str, list[Said]] = {}
    for result in due:
        if result.answers:
            by_id.setdefault(result.answers, []).append(result)
    nameless = [result for result in due if not result.answers]
    calls = []
    for position, (call_id, name, arguments) in enumerate(_asked(message)):
        found = by_id.get(call_id or "") or nameless
        calls.append(_record(position, call_id, name, arguments, found.pop(0) if found else None))
    stray = {id(result) for rest in (*by_id.values(), nameless) for result in rest}
    return tuple(calls), [result for result in due if id(result) in stray]


def _asked(message: Mapping[str, Any]) -> list[tuple[str | None, str, Any]]:
    """Id, name and arguments of the calls of a message, those of the older ``function_call`` included."""
    asked: list[tuple[str | None, str, Any]] = []
    for call in message.get("tool_calls") or ():
        if isinstance(call, Mapping):
            function = call.get("function")
            inner = function if isinstance(function, Mapping) else call
            call_id = call.get("id")
            asked.append(
                (call_id if isinstance(call_id, str) else None, str(inner.get("name") or ""), inner.get("arguments"))
            )
    legacy = message.get("function_call")
    if isinstance(legacy, Mapping) and not asked:
        asked.append((None, str(legacy.get("name") or ""), legacy.get("arguments")))
    return asked


def _record(position: int, call_id: str | None, name: str, arguments: Any, result: Said | None) -> CallRecord:
    if result is None:
        status = MISSING
    elif result.failed is None:
        status = UNKNOWN
    else:
        status = ERROR if result.failed else SUCCESS
    return CallRecord(
        id=call_id or f"call_{position}",
        received_id=call_id,
        name=name or "unknown_tool",
        arguments=arguments,
        parse_error=parse_tool_input(arguments)[1],
        batch=None,
        concurrency_safe=False,
        executed=result is not None,
        status=status,
        error_code=None,
        observation=text_of(result.message.get("content")) if result is not None else "",
    )
