from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from harness.cassette.dialects import load_cassette
from harness.play.cassette_player import CassettePlayer
from harness.play.client import openai_client
from harness.play.faulty_player import FaultyPlayer
from harness.play.player import Player
from harness.play.script import ScriptedTurn, ScriptPlayer
from harness.play.server import LoopbackServer
from harness.play.strict_player import StrictPlayer
from harness.play.transport import PlayerTransport
from harness.wire.exchange import Ending, Request, Response
from harness.wire.faults import parse_faults
from tests.pipeline.playing import Session, Witness, calling, saying
from tests.pipeline.playing import call as scripted_call
from tests.pipeline.tools import SmallTool

ROOT = Path(__file__).resolve().parents[2]
QUESTION: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
HELLO = [ScriptedTurn(text="Hello, you."), ScriptedTurn(text="Again.")]


def faulty(*specs: str, player: Player | None = None, seed: int = 0) -> FaultyPlayer:
    return FaultyPlayer(player or ScriptPlayer(HELLO), parse_faults(specs), seed)


def request(number: int = 0, *, stream: bool = True) -> Request:
    body = b'{"model":"m","stream":%s,"messages":[{"role":"user","content":"%d"}]}'
    return Request("POST", "http://h/v1/chat/completions", (), body % (b"true" if stream else b"false", number))


def answers(player: Player, count: int) -> list[Response]:
    return [player.answer(request(number)) for number in range(count)]


def test_without_faults_every_answer_is_the_players() -> None:
    assert answers(faulty(), 2) == answers(ScriptPlayer(HELLO), 2)


def test_what_happened_is_listed_and_what_did_not() -> None:
    player = faulty("cut:event=2,at=2", "gzip:at=1", "broken=99")
    answers(player, 2)
    assert [incident.text for incident in player.incidents] == [
        player.incidents[0].text,
        "fault cut:event=2,at=2 at answer 2: cut after 2 of 4 events",
    ]
    assert player.incidents[0].text.startswith("fault gzip:at=1 at answer 1: packed with gzip: ")
    assert [fault.text for fault in player.idle] == ["broken=99"]


def test_faults_are_applied_in_their_order() -> None:
    (packed_last,) = answers(faulty("cut:event=2", "gzip"), 1)
    (packed_first,) = answers(faulty("gzip", "cut:event=2"), 1)
    assert packed_last.body == packed_first.body
    (cut_bytes,) = answers(faulty("gzip", "cut:byte=9"), 1)
    assert len(cut_bytes.body) == 9


def test_the_seed_chooses_what_a_fault_leaves_open() -> None:
    bodies = {answers(faulty("cut", seed=seed), 1)[0].body for seed in range(10)}
    assert len(bodies) > 5
    assert answers(faulty("cut", seed=3), 1) == answers(faulty("cut", seed=3), 1)


def test_only_chat_requests_are_counted_and_touched() -> None:
    player = faulty("status=500", player=ScriptPlayer(HELLO, models=[{"id": "m"}]))
    assert player.answer(Request("GET", "http://h/v1/models")).status == 200
    assert player.answer(request()).status == 500


def test_an_http_error_asks_nobody_and_later_faults_are_applied_to_it() -> None:
    script = ScriptPlayer(HELLO)
    player = faulty("status=429,times=2", "status=503,times=3", "content_type=text/plain,at=1", player=script)
    got = answers(player, 3)
    assert [answer.status for answer in got] == [429, 429, 503]
    assert dict(got[0].headers)["content-type"] == "text/plain"
    assert script.played == 0
    assert player.answer(request(3)).status == 200


@pytest.mark.parametrize("fault", ["cut:event=2", "disconnect:event=2", "disconnect", "timeout:byte=0", "error=1"])
def test_the_same_request_again_gets_the_answer_that_did_not_arrive(fault: str) -> None:
    script = ScriptPlayer(HELLO)
    player = faulty(f"{fault}{',' if any(sign in fault for sign in ':=') else ':'}at=1", player=script)
    first, again, next_one = (player.answer(request(number)) for number in (0, 0, 0))
    whole = answers(ScriptPlayer(HELLO), 2)
    assert first != whole[0]
    assert again == whole[0]
    assert next_one == whole[1]


def test_an_answer_that_arrived_is_not_given_again() -> None:
    script = ScriptPlayer(HELLO)
    player = faulty("drop=done,at=1", "rechunk=3,at=1", player=script)
    player.answer(request())
    assert player.answer(request()) == answers(ScriptPlayer(HELLO), 2)[1]


def test_an_answer_that_was_broken_before_is_not_given_again() -> None:
    player = faulty("rechunk=3", player=ScriptPlayer([ScriptedTurn(text="x", done=False, finish_reason=None), *HELLO]))
    answers(player, 1)
    assert b"Hello" in b"".join(answers(player, 1)[0].body.split())


