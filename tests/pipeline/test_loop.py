from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import InputError
from harness.pipeline.budget import BudgetPolicy
from harness.pipeline.circuit_breaker import CircuitBreaker
from harness.pipeline.history import History
from harness.pipeline.loop import LoopStatus
from harness.pipeline.names import PLACEHOLDER_NAME
from harness.pipeline.permissions import RuntimeMode
from harness.pipeline.result import ErrorCode, ToolResult
from harness.pipeline.tool import ToolKind, ToolParameter
from harness.play.player import MissError
from harness.play.script import ScriptedCall, ScriptedTurn, ScriptPlayer, render_turn
from harness.wire.exchange import Request, Response
from tests.pipeline.playing import (
    JSON,
    SSE,
    Answers,
    Session,
    SeveringTransport,
    call,
    calling,
    codes_of,
    completion,
    finishing,
    held,
    outcome_of,
    saying,
    stream,
)
from tests.pipeline.tools import SmallTool, registry_with

PLAIN_AND_STREAMED = pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])


def reader(name: str = "Read") -> SmallTool:
    return SmallTool(name, lambda parameters: ToolResult.success(f"saw {parameters.get('value')}"), kind=ToolKind.READ)


def value(text: str) -> str:
    return json.dumps({"value": text})


def texts_of(messages: Any) -> list[str]:
    return [json.loads(message["content"])["text"] for message in messages if message["role"] == "tool"]


def tool_names(body: dict[str, Any]) -> list[str]:
    return [tool["function"]["name"] for tool in body.get("tools", [])]


# The round trip


@pytest.mark.seed("W01", "W05", "W08")
@PLAIN_AND_STREAMED
def test_the_program_runs_what_the_model_asks_for_until_a_message_without_calls(streamed: bool) -> None:
    tool = reader()
    turns = [
        calling(call("Read", value("a"), "c1")),
        calling(call("Read", value("b"), "c2"), text="one more"),
        saying("both read"),
        saying("never asked for"),
    ]
    result, bodies = held(turns, tool, stream=streamed)
    assert (result.status, result.final_text) == (LoopStatus.ANSWERED, "both read")
    assert tool.runs == [{"value": "a"}, {"value": "b"}]
    assert len(bodies) == len(result.steps) == 3
    assert [step.turn and step.turn.finish_reason for step in result.steps] == ["tool_calls", "tool_calls", "stop"]
    assert [body.get("stream", False) for body in bodies] == [streamed] * 3


@pytest.mark.seed("W02")
def test_a_request_describes_each_tool_by_a_schema() -> None:
    parameters = [
        ToolParameter("city", "string", "City name"),
        ToolParameter("unit", "string", required=False, extra={"enum": ["celsius", "fahrenheit"]}),
    ]
    _, bodies = held([saying()], SmallTool("weather", parameters=parameters))
    assert bodies[0]["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "weather",
                "description": "weather for tests",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "city": {"type": "string", "description": "City name"},
                        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
                    },
                    "required": ["city"],
                    "additionalProperties": False,
                },
            },
        }
    ]


@pytest.mark.seed("W06", "W07", "W10", "O05", "O06")
@PLAIN_AND_STREAMED
def test_each_request_carries_everything_before_it_and_the_results_by_id(streamed: bool) -> None:
    turns = [calling(call("Read", value(name), f"c_{name}"), text=f"looking at {name}") for name in "abc"]
    result, bodies = held([*turns, saying()], reader(), stream=streamed)
    for number, name in enumerate("abc"):
        earlier, later = bodies[number]["messages"], bodies[number + 1]["messages"]
        assert later[: len(earlier)] == earlier
        function = {"name": "Read", "arguments": value(name)}
        asked, answered = later[len(earlier) :]
        assert asked == {
            "role": "assistant",
            "content": f"looking at {name}",
            "tool_calls": [{"id": f"c_{name}", "type": "function", "function": function}],
        }
        observation = outcome_of(result, number).observations[0].observation
        assert answered == {"role": "tool", "tool_call_id": f"c_{name}", "content": observation}
    assert texts_of(bodies[3]["messages"]) == ["saw a", "saw b", "saw c"]
    assert list(result.messages[:-1]) == bodies[3]["messages"]
    assert result.messages[-1] == {"role": "assistant", "content": "done"}


@pytest.mark.seed("W06")
def test_the_assistant_message_goes_back_with_fields_that_nobody_here_knows() -> None:
    message = {
        "role": "assistant",
        "content": None,
        "refusal": None,
        "reasoning_content": "the file first",
        "reasoning_details": [{"type": "encrypted", "data": "x"}],
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "index": 0,
                "function": {"name": "Read", "arguments": ' { "value" : "\\u00e9" } '},
                "extra_content": {"signature": "s"},
            }
        ],
    }
    _, bodies = held(Answers(completion(message), saying()), reader())
    assert bodies[1]["messages"][1] == message


@pytest.mark.seed("W06", "S01")
def test_unknown_fields_of_a_stream_go_back_too() -> None:
    function = {"name": "Read", "arguments": ""}
    streamed = stream(
        {"role": "assistant", "content": None, "reasoning_content": "the file"},
        {"reasoning_content": " first"},
        {"tool_calls": [{"index": 0, "id": "c1", "function": function, "extra_content": {"signature": "s"}}]},
        finishing("tool_calls"),
        "[DONE]",
    )
    _, bodies = held(Answers(streamed, saying()), reader(), stream=True)
    sent = bodies[1]["messages"][1]
    assert sent["reasoning_content"] == "the file first"
    assert sent["tool_calls"][0]["extra_content"] == {"signature": "s"}


