"""What was said in a run: the messages of its steps, each shown once, at the step that brought it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness.report.html.texts import Texts
from harness.report.text import one_line, value_text
from harness.trace.run import Run, Step
from harness.wire.exchange import RequestParts

_THOUGHTS = ("reasoning_content", "reasoning", "thinking")


def said_before(step: Step, before: Step | None, request: RequestParts | None) -> Sequence[Mapping[str, Any]]:
    """The messages that a step's request adds to that of the step before, the model's own and results apart.

    Of the first step that is all of the request. Where the history became shorter (a compaction), it is all again.
    """
    if step.before or request is None:
        return step.before
    messages = request.messages or ()
    known = before.messages_sent if before is not None else 0
    start = known if known <= len(messages) else 0
    return [
        message
        for message in messages[start:]
        if isinstance(message, Mapping) and (start == 0 or message.get("role") not in ("assistant", "tool", "function"))
    ]


def request_of(run: Run, step: Step) -> RequestParts | None:
    """The request of a step, None where the run has none, or none that is a JSON object."""
    if step.exchange is None or step.exchange >= len(run.exchanges):
        return None
    return run.exchanges[step.exchange].request.parts()


def message_documents(messages: Iterable[Mapping[str, Any]], texts: Texts) -> list[dict[str, Any]]:
    """Messages for the page: role, text, and the calls that an assistant's message of a history has."""
    found = []
    for message in messages:
        document: dict[str, Any] = {"role": one_line(str(message.get("role", ""))) or "message"}
        content = message.get("content")
        if content is not None:
            document["text"] = texts.add(content_text(content))
        if calls := [_call(call, texts) for call in _listed(message.get("tool_calls"))]:
            document["calls"] = calls
        found.append(document)
    return found


def answer_document(message: Mapping[str, Any] | None, texts: Texts) -> dict[str, int]:
    """What the model said beside its calls: its text, and its thoughts where they were sent."""
    document: dict[str, int] = {}
    if message is None:
        return document
    if message.get("content"):
        document["text"] = texts.add(content_text(message["content"]))
    thoughts = next((message[key] for key in _THOUGHTS if message.get(key)), None)
    if thoughts is not None:
        document["thoughts"] = texts.add(content_text(thoughts))
    return document


def content_text(content: object) -> str:
    """The text of a message's content; of parts that are no text, what they are."""
    if not isinstance(content, list):
        return value_text(content)
    return "\n".join(_part(part) for part in content)


def _part(part: object) -> str:
    if isinstance(part, Mapping):
        if isinstance(part.get("text"), str):
            return str(part["text"])
        if "image_url" in part or part.get("type") in ("image", "input_audio", "file"):
            return f"({part.get('type', 'attachment')}, {len(value_text(part)):,} characters as JSON)"
    return value_text(part)


def _call(call: Mapping[str, Any], texts: Texts) -> list[object]:
    function = call.get("function")
    function = function if isinstance(function, Mapping) else {}
    return [one_line(str(function.get("name", ""))), texts.add(value_text(function.get("arguments")))]


def _listed(value: object) -> list[Mapping[str, Any]]:
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list) else []
