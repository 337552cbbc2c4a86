"""What is wrong with a cassette before anybody replays it; one rule a function, all told in one reading.

Work is linear in the cassette. What repeats with each request of a conversation (the tools, the history) is one
finding, at the exchange where it first stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.cassette.cassette import Cassette
from harness.cassette.dialects import pydantic_ai
from harness.cassette.linting.encoding import content_encoding, content_length
from harness.cassette.linting.errors import error_answer
from harness.cassette.linting.finding import Finding, Rule, Severity, View, is_error
from harness.cassette.linting.json_bodies import json_bodies
from harness.cassette.linting.pairing import pairing
from harness.cassette.linting.schemas import schemas
from harness.cassette.linting.secrets import SecretRules
from harness.cassette.linting.streams import stream

__all__ = ["Finding", "Severity", "is_error", "lint_cassette"]

# These keep bodies as documents: their bytes are written anew, so nothing can be said of their length.
_WITHOUT_BYTES = frozenset({pydantic_ai.NAME})

RULES: tuple[Rule, ...] = (content_encoding, content_length, json_bodies, stream, pairing, schemas, error_answer)


def lint_cassette(cassette: Cassette, patterns: Sequence[str] = ()) -> list[Finding]:
    """All findings in a cassette, in the order of its exchanges.

    ``patterns`` are further regular expressions of what is a secret. Raises InputError for one that is none.
    """
    secrets = SecretRules(patterns)
    rules = [
        rule
        for rule in (*secrets.rules, *RULES)
        if rule is not content_length or cassette.dialect not in _WITHOUT_BYTES
    ]
    seen: set[bytes] = set()
    first: dict[tuple[str, str, str], Finding] = {}
    times: dict[tuple[str, str, str], int] = {}
    for exchange in cassette.exchanges:
        view = View(exchange, seen)
        for rule in rules:
            for note in rule(view):
                key = (note.code, note.path, note.what)
                first.setdefault(key, Finding(str(cassette.path), exchange.index, *note))
                times[key] = times.get(key, 0) + 1
    found = [
        replace(finding, what=f"{finding.what} (also in {times[key] - 1} more)") if times[key] > 1 else finding
        for key, finding in first.items()
    ]
    return [*_torn(cassette), *found]


def _torn(cassette: Cassette) -> list[Finding]:
    return [
        Finding(
            str(cassette.path),
            None,
            "",
            "file_torn",
            Severity.WARNING,
            note,
            "record the session again, or go on with the file: the rest is cut off",
        )
        for note in cassette.notes
    ]