@pytest.mark.parametrize("content", ["", "some text", [{"type": "text", "text": "in parts"}]])
def test_content_beside_calls_goes_back_as_it_came(content: Any) -> None:
    asked = {
        "content": content,
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "Read", "arguments": "{}"}}],
    }
    _, bodies = held(Answers(completion(asked), saying()), reader())
    assert bodies[1]["messages"][1] == {"role": "assistant", **asked}


@pytest.mark.seed("R05")
def test_a_tool_registered_between_two_steps_is_in_the_next_request() -> None:
    registry = registry_with(reader("First"))

    def register(number: int) -> None:
        if number == 1:
            registry.register_tool(reader("Second"))

    script = ScriptPlayer(
        [calling(call("First", value("1"))), calling(call("First")), calling(call("Second")), saying()],
        before_turn=register,
    )
    result, bodies = held(script, registry=registry)
    assert [tool_names(body) for body in bodies] == [["First"], ["First"], ["First", "Second"], ["First", "Second"]]
    assert codes_of(result, 2) == [None]
    assert bodies[2]["tools"] == registry.get_openai_tools()


@pytest.mark.seed("R07", "R09")
def test_a_tool_whose_circuit_opens_is_not_in_the_next_request() -> None:
    failing = SmallTool("Flaky", lambda _: ToolResult.error(ErrorCode.EXECUTION_ERROR, "no"))
    registry = registry_with(failing, reader(), breaker=CircuitBreaker(failure_threshold=1))
    _, bodies = held([calling(call("Flaky")), saying()], registry=registry)
    assert [tool_names(body) for body in bodies] == [["Flaky", "Read"], ["Read"]]


@pytest.mark.seed("R09")
def test_a_read_only_agent_is_told_of_no_tool_that_it_may_not_use() -> None:
    edit = SmallTool("Edit", kind=ToolKind.EDIT)
    result, bodies = held([calling(call("Edit")), saying()], edit, reader(), mode=RuntimeMode.READ_ONLY)
    assert [tool_names(body) for body in bodies] == [["Read"], ["Read"]]
    assert "Edit" not in json.dumps(bodies[0])
    assert codes_of(result) == [ErrorCode.PERMISSION_DENIED]
    assert edit.runs == []


@pytest.mark.seed("C02")
@PLAIN_AND_STREAMED
def test_several_calls_of_one_turn_are_all_run_and_answered_in_their_order(streamed: bool) -> None:
    tools = [reader("Read"), reader("Grep"), SmallTool("Task", lambda _: ToolResult.error(ErrorCode.TIMEOUT, "late"))]
    calls = [call(name, value(f"{name}{number}"), f"c{number}") for number, name in enumerate(["Read", "Task", "Grep"])]
    result, bodies = held([calling(*calls), saying()], *tools, stream=streamed)
    assert [tool.runs for tool in tools] == [[{"value": "Read0"}], [{"value": "Grep2"}], [{"value": "Task1"}]]
    assert [message["tool_call_id"] for message in bodies[1]["messages"][2:]] == ["c0", "c1", "c2"]
    assert codes_of(result) == [None, ErrorCode.TIMEOUT, None]


def test_further_parameters_go_over_the_wire_as_given() -> None:
    parameters = {"temperature": 0.5, "stop": None, "top_k": 3, "seed": 7}
    _, bodies = held([saying()], parameters=parameters)
    assert bodies == [{"model": "m", "messages": [{"role": "user", "content": "go"}], **parameters}]


def test_a_given_history_is_gone_on_with_also_when_it_is_empty() -> None:
    history = History()
    result, _ = held([saying()], history=history)
    assert history.messages == list(result.messages)
    system = {"role": "system", "content": "be brief"}
    _, bodies = held([saying()], history=History([system]))
    assert bodies[0]["messages"] == [system, {"role": "user", "content": "go"}]


# tool_choice


@pytest.mark.seed("C01")
@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", "auto"),
        ("none", "none"),
        ("required", "required"),
        ("Read", {"type": "function", "function": {"name": "Read"}}),
        ({"type": "function", "function": {"name": "Read"}}, {"type": "function", "function": {"name": "Read"}}),
        ({"type": "allowed_tools", "mode": "auto"}, {"type": "allowed_tools", "mode": "auto"}),
    ],
)
def test_a_choice_is_sent_in_the_providers_form_with_every_request(choice: Any, sent: Any) -> None:
    _, bodies = held([calling(call("Read")), saying()], reader(), tool_choice=choice)
    assert [body["tool_choice"] for body in bodies] == [sent, sent]


@pytest.mark.seed("C01")
def test_choices_go_step_by_step_and_the_last_one_stays() -> None:
    turns = [calling(call("Read", value(str(number)))) for number in range(3)]
    _, bodies = held([*turns, saying()], reader(), tool_choice=["required", "Read", "auto"])
    named = {"type": "function", "function": {"name": "Read"}}
    assert [body["tool_choice"] for body in bodies] == ["required", named, "auto", "auto"]


@pytest.mark.seed("C01")
@pytest.mark.parametrize("choice", [None, []])
def test_without_a_choice_none_is_sent(choice: Any) -> None:
    _, bodies = held([saying()], reader(), tool_choice=choice)
    assert "tool_choice" not in bodies[0]


def test_without_tools_no_choice_is_sent_since_providers_refuse_it() -> None:
    _, bodies = held([saying()], tool_choice="auto")
    assert "tool_choice" not in bodies[0]


