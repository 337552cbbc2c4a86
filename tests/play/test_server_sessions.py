"""Many sessions on one server: cursors, budgets, what goes wrong in one, and what the status page says."""

from __future__ import annotations

import asyncio
import itertools
import threading
from typing import Any
from urllib.parse import urlsplit

import httpx2
import openai
import orjson
import pytest

from harness.errors import HarnessError
from harness.play.models import ModelsPlayer
from harness.play.pace import pieces_of
from harness.play.script import ScriptedTurn, ScriptPlayer, render_turn
from harness.play.server import LoopbackServer
from harness.play.sessions import DEFAULT, MakePlayer, Session, SessionPlayer, Sessions
from harness.wire.exchange import Request, Response
from tests.play.raw_http import ask

QUESTION: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
ROUNDS = 32
AT_ONCE = 64


def turns_of(session_id: str, count: int = 2) -> list[ScriptedTurn]:
    return [ScriptedTurn(text=f"{session_id} turn {number} 日本🙂", fragment=3) for number in range(count)]


def scripted(count: int = 2) -> MakePlayer:
    def make(session_id: str) -> SessionPlayer:
        player = ScriptPlayer(turns_of(session_id, count))
        return SessionPlayer(player, lambda: [f"turn {number}" for number in range(player.played, count)])

    return make


def said(url: str, path: str = "/chat/completions") -> str:
    answer = ask(url + path, QUESTION)
    document = orjson.loads(answer.body)
    return str(document["error"]["message"] if "error" in document else document["choices"][0]["message"]["content"])


def test_each_session_has_its_own_cursor_and_url() -> None:
    with LoopbackServer(Sessions(scripted())) as server:
        one, two = server.sessions.open(), server.sessions.open("two")
        urls = [server.url_of(one), server.url_of(two), server.base_url]
        heard = [said(url) for url in urls for _ in range(2)]
    assert [url.removeprefix(server.url) for url in urls] == ["/s/s1/v1", "/s/two/v1", "/v1"]
    names = ["s1", "two", DEFAULT]
    assert heard == [f"{name} turn {number} 日本🙂" for name in names for number in range(2)]
    assert [session.id for session in server.sessions.all] == names
    assert [session.made.unused() for session in server.sessions.all] == [[], [], []]


def test_a_session_begins_when_it_is_first_asked_and_players_see_no_prefix() -> None:
    asked: list[str] = []

    class Echo:
        def answer(self, request: Request) -> Response:
            asked.append(request.url)
            return Response(200, (), b"{}")

    with LoopbackServer(Sessions(lambda _: SessionPlayer(Echo()))) as server:
        assert not server.sessions.all
        for path in ("/s/x.1/v1/models?a=%20b", "/v1/models", "/s/x.1/v1/a%2Fb"):
            ask(server.url + path, method="GET")
        assert [one.id for one in server.sessions.all] == ["x.1", DEFAULT]
    assert [url.removeprefix(server.url) for url in asked] == ["/v1/models?a=%20b", "/v1/models", "/v1/a%2Fb"]


@pytest.mark.parametrize("name", ["", "%20", "a%2Fb", "-x", "x" * 65])
def test_a_name_that_no_session_can_have_is_refused(name: str) -> None:
    with LoopbackServer(Sessions(scripted())) as server:
        answer = ask(f"{server.url}/s/{name}/v1/chat/completions", QUESTION)
        assert (answer.status, server.sessions.all) == (404, ())
    with pytest.raises(ValueError, match="is no session id"):
        server.sessions.open(name)


def test_ids_come_from_the_injected_source() -> None:
    numbers = itertools.count(7)
    sessions = Sessions(scripted(), ids=lambda: f"agent-{next(numbers)}")
    assert [sessions.open().id for _ in range(2)] == ["agent-7", "agent-8"]
    assert sessions.find("agent-9") is None


