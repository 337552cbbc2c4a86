"""Streams that a strict reader of server-sent events stumbles over, or that end before their end.

https://html.spec.whatwg.org/multipage/server-sent-events.html; what ends a chat stream is said in
`harness.wire.chat.turn_status`.
"""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from harness.cassette.linting.finding import Note, Severity, View
from harness.wire.chat import ModelTurn
from harness.wire.exchange import header
from harness.wire.half_pairs import loads
from harness.wire.sse import SSEParser

_AGAIN = "record it again"


def stream(view: View) -> Iterator[Note]:
    """Every event is JSON and ended by a blank line; a chat stream has a finish_reason or ``[DONE]``."""
    if not view.streamed or not (body := view.response_body):
        return
    chat = view.exchange.is_chat
    if body.startswith(b"\xef\xbb\xbf"):
        what = "the stream begins with a byte-order mark, which many readers take for part of the first event"
        yield Note("response stream", "stream_bom", Severity.WARNING, what, "remove the mark from the recording")
    parser = SSEParser()
    ended = False
    for number, event in enumerate([*parser.feed(body), *parser.close()]):
        data = event.data.strip()
        if not event.terminated:
            what = "no blank line ends the last event: strict readers never see it"
            yield Note(f"response event {number}", "event_not_terminated", Severity.WARNING, what, _AGAIN)
        ended = ended or data == b"[DONE]"
        if not data or data == b"[DONE]" or event.event == "error":
            continue
        if (error := _error(data)) is not None:
            severity = Severity.ERROR if chat else Severity.WARNING
            what = f"the event is no JSON: {error}"
            yield Note(f"response event {number}", "event_not_json", severity, what, _AGAIN)
    if chat and view.answered and not ended and _broke_off(view.exchange.turn()):
        what = "the stream ends without a finish_reason and without [DONE]: the answer broke off"
        todo = "record it again; as a test of a broken stream keep it, a step that is not complete runs nothing"
        yield Note("response stream", "stream_incomplete", Severity.ERROR, what, todo)
    content_type = (header(view.exchange.response.headers, "content-type") or "").lower()
    if content_type and "event-stream" not in content_type:
        what = f"the body is a stream of events and the content type says {content_type[:60]}"
        yield Note("response header content-type", "stream_type", Severity.WARNING, what, "say text/event-stream")


def _broke_off(turn: ModelTurn) -> bool:
    """Whether the end is missing; where a part before it cannot be read, that event has a finding of its own."""
    return turn.status == "incomplete" and not turn.finish_reason


def _error(data: bytes) -> str | None:
    try:
        loads(data)
    except orjson.JSONDecodeError as error:
        return str(error)
    return None