@pytest.mark.seed("C01", "R09")
@pytest.mark.parametrize("choice", ["Edit", {"type": "function", "function": {"name": "Edit"}}, ["Edit"]])
def test_a_choice_that_names_a_hidden_tool_is_an_error_before_any_request(choice: Any) -> None:
    tools = [SmallTool("Edit", kind=ToolKind.EDIT), reader()]
    options: dict[str, Any] = {"mode": RuntimeMode.READ_ONLY, "tool_choice": choice, "check_capabilities": True}
    with Session([saying()], *tools, **options) as session:
        with pytest.raises(InputError, match=r"^tool_choice: tool_choice names 'Edit'.*\(shown: Read\)$"):
            session.run()
        assert (session.bodies, session.witness.others, session.records) == ([], [], [])


@pytest.mark.seed("C01")
def test_a_hidden_tool_of_a_later_step_is_an_error_at_that_step() -> None:
    with Session([calling(call("Read")), saying()], reader(), tool_choice=["auto", "Gone"]) as session:
        with pytest.raises(InputError, match="'Gone'"):
            session.run()
        assert len(session.bodies) == 1


# Capabilities


class Listing:
    """A script whose ``/v1/models`` answers what the test says."""

    def __init__(self, listing: Response, *turns: ScriptedTurn) -> None:
        self._listing = listing
        self._script = ScriptPlayer(turns)

    def answer(self, request: Request) -> Response:
        return self._listing if request.path.endswith("/models") else self._script.answer(request)


@pytest.mark.seed("K01")
@pytest.mark.parametrize("key", ["capabilities", "supported_parameters"])
def test_tools_are_not_sent_to_a_model_without_them_and_the_step_says_why(key: str) -> None:
    script = ScriptPlayer([saying()], models=[{"id": "other"}, {"id": "m", key: ["vision", "streaming"]}])
    with Session(script, reader(), check_capabilities=True, tool_choice="required") as session:
        result = session.run()
    assert result.status is LoopStatus.ANSWERED
    assert session.bodies[0].keys() == {"model", "messages"}
    assert result.steps[0].notes == (
        f"tools are not sent: /v1/models lists m without tools ({key}: vision, streaming)",
    )
    assert [request.path for request in session.witness.others] == ["/v1/models"]


@pytest.mark.seed("K01")
def test_a_choice_by_name_is_left_out_with_the_tools() -> None:
    script = ScriptPlayer([saying()], models=[{"id": "m", "capabilities": ["vision"]}])
    result, bodies = held(script, reader(), check_capabilities=True, tool_choice="Read")
    assert "tool_choice" not in bodies[0]
    assert len(result.steps[0].notes) == 1


@pytest.mark.seed("K01")
@pytest.mark.parametrize(
    "models",
    [
        [{"id": "m"}],
        [{"id": "m", "capabilities": []}],
        [{"id": "m", "capabilities": {"tools": False}}],
        [{"id": "m", "capabilities": ["tools", "vision"], "supported_parameters": ["tools", "max_tokens"]}],
        [{"id": "other", "capabilities": ["vision"]}],
        [],
    ],
)
def test_a_list_that_does_not_speak_against_tools_takes_none_away(models: list[dict[str, Any]]) -> None:
    script = ScriptPlayer([calling(call("Read")), saying()], models=models)
    with Session(script, reader(), check_capabilities=True) as session:
        result = session.run()
    assert [tool_names(body) for body in session.bodies] == [["Read"], ["Read"]]
    assert [step.notes for step in result.steps] == [(), ()]
    assert len(session.witness.others) == 1


@pytest.mark.seed("K01")
@pytest.mark.parametrize(
    "listing",
    [
        Response(404, JSON, b'{"error":{"message":"no such route"}}'),
        Response(500, SSE, b"oh no"),
        Response(200, (("content-type", "text/html"),), b"<html>not found</html>"),
        Response(200, JSON, b"null"),
        Response(200, JSON, b'{"data": 5}'),
        Response(200, JSON, b"7"),
    ],
)
def test_a_server_without_a_usable_list_takes_no_tools_away(listing: Response) -> None:
    result, bodies = held(Listing(listing, saying()), reader(), check_capabilities=True)
    assert tool_names(bodies[0]) == ["Read"]
    assert result.steps[0].notes == ()


@pytest.mark.seed("K01")
@pytest.mark.parametrize("tools", [[], [reader()]])
def test_the_list_is_asked_for_only_when_it_matters(tools: list[SmallTool]) -> None:
    script = ScriptPlayer([saying()], models=[{"id": "m", "capabilities": ["vision"]}])
    with Session(script, *tools, check_capabilities=not tools) as session:
        session.run()
    assert session.witness.others == []


# Streams


@pytest.mark.seed("S01", "S02", "S03")
@pytest.mark.parametrize("fragment", [1, 2, 5, 100])
def test_interleaved_fragments_are_put_together_by_index(fragment: int) -> None:
    arguments = [value("first }{ brace"), value("zweite Ä 🙂")]
    pieces = [[text[start : start + fragment] for start in range(0, len(text), fragment)] for text in arguments]
    events: list[dict[str, Any]] = [
        {"tool_calls": [{"index": index, "id": f"c{index}", "function": {"name": "Read", "arguments": ""}}]}
        for index in range(2)
    ]
    for position in range(max(map(len, pieces))):
        events += [
            {"tool_calls": [{"index": index, "function": {"arguments": pieces[index][position]}}]}
            for index in (1, 0)
            if position < len(pieces[index])
        ]
    tool = reader()
    played = Answers(stream(*events, finishing("tool_calls"), "[DONE]"), saying())
    _, bodies = held(played, tool, stream=True)
    assert sorted(run["value"] for run in tool.runs) == ["first }{ brace", "zweite Ä 🙂"]
    entries = bodies[1]["messages"][1]["tool_calls"]
    assert [entry["function"]["arguments"] for entry in entries] == arguments


