"""Public bug reports about recorders (family H), each with the outcome that is right here, named after its id."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest

from harness.cassette.cassette import Cassette
from harness.cassette.dialects import load_cassette
from harness.cassette.dialects.vcrpy import VcrpyWriter
from harness.cassette.matching import Matcher
from harness.judge.checks import judge_scenario
from harness.judge.verdict import Verdict
from harness.play.cassette_player import CassettePlayer
from harness.play.client import async_openai_client, openai_client
from harness.play.script import ScriptedTurn, ScriptPlayer, render_turn
from harness.play.server import LoopbackServer
from harness.play.transport import PlayerTransport, RecordingTransport
from harness.scenario.format import load_scenario
from harness.scenario.recording import record_cassettes
from harness.scenario.runner import run_scenario
from harness.seams import SystemClock
from harness.wire.exchange import Exchange, Request, Response

URL = "http://h/v1/chat/completions"
QUESTION: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def request(body: dict[str, Any] | None = None) -> Request:
    return Request("POST", URL, (), json.dumps(body or QUESTION).encode())


def cassette(*answers: Response) -> Cassette:
    return Cassette(Path("c.yaml"), "test", tuple(Exchange(request(), one, n) for n, one in enumerate(answers)))


def answer(text: str = "ho") -> Response:
    return render_turn(ScriptedTurn(text=text), 0, QUESTION)


def test_h01_a_replay_opens_no_socket_and_counts_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    transport = PlayerTransport(CassettePlayer(cassette(answer(), answer())))
    with openai_client(transport, base_url="http://10.255.255.1/v1") as client:
        for _ in range(2):
            client.chat.completions.create(**QUESTION)
    assert len(transport.exchanges) == 2


def test_h02_a_stream_is_passed_on_chunk_by_chunk_and_kept_so(tmp_path: Path) -> None:
    writer = VcrpyWriter(tmp_path / "c.yaml")
    seen: list[int] = []

    class Endless(httpx2.SyncByteStream):
        def __iter__(self) -> Any:
            for number in range(4):
                assert len(seen) == number, "the chunk before has been handed on already"
                yield b"data: %d\n\n" % number

    inner = httpx2.MockTransport(lambda _: httpx2.Response(200, stream=Endless()))
    recording = RecordingTransport(inner, writer.add, SystemClock())
    with httpx2.Client(transport=recording) as client, client.stream("POST", URL, json=QUESTION) as response:
        for chunk in response.iter_raw():
            seen.append(len(chunk))  # noqa: PERF401  one at a time is the point
    recorded = load_cassette(tmp_path / "c.yaml").exchanges[0].response
    assert [chunk.end for chunk in recorded.chunks] == [9, 18, 27, 36]
    playing = PlayerTransport(CassettePlayer(load_cassette(tmp_path / "c.yaml")))
    with httpx2.Client(transport=playing) as client, client.stream("POST", URL, json=QUESTION) as response:
        assert [len(chunk) for chunk in response.iter_raw()] == seen == [9] * 4


def test_h09_one_request_too_many_and_one_too_few_are_both_said() -> None:
    player = CassettePlayer(cassette(answer(), answer(), answer()))
    for _ in range(3):
        player.answer(request())
    with pytest.raises(Exception, match=r"recorded 3 times \(exchange 1, 2, 3\) and has been played as often"):
        player.answer(request())
    fewer = CassettePlayer(cassette(answer(), answer()))
    fewer.answer(request())
    assert [exchange.index for exchange in fewer.unused] == [1]


def test_h14_a_random_multipart_boundary_does_not_count() -> None:
    def upload(boundary: str, content: str = "x") -> Request:
        body = f'--{boundary}\r\nContent-Disposition: form-data; name="f"\r\n\r\n{content}\r\n--{boundary}--\r\n'
        kind = f"multipart/form-data; boundary={boundary}"
        return Request("POST", "http://h/v1/files", (("Content-Type", kind),), body.encode())

    matcher = Matcher(Cassette(Path("c.yaml"), "test", (Exchange(upload("b1"), answer()),)))
    assert matcher.match(upload("b2", "y")) is None
    assert matcher.match(upload("another-boundary-7")) is not None


def test_h19_the_event_loop_works_while_nothing_leaves_the_machine() -> None:
    async def ask() -> str:
        transport = PlayerTransport(CassettePlayer(cassette(answer())))
        async with async_openai_client(transport, base_url="http://10.255.255.1/v1") as client:
            return str((await client.chat.completions.create(**QUESTION)).choices[0].message.content)

    assert asyncio.run(ask()) == "ho"


def test_h20_an_async_client_is_played_and_streamed_too() -> None:
    streamed = {**QUESTION, "stream": True}
    kept = Cassette(
        Path("c.yaml"), "test", (Exchange(request(streamed), render_turn(ScriptedTurn("a b c"), 0, streamed)),)
    )

    async def ask() -> str:
        transport = PlayerTransport(CassettePlayer(kept))
        async with async_openai_client(transport) as client:
            stream = await client.chat.completions.create(**streamed)
            return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

    assert asyncio.run(ask()) == "a b c"


def test_h21_a_miss_that_the_agent_swallows_fails_all_the_same() -> None:
    transport = PlayerTransport(CassettePlayer(cassette(answer())))
    replies = []
    with openai_client(transport) as client:
        for turn in ("hi", "and now?", "hi"):
            with suppress(Exception):  # an agent that takes a miss for a server error and gives up politely
                replies.append(client.chat.completions.create(model="m", messages=[{"role": "user", "content": turn}]))
    assert len(replies) == 1
    assert transport.miss is not None
    assert "user message 1 changed" in str(transport.miss)


def test_h22_a_recorded_429_is_replayed_without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(seconds: float) -> None:
        raise AssertionError(f"slept {seconds} s")

    monkeypatch.setattr(time, "sleep", refuse)
    limited = Response(
        429, (("retry-after", "20"), ("content-type", "application/json")), b'{"error": {"message": "slow"}}'
    )
    transport = PlayerTransport(CassettePlayer(cassette(limited, answer("after"))))
    with openai_client(transport) as client:
        with pytest.raises(Exception, match="slow"):
            client.chat.completions.create(**QUESTION)
        assert client.chat.completions.create(**QUESTION).choices[0].message.content == "after"


def test_h24_each_scenario_is_recorded_alone_and_replays_alone(tmp_path: Path) -> None:
    text = """\
agent: {{model: live, check_capabilities: true}}
prompt: Say {word}.
player: {{cassette: {word}.yaml}}
expect: {{final_text: {word}}}
"""
    paths = []
    for word in ("one", "two"):
        paths.append(tmp_path / f"{word}.scenario.yaml")
        paths[-1].write_text(text.format(word=word))
    models = [{"id": "live", "object": "model"}]
    with LoopbackServer(ScriptPlayer([ScriptedTurn("one"), ScriptedTurn("two")], models)) as server:
        record_cassettes(paths, {"live": server.base_url}, "k")
    for path in reversed(paths):
        case = judge_scenario(run_scenario(load_scenario(path)), str(path))
        assert case.verdict is Verdict.PASS, case.first_line
