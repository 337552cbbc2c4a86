"""A player as strict as a provider: what breaks the protocol is refused, and only the rest is answered."""

from __future__ import annotations

from harness.play.player import Player
from harness.wire.exchange import Request, Response
from harness.wire.half_pairs import dumps
from harness.wire.refusals import EMPTY_ARRAY_REFUSED
from harness.wire.rules import Breach, check_request

_JSON = ("content-type", "application/json")


class StrictPlayer:
    """Passes on to ``player`` what `harness.wire.rules` finds no fault with, and answers the rest with HTTP 400.

    The message has the provider's form: it says what is wrong, and ``param`` where, as far as a provider would.
    """

    def __init__(self, player: Player) -> None:
        self._player = player

    def answer(self, request: Request) -> Response:
        """The player's answer, or the refusal of the first breach."""
        if not request.is_chat:
            return self._player.answer(request)
        try:
            body = request.json()
        except ValueError as error:
            return _refusal(f"We could not parse the JSON body of your request: {error}", None)
        if not isinstance(body, dict):
            return _refusal("The body of a request is a JSON object", None)
        breaches = check_request(body)
        return _refused(breaches[0]) if breaches else self._player.answer(request)


def _refused(breach: Breach) -> Response:
    param = breach.path.removeprefix("$.")
    if breach.code == "object_became_array":
        return _refusal(f"Invalid JSON schema: {EMPTY_ARRAY_REFUSED}", param.partition("[")[0])
    return _refusal(f"Invalid value for {param}: {breach.why}", param)


def _refusal(message: str, param: str | None) -> Response:
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": None}
    return Response(400, (_JSON,), dumps({"error": error}))