@pytest.mark.seed("R09", "S01")
@pytest.mark.parametrize("name", ["ping", "pingping"])
def test_the_tools_of_the_request_settle_a_name_sent_in_two_pieces(name: str) -> None:
    pieces = [{"tool_calls": [{"index": 0, "id": "c", "function": {"name": "ping", "arguments": ""}}]}] * 2
    tool = reader(name)
    held(Answers(stream(*pieces, finishing("tool_calls")), saying()), tool, stream=True)
    assert tool.runs == [{}]


class LoggingTransport(httpx2.BaseTransport):
    """Notes each piece of a body as it is read."""

    def __init__(self, inner: httpx2.BaseTransport, log: list[str]) -> None:
        self._inner = inner
        self._log = log

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        response = self._inner.handle_request(request)
        assert isinstance(response.stream, httpx2.SyncByteStream)
        logged = _Logged(response.stream, self._log)
        return httpx2.Response(response.status_code, headers=response.headers, stream=logged)


class _Logged(httpx2.SyncByteStream):
    def __init__(self, inner: httpx2.SyncByteStream, log: list[str]) -> None:
        self._inner = inner
        self._log = log

    def __iter__(self) -> Any:
        for piece in self._inner:
            self._log.append("piece")
            yield piece
        self._log.append("end")


@pytest.mark.seed("S02", "S03")
def test_nothing_runs_before_the_stream_has_ended() -> None:
    log: list[str] = []

    def note(_: object) -> ToolResult:
        log.append("run")
        return ToolResult.success("")

    turn = calling(call("Task", value("a"), "c1"), call("Task", value("b"), "c2"), fragment=3)
    held([turn, saying()], SmallTool("Task", note), stream=True, wrap=lambda inner: LoggingTransport(inner, log))
    first_turn = log[: log.index("end") + 3]
    assert first_turn.count("piece") > 10
    assert first_turn[-3:] == ["end", "run", "run"]


TWO_CALLS = calling(call("Task", '{"value":"a"}', "c1"), call("Task", '{"value":"b"}', "c2"))
DONE_ONLY = calling(*TWO_CALLS.calls, finish_reason=None)


def cut_run(body: bytes, limit: int, *, streamed: bool, broken: bool) -> tuple[LoopStatus, int, int]:
    """Status, runs of the tool, requests, when only ``limit`` bytes of the first answer arrive."""
    tool = SmallTool("Task")
    headers = SSE if streamed else JSON
    first = Response(200, headers, body if broken else body[:limit])

    def wrap(inner: httpx2.BaseTransport) -> httpx2.BaseTransport:
        return SeveringTransport(inner, limit) if broken else inner

    result, bodies = held(Answers(first, saying()), tool, stream=streamed, wrap=wrap)
    return result.status, len(tool.runs), len(bodies)


@pytest.mark.seed("S03")
@pytest.mark.parametrize("broken", [False, True], ids=["closed", "broken"])
@pytest.mark.parametrize("turn", [TWO_CALLS, DONE_ONLY], ids=["finish_reason", "done"])
def test_a_stream_cut_at_any_byte_runs_nothing_before_it_was_complete(turn: ScriptedTurn, broken: bool) -> None:
    body = render_turn(turn, 0, {"stream": True}).body
    ending = body.index(b"[DONE]") + len(b"[DONE]")
    if turn.finish_reason:
        ending = body.index(b'"tool_calls"}]}') + len(b'"tool_calls"}]}')
    seen = [cut_run(body, limit, streamed=True, broken=broken) for limit in range(len(body))]
    assert seen[:ending] == [(LoopStatus.ERROR, 0, 1)] * ending
    assert seen[ending:] == [(LoopStatus.ANSWERED, 2, 2)] * (len(body) - ending)


@pytest.mark.seed("S03")
@pytest.mark.parametrize("broken", [False, True], ids=["closed", "broken"])
def test_a_plain_answer_cut_at_any_byte_runs_nothing(broken: bool) -> None:
    body = render_turn(TWO_CALLS, 0, {}).body
    seen = {cut_run(body, limit, streamed=False, broken=broken) for limit in range(len(body))}
    assert seen == {(LoopStatus.ERROR, 0, 1)}
    assert cut_run(body, len(body), streamed=False, broken=False) == (LoopStatus.ANSWERED, 2, 2)


def test_a_cut_turn_is_not_stored_and_the_step_keeps_what_arrived() -> None:
    partial = calling(call("Read", value("a")), text="let me", finish_reason=None, done=False)
    result, _ = held([partial], reader(), stream=True)
    assert result.status is LoopStatus.ERROR
    assert result.messages == ({"role": "user", "content": "go"},)
    assert result.final_text is None
    record = result.steps[0]
    assert record.turn is not None
    assert (record.turn.status, record.turn.content) == ("incomplete", "let me")
    assert record.error == result.reason
    assert result.reason == "the answer broke off before a finish_reason or [DONE]; nothing of it was run"


def test_a_stream_asked_for_may_come_as_json() -> None:
    plain = render_turn(calling(call("Read", value("a"))), 0, {})
    tool = reader()
    result, bodies = held(Answers(plain, saying("read")), tool, stream=True)
    assert (result.final_text, tool.runs) == ("read", [{"value": "a"}])
    assert texts_of(bodies[1]["messages"]) == ["saw a"]


def test_json_asked_for_may_come_as_a_stream() -> None:
    streamed = render_turn(calling(call("Read", value("a"))), 0, {"stream": True})
    tool = reader()
    result, _ = held(Answers(streamed, saying("read")), tool)
    assert (result.final_text, tool.runs) == ("read", [{"value": "a"}])


# How a run ends when something goes wrong


