"""A player that answers from a cassette and from nothing else."""

from __future__ import annotations

from collections.abc import Mapping

from harness.cassette.cassette import Cassette
from harness.cassette.matching import Matcher
from harness.play.player import MissError
from harness.wire.exchange import Exchange, Request, Response


class CassettePlayer:
    """Plays each exchange of a cassette once, for requests equal to the recorded ones; see `Matcher`.

    ``placeholders`` maps directories, the recorded and the present ones, to names such as ``<workspace>``.
    """

    def __init__(self, cassette: Cassette, placeholders: Mapping[str, str] | None = None) -> None:
        self.cassette = cassette
        self._matcher = Matcher(cassette, placeholders)

    @property
    def unused(self) -> tuple[Exchange, ...]:
        """The chat exchanges nobody has asked for yet."""
        return self._matcher.unused

    def answer(self, request: Request) -> Response:
        """The recorded response, byte for byte; raises MissError with an explanation."""
        exchange = self._matcher.find(request)
        if exchange is None:
            raise MissError(self._matcher.explain_miss(request))
        return exchange.response
