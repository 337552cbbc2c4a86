from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping
from typing import Any

import httpx2
import orjson
import pytest

from harness.pipeline.model_client import ModelCallError, invoke_raw, models_without_tools, parse_models
from harness.play.client import openai_client
from harness.play.player import MissError
from harness.play.script import ScriptPlayer, render_turn
from harness.play.transport import PlayerTransport
from harness.wire.chat import ModelTurn
from harness.wire.exchange import Chunk, Request, Response
from tests.pipeline.playing import (
    JSON,
    SSE,
    Answers,
    SeveringTransport,
    Witness,
    Wrap,
    call,
    calling,
    finishing,
    saying,
    stream,
)

QUESTION: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
STREAMED = QUESTION | {"stream": True}
BOTH = pytest.mark.parametrize("body", [QUESTION, STREAMED], ids=["plain", "streamed"])
ANSWER = render_turn(saying("hello"), 0, {}).body
TEXT = (("content-type", "text/plain"),)


def ask(
    answer: Response | Exception,
    body: Mapping[str, Any] = QUESTION,
    names: tuple[str, ...] = (),
    wrap: Wrap = lambda transport: transport,
) -> ModelTurn:
    with openai_client(wrap(PlayerTransport(Answers(answer)))) as client:
        return invoke_raw(client, body, names)


def in_pieces(headers: tuple[tuple[str, str], ...], *pieces: bytes) -> Response:
    ends = [sum(map(len, pieces[: number + 1])) for number in range(len(pieces))]
    return Response(200, headers, b"".join(pieces), tuple(Chunk(end, 0.0) for end in ends))


# The request


@pytest.mark.parametrize(
    "body",
    [
        QUESTION,
        STREAMED,
        QUESTION | {"stream": False},
        QUESTION | {"temperature": 0, "stop": None, "n": 1, "tool_choice": "auto", "tools": []},
        STREAMED | {"stream_options": {"include_usage": True}, "max_tokens": 3},
        QUESTION | {"top_k": 40, "provider": {"order": ["a"]}, "timeout": 5, "extra_headers": {"x": "y"}},
        QUESTION | {"messages": [{"role": "user", "content": [{"type": "strange", "data": None}], "name": "n"}]},
        QUESTION | {"tools": [{"type": "function", "function": {"name": "f", "parameters": {"properties": {}}}}]},
    ],
)
def test_the_body_goes_over_the_wire_as_given(body: dict[str, Any]) -> None:
    witness = Witness(ScriptPlayer([saying()]))
    with openai_client(PlayerTransport(witness)) as client:
        invoke_raw(client, body)
    assert witness.bodies == [body]


def test_the_key_reaches_the_server_and_nothing_is_tried_twice() -> None:
    requests: list[Request] = []

    class Refusing:
        def answer(self, request: Request) -> Response:
            requests.append(request)
            return Response(503, JSON, b"{}")

    client = openai_client(PlayerTransport(Refusing()), api_key="k")
    with client, pytest.raises(ModelCallError):
        invoke_raw(client, QUESTION)
    assert [dict(request.headers)["authorization"] for request in requests] == ["Bearer k"]


# The answer


@BOTH
@pytest.mark.parametrize("headers", [JSON, TEXT, ()], ids=["json", "text", "untyped"])
def test_json_is_read_as_json_whatever_was_asked_for(headers: Any, body: dict[str, Any]) -> None:
    turn = ask(Response(200, headers, ANSWER), body)
    assert (turn.status, turn.content, turn.anomalies) == ("complete", "hello", ())


@BOTH
@pytest.mark.parametrize("headers", [SSE, JSON, TEXT, ()], ids=["sse", "json", "text", "untyped"])
@pytest.mark.parametrize("opening", [b"", b": waiting\n\n", b"event: message\n", b"\xef\xbb\xbf", b"\r\n\r\n"])
def test_a_stream_is_read_as_a_stream_whatever_was_asked_for(
    opening: bytes, headers: Any, body: dict[str, Any]
) -> None:
    content = opening + render_turn(saying("hello"), 0, {"stream": True}).body
    turn = ask(Response(200, headers, content), body)
    assert (turn.status, turn.content) == ("complete", "hello")


@pytest.mark.parametrize("headers", [SSE, JSON, ()], ids=["sse", "json", "untyped"])
@pytest.mark.parametrize("size", [1, 2, 7])
def test_it_does_not_matter_where_the_network_cuts(size: int, headers: Any) -> None:
    content = render_turn(calling(call("Read", '{"value":"日本🙂"}')), 0, {"stream": True}).body
    pieces = [content[start : start + size] for start in range(0, len(content), size)]
    turn = ask(in_pieces(headers, *pieces), STREAMED)
    assert (turn.status, [made.arguments for made in turn.tool_calls]) == ("complete", ['{"value":"日本🙂"}'])