@PLAIN_AND_STREAMED
@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
def test_an_http_error_ends_the_run_with_its_status_and_message(status: int, streamed: bool) -> None:
    result, bodies = held([ScriptedTurn(error_status=status, error_message="not today")], reader(), stream=streamed)
    assert (result.status, result.reason) == (LoopStatus.ERROR, f"HTTP {status}: not today")
    assert result.steps[0].error == result.reason
    assert result.steps[0].turn is None
    assert len(bodies) == 1


@PLAIN_AND_STREAMED
def test_no_connection_ends_the_run_with_the_cause(streamed: bool) -> None:
    result, _ = held(Answers(httpx2.ConnectError("connection refused")), reader(), stream=streamed)
    assert (result.status, result.reason) == (LoopStatus.ERROR, "no answer: ConnectError: connection refused")


@pytest.mark.parametrize(
    ("answer", "streamed"),
    [
        (stream({"content": "almost"}, {"error": {"message": "worker limit", "code": 502}}, "[DONE]"), True),
        (
            stream(
                {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "Read", "arguments": "{}"}}]},
                {"error": {"message": "worker limit"}, "choices": []},
                finishing("tool_calls"),
            ),
            True,
        ),
        (Response(200, JSON, b'{"error":{"message":"worker limit","code":502}}'), True),
        (Response(200, JSON, b'{"error":{"message":"worker limit","code":502}}'), False),
    ],
)
def test_an_error_under_200_ends_the_run_and_runs_nothing(answer: Response, streamed: bool) -> None:
    tool = reader()
    result, _ = held(Answers(answer), tool, stream=streamed)
    assert result.status is LoopStatus.ERROR
    assert result.reason == "the provider reported an error in its answer: worker limit"
    assert (tool.runs, len(result.messages)) == ([], 1)


@PLAIN_AND_STREAMED
def test_an_answer_cut_at_the_limit_is_no_answer(streamed: bool) -> None:
    result, _ = held([saying("once upon", finish_reason="length")], stream=streamed)
    assert (result.status, result.final_text) == (LoopStatus.CUT, "once upon")
    assert result.messages[-1] == {"role": "assistant", "content": "once upon"}


@PLAIN_AND_STREAMED
def test_a_miss_reaches_whoever_started_the_run(streamed: bool) -> None:
    tool = reader()
    with Session([calling(call("Read"))], tool, stream=streamed, retries=3) as session:
        with pytest.raises(MissError, match="the script has 1 turns"):
            session.run()
        assert len(session.bodies) == 2
        assert session.transport.miss is not None
        assert len(session.records) == 1


@pytest.mark.parametrize("retries", [0, 1, 2])
@pytest.mark.parametrize(
    "failure",
    [
        ScriptedTurn(error_status=503, error_message="busy"),
        httpx2.ReadTimeout("too slow"),
        calling(call("Read", value("x")), finish_reason=None, done=False),
        stream({"error": {"message": "worker limit"}}),
        Response(200, JSON, b"<html>"),
    ],
    ids=["http", "connection", "cut", "error", "garbage"],
)
def test_a_failed_call_is_tried_again_with_the_same_request(failure: Any, retries: int) -> None:
    tool = reader()
    result, bodies = held(Answers(failure, failure, saying("at last")), tool, stream=True, retries=retries)
    assert result.status is (LoopStatus.ANSWERED if retries == 2 else LoopStatus.ERROR)
    assert bodies == [bodies[0]] * (retries + 1)
    assert tool.runs == []
    assert len(result.steps) == 1
    if retries == 2:
        assert len(result.steps[0].notes) == 2
        assert result.steps[0].error is None
    else:
        assert result.steps[0].error == result.reason


def test_the_step_limit_ends_a_run_that_would_go_on() -> None:
    turns = [calling(call("Read", value(str(number)))) for number in range(4)]
    tool = reader()
    result, bodies = held(turns, tool, step_limit=3)
    assert (result.status, result.reason) == (LoopStatus.STEP_LIMIT, "3 steps without an answer")
    assert (len(bodies), len(tool.runs), result.final_text) == (3, 3, None)
    assert result.messages[-1]["role"] == "tool"


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("reason", ["tool_calls", "length"])
def test_a_step_with_more_calls_than_can_be_answered_is_an_error(reason: str, streamed: bool) -> None:
    budget = BudgetPolicy(max_calls=1, total_bytes=2_048)
    tool = reader()
    turn = calling(*(call("Read", value("a"), f"c{number}") for number in range(6)), finish_reason=reason)
    result, _ = held([turn], tool, stream=streamed, orchestrator={"budget": budget})
    assert result.status is LoopStatus.ERROR
    assert result.reason.startswith("the model sent 6 calls in one step")
    assert result.steps[0].error == result.reason
    assert (tool.runs, len(result.messages)) == ([], 1)


def test_calls_beyond_the_maximum_are_answered_and_the_run_goes_on() -> None:
    budget = BudgetPolicy(max_calls=2, total_bytes=4_096)
    tool = reader()
    turn = calling(*(call("Read", value(str(number)), f"c{number}") for number in range(4)))
    result, _ = held([turn, saying()], tool, orchestrator={"budget": budget})
    assert result.status is LoopStatus.ANSWERED
    assert codes_of(result) == [None, None, ErrorCode.TOO_MANY_CALLS, ErrorCode.TOO_MANY_CALLS]
    assert len(tool.runs) == 2


# Circles: the bug reports G01, G02 and G03


