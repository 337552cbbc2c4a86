"""What ``/v1/models`` answers where the player has no answer of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import orjson

from harness.cassette.cassette import Cassette
from harness.play.http import error_response
from harness.play.player import Player
from harness.wire.exchange import Request, Response

_HEADERS = (("content-type", "application/json"),)
_LIST = "/models"
_ONE = "/models/"


@dataclass(frozen=True, slots=True)
class ModelsPlayer:
    """Answers GET ``/models`` and ``/models/ID`` from a list, and passes everything else on to ``player``."""

    player: Player
    models: Sequence[Mapping[str, Any]]

    def answer(self, request: Request) -> Response:
        """The list, one model of it or 404; else the player's answer."""
        path = request.path.rstrip("/")
        if request.method != "GET":
            return self.player.answer(request)
        if path.endswith(_LIST):
            return Response(200, _HEADERS, orjson.dumps({"object": "list", "data": list(self.models)}))
        if _ONE in path:
            wanted = unquote(path.rpartition(_ONE)[2])
            found = next((model for model in self.models if model.get("id") == wanted), None)
            if found is None:
                return error_response(404, f"there is no model {wanted!r}", "invalid_request_error", "model_not_found")
            return Response(200, _HEADERS, orjson.dumps(found))
        return self.player.answer(request)


def models_of(cassette: Cassette) -> list[dict[str, Any]] | None:
    """The models that a cassette's requests name, each with what it was seen to do; None where it recorded a list.

    A model that was sent tools has the capability ``tools``; every other says ``completion`` alone.
    """
    found: dict[str, set[str]] = {}
    for exchange in cassette.exchanges:
        if exchange.request.method == "GET" and _LIST in exchange.request.path:
            return None
        parts = exchange.request.parts() if exchange.is_chat else None
        model = None if parts is None else parts.rest.get("model")
        if parts is not None and isinstance(model, str):
            found.setdefault(model, {"completion"}).update({"tools"} if parts.tools else ())
    return [
        {"id": model, "object": "model", "created": 0, "owned_by": "harness", "capabilities": sorted(capabilities)}
        for model, capabilities in found.items()
    ]
