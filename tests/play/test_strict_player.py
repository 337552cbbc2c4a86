from __future__ import annotations

from typing import Any

import openai
import pytest

from harness.play.client import openai_client
from harness.play.script import ScriptedTurn, ScriptPlayer
from harness.play.strict_player import StrictPlayer
from harness.play.transport import PlayerTransport
from harness.wire.exchange import CHAT_PATH, Request

HELLO = [ScriptedTurn(text="hi")]
QUESTION: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def ask(**more: Any) -> str | None:
    with openai_client(PlayerTransport(StrictPlayer(ScriptPlayer(HELLO)))) as client:
        content: str | None = client.chat.completions.create(**{**QUESTION, **more}).choices[0].message.content
        return content


def test_what_the_protocol_allows_is_answered() -> None:
    assert ask() == "hi"


@pytest.mark.seed("E02")
def test_e02_an_array_for_an_object_is_refused_in_the_words_of_the_seed() -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": []}}}
    with pytest.raises(openai.BadRequestError) as refused:
        ask(tools=[tool])
    assert refused.value.body == {
        "message": 'Invalid JSON schema: [] is not of type "object"',
        "type": "invalid_request_error",
        "param": "tools",
        "code": None,
    }


def test_another_breach_is_refused_with_its_place() -> None:
    with pytest.raises(openai.BadRequestError, match=r"Invalid value for messages\[0\]: 'x' answers no call"):
        ask(messages=[{"role": "tool", "tool_call_id": "x", "content": ""}])


@pytest.mark.parametrize(("body", "message"), [(b"{", "could not parse"), (b"[]", "is a JSON object")])
def test_a_body_that_is_no_request_is_refused(body: bytes, message: str) -> None:
    answer = StrictPlayer(ScriptPlayer(HELLO)).answer(Request("POST", CHAT_PATH, (), body))
    assert answer.status == 400
    assert message.encode() in answer.body


def test_other_paths_pass() -> None:
    assert StrictPlayer(ScriptPlayer([], models=[{"id": "m"}])).answer(Request("GET", "/v1/models")).status == 200