@pytest.mark.parametrize("period", [1, 2, 3, 4])
def test_g01_steps_that_repeat_are_named_to_the_model_and_then_end_the_run(period: int) -> None:
    tool = reader()
    turns = [calling(call("Read", value(str(number % period)))) for number in range(60)]
    result, bodies = held(turns, tool)
    assert result.status is LoopStatus.CIRCLE
    assert result.reason.startswith("the same calls 3 times in a row: ")
    assert all(f'Read({{"value": "{number}"}})' in result.reason for number in range(period))
    assert len(bodies) == 3 * period + 2
    assert len(tool.runs) == 3 * period
    assert result.steps[-1].error == result.reason
    assert codes_of(result, -2) == [ErrorCode.REPEATED_CALLS]
    told = texts_of(bodies[-1]["messages"])[-1]
    assert told.startswith("the same calls 3 times in a row: Read(")
    assert "nothing was run this time" in told
    assert result.messages[-1]["role"] == "tool"


def test_g01_a_model_that_listens_goes_on_and_is_told_once() -> None:
    tool = reader()
    turns = [calling(call("Read", value(text), f"c{number}")) for number, text in enumerate("aaaabbbcc")]
    result, bodies = held([*turns, saying("found it")], tool)
    assert (result.status, result.final_text, len(bodies)) == (LoopStatus.ANSWERED, "found it", 10)
    assert [run["value"] for run in tool.runs] == list("aaabbbcc")
    result, bodies = held([calling(call("Read", value(text))) for text in "aaaabbbb"], reader())
    assert (result.status, len(bodies)) == (LoopStatus.CIRCLE, 8)


def test_g01_the_missing_file_of_the_report() -> None:
    missing = SmallTool(
        "read_file",
        lambda _: ToolResult.error(ErrorCode.NOT_FOUND, "no such file"),
        kind=ToolKind.READ,
        parameters=[ToolParameter("path", "string"), ToolParameter("limit", "integer")],
    )
    spellings = ['{"path":"missing","limit":1}', '{"limit": 1, "path": "missing"}']
    turns = [calling(call("read_file", spellings[number % 2])) for number in range(50)]
    result, bodies = held(turns, registry=registry_with(missing, breaker=CircuitBreaker(100)))
    assert (result.status, len(bodies)) == (LoopStatus.CIRCLE, 3 + 2)
    assert "missing" in result.reason


def test_g01_another_order_of_keys_and_other_ids_do_not_hide_a_circle() -> None:
    tool = SmallTool("Edit", parameters=[ToolParameter("a", "integer"), ToolParameter("b", "integer")])
    spellings = ['{"a":1,"b":2}', '{"b":2,"a":1}', ' { "a": 1, "b": 2 }', '{"b": 2,"a": 1}', '{"a": 1,"b": 2}']
    turns = [calling(call("Edit", text, f"c{number}")) for number, text in enumerate(spellings)]
    result, _ = held(turns, tool)
    assert (result.status, len(tool.runs)) == (LoopStatus.CIRCLE, 3)


def test_g02_g03_results_that_change_or_succeed_do_not_hide_a_circle() -> None:
    ticks = iter(range(100))
    clock = SmallTool("Task", lambda _: ToolResult.success(f"it is {next(ticks)}", {"tick": next(ticks)}))
    result, _ = held([calling(call("Task", value("date")))] * 50, clock)
    assert (result.status, len(clock.runs)) == (LoopStatus.CIRCLE, 3)


def test_a_call_that_is_cut_again_and_again_is_a_circle_too() -> None:
    turn = calling(call("Write", '{"value": "a very long'), finish_reason="length")
    result, bodies = held([turn] * 50, SmallTool("Write"))
    assert result.status is LoopStatus.CIRCLE
    assert len(bodies) == 5
    assert codes_of(result, -2) == [ErrorCode.REPEATED_CALLS]


def test_g02_equal_results_of_different_calls_are_no_circle() -> None:
    turns = [calling(call("Task", value(str(number)))) for number in range(20)]
    result, _ = held([*turns, saying()], SmallTool("Task"))
    assert result.status is LoopStatus.ANSWERED


def test_a_varied_conversation_is_no_circle() -> None:
    # The same file again and again, as in a test-and-fix cycle, with something new in each round.
    turns = [
        calling(call("Read", value(text), f"c{number}"))
        for number, text in enumerate(text for round_ in range(8) for text in ("tests", f"attempt {round_}"))
    ]
    result, bodies = held([*turns, saying()], reader())
    assert (result.status, len(bodies)) == (LoopStatus.ANSWERED, 17)


def test_the_limit_is_adjustable_and_can_be_off() -> None:
    turns = [calling(call("Read", value("a")))] * 10
    assert len(held(turns, reader(), repeat_limit=1)[1]) == 3
    off, bodies = held(turns, reader(), repeat_limit=0, step_limit=9)
    assert (off.status, len(bodies)) == (LoopStatus.STEP_LIMIT, 9)


def test_what_was_asked_before_an_answer_is_no_part_of_a_circle() -> None:
    turns = [turn for _ in range(6) for turn in (calling(call("Read", value("a"))), saying())]
    with Session(turns, reader()) as session:
        assert [session.run(f"question {number}").status for number in range(6)] == [LoopStatus.ANSWERED] * 6


def test_an_answer_ends_a_circle_also_for_those_who_write_the_history_themselves() -> None:
    turns = [turn for _ in range(6) for turn in (calling(call("Read", value("a"))), saying())]
    with Session(turns, reader()) as session:
        for number in range(6):
            session.loop.history.append({"role": "user", "content": f"question {number}"})
            assert session.run(None).status is LoopStatus.ANSWERED


def test_after_a_circle_a_new_question_begins_anew() -> None:
    repeated = calling(call("Read", value("a")))
    with Session([*[repeated] * 5, *[repeated] * 4, saying("stopped")], reader()) as session:
        assert session.run().status is LoopStatus.CIRCLE
        assert session.run("do something else").final_text == "stopped"


