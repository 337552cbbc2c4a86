"""Records the cassettes of the checks again, from a model whose answers are written down here.

Usage: python make_cassettes.py [PYTEST-OPTIONS]. It takes the place of an API with a key: the checks run as they would
against that, through the recording proxy.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from harness.play.script import ScriptedCall, ScriptedTurn, render_turn
from harness.play.server import LoopbackServer
from harness.wire.exchange import Request, Response

TURNS = {
    "What is a flight to Lisbon?": [[("fare", "Lisbon")], "Lisbon is 74 euros."],
    "What is a flight to Oslo?": [[("fare", "Oslo")], "Oslo is 131 euros."],
    "What is a flight to Atlantis?": [[("fare", "Atlantis")], "There are no flights to Atlantis."],
    "How are the skies of Oslo?": [[("sky", "Oslo")], "Snow in Oslo."],
    "Fare and sky of Oslo?": [[("fare", "Oslo"), ("sky", "Oslo")], "Oslo is 131 euros, with snow."],
}  # fmt: skip


class WrittenDown:
    """Answers each question in turn, as often as it is asked; what it has said is in the request."""

    def answer(self, request: Request) -> Response:
        body = request.json()
        turns = TURNS[next(message["content"] for message in body["messages"] if message["role"] == "user")]
        said = sum(message["role"] == "assistant" for message in body["messages"])
        return render_turn(_turn(turns[said], said), said, body)


def _turn(answer: str | Sequence[tuple[str, str]], said: int) -> ScriptedTurn:
    if isinstance(answer, str):
        return ScriptedTurn(text=answer)
    calls = tuple(
        ScriptedCall(name, json.dumps({"city": city}), f"call_{said}{number}")
        for number, (name, city) in enumerate(answer)
    )
    return ScriptedTurn(calls=calls, finish_reason="tool_calls")


def main(options: Sequence[str]) -> int:
    with LoopbackServer(WrittenDown()) as server:
        # This program has imported the plugin's package before pytest could look at it.
        quiet = "ignore:Module already imported:pytest.PytestAssertRewriteWarning"
        arguments: list[Any] = ["--cassette-mode=rewrite", f"--cassette-upstream={server.base_url}", "-W", quiet]
        arguments += options
        return int(pytest.main(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
