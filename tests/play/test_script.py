from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import openai
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.play.client import openai_client
from harness.play.player import MissError
from harness.play.script import ScriptedCall, ScriptedTurn, ScriptPlayer, render_turn
from harness.play.transport import PlayerTransport, pieces_of
from harness.wire.chat import ModelTurn, parse_completion
from harness.wire.deltas import parse_stream
from harness.wire.exchange import Request, Response
from harness.wire.half_pairs import rejoined

URL = "http://h/v1/chat/completions"
QUESTION: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
STREAM = {"stream": True}
USAGE = {"prompt_tokens": 4, "completion_tokens": 1, "total_tokens": 5}


def asked(body: object = QUESTION, url: str = URL) -> Request:
    return Request("POST", url, (("content-type", "application/json"),), orjson.dumps(body))


def events_of(response: Response) -> list[Any]:
    lines = [piece.removeprefix(b"data: ").removesuffix(b"\n\n") for piece in pieces_of(response)]
    return [line if line == b"[DONE]" else orjson.loads(line) for line in lines]


def said(turn: ModelTurn) -> tuple[Any, ...]:
    calls = [(made.id, made.name, made.arguments) for made in turn.tool_calls]
    return turn.content, calls, turn.finish_reason, turn.status, turn.usage, turn.model, turn.response_id


names = st.text(min_size=1, max_size=10)
some_calls = st.lists(
    st.builds(ScriptedCall, names, st.text(max_size=40) | st.dictionaries(names, names).map(json.dumps), names),
    max_size=4,
    unique_by=lambda call: call.id,
).map(tuple)
some_turns = st.builds(
    ScriptedTurn,
    text=st.none() | st.text(max_size=40),
    calls=some_calls,
    finish_reason=st.sampled_from(["stop", "tool_calls", "length"]),
    usage=st.none() | st.just(USAGE),
    fragment=st.integers(1, 50),
)


# Rendering


@pytest.mark.seed("S01", "S02")
@given(some_turns)
def test_the_stream_of_any_turn_assembles_to_the_turn(turn: ScriptedTurn) -> None:
    body = {**STREAM, "model": "m", "stream_options": {"include_usage": True}}
    assembled = parse_stream(render_turn(turn, 0, body).body)
    plain = parse_completion(render_turn(turn, 0, {"model": "m"}).body)
    assert said(assembled) == said(plain)
    assert assembled.anomalies == plain.anomalies == ()
    assert said(plain)[:3] == (
        turn.text,
        [(call.id, call.name, call.arguments) for call in turn.calls],
        turn.finish_reason,
    )
    assert plain.usage == turn.usage