def test_going_on_without_a_question_does_not_forget_the_circle() -> None:
    with Session([calling(call("Read", value("a")))] * 9, reader(), step_limit=2) as session:
        statuses = [session.run("go" if first else None).status for first in (True, False, False)]
    assert statuses == [LoopStatus.STEP_LIMIT, LoopStatus.STEP_LIMIT, LoopStatus.CIRCLE]


# Token limit (A36, A37) and finish reasons (A14)


@PLAIN_AND_STREAMED
def test_calls_under_stop_are_run_and_the_loop_goes_on(streamed: bool) -> None:
    tool = reader()
    turns = [calling(call("Read", value("a")), finish_reason="stop"), saying("then this")]
    result, _ = held(turns, tool, stream=streamed)
    assert (result.final_text, tool.runs) == ("then this", [{"value": "a"}])


@PLAIN_AND_STREAMED
def test_after_length_no_call_runs_and_each_is_answered_once(streamed: bool) -> None:
    tool = SmallTool("Write")
    cut = calling(call("Write", value("whole"), "c1"), call("Write", '{"value": "cut he', "c2"), finish_reason="length")
    result, bodies = held([cut, saying()], tool, stream=streamed)
    assert (result.status, tool.runs) == (LoopStatus.ANSWERED, [])
    assert codes_of(result) == [ErrorCode.OUTPUT_LIMIT, ErrorCode.OUTPUT_LIMIT]
    answers = bodies[1]["messages"][2:]
    assert [answer["tool_call_id"] for answer in answers] == ["c1", "c2"]
    assert all("token limit" in answer["content"] for answer in answers)
    assert outcome_of(result).plans[1].raw_arguments == '{"value": "cut he'


BROKEN = '{"value": "first line'


@pytest.mark.parametrize("key", ["max_tokens", "max_completion_tokens"])
@pytest.mark.parametrize(
    ("arguments", "used", "cut"),
    [(BROKEN, 32, True), (BROKEN, 33, True), (BROKEN, 31, False), (BROKEN, None, False), (value("a"), 32, False)],
)
def test_a_truncation_labelled_tool_calls_is_told_by_its_usage(
    key: str, arguments: str, used: int | None, cut: bool
) -> None:
    tool = SmallTool("Write")
    usage = None if used is None else {"prompt_tokens": 9, "completion_tokens": used, "total_tokens": 41}
    turn = calling(call("Write", value("fine"), "c1"), call("Write", arguments, "c2"), usage=usage)
    result, _ = held([turn, saying()], tool, parameters={key: 32})
    assert result.status is LoopStatus.ANSWERED
    if cut:
        assert codes_of(result) == [ErrorCode.OUTPUT_LIMIT] * 2
        assert tool.runs == []
    else:
        assert codes_of(result) == [None, None if arguments == value("a") else ErrorCode.INVALID_PARAM]


def test_a_streamed_truncation_labelled_tool_calls_is_told_too() -> None:
    tool = SmallTool("Write")
    usage = {"prompt_tokens": 9, "completion_tokens": 32, "total_tokens": 41}
    parameters = {"max_tokens": 32, "stream_options": {"include_usage": True}}
    turn = calling(call("Write", BROKEN), usage=usage)
    result, _ = held([turn, saying()], tool, stream=True, parameters=parameters)
    assert (codes_of(result), tool.runs) == ([ErrorCode.OUTPUT_LIMIT], [])


# Ids, arguments, usage


@PLAIN_AND_STREAMED
@pytest.mark.parametrize("ids", [(None, None), ("", ""), ("same", "same"), ("ok", None), (None, "call_fresh_0001")])
def test_missing_and_repeated_ids_are_replaced_in_the_history_too(
    ids: tuple[str | None, str | None], streamed: bool
) -> None:
    tool = reader()
    turn = calling(*(call("Read", value(str(number)), call_id) for number, call_id in enumerate(ids)))
    result, bodies = held([turn, saying()], tool, stream=streamed)
    asked, *answers = bodies[1]["messages"][1:]
    sent = [entry["id"] for entry in asked["tool_calls"]]
    assert len(set(sent)) == 2
    assert all(sent)
    assert [answer["tool_call_id"] for answer in answers] == sent
    assert texts_of(answers) == ["saw 0", "saw 1"]
    assert [plan.received_id or None for plan in outcome_of(result).plans] == [call_id or None for call_id in ids]


@PLAIN_AND_STREAMED
@pytest.mark.parametrize(
    "broken", ["{", '{"value": "x', "[]", "null", "nonsense", '{"value": NaN}', '{"a":1} x', '"t"']
)
def test_broken_arguments_go_back_as_an_object_and_stay_raw_in_the_record(broken: str, streamed: bool) -> None:
    tool = reader()
    turn = calling(call("Read", broken, "c1"), call("Read", value("b"), "c2"))
    result, bodies = held([turn, saying()], tool, stream=streamed)
    assert tool.runs == [{"value": "b"}]
    assert codes_of(result) == [ErrorCode.INVALID_PARAM, None]
    sent = bodies[1]["messages"][1]["tool_calls"]
    assert [entry["function"]["arguments"] for entry in sent] == ["{}", value("b")]
    assert outcome_of(result).plans[0].raw_arguments == broken
    assert result.steps[0].turn is not None
    assert result.steps[0].turn.tool_calls[0].arguments == broken


@PLAIN_AND_STREAMED
@pytest.mark.parametrize("nothing", ["", None, "  "])
def test_absent_arguments_are_none_and_go_back_as_an_object(nothing: str | None, streamed: bool) -> None:
    tool = reader()
    result, bodies = held([calling(call("Read", nothing)), saying()], tool, stream=streamed)
    assert (tool.runs, codes_of(result)) == ([{}], [None])
    assert bodies[1]["messages"][1]["tool_calls"][0]["function"]["arguments"] == "{}"