def test_a_budget_stops_a_runaway_and_is_not_tried_again() -> None:
    with LoopbackServer(Sessions(scripted(5), max_requests=2)) as server:
        url = server.url_of(server.sessions.open("loop"))
        with (
            httpx2.Client(trust_env=False) as http,
            openai.OpenAI(base_url=url, api_key="k", max_retries=3, http_client=http) as client,
        ):
            for _ in range(2):
                client.chat.completions.create(**QUESTION)
            with pytest.raises(openai.BadRequestError, match="may ask 2 times, this is one request more"):
                client.chat.completions.create(**QUESTION)
        assert said(server.base_url) == "default turn 0 日本🙂"
    loop = server.sessions.all[0]
    assert (loop.requests, loop.refused, len(loop.exchanges), len(loop.asked)) == (3, 1, 2, 2)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (HarnessError("http://h did not answer:\n  refused"), "http://h did not answer: refused"),
        (KeyError("x"), "the player failed: KeyError: 'x'"),
        (RuntimeError(), "the player failed: RuntimeError"),
    ],
)
def test_a_player_that_fails_is_a_500_of_one_line_and_it_stays(error: Exception, reason: str) -> None:
    class Failing:
        def answer(self, request: Request) -> Response:
            if request.is_chat:
                raise error
            return Response(200, (), b"{}")

    with LoopbackServer(Failing()) as server:
        answer = ask(f"{server.base_url}/chat/completions", QUESTION)
        assert ask(f"{server.base_url}/other", method="GET").status == 200
    message = orjson.loads(answer.body)["error"]
    assert (answer.status, message["message"], message["code"]) == (500, reason, "player_failed")
    (session,) = server.sessions.all
    assert (session.failure, session.miss, len(session.exchanges)) == (reason, None, 1)


def test_a_player_that_cannot_be_made_fails_its_session_only() -> None:
    def make(session_id: str) -> SessionPlayer:
        if session_id == "bad":
            raise HarnessError("the cassette is gone")
        return scripted()(session_id)

    with LoopbackServer(Sessions(make)) as server:
        assert said(f"{server.url}/s/bad/v1") == "the cassette is gone"
        assert said(f"{server.url}/s/good/v1") == "good turn 0 日本🙂"
    assert [session.failure for session in server.sessions.all] == ["the cassette is gone", None]


def test_a_single_player_has_no_second_session() -> None:
    with LoopbackServer(ScriptPlayer(turns_of("x"))) as server:
        assert "there is no session 'other'" in said(f"{server.url}/s/other/v1")
        assert said(server.base_url) == "x turn 0 日本🙂"
    assert server.miss is None


def test_a_session_that_is_forgotten_begins_anew() -> None:
    with LoopbackServer(Sessions(scripted())) as server:
        url = f"{server.url}/s/one/v1"
        assert [said(url), said(url)] == ["one turn 0 日本🙂", "one turn 1 日本🙂"]
        server.sessions.forget("one")
        assert server.sessions.all == ()
        assert said(url) == "one turn 0 日本🙂"
        server.sessions.forget("never opened")


# Pages


def test_the_pages_say_how_it_stands_and_count_as_no_request() -> None:
    def judge(some: tuple[Session, ...]) -> str:
        return "FAIL" if any(session.misses for session in some) else "PASS"

    with LoopbackServer(Sessions(scripted(1)), judge=judge) as server:
        assert orjson.loads(ask(f"{server.url}/status", method="GET").body) == {"sessions": [], "verdict": "PASS"}
        one = server.sessions.open("one")
        two = server.sessions.open("two")
        for url in (server.url_of(one), server.url_of(one), server.url_of(two)):
            said(url)
        status = orjson.loads(ask(f"{server.url}/status", method="GET").body)
        page = ask(f"{server.url}/", method="GET")
        head = ask(f"{server.url}/", method="HEAD")
        assert ask(f"{server.url}/favicon.ico", method="GET").status == 404
    assert [session["verdict"] for session in status["sessions"]] == ["FAIL", "PASS"]
    first = status["sessions"][0]
    assert (first["id"], first["requests"], first["answered"], first["misses"]) == ("one", 2, 1, 1)
    assert first["miss"] == "the script has 1 turns, the agent asked for one more"
    assert first["base_url"] == server.url_of(one)
    assert status["verdict"] == "FAIL"
    assert page.status == head.status == 200
    assert dict(page.headers)["content-type"].startswith("text/html")
    for text in (b"one", b"two", b"FAIL", b"the script has 1 turns"):
        assert text in page.body
    assert [session.requests for session in server.sessions.all] == [2, 1]


