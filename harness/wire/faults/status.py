"""Answers that are none: an HTTP error in place of the model's, or no response at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import orjson

from harness.wire.exchange import Ending, Headers, Response
from harness.wire.faults.fault import Applied, Fault

_LOWEST, _HIGHEST = 400, 599


@dataclass(frozen=True, slots=True)
class Status(Fault):
    """Answers with an HTTP error, or with nothing (*timeout*), without asking the model; once where not said otherwise.

    ``retry_after`` is the header's seconds. The message is in the provider's form.
    """

    name: ClassVar[str] = "status"
    main: ClassVar[str | None] = "status"

    status: int | Literal["timeout"] = 503
    retry_after: float | None = None
    message: str | None = None

    def __post_init__(self) -> None:
        Fault.__post_init__(self)
        if isinstance(self.status, int) and not _LOWEST <= self.status <= _HIGHEST:
            raise ValueError(f"status is {self.status}; an error is {_LOWEST} to {_HIGHEST}, or timeout")
        if self.retry_after is not None and self.retry_after < 0:
            raise ValueError(f"retry_after is {self.retry_after}; it is not negative")

    def _usual_times(self) -> int | None:
        return 1

    def instead(self) -> Applied | None:
        """The error."""
        if self.status == "timeout":
            return Applied(Response(200, ending=Ending.TIMEOUT), "no response came")
        kind, usual = _KINDS.get(self.status, ("api_error", "the request failed"))
        error = {"message": self.message or usual, "type": kind, "param": None, "code": None}
        headers: Headers = (("content-type", "application/json"),)
        words = f"HTTP {self.status}"
        if self.retry_after is not None:
            headers = (*headers, ("retry-after", f"{self.retry_after:g}"))
            words += f" with Retry-After {self.retry_after:g}"
        return Applied(Response(self.status, headers, orjson.dumps({"error": error})), f"{words} in place of an answer")


_KINDS: dict[int, tuple[str, str]] = {
    429: ("rate_limit_error", "Rate limit reached, try again later"),
    500: ("server_error", "The server had an error while processing the request"),
    503: ("service_unavailable", "The service is overloaded, try again later"),
}
