"""What answers a request: a cassette, a script or a live model."""

from __future__ import annotations

from typing import Protocol

from harness.errors import HarnessError
from harness.wire.exchange import Request, Response


class MissError(HarnessError):
    """A request that a player has no answer for.

    The first line of the text says what and why; further lines, indented, give details.
    """


class CannotAnswerError(HarnessError):
    """An answer that cannot be put to this agent: neither the agent nor the answer is at fault, nothing was judged."""


class Player(Protocol):
    """Answers requests, one at a time or from several threads at once."""

    def answer(self, request: Request) -> Response:
        """The answer to a request; raises MissError when there is none."""
        ...
