"""Answers that are errors (bug report H22): recorded by accident, they make every replay one of an outage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from harness.cassette.linting.finding import Note, Severity, View
from harness.wire.chat import error_of
from harness.wire.exchange import header

_TODO = "if it is not meant as a test of errors, remove the exchange or record the session again"


def error_answer(view: View) -> Iterator[Note]:
    """Statuses from 400, and error objects under a status of success."""
    response = view.exchange.response
    document = view.response if isinstance(view.response, Mapping) else {}
    error = error_of(document)
    if response.status >= 400:
        wait = header(response.headers, "retry-after")
        after = f", retry after {wait[:20]} s (a replay does not wait)" if wait else ""
        what = f"HTTP {response.status}{_said(error)}{after}"
        yield Note("response status", "error_answer", Severity.WARNING, what, _TODO)
    elif error is not None and view.answered:
        what = f"an error object under HTTP {response.status}{_said(error)}"
        yield Note("response $.error", "error_answer", Severity.WARNING, what, _TODO)
    elif view.streamed and view.exchange.is_chat and (error := view.exchange.turn().error) is not None:
        what = f"an error in the stream under HTTP {response.status}{_said(error)}"
        yield Note("response stream", "error_answer", Severity.WARNING, what, _TODO)


def _said(error: Mapping[str, object] | None) -> str:
    message = error.get("message") if error else None
    return f": {' '.join(message.split())[:160]}" if isinstance(message, str) and message else ""