@pytest.mark.parametrize("headers", [JSON, TEXT, ()], ids=["json", "text", "untyped"])
def test_blanks_that_keep_a_connection_alive_do_not_make_a_stream(headers: Any) -> None:
    assert ask(in_pieces(headers, b"\n", b" \r\n", b"\n" + ANSWER), STREAMED).content == "hello"


@BOTH
def test_a_packed_answer_is_unpacked(body: dict[str, Any]) -> None:
    turn = ask(Response(200, (*JSON, ("content-encoding", "gzip")), gzip.compress(ANSWER)), body)
    assert turn.content == "hello"


@pytest.mark.parametrize("headers", [SSE, JSON], ids=["sse", "json"])
@BOTH
def test_the_offered_names_settle_a_name_sent_in_two_pieces(headers: Any, body: dict[str, Any]) -> None:
    split = [
        {"tool_calls": [{"index": 0, "id": "c", "function": {"name": name, "arguments": ""}}]} for name in ("ping",) * 2
    ]
    content = stream(*split, finishing("tool_calls")).body
    for name in ("ping", "pingping"):
        turn = ask(Response(200, headers, content), body, (name,))
        assert [made.name for made in turn.tool_calls] == [name]


@BOTH
def test_an_error_under_200_is_the_turns_status(body: dict[str, Any]) -> None:
    turn = ask(Response(200, JSON, b'{"error":{"message":"overloaded"}}'), body)
    assert (turn.status, turn.error) == ("error", {"message": "overloaded"})


@BOTH
@pytest.mark.parametrize("content", [b"", b"<html>gateway</html>", b"[1]", b"null", ANSWER[:-1], b"\x1f\x8bbroken"])
def test_a_body_that_is_no_completion_is_no_turn(content: bytes, body: dict[str, Any]) -> None:
    with pytest.raises(
        ModelCallError, match=r"^(the body is no chat completion|no answer|the answer broke off): "
    ) as no:
        ask(Response(200, TEXT, content), body)
    assert no.value.status is None


def test_an_answer_packed_twice_and_damaged_is_no_turn() -> None:
    packed = Response(200, (*JSON, ("content-encoding", "gzip")), gzip.compress(gzip.compress(ANSWER)[:-9]))
    with pytest.raises(ModelCallError, match="the body is no chat completion"):
        ask(packed, STREAMED)


@pytest.mark.parametrize("ended", [b"", b"data: nonsense\n\n", b": waiting\n\n", b"data: {}"])
def test_a_stream_that_says_nothing_is_incomplete(ended: bytes) -> None:
    assert ask(Response(200, SSE, ended), STREAMED).status == "incomplete"


def test_a_truncated_turn_says_so() -> None:
    assert ask(render_turn(saying("x", finish_reason="length"), 0, STREAMED), STREAMED).status == "truncated"


# What goes wrong


@BOTH
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"error":{"message":"no such model","code":"x"}}', "HTTP 404: no such model"),
        (b'{"error":"no such model"}', "HTTP 404: no such model"),
        (b'{"detail":"no such model"}', 'HTTP 404: {"detail":"no such model"}'),
        (b"<html>" + b" " * 5000 + b"</html>", "HTTP 404: <html>"),
        (b'{"message":"no such model"}', "HTTP 404: no such model"),
        (b"no such model", "HTTP 404: no such model"),
        (b"", "404"),
    ],
)
def test_an_http_error_is_told_with_what_the_server_said(content: bytes, said: str, body: dict[str, Any]) -> None:
    with pytest.raises(ModelCallError) as failed:
        ask(Response(404, JSON, content), body)
    assert failed.value.status == 404
    assert str(failed.value).startswith("HTTP 404: ")
    assert said in str(failed.value)
    assert len(str(failed.value)) < 2100


@BOTH
@pytest.mark.parametrize(
    "error",
    [httpx2.ConnectError("refused"), httpx2.ReadTimeout("slow"), httpx2.RemoteProtocolError("gibberish")],
)
def test_no_answer_is_told_with_its_cause(error: Exception, body: dict[str, Any]) -> None:
    with pytest.raises(ModelCallError) as failed:
        ask(error, body)
    assert str(failed.value) == f"no answer: {type(error).__name__}: {error}"
    assert failed.value.status is None


def severed(limit: int) -> Wrap:
    return lambda inner: SeveringTransport(inner, limit)


