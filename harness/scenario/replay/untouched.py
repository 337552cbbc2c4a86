"""Exchanges that are no chat: played as bytes, because nothing here reads what they mean.

Each is looked up by its request as recorded, comes through the transport that a client would use, and has to arrive as
it stands in the cassette.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import httpx2

from harness.cassette.cassette import Cassette
from harness.play.cassette_player import CassettePlayer
from harness.play.client import NOWHERE
from harness.play.player import MissError
from harness.play.transport import PlayerTransport
from harness.wire.exchange import Exchange, Request, Response


@dataclass(frozen=True, slots=True)
class UntouchedExchange:
    """A played exchange, and why what arrived is not what was recorded; None where it is."""

    exchange: Exchange
    problem: str | None


def play_untouched(cassette: Cassette, exchanges: Sequence[Exchange]) -> list[UntouchedExchange]:
    """Play exchanges of a cassette in recorded order and compare status and body."""
    if not exchanges:
        return []
    player = _AsRecorded(replace(cassette, exchanges=tuple(exchanges)))
    transport = PlayerTransport(player)
    return [UntouchedExchange(exchange, _problem(player, transport, exchange)) for exchange in exchanges]


class _AsRecorded:
    """Looks the answer up by the recorded request: its URL may hold a filter's placeholder, which is no URL."""

    def __init__(self, cassette: Cassette) -> None:
        self._player = CassettePlayer(cassette)
        self.due = Request("GET", NOWHERE)

    def answer(self, request: Request) -> Response:
        return self._player.answer(replace(self.due, method=request.method, body=request.body))


def _problem(player: _AsRecorded, transport: PlayerTransport, exchange: Exchange) -> str | None:
    player.due = exchange.request
    try:
        request = httpx2.Request(exchange.request.method, NOWHERE, content=exchange.request.body)
        answer = transport.handle_request(request)
        body = b"".join(answer.iter_raw())
    except MissError as miss:
        return f"not found again: {str(miss).splitlines()[0]}"
    recorded = exchange.response
    if answer.status_code != recorded.status:
        return f"the status was {recorded.status}, {answer.status_code} arrived"
    if body != recorded.body:
        return f"{len(recorded.body)} bytes were recorded, {len(body)} arrived, and they differ"
    return None