def test_the_page_shows_no_markup_of_others() -> None:
    class Failing:
        def answer(self, request: Request) -> Response:
            raise HarnessError("<script>alert(1)</script>")

    with LoopbackServer(Failing()) as server:
        said(server.base_url)
        page = ask(f"{server.url}/", method="GET").body
    assert b"<script>" not in page
    assert b"&lt;script&gt;" in page


# Models


def test_models_are_answered_from_the_list() -> None:
    models: list[dict[str, Any]] = [{"id": "a/b", "capabilities": ["tools"]}, {"id": "c", "context_length": 8192}]
    player = ModelsPlayer(ScriptPlayer(turns_of("x")), models)
    with (
        LoopbackServer(player) as server,
        httpx2.Client(trust_env=False) as http,
        openai.OpenAI(base_url=server.base_url, api_key="k", max_retries=0, http_client=http) as client,
    ):
        assert [model.to_dict() for model in client.models.list()] == models
        assert client.models.retrieve("c").to_dict() == models[1]
        assert orjson.loads(ask(f"{server.base_url}/models/a%2Fb", method="GET").body) == models[0]
        with pytest.raises(openai.NotFoundError, match="no model 'd'"):
            client.models.retrieve("d")
        assert client.chat.completions.create(**QUESTION).choices[0].message.content == "x turn 0 日本🙂"
    assert server.miss is None


# Many at once


class Together:
    """A script whose first answers wait until every session has asked: they really are in flight at once."""

    def __init__(self, session_id: str, gate: threading.Barrier) -> None:
        self.player = ScriptPlayer(turns_of(session_id, ROUNDS))
        self.gate = gate
        self.first = True

    def answer(self, request: Request) -> Response:
        if self.first:
            self.first = False
            self.gate.wait(30)
        return self.player.answer(request)


async def converse(url: str, session_id: str) -> None:
    """One agent on one connection; every second answer is streamed. Each byte and each frame is compared."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    for number, turn in enumerate(turns_of(session_id, ROUNDS)):
        body = {**QUESTION, "stream": number % 2 == 0, "user": f"{session_id}/{number}"}
        content = orjson.dumps(body)
        head = f"POST {parts.path}/chat/completions HTTP/1.1\r\nhost: h\r\ncontent-length: {len(content)}\r\n\r\n"
        writer.write(head.encode() + content)
        await reader.readuntil(b"\r\n\r\n")
        pieces = []
        while (size := int((await reader.readline()).strip(), 16)) > 0:
            pieces.append((await reader.readexactly(size + 2))[:-2])
        assert await reader.readline() == b"\r\n"
        assert tuple(pieces) == pieces_of(render_turn(turn, number, body))
    writer.close()
    await writer.wait_closed()


def test_64_sessions_at_once_get_every_byte_of_their_own() -> None:
    gate = threading.Barrier(AT_ONCE)
    made = Sessions(lambda session_id: SessionPlayer(Together(session_id, gate)))

    async def all_of_them(server: LoopbackServer) -> None:
        opened = [made.open() for _ in range(AT_ONCE)]
        await asyncio.gather(*(converse(server.url_of(session), session.id) for session in opened))

    with LoopbackServer(made) as server:
        asyncio.run(all_of_them(server))
    assert sum(session.requests for session in made.all) == AT_ONCE * ROUNDS >= 2000
    for session in made.all:
        users = [exchange.request.json()["user"] for exchange in session.exchanges]
        assert users == [f"{session.id}/{number}" for number in range(ROUNDS)]
        assert (session.misses, session.failure) == (0, None)