@pytest.mark.parametrize(
    ("answer", "asked"),
    [
        (Response(200, JSON, ANSWER), QUESTION),
        (Response(200, JSON, ANSWER), STREAMED),
        (Response(500, JSON, b'{"error":{"message":"sorry, but"}}'), QUESTION),
        (Response(500, JSON, b'{"error":{"message":"sorry, but"}}'), STREAMED),
        (Response(200, (), b"\n\n\n\n\n\n\n\n"), STREAMED),
    ],
)
@pytest.mark.parametrize("limit", [0, 5])
def test_a_broken_connection_without_a_stream_is_no_turn(answer: Response, asked: dict[str, Any], limit: int) -> None:
    with pytest.raises(ModelCallError, match="connection reset by peer"):
        ask(answer, asked, wrap=severed(limit))


def test_a_broken_stream_keeps_what_had_arrived() -> None:
    content = render_turn(saying("hello there", fragment=5), 0, STREAMED)
    broken = content.body.index(b" ther")
    turn = ask(content, STREAMED, wrap=severed(broken))
    assert (turn.status, turn.content) == ("incomplete", "hello")


@pytest.mark.parametrize("said", ["finish_reason", "done"])
def test_a_stream_that_breaks_after_its_end_is_complete(said: str) -> None:
    answer = render_turn(saying("hello", finish_reason="stop" if said == "finish_reason" else None), 0, STREAMED)
    broken = answer.body.index(b"data: [DONE]") + (0 if said == "finish_reason" else len(b"data: [DONE]"))
    turn = ask(answer, STREAMED, wrap=severed(broken))
    assert (turn.status, turn.content) == ("complete", "hello")


@BOTH
def test_a_miss_is_no_failed_call(body: dict[str, Any]) -> None:
    with openai_client(PlayerTransport(ScriptPlayer([]))) as client, pytest.raises(MissError):
        invoke_raw(client, body)


# The list of models


@pytest.mark.seed("K01")
@pytest.mark.parametrize(
    ("listing", "models"),
    [
        ({"object": "list", "data": [{"id": "a", "x": 1}, {"id": "b"}]}, {"a": {"id": "a", "x": 1}, "b": {"id": "b"}}),
        ([{"id": "a"}], {"a": {"id": "a"}}),
        ({"id": "a", "capabilities": []}, {"a": {"id": "a", "capabilities": []}}),
        ({"data": [{"name": "a"}, None, "a", {"id": 7}]}, {}),
        ({"data": {}}, {}),
        ({"data": 5}, {}),
        ("text", {}),
        (5, {}),
        (None, {}),
    ],
)
def test_a_list_of_models_is_read_in_every_shape(listing: Any, models: dict[str, Any]) -> None:
    assert parse_models(orjson.dumps(listing)) == models


def test_a_list_that_is_no_json_is_said() -> None:
    with pytest.raises(ValueError, match="JSON"):
        parse_models(b"<html>")


def reason_with(answer: Callable[[Request], Response]) -> str | None:
    class Listing:
        def answer(self, request: Request) -> Response:
            return answer(request)

    with openai_client(PlayerTransport(Listing())) as client:
        return models_without_tools(client, "m")


@pytest.mark.seed("K01")
@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"capabilities": ["reasoning", "vision"]}, "capabilities: reasoning, vision"),
        ({"supported_parameters": ["max_tokens"]}, "supported_parameters: max_tokens"),
        ({"capabilities": ["tools"], "supported_parameters": ["max_tokens"]}, "supported_parameters: max_tokens"),
        ({"capabilities": [{"odd": 1}]}, "capabilities: {'odd': 1}"),
        ({"capabilities": ["tools"], "supported_parameters": ["tools"]}, None),
        ({"capabilities": ["tools"]}, None),
        ({"capabilities": None, "supported_parameters": "no"}, None),
        ({}, None),
    ],
)
def test_only_a_list_that_leaves_tools_out_speaks_against_them(entry: dict[str, Any], reason: str | None) -> None:
    body = orjson.dumps({"data": [{"id": "other", "capabilities": ["vision"]}, {"id": "m", **entry}]})
    said = reason_with(lambda _: Response(200, JSON, body))
    assert said == (reason and f"/v1/models lists m without tools ({reason})")


@pytest.mark.seed("K01")
@pytest.mark.parametrize("answer", [Response(404, JSON, b"{}"), Response(200, TEXT, b"<html>"), Response(200, JSON)])
def test_no_list_is_no_reason(answer: Response) -> None:
    assert reason_with(lambda _: answer) is None


def test_a_list_that_cannot_be_reached_is_no_reason() -> None:
    def refuse(_: Request) -> Response:
        raise httpx2.ConnectError("refused")

    assert reason_with(refuse) is None