@PLAIN_AND_STREAMED
def test_a_call_without_a_name_is_answered_and_the_run_goes_on(streamed: bool) -> None:
    nameless = ScriptedCall(None, "{}", "c1")
    result, bodies = held([calling(nameless), saying()], reader(), stream=streamed)
    assert result.status is LoopStatus.ANSWERED
    assert codes_of(result) == [ErrorCode.UNKNOWN_TOOL]
    assert bodies[1]["messages"][1]["tool_calls"][0]["function"]["name"] == PLACEHOLDER_NAME


@pytest.mark.parametrize("streamed", [False, True])
def test_usage_is_kept_as_given_and_never_invented(streamed: bool) -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11, "details": {"cached_tokens": 4}}
    turns = [calling(call("Read"), usage=usage), saying("done")]
    parameters = {"stream_options": {"include_usage": True}} if streamed else {}
    result, _ = held(turns, reader(), stream=streamed, parameters=parameters)
    assert [step.turn and step.turn.usage for step in result.steps] == [usage, None]


@pytest.mark.parametrize("arguments", [value("a"), '{"value": "cut'])
@PLAIN_AND_STREAMED
def test_the_old_function_call_is_run_and_answered_in_its_own_form(streamed: bool, arguments: str) -> None:
    tool = reader()
    if streamed:
        half = len(arguments) // 2
        asked = stream(
            {"role": "assistant", "content": None, "function_call": {"name": "Read", "arguments": arguments[:half]}},
            {"function_call": {"arguments": arguments[half:]}},
            finishing("function_call"),
            "[DONE]",
        )
    else:
        function = {"name": "Read", "arguments": arguments}
        asked = completion({"content": None, "function_call": function}, "function_call")
    result, bodies = held(Answers(asked, saying("done")), tool, stream=streamed)
    assert result.status is LoopStatus.ANSWERED
    valid = arguments == value("a")
    assert tool.runs == ([{"value": "a"}] if valid else [])
    sent, answer = bodies[1]["messages"][1:]
    assert sent["function_call"] == {"name": "Read", "arguments": arguments if valid else "{}"}
    assert "tool_calls" not in sent
    assert (answer["role"], answer["name"]) == ("function", "Read")


# More than one question


@PLAIN_AND_STREAMED
def test_a_second_question_goes_on_with_the_conversation(streamed: bool) -> None:
    turns = [calling(call("Read", value("a"))), saying("first"), calling(call("Read", value("b"))), saying("second")]
    with Session(turns, reader(), stream=streamed) as session:
        first = session.run("one")
        second = session.run("two")
    assert (first.final_text, second.final_text) == ("first", "second")
    roles = [message["role"] for message in session.bodies[-1]["messages"]]
    assert roles == ["user", "assistant", "tool", "assistant", "user", "assistant", "tool"]
    assert session.bodies[2]["messages"][: len(first.messages)] == list(first.messages)
    assert [record.index for record in session.records] == [0, 1, 2, 3]
    assert list(second.steps) == session.records


def test_a_question_after_an_error_can_be_answered() -> None:
    with Session([ScriptedTurn(error_status=500, error_message="no"), saying("yes")]) as session:
        assert session.run("one").status is LoopStatus.ERROR
        assert session.run("two").final_text == "yes"


def test_nobody_changes_what_was_sent_afterwards() -> None:
    with Session([calling(call("Read", value("a"))), saying()], reader()) as session:
        result = session.run()
    result.messages[0]["content"] = "changed"
    assert session.loop.history.messages[0]["content"] == "go"
    assert [record.request["messages"] for record in session.records] == [body["messages"] for body in session.bodies]


# Any conversation

calls_of_any_kind = st.builds(
    ScriptedCall,
    st.sampled_from(["Read", "Grep", "Edit", "Unknown"]),
    st.one_of(
        st.builds(value, st.text(max_size=12)),
        st.sampled_from(["{", '{"value": "x', "[]", "null", "", None, '{"value": 1}', "nonsense", '{"value":"a"} x']),
    ),
    st.sampled_from(["c1", "c2", "c3", "c4", "", None]),
)
turns_of_any_kind = st.builds(
    ScriptedTurn,
    text=st.none() | st.text(max_size=12),
    calls=st.lists(calls_of_any_kind, min_size=1, max_size=4).map(tuple),
    finish_reason=st.sampled_from(["tool_calls", "tool_calls", "stop", "length"]),
    fragment=st.integers(1, 40),
)
last_turns = st.builds(
    ScriptedTurn,
    text=st.none() | st.text(max_size=12),
    finish_reason=st.sampled_from(["stop", "length"]),
    fragment=st.integers(1, 40),
)


@pytest.mark.seed("S01", "S02", "P03", "W10")
@settings(deadline=None, max_examples=60)
@given(st.lists(turns_of_any_kind, max_size=5), last_turns)
def test_streamed_and_plain_give_the_same_conversation(turns: list[ScriptedTurn], last: ScriptedTurn) -> None:
    def conversation(*, streamed: bool) -> tuple[Any, ...]:
        tools = [reader("Read"), reader("Grep"), SmallTool("Edit", kind=ToolKind.EDIT)]
        result, bodies = held([*turns, last], *tools, stream=streamed)
        sent = [{key: item for key, item in body.items() if key != "stream"} for body in bodies]
        runs = [sorted(map(repr, tool.runs)) for tool in tools]
        return result.status, result.reason, result.final_text, result.messages, sent, runs

    assert conversation(streamed=True) == conversation(streamed=False)