@pytest.mark.seed("S01")
def test_id_and_name_come_first_and_arguments_in_fragments() -> None:
    turn = ScriptedTurn(calls=(ScriptedCall("Read", '{"a":1}', "c1"),), finish_reason="tool_calls", fragment=3)
    deltas = [event["choices"][0]["delta"] for event in events_of(render_turn(turn, 0, STREAM))[:-1]]
    first = {"index": 0, "id": "c1", "type": "function", "function": {"name": "Read", "arguments": ""}}
    assert deltas == [
        {"role": "assistant", "content": None},
        {"tool_calls": [first]},
        *({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in ('{"a', '":1', "}")),
        {},
    ]


def test_each_event_is_a_chunk_of_its_own_and_the_same_turn_gives_the_same_bytes() -> None:
    turn = ScriptedTurn(text="hello there", fragment=4)
    response = render_turn(turn, 3, STREAM)
    assert response == render_turn(turn, 3, STREAM)
    assert all(piece.startswith(b"data: ") and piece.endswith(b"\n\n") for piece in pieces_of(response))
    assert [event["id"] for event in events_of(response)[:-1]] == ["chatcmpl-script-3"] * 5


@pytest.mark.parametrize("options", [None, {}, {"include_usage": False}, {"include_usage": None}, [], "include_usage"])
def test_a_stream_tells_usage_only_when_asked(options: Any) -> None:
    turn = ScriptedTurn(text="x", usage=USAGE)
    assert parse_stream(render_turn(turn, 0, {**STREAM, "stream_options": options}).body).usage is None
    wanted = {**STREAM, "stream_options": {"include_usage": True}}
    assert parse_stream(render_turn(turn, 0, wanted).body).usage == USAGE
    assert parse_stream(render_turn(ScriptedTurn(text="x"), 0, wanted).body).usage is None


@pytest.mark.parametrize("body", [{}, STREAM])
def test_arguments_that_are_none_are_left_out(body: dict[str, Any]) -> None:
    turn = ScriptedTurn(calls=(ScriptedCall("Read", None, "c1"),), finish_reason="tool_calls")
    assert b"arguments" not in render_turn(turn, 0, body).body


@pytest.mark.parametrize(
    ("turn", "status", "ending"),
    [
        (ScriptedTurn(text="x"), "complete", b"[DONE]"),
        (ScriptedTurn(text="x", done=False), "complete", None),
        (ScriptedTurn(text="x", finish_reason=None), "complete", b"[DONE]"),
        (ScriptedTurn(text="x", finish_reason=None, done=False), "incomplete", None),
    ],
)
def test_a_turn_ends_as_it_is_written(turn: ScriptedTurn, status: str, ending: object) -> None:
    response = render_turn(turn, 0, STREAM)
    assert parse_stream(response.body).status == status
    assert (events_of(response)[-1] == b"[DONE]") is (ending is not None)


@pytest.mark.parametrize("fragment", [0, -1])
def test_a_fragment_holds_something(fragment: int) -> None:
    with pytest.raises(ValueError, match=f"fragment is {fragment}"):
        ScriptedTurn(text="x", fragment=fragment)


# Playing


@pytest.mark.parametrize("streamed", [False, True])
def test_the_real_client_hears_the_turns_in_order_and_then_a_miss(streamed: bool) -> None:
    player = ScriptPlayer([ScriptedTurn(text="one"), ScriptedTurn(text="two")])
    transport = PlayerTransport(player)
    heard: list[str | None] = []
    with openai_client(transport) as client:
        for _ in range(2):
            if streamed:
                chunks = client.chat.completions.create(**QUESTION, stream=True)
                heard.append("".join(chunk.choices[0].delta.content or "" for chunk in chunks))
            else:
                heard.append(client.chat.completions.create(**QUESTION).choices[0].message.content)
        assert player.unused == 0
        with pytest.raises(MissError, match="the script has 2 turns, the agent asked for one more"):
            client.chat.completions.create(**QUESTION)
    assert heard == ["one", "two"]
    assert (player.played, len(transport.exchanges)) == (2, 2)
    assert transport.miss is not None


@pytest.mark.parametrize("body", [{}, STREAM])
@pytest.mark.parametrize(("status", "kind"), [(429, openai.RateLimitError), (500, openai.InternalServerError)])
def test_a_scripted_error_is_an_http_error(
    status: int, kind: type[openai.APIStatusError], body: dict[str, Any]
) -> None:
    player = ScriptPlayer([ScriptedTurn(error_status=status, error_message="not now"), ScriptedTurn(text="now")])
    with openai_client(PlayerTransport(player)) as client:
        with pytest.raises(kind, match="not now"):
            client.chat.completions.create(**QUESTION, **body)
        assert client.chat.completions.create(**QUESTION).choices[0].message.content == "now"


@pytest.mark.seed("K01")
def test_models_are_listed_without_using_up_a_turn() -> None:
    player = ScriptPlayer([ScriptedTurn()], models=[{"id": "m", "capabilities": ["tools"]}])
    with openai_client(PlayerTransport(player)) as client:
        assert [model.id for model in client.models.list()] == ["m"]
    assert player.unused == 1


@pytest.mark.parametrize("path", ["/v1/embeddings", "/v1/models/m", "/v1/responses", "/"])
def test_other_paths_are_a_miss(path: str) -> None:
    player = ScriptPlayer([ScriptedTurn()])
    with pytest.raises(MissError, match=r"a script answers /chat/completions and /models, not POST"):
        player.answer(asked(url=f"http://h{path}"))
    assert player.unused == 1


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'"text"'])
def test_a_request_that_is_no_json_object_is_a_miss_and_uses_up_nothing(body: bytes) -> None:
    player = ScriptPlayer([ScriptedTurn(text="x")])
    with pytest.raises(MissError, match="a script answers"):
        player.answer(Request("POST", URL, (), body))
    assert player.unused == 1
    assert parse_completion(player.answer(asked()).body).content == "x"


