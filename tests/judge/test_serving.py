"""The verdict on a served session, whatever its agent says of itself."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from harness.errors import HarnessError
from harness.judge.serving import judge_session, judge_sessions, serving_document, verdict_of
from harness.judge.verdict import Case, Verdict
from harness.play.player import MissError, Player
from harness.play.script import ScriptedCall, ScriptedTurn, ScriptPlayer
from harness.play.sessions import Session, SessionPlayer
from harness.wire.exchange import Request, Response

QUESTION: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
CALL = ScriptedTurn(calls=(ScriptedCall("Read", "{}", "c1"),), finish_reason="tool_calls")
ORPHAN = {"role": "tool", "tool_call_id": "c9", "content": "x"}


def request(body: object = QUESTION, path: str = "/v1/chat/completions") -> Request:
    return Request("POST", f"http://h{path}", (), body if isinstance(body, bytes) else orjson.dumps(body))


def session(player: Player, *bodies: object, max_requests: int | None = None, **said: list[str]) -> Session:
    made = SessionPlayer(player, **{name: lambda texts=texts: texts for name, texts in said.items()})
    opened = Session("s1", made, max_requests)
    for body in bodies:
        opened.answer(request(body))
    return opened


def verdict_and_line(opened: Session) -> tuple[Verdict, str]:
    case = judge_session(opened, "p.yaml")
    return case.verdict, case.first_line


def script(*turns: ScriptedTurn) -> ScriptPlayer:
    return ScriptPlayer(turns or (ScriptedTurn(text="a"), ScriptedTurn(text="b")))


def test_all_asked_and_answered_passes() -> None:
    case = judge_session(session(script(CALL), QUESTION, marks=["drift allowed in system"]), "p.yaml")
    assert (case.verdict, case.kind, case.name, case.path) == (Verdict.PASS, "serve", "s1", "p.yaml")
    assert [check.name for check in case.checks] == ["every request answered", "protocol", "nothing unused"]
    assert case.facts == {
        "requests": 1,
        "answered": 1,
        "misses": 0,
        "refused": 0,
        "steps": 1,
        "tool_calls": 1,
        "marks": "drift allowed in system",
    }


def test_nobody_asked_is_no_pass() -> None:
    assert verdict_and_line(session(script(), unused=["turn 1"])) == (Verdict.INCONCLUSIVE, "nobody sent a request")
    assert verdict_of([], "p") is Verdict.INCONCLUSIVE


def test_what_was_not_asked_for_fails() -> None:
    opened = session(script(), QUESTION, unused=["turn 2", "turn 3"])
    assert verdict_and_line(opened) == (Verdict.FAIL, "turn 2 was never asked for: the run is partial")


class Missing:
    def answer(self, asked: Request) -> Response:
        raise MissError("no exchange is like it\n  system: a became b")


def test_a_miss_fails_and_is_explained_once() -> None:
    case = judge_session(session(Missing(), QUESTION, QUESTION, QUESTION, unused=["exchange 0"]), "p")
    bad = [check for check in case.checks if check.verdict is not Verdict.PASS]
    assert [(check.message, check.details) for check in bad] == [
        ("no exchange is like it (and 2 more)", "system: a became b")
    ]
    assert case.verdict is Verdict.FAIL


def test_a_player_that_failed_is_an_error_and_a_failing_agent_weighs_more() -> None:
    class Failing:
        def answer(self, asked: Request) -> Response:
            raise HarnessError("http://h did not answer")

    assert verdict_and_line(session(Failing(), QUESTION)) == (Verdict.ERROR, "http://h did not answer")
    broken = {**QUESTION, "messages": [ORPHAN]}
    assert verdict_and_line(session(Failing(), broken))[0] is Verdict.FAIL


def test_more_requests_than_the_budget_fail() -> None:
    verdict, line = verdict_and_line(session(script(), *[QUESTION] * 4, max_requests=2))
    assert verdict is Verdict.FAIL
    assert line == "the agent asked 4 times, 2 are allowed: it may run in a circle"


def test_a_torn_recording_proves_nothing() -> None:
    opened = session(script(CALL), QUESTION, notes=["the file is torn at its end"])
    assert verdict_and_line(opened) == (Verdict.INCONCLUSIVE, "the file is torn at its end")


# The protocol of every request, those without an answer included


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({**QUESTION, "messages": [ORPHAN]}, "result_without_call"),
        ({"model": "m"}, "messages_missing"),
        (
            {**QUESTION, "tools": [{"type": "function", "function": {"name": "f", "parameters": []}}]},
            "object_became_array",
        ),
        (b"{", "not_json"),
        (b"[]", "not_an_object"),
    ],
)
def test_a_request_that_no_strict_server_takes_fails(body: object, code: str) -> None:
    for player in (script(CALL), Missing()):
        case = judge_session(session(player, body), "p")
        assert f"protocol: {code}" in [check.name for check in case.checks if check.verdict is Verdict.FAIL]


def test_what_every_later_request_repeats_is_told_once() -> None:
    turns = [ScriptedTurn(text=str(number)) for number in range(3)]
    first = {**QUESTION, "messages": [ORPHAN]}
    later = {**QUESTION, "messages": [ORPHAN, *QUESTION["messages"]]}
    other = {**QUESTION, "messages": [ORPHAN, ORPHAN]}
    case = judge_session(session(script(*turns), first, later, other), "p")
    found = [check.where for check in case.checks if check.name == "protocol: result_without_call"]
    assert found == ["request 1 $.messages[0]", "request 3 $.messages[1]"]


def test_other_requests_than_chat_are_not_judged_as_chat() -> None:
    opened = session(script(CALL), QUESTION)
    opened.answer(request(b"", "/v1/models"))
    case = judge_session(opened, "p")
    assert (case.verdict, case.facts["requests"], case.facts["steps"]) == (Verdict.PASS, 2, 1)


def test_the_document_adds_up() -> None:
    sessions = [session(script(CALL), QUESTION), session(Missing(), QUESTION, QUESTION)]
    cases: list[Case] = judge_sessions(sessions, "p")
    document = serving_document(cases, [{"id": "a"}, {"id": "b"}], "http://h")
    assert document["totals"] == {"requests": 3, "answered": 1, "misses": 2, "refused": 0, "tool_calls": 1}
    assert document["verdict"] is Verdict.FAIL
    listed: Any = document["sessions"]
    assert [(entry["id"], entry["verdict"]) for entry in listed] == [("a", Verdict.PASS), ("b", Verdict.FAIL)]
    assert verdict_of(sessions, "p") is Verdict.FAIL
