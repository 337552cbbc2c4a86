"""What a rule says, and what it looks at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple

import orjson

from harness.wire.exchange import Exchange, header
from harness.wire.half_pairs import loads
from harness.wire.secrets.bodies import readable


class Severity(StrEnum):
    """An *error* makes a cassette unfit (it lies, breaks or leaks); a *warning* is worth a look."""

    ERROR = "error"
    WARNING = "warning"


class Note(NamedTuple):
    """What a rule found: JSON path or header, code, severity, what is wrong and what to do about it."""

    path: str
    code: str
    severity: Severity
    what: str
    todo: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A note with its file and the position of its exchange (from 0; None where it is about the file)."""

    file: str
    exchange: int | None
    path: str
    code: str
    severity: Severity
    what: str
    todo: str


@dataclass(frozen=True)
class View:
    """An exchange with what several rules need of it, read once; ``seen`` is for rules that look at each thing once."""

    exchange: Exchange
    seen: set[bytes]

    @cached_property
    def request_body(self) -> bytes | None:
        """The request's body without its encoding, None where it cannot be read."""
        return readable(self.exchange.request.body, self.exchange.request.headers)

    @cached_property
    def response_body(self) -> bytes | None:
        """The response's body without its encoding, None where it cannot be read."""
        return readable(self.exchange.response.body, self.exchange.response.headers)

    @cached_property
    def request(self) -> Any:
        """The request's JSON, None where there is none."""
        return _json(self.request_body)

    @cached_property
    def response(self) -> Any:
        """The response's JSON, None where there is none."""
        return None if self.streamed else _json(self.response_body)

    @cached_property
    def streamed(self) -> bool:
        """Whether the response is a stream that can be read."""
        return self.response_body is not None and self.exchange.response.streamed

    @property
    def answered(self) -> bool:
        """Whether the status is one of success."""
        return 200 <= self.exchange.response.status < 300

    def says_json(self, *, request: bool) -> bool:
        """Whether a content type says JSON."""
        side = self.exchange.request if request else self.exchange.response
        return "json" in (header(side.headers, "content-type") or "").lower()


Rule = Callable[[View], Iterator[Note]]


def is_error(findings: Iterable[Finding]) -> bool:
    """Whether one of them is an error."""
    return any(finding.severity is Severity.ERROR for finding in findings)


def _json(body: bytes | None) -> Any:
    if not body:
        return None
    try:
        return loads(body)
    except orjson.JSONDecodeError:
        return None