def test_what_happens_in_between_happens_before_the_turn() -> None:
    seen: list[tuple[int, int]] = []
    player = ScriptPlayer([ScriptedTurn()] * 2, before_turn=lambda number: seen.append((number, player.played)))
    for _ in range(2):
        player.answer(asked())
    assert seen == [(0, 1), (1, 2)]


def test_every_turn_is_played_once_under_threads() -> None:
    class SlowToCount(list[ScriptedTurn]):
        """Gives other threads time between the look at what has been played and the note that it has."""

        def __len__(self) -> int:
            time.sleep(0.0005)
            return super().__len__()

    count = 64
    player = ScriptPlayer(SlowToCount(ScriptedTurn(text=str(number)) for number in range(count)))
    together = threading.Barrier(8)

    def ask_some(_: int) -> list[str | None]:
        together.wait(10)
        return [parse_completion(player.answer(asked()).body).content for _ in range(count // 8)]

    with ThreadPoolExecutor(8) as pool:
        heard = [text for some in pool.map(ask_some, range(8)) for text in some]
    assert sorted(heard, key=str) == sorted(map(str, range(count)))


# Half surrogate pairs

HALVES = ScriptedTurn(
    text="a \ud83d b",
    calls=(ScriptedCall("Re\ude00ad", '{"a": "\ud83d\ud83d"}', "c\ude00"),),
    finish_reason="tool_calls",
)


@pytest.mark.parametrize("stream", [False, True])
def test_half_a_surrogate_pair_goes_over_the_wire_as_an_escape(stream: bool) -> None:
    body = render_turn(replace(HALVES, fragment=1), 0, {"model": "m", "stream": stream}).body
    assert (b"\\ud83d" in body, b"\\ude00" in body) == (True, True)
    turn = parse_stream(body) if stream else parse_completion(body)
    assert said(turn)[:4] == (
        HALVES.text,
        [("c\ude00", "Re\ude00ad", '{"a": "\ud83d\ud83d"}')],
        "tool_calls",
        "complete",
    )


def test_the_real_client_reads_half_a_pair() -> None:
    with openai_client(PlayerTransport(ScriptPlayer([HALVES, HALVES]))) as client:
        plain = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])
        chunks = list(
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}], stream=True)
        )
    assert plain.choices[0].message.content == HALVES.text
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == HALVES.text


def test_a_request_may_hold_half_a_pair() -> None:
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "\ud83d"}]}).encode()
    answer = ScriptPlayer([ScriptedTurn("fine")]).answer(Request("POST", URL, (), body))
    assert parse_completion(answer.body).content == "fine"


@given(
    text=st.text(st.characters(categories=["Cs", "L"]), max_size=20),
    arguments=st.text(st.characters(categories=["Cs", "L"]), max_size=20),
    fragment=st.integers(1, 5),
    stream=st.booleans(),
)
def test_any_text_arrives(text: str, arguments: str, fragment: int, stream: bool) -> None:
    turn = ScriptedTurn(text, (ScriptedCall("f", arguments, "c1"),), fragment=fragment)
    body = render_turn(turn, 0, {"model": "m", "stream": stream}).body
    read = parse_stream(body) if stream else parse_completion(body)
    assert (read.content or "", read.tool_calls[0].arguments) == (rejoined([text]), rejoined([arguments]))
