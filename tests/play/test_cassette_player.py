from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from harness.cassette.cassette import Cassette
from harness.play.cassette_player import CassettePlayer
from harness.play.client import openai_client
from harness.play.live import LivePlayer
from harness.play.player import MissError
from harness.play.script import ScriptedCall, ScriptedTurn, ScriptPlayer, render_turn
from harness.play.server import LoopbackServer
from harness.play.transport import PlayerTransport
from harness.wire.deltas import parse_stream
from harness.wire.exchange import Exchange, Request, Response

URL = "http://h/v1/chat/completions"
RECORDED = {"workspace": "/tmp/recorded", "home": "/home/one"}
LIVE = {"workspace": "/srv/elsewhere/live", "home": "/home/one"}


def body(text: str, **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": text}], **more}


def request(document: dict[str, Any]) -> Request:
    return Request("POST", URL, (), json.dumps(document).encode())


def cassette(*pairs: tuple[dict[str, Any], Response], **more: Any) -> Cassette:
    exchanges = [Exchange(request(asked), answer, number) for number, (asked, answer) in enumerate(pairs)]
    return Cassette(Path("c.yaml"), "test", tuple(exchanges), **more)


def answer(text: str) -> Response:
    return render_turn(ScriptedTurn(text=text), 0, {"model": "m"})


def test_equal_folders_give_the_recorded_bytes_untouched() -> None:
    recorded = answer("see /tmp/recorded/a")
    player = CassettePlayer(cassette((body("go"), recorded)), RECORDED, recorded=RECORDED)
    assert player.answer(request(body("go"))) is recorded
    assert player.rewritten == []


@pytest.mark.parametrize("fragment", [1, 2, 3, 7, 500])
def test_in_another_folder_no_recorded_path_reaches_the_agent(fragment: int) -> None:
    call = ScriptedCall("Read", '{"path": "/tmp/recorded/a.py", "other": "\\/tmp\\/recorded"}', "call_1")
    turn = ScriptedTurn(text="Reading /tmp/recorded/a.py now", calls=(call,), fragment=fragment)
    asked = body("work in /tmp/recorded", stream=True)
    recorded = render_turn(turn, 0, asked)
    player = CassettePlayer(cassette((asked, recorded)), LIVE, recorded=RECORDED)
    played = player.answer(request(body("work in /srv/elsewhere/live", stream=True)))
    assert player.rewritten == [0]
    turned = parse_stream(played.body)
    assert "recorded" not in played.body.decode().replace("\\", "")
    assert turned.content == "Reading /srv/elsewhere/live/a.py now"
    assert json.loads(turned.tool_calls[0].arguments) == {
        "path": "/srv/elsewhere/live/a.py",
        "other": "/srv/elsewhere/live",
    }
    assert len(played.chunks) == len(recorded.chunks)
    assert played.chunks[-1].end == len(played.body)


def test_the_folders_that_a_cassette_keeps_are_the_recorded_ones() -> None:
    kept = cassette((body("in /tmp/recorded"), answer("/tmp/recorded")), workspace="/tmp/recorded", home="/home/one")
    player = CassettePlayer(kept, LIVE)
    played = player.answer(request(body("in /srv/elsewhere/live")))
    assert b"/srv/elsewhere/live" in played.body
    assert player.rewritten == [0]


def test_allowed_drift_is_listed_by_exchange() -> None:
    player = CassettePlayer(cassette((body("go", seed=1), answer("a"))), allow_drift=["parameters"])
    player.answer(request(body("go", seed=2)))
    assert [(number, drift.kind, drift.path) for number, drift in player.drifted] == [(0, "parameters", "$.seed")]
    assert player.miss is None


def test_a_miss_is_raised_and_stays() -> None:
    player = CassettePlayer(cassette((body("go"), answer("a"))))
    with pytest.raises(MissError, match="user message 1 changed"):
        player.answer(request(body("stop")))
    player.answer(request(body("go")))
    assert player.miss is not None
    assert player.diverged
    assert "user message 1 changed" in str(player.miss)


def test_a_swallowed_miss_is_kept_by_the_transport() -> None:
    transport = PlayerTransport(CassettePlayer(cassette((body("go"), answer("a")))))
    with openai_client(transport) as client:
        for _ in range(3):
            with suppress(Exception):  # an agent that handles everything
                client.chat.completions.create(**body("stop"))
    assert transport.miss is not None
    assert transport.exchanges == []


def test_after_a_miss_the_fallback_answers_everything_and_nothing_is_mixed() -> None:
    script = ScriptPlayer([ScriptedTurn(text="from the script"), ScriptedTurn(text="again")])
    player = CassettePlayer(cassette((body("go"), answer("recorded")), (body("on"), answer("x"))), fallback=script)
    texts = [json.loads(player.answer(request(body(text))).body)["choices"][0]["message"]["content"]
             for text in ("go", "else", "on")]  # fmt: skip
    assert texts == ["recorded", "from the script", "again"]
    assert player.diverged
    assert [exchange.index for exchange in player.unused] == [1]


def test_the_fallback_may_be_a_live_model() -> None:
    with (
        LoopbackServer(ScriptPlayer([ScriptedTurn(text="live", fragment=2)])) as server,
        LivePlayer(server.base_url, "key-1") as live,
    ):
        player = CassettePlayer(cassette((body("go"), answer("recorded"))), fallback=live)
        response = player.answer(request(body("else", stream=True)))
        asked = server.exchanges[0].request
    assert parse_stream(response.body).content == "live"
    assert response.chunks
    assert ("authorization", "Bearer key-1") in asked.headers
    assert player.diverged
