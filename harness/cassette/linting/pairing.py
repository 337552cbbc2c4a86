"""Messages that a strict server refuses: calls without results, results without calls (seed 002; `wire.rules`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from harness.cassette.linting.finding import Note, Severity, View
from harness.wire.rules import check_request

_TODO = "the agent that was recorded built a broken history: mend it and record again"
# Accepted by most servers, and no sign of lost content.
_WARNINGS = frozenset({"results_out_of_order", "role_unknown", "messages_missing", "arguments_not_text"})


def pairing(view: View) -> Iterator[Note]:
    """The rules of messages and calls, for each chat request."""
    if not view.exchange.is_chat or not isinstance(view.request, Mapping):
        return
    for breach in check_request({**view.request, "tools": None}):
        severity = Severity.WARNING if breach.code in _WARNINGS else Severity.ERROR
        yield Note(f"request {breach.path}", breach.code, severity, breach.why, _TODO)
