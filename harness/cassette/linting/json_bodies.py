"""Bodies that say JSON and are none."""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from harness.cassette.linting.finding import Note, Severity, View
from harness.wire.half_pairs import loads

_TODO = "record it again"


def json_bodies(view: View) -> Iterator[Note]:
    """Chat requests and answers are JSON, and so is what a content type calls JSON."""
    chat = view.exchange.is_chat
    body = view.request_body
    if body and (chat or view.says_json(request=True)) and (error := _error(body)):
        yield Note("request body", "request_not_json", Severity.ERROR, f"it is no JSON: {error}", _TODO)
    body = view.response_body
    if body is None or view.streamed:
        return
    if not body.strip():
        if chat and view.answered and view.exchange.request.method.upper() == "POST":
            yield Note("response body", "response_empty", Severity.ERROR, "the answer is empty", _TODO)
    elif ((chat and view.answered) or view.says_json(request=False)) and (error := _error(body)):
        yield Note("response body", "response_not_json", Severity.ERROR, f"it is no JSON: {error}", _TODO)


def _error(body: bytes) -> str | None:
    try:
        loads(body)
    except orjson.JSONDecodeError as error:
        return str(error)
    return None
