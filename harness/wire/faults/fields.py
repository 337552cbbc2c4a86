"""Parts of an answer that some providers leave out: ``[DONE]``, usage, finish_reason, ids and indexes of calls."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

import orjson

from harness.wire.exchange import Response
from harness.wire.faults.body import Edit, edited, is_stream, opened
from harness.wire.faults.fault import Applied, Fault
from harness.wire.faults.frames import frames_of
from harness.wire.half_pairs import loads
from harness.wire.json_spans import EACH, Span, document_start, find, member_span

What = Literal["done", "usage", "finish_reason", "id", "index"]


@dataclass(frozen=True, slots=True)
class Drop(Fault):
    """Takes ``what`` out of the whole answer: ``[DONE]``, usage, each finish_reason, ids or indexes of calls.

    An event that held nothing but usage goes as a whole.
    """

    name: ClassVar[str] = "drop"
    main: ClassVar[str | None] = "what"

    what: What = "done"

    def apply(self, response: Response, rng: random.Random) -> Applied:
        """The answer without it."""
        del rng
        body = opened(response)
        if body is None:
            return Applied(response)
        edits = list(self._stream_edits(body) if is_stream(response) else self._plain_edits(body))
        if not edits:
            return Applied(response)
        return Applied(edited(response, edits), f"{_WORDS[self.what]} dropped")

    def _stream_edits(self, body: bytes) -> Iterator[Edit]:
        for frame in frames_of(body):
            if frame.is_done and self.what == "done":
                yield Edit(frame.start, frame.end, b"")
            if not frame.is_json or self.what == "done":
                continue
            text = frame.text or ""
            if self.what == "usage" and _is_usage_only(text):
                yield Edit(frame.start, frame.end, b"")
            elif (changed := _without(text, _SPANS[self.what](text, "delta"))) != text:
                yield Edit(frame.start, frame.end, frame.with_text(changed))

    def _plain_edits(self, body: bytes) -> Iterator[Edit]:
        try:
            document = loads(body)
        except orjson.JSONDecodeError:
            return
        if not isinstance(document, dict) or self.what == "done":
            return
        text = body.decode()
        for span in _SPANS[self.what](text, "message"):
            start = len(text[: span.start].encode())
            yield Edit(start, start + len(text[span.start : span.end].encode()), b"")


_WORDS: dict[What, str] = {
    "done": "[DONE]",
    "usage": "usage",
    "finish_reason": "finish_reason",
    "id": "the ids of calls",
    "index": "the indexes of calls",
}


def _usage(text: str, _: str) -> Iterator[Span]:
    yield from _present(text, document_start(text), "usage")


def _finish_reason(text: str, _: str) -> Iterator[Span]:
    for choice in find(text, document_start(text), "choices", EACH):
        yield from _present(text, choice.start, "finish_reason")


def _of_calls(key: str) -> Callable[[str, str], Iterator[Span]]:
    def spans(text: str, envelope: str) -> Iterator[Span]:
        for call in find(text, document_start(text), "choices", EACH, envelope, "tool_calls", EACH):
            yield from _present(text, call.start, key)

    return spans


_SPANS: dict[What, Callable[[str, str], Iterator[Span]]] = {
    "usage": _usage,
    "finish_reason": _finish_reason,
    "id": _of_calls("id"),
    "index": _of_calls("index"),
}


def _present(text: str, start: int, key: str) -> Iterator[Span]:
    """The member to take out where the object has the key with a value; null says as little as no key."""
    values = list(find(text, start, key))
    if any(text[value.start : value.end] != "null" for value in values) and (span := member_span(text, start, key)):
        yield span


def _without(text: str, spans: Iterator[Span]) -> str:
    pieces: list[str] = []
    position = 0
    for span in spans:
        pieces.append(text[position : span.start])
        position = span.end
    return "".join([*pieces, text[position:]])


def _is_usage_only(text: str) -> bool:
    document = loads(text)
    return bool(document.get("usage")) and document.get("choices") in ([], None)