def test_a_cassette_behind_faults_is_asked_for_each_exchange_once() -> None:
    cassette = load_cassette(ROOT / "cassettes" / "smollm2-read-streamed.yaml")
    inner = CassettePlayer(cassette)
    player = faulty("disconnect:event=3,at=1", "status=503,at=3", player=inner)
    chats = [exchange for exchange in cassette.exchanges if exchange.is_chat]
    first, second = (exchange.request for exchange in chats)
    got = [player.answer(asked) for asked in (first, first, second, second)]
    assert [answer.ending for answer in got] == [Ending.DISCONNECT, Ending.WHOLE, Ending.WHOLE, Ending.WHOLE]
    assert [got[1], got[3]] == [exchange.response for exchange in chats]
    assert inner.unused == ()


def test_threads_share_the_count() -> None:
    player = faulty("status=500,times=8", player=ScriptPlayer([ScriptedTurn(text="x")] * 8))
    statuses: list[int] = []
    threads = [threading.Thread(target=lambda: statuses.append(player.answer(request()).status)) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200] * 8 + [500] * 8
    assert sorted(incident.answer for incident in player.incidents) == list(range(1, 9))


# The real client, in the process and over HTTP


def asked(player: Player, *, over_http: bool, retries: int, stream: bool = False) -> str | None:
    """What the real client, as any program makes it, has from one question."""

    def ask(base_url: str, transport: httpx2.BaseTransport | None) -> str | None:
        http = httpx2.Client(transport=transport, trust_env=False, timeout=0.3)
        with openai.OpenAI(base_url=base_url, api_key="k", max_retries=retries, http_client=http) as client:
            if not stream:
                content: str | None = client.chat.completions.create(**QUESTION).choices[0].message.content
                return content
            chunks = list(client.chat.completions.create(**QUESTION, stream=True))
            return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)

    if not over_http:
        return ask("http://harness.invalid/v1", PlayerTransport(player))
    with LoopbackServer(player) as server:
        return ask(server.base_url, None)


@pytest.mark.parametrize("over_http", [False, True])
def test_a_client_that_tries_again_gets_through_two_429(over_http: bool) -> None:
    player = faulty("status=429,times=2,retry_after=0.001")
    assert asked(player, over_http=over_http, retries=2) == "Hello, you."
    assert [incident.answer for incident in player.incidents] == [1, 2]
    with pytest.raises(openai.RateLimitError, match="Rate limit reached"):
        asked(faulty("status=429,times=2"), over_http=over_http, retries=0)


@pytest.mark.parametrize("over_http", [False, True])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("disconnect:byte=20", "ProtocolError|APIConnectionError|ReadError"),
        ("timeout:byte=20", "Timeout"),
        ("status=timeout", "Timeout"),
    ],
)
def test_the_client_meets_broken_connections(over_http: bool, stream: bool, fault: str, error: str) -> None:
    with pytest.raises((openai.APIConnectionError, httpx2.HTTPError)) as met:
        asked(faulty(fault), over_http=over_http, retries=0, stream=stream)
    assert any(word in f"{type(met.value).__name__} {met.value.__cause__!r}" for word in error.split("|"))


@pytest.mark.parametrize("over_http", [False, True])
def test_harmless_faults_are_not_noticed(over_http: bool) -> None:
    for specs in (["gzip", "rechunk=1"], ["rechunk=2"], ["drop=done"], ["delay=0"]):
        assert asked(faulty(*specs), over_http=over_http, retries=0, stream=True) == "Hello, you."


# E02


def no_parameters(name: str = "ListFiles") -> SmallTool:
    return SmallTool(name, parameters=())


def strict_upstream() -> tuple[Witness, FaultyPlayer]:
    witness = Witness(StrictPlayer(ScriptPlayer([calling(scripted_call("ListFiles")), saying()])))
    return witness, faulty("gateway=request", player=witness)


@pytest.mark.seed("E02")
@pytest.mark.parametrize("over_http", [False, True])
def test_e02_a_strict_upstream_behind_the_gateway_refuses_and_the_player_names_the_fault(over_http: bool) -> None:
    witness, player = strict_upstream()
    tool = no_parameters()
    if over_http:
        with LoopbackServer(player) as server:
            transport = httpx2.HTTPTransport()
            with openai_client(transport, base_url=server.base_url) as client, Session([], tool) as session:
                session.loop.client = client
                result = session.run()
    else:
        with Session(player, tool) as session:
            result = session.run()
    assert result.status == "error"
    assert 'HTTP 400: Invalid JSON schema: [] is not of type "object"' in result.reason
    assert witness.bodies[0]["tools"][0]["function"]["parameters"]["properties"] == []
    assert [incident.text for incident in player.incidents] == [
        "fault gateway=request at answer 1: {} became [] at $.tools[0].function.parameters.properties of the request"
    ]
    assert tool.runs == []
