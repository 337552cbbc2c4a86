from __future__ import annotations

from typing import Any

import orjson
import pytest

from harness.judge.serving import judge_session
from harness.judge.verdict import Verdict
from harness.play.neutral.actions import ReadFile, RunCommand
from harness.play.neutral.turn import NeutralTurn
from harness.play.player import MissError
from harness.play.script import SIDE_TEXT, ScriptedTurn, ScriptPlayer
from harness.play.sessions import Session, SessionPlayer
from harness.wire.chat import ModelTurn, parse_completion
from harness.wire.exchange import Request
from tests.play.offers import BASH, READ, body, text, tool

SCRIPT = (NeutralTurn((ReadFile("a.py"),)), NeutralTurn((RunCommand("ls"),)), NeutralTurn(finish="Done."))


def asked(request: dict[str, Any]) -> Request:
    headers = (("content-type", "application/json"),)
    return Request("POST", "http://h/v1/chat/completions", headers, orjson.dumps(request))


def answer(player: ScriptPlayer, request: dict[str, Any]) -> ModelTurn:
    return parse_completion(player.answer(asked(request)).body)


TITLE: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Generate a title."}]}


def session_of(player: ScriptPlayer) -> Session:
    def unused() -> list[str]:
        return [f"turn {number + 1}" for number in range(player.played, len(player.turns))]

    return Session("s", SessionPlayer(player, unused, cannot=lambda: player.cannot))


def test_each_request_gets_the_next_turn_in_its_own_tools() -> None:
    player = ScriptPlayer(SCRIPT)
    names = [[call.name for call in answer(player, body(BASH, READ)).tool_calls] for _ in SCRIPT]
    assert names == [["read"], ["bash"], []]
    assert player.unused == 0
    with pytest.raises(MissError, match="asked for one more"):
        player.answer(asked(body(BASH)))


@pytest.mark.parametrize("tools", [{}, {"tools": []}, {"tools": None}])
def test_what_is_asked_beside_the_script_takes_no_turn(tools: dict[str, Any]) -> None:
    player = ScriptPlayer(SCRIPT)
    assert answer(player, TITLE | tools).content == SIDE_TEXT
    assert [call.name for call in answer(player, body(BASH, READ)).tool_calls] == ["read"]
    assert answer(player, TITLE).content == SIDE_TEXT
    assert (player.played, player.asked_beside, player.cannot) == (1, 2, None)


def test_a_script_of_texts_answers_requests_without_tools_unless_it_says_what_else_does() -> None:
    turns = (ScriptedTurn(text="one"), ScriptedTurn(text="two"))
    assert answer(ScriptPlayer(turns), TITLE).content == "one"
    beside = ScriptPlayer(turns, side="A title")
    assert [answer(beside, TITLE).content, answer(beside, body(BASH)).content] == ["A title", "one"]
    assert beside.cannot is None


def test_an_action_that_cannot_be_done_is_an_error_for_good_and_no_verdict_on_the_agent() -> None:
    player = ScriptPlayer((NeutralTurn((ReadFile("a.py"),)), NeutralTurn(finish="Done.")))
    session = session_of(player)
    ask = tool("ask", {"question": text()})
    for offered in ((ask,), (ask, READ)):  # the second could be answered, but the conversation has lost its way
        response = session.answer(asked(body(*offered)))
        assert response.status == 400  # what is answered with 500 is asked again, for ever
        assert b"turn 1 of the script: read a.py: no tool of the request reads files (it offers ask)" in response.body
    case = judge_session(session, "script")
    assert case.verdict is Verdict.ERROR
    assert case.first_line.endswith("reads files (it offers ask)")


def test_an_agent_without_tools_is_no_failure_of_the_agent() -> None:
    player = ScriptPlayer(SCRIPT)
    session = session_of(player)
    session.answer(asked(TITLE))
    case = judge_session(session, "script")
    assert case.verdict is Verdict.ERROR
    assert "no request offered tools, and the script has to use them (requests without: 1)" in case.first_line


def test_the_world_changes_before_the_turn_is_made() -> None:
    seen: list[int] = []

    class Watching(ScriptedTurn):
        __slots__ = ()

        def scripted(self, body: Any, number: int) -> ScriptedTurn:
            assert seen == [number]
            return self

    player = ScriptPlayer((Watching(text="x"),), before_turn=seen.append)
    assert answer(player, TITLE).content == "x"
