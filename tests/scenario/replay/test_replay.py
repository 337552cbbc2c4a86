"""Replay of small recordings: untouched ones pass with their counts, each damaged one fails and says how."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.cassette.cassette import Cassette
from harness.errors import InputError
from harness.judge.replay import replay_document
from harness.judge.verdict import Verdict
from harness.scenario.replay import replay_cassette
from harness.trace.folder import load_run, save_run
from harness.wire.exchange import Exchange, Request, Response
from tests.scenario.replay.recordings import (
    JSON_HEADERS,
    MEASURE_A,
    MEASURE_B,
    STREAM_HEADERS,
    SYSTEM,
    TOOLS,
    USER,
    asks,
    call,
    cassette,
    conversation,
    event,
    judged,
    parallel,
    plain,
    request,
    result,
    says,
    stream_of,
    streamed,
    tool,
    with_request,
    with_requests_from,
    with_response,
    without_event,
    without_parameters,
)

both_ways = pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])


def assert_fails(recorded: Cassette, *named: str) -> None:
    """The verdict is FAIL, and its first line holds each of the texts."""
    case, _ = judged(recorded)
    assert case.verdict is Verdict.FAIL
    missing = [text for text in named if text not in case.first_line]
    assert not missing, case.first_line


def assert_passes(recorded: Cassette, *, steps: int, calls: int) -> None:
    case, replayed = judged(recorded)
    assert case.first_line == ""
    assert case.verdict is Verdict.PASS
    assert (replayed.steps, replayed.tool_calls, replayed.planned_calls) == (steps, calls, calls)


# --- untouched recordings


@pytest.mark.seed("W06", "W07", "C02")
@both_ways
def test_an_untouched_recording_of_parallel_calls_passes(stream: bool) -> None:
    case, replayed = judged(parallel(stream=stream))
    assert (case.verdict, case.first_line) == (Verdict.PASS, "")
    assert case.facts == {
        "dialect": "vcrpy",
        "exchanges": 2,
        "chat_exchanges": 2,
        "played_as_bytes": 0,
        "lanes": 1,
        "steps": 2,
        "tool_calls": 2,
        "anomalies": 0,
    }
    (lane,) = replayed.run.lanes
    assert [[each.observation for each in step.calls] for step in lane.steps] == [["14 degrees", "17 degrees"], []]
    assert [each.executed for each in lane.steps[0].calls] == [True, True]
    assert (lane.outcome, lane.final_text) == ("answered", "The south is warmer.")
    sent = replayed.run.exchanges[1].request.json()["messages"]
    assert [message.get("tool_call_id") for message in sent[3:]] == ["call_a", "call_b"]


@both_ways
def test_a_call_without_parameters_passes(stream: bool) -> None:
    assert_passes(without_parameters(stream=stream), steps=2, calls=1)


def test_the_requests_are_built_by_the_pipeline_and_not_copied() -> None:
    recorded = parallel()
    _, replayed = judged(recorded)
    for built, exchange in zip(replayed.run.exchanges, recorded.exchanges, strict=True):
        assert built.request.url != exchange.request.url
        assert built.request.json() == exchange.request.json()


def test_steps_link_to_what_was_played_and_are_numbered() -> None:
    other = cassette((Request("GET", "https://models.example/v1/models"), Response(200, JSON_HEADERS, b"{}")))
    title = (request([{"role": "user", "content": "title?"}], tools=None), plain(says("Ferns")))
    main = [(exchange.request, exchange.response) for exchange in parallel().exchanges]
    pairs = [(other.exchanges[0].request, other.exchanges[0].response), main[0], title, main[1]]
    case, replayed = judged(cassette(*pairs))
    assert case.verdict is Verdict.PASS
    assert (case.facts["exchanges"], case.facts["chat_exchanges"], case.facts["lanes"]) == (4, 3, 2)
    assert [[step.index for step in lane.steps] for lane in replayed.run.lanes] == [[0, 1], [0]]
    for lane, text in zip(replayed.run.lanes, ["The south is warmer.", "Ferns"], strict=True):
        position = lane.steps[-1].exchange
        assert position is not None
        assert replayed.run.exchanges[position].turn().content == text
    steps = {(entry["lane"], entry["step"]) for entry in replayed.run.events}
    assert steps == {("lane-1", 0), ("lane-1", 1), ("lane-2", 0)}


@both_ways
def test_the_same_replay_twice_gives_the_same_bytes(tmp_path: Path, stream: bool) -> None:
    for name in ("first", "second"):
        save_run(replay_cassette(parallel(stream=stream), "greenhouse").run, tmp_path / name)
    for file in ("run.json", "exchanges.jsonl", "events.jsonl"):
        assert (tmp_path / "first" / file).read_bytes() == (tmp_path / "second" / file).read_bytes()
    saved = (tmp_path / "first" / "exchanges.jsonl").read_bytes()
    assert saved
    assert b"authorization" not in saved.lower()
    assert b"stainless" not in saved.lower()
    assert load_run(tmp_path / "first").lanes[0].steps[0].calls[1].observation == "17 degrees"


def test_a_refused_request_is_replayed_and_its_repetition_answered() -> None:
    (first, second) = parallel().exchanges
    refusal = Response(429, JSON_HEADERS, b'{"error": {"message": "slow down"}}', reason="Too Many Requests")
    pairs = [(first.request, refusal), (first.request, first.response)]
    pairs += [(second.request, refusal), (second.request, second.response)]
    case, replayed = judged(cassette(*pairs))
    assert (case.verdict, case.first_line) == (Verdict.PASS, "")
    assert (replayed.steps, replayed.tool_calls, replayed.planned_calls) == (4, 2, 2)
    errors = [step.error for lane in replayed.run.lanes for step in lane.steps if step.error]
    assert errors == ["HTTP 429: slow down"] * 2


def test_the_legacy_function_call_is_replayed() -> None:
    functions = [TOOLS[0]["function"]]
    asking = {"role": "assistant", "content": None, "function_call": {"name": "measure", "arguments": '{"place": "p"}'}}
    answer = {"role": "function", "name": "measure", "content": "14 degrees"}
    history = [SYSTEM, USER]
    recorded = cassette(
        (request(history, tools=None, functions=functions), plain(asking, "function_call")),
        (request([*history, asking, answer], tools=None, functions=functions), plain(says("Cool."))),
    )
    assert_passes(recorded, steps=2, calls=1)

    def empty(body: dict[str, Any]) -> None:
        body["messages"][2]["function_call"]["arguments"] = "[]"

    assert_fails(with_request(recorded, 1, empty), "arguments_differ", "exchange 0")

    def unanswered(body: dict[str, Any]) -> None:
        del body["messages"][3]

    assert_fails(with_request(recorded, 1, unanswered), "result_missing", "exchange 0")


def test_ids_that_the_agent_made_anew_are_its_right() -> None:
    recorded = with_response(
        parallel(),
        0,
        plain(asks({**MEASURE_A, "id": "functions.measure:0"}, {**MEASURE_B, "id": "functions.measure:1"})),
    )
    assert_passes(recorded, steps=2, calls=2)


@pytest.mark.parametrize("given_id", [None, ""], ids=["no id", "empty id"])
@both_ways
def test_calls_without_ids_get_those_that_the_agent_gave_them(stream: bool, given_id: str | None) -> None:
    answer = asks(*(call(given_id, "measure", entry["function"]["arguments"]) for entry in (MEASURE_A, MEASURE_B)))
    recorded = with_response(parallel(stream=stream), 0, streamed(answer) if stream else plain(answer))
    assert_passes(recorded, steps=2, calls=2)
    _, replayed = judged(recorded)
    assert [each.id for each in replayed.run.lanes[0].steps[0].calls] == ["call_a", "call_b"]
    assert [each.received_id for each in replayed.run.lanes[0].steps[0].calls] == [None, None]


def test_a_hallucinated_tool_name_is_replayed_with_the_agents_refusal() -> None:
    recorded = conversation(
        asks(call("call_w", "water_everything", '{"litres": 3}')),
        [result("call_w", "there is no such tool")],
        says("Sorry."),
    )
    assert_passes(recorded, steps=2, calls=1)


def test_arguments_that_break_the_schema_are_replayed_with_the_agents_refusal() -> None:
    recorded = conversation(
        asks(call("call_m", "measure", '{"place": 5}')), [result("call_m", "place is a text")], says("Sorry.")
    )
    assert_passes(recorded, steps=2, calls=1)


def test_a_recording_that_ends_with_open_calls_passes_and_says_so() -> None:
    recorded = conversation(asks(MEASURE_A))
    assert_passes(recorded, steps=1, calls=1)
    (lane,) = judged(recorded)[1].run.lanes
    assert (lane.outcome, lane.reason) == ("step_limit", "the recording ends while results are due")


def test_tools_are_those_of_each_request() -> None:
    def reword(body: dict[str, Any]) -> None:
        body["tools"][0]["function"]["description"] = "reads a thermometer"

    assert_passes(with_request(parallel(), 1, reword), steps=2, calls=2)


def test_the_same_tool_twice_is_named_and_replayed_as_it_was_sent() -> None:
    recorded = conversation(says("Hello."), tools=[tool("measure"), tool("measure")])
    assert_fails(recorded, "exchange 0 $.tools[1].function.name: tool_name_taken: 'measure'")
    assert judged(recorded)[1].drift == []


@pytest.mark.parametrize(
    ("tools", "fault"),
    [([5], "tool_without_function"), ([{"type": "function", "function": {}}], "tool_name"), ({}, "tools_not_a_list")],
)
def test_tools_that_no_provider_takes_are_a_fault_and_no_crash(tools: object, fault: str) -> None:
    assert_fails(conversation(says("Hello."), tools=tools), fault, "exchange 0 $.tools")


@pytest.mark.parametrize("change", [{"tools": None}, {"tools": []}], ids=["null", "empty"])
def test_tools_may_be_null_or_empty(change: dict[str, Any]) -> None:
    assert_passes(
        with_requests_from(conversation(says("Hello.")), 0, lambda body: body.update(change)), steps=1, calls=0
    )


def test_tools_that_the_provider_runs_itself_are_sent_as_they_are() -> None:
    search = {"type": "provider:web_search", "parameters": {"max_uses": 1}}
    for tools in ([search], [*TOOLS, search], [{"type": "custom", "custom": {"name": "measure"}}, *TOOLS]):
        recorded = conversation(asks(MEASURE_A), [result("call_a", "14 degrees")], says("Cold."), tools=tools)
        assert_passes(recorded, steps=2, calls=1)


PHOTO = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}}


def photographed(*parts: dict[str, Any]) -> dict[str, Any]:
    return {**result("call_a", ""), "content": [{"type": "text", "text": "14 degrees"}, *parts]}


@both_ways
def test_a_result_that_is_more_than_text_is_replayed_whole(stream: bool) -> None:
    recorded = conversation(
        asks(MEASURE_A, MEASURE_B),
        [photographed(PHOTO), result("call_b", "17 degrees")],
        asks(call("call_c", "list_plants", "{}")),
        [{**result("call_c", ""), "content": [PHOTO]}],
        says("Two ferns."),
        stream=stream,
    )
    assert_passes(recorded, steps=3, calls=3)
    _, replayed = judged(recorded)
    sent = replayed.run.exchanges[2].request.json()["messages"]
    assert (sent[3]["content"], sent[6]["content"]) == (photographed(PHOTO)["content"], [PHOTO])


def test_a_result_whose_picture_changes_later_is_drift() -> None:
    recorded = conversation(
        asks(MEASURE_A),
        [photographed(PHOTO)],
        asks(call("call_c", "list_plants", "{}")),
        [result("call_c", "fern")],
        says("A fern."),
    )
    other = {**PHOTO, "image_url": {"url": "data:image/png;base64,AAAA"}}
    changed = with_request(recorded, 2, lambda body: body["messages"][3].update(content=photographed(other)["content"]))
    assert_fails(changed, "exchange 2 $.messages[3].content", "drift in history")
    lost = with_request(recorded, 2, lambda body: body["messages"][3].update(content="14 degrees"))
    assert_fails(lost, "exchange 2 $.messages[3].content", "drift in history")


def test_a_chat_request_that_is_no_json_object_is_bad_input() -> None:
    broken = Exchange(Request("POST", "https://models.example/v1/chat/completions", (), b"[]"), Response(200))
    with pytest.raises(InputError, match="the request body is no JSON object"):
        replay_cassette(Cassette(Path("x.yaml"), "vcrpy", (broken,)), "x")


# --- malformed arguments: the pipeline sends {} where a model sent no JSON object, so an agent that does the same
# --- agrees with it, and one that sends the broken text back makes a request that a strict server refuses


@both_ways
def test_an_agent_that_sends_an_empty_object_back_for_broken_arguments_agrees_with_the_pipeline(stream: bool) -> None:
    broken = asks(call("call_m", "measure", '{"place": "north'))
    recorded = conversation(
        asks(call("call_m", "measure", "{}")),
        [result("call_m", "your arguments were cut")],
        says("Sorry."),
        stream=stream,
    )
    recorded = with_response(recorded, 0, streamed(broken) if stream else plain(broken))
    assert_passes(recorded, steps=2, calls=1)
    _, replayed = judged(recorded)
    assert replayed.notes == ["exchange 0: measure was called with arguments that are no JSON object"]
    (made,) = replayed.run.lanes[0].steps[0].calls
    assert made.parse_error is not None
    assert (made.arguments, made.observation) == ('{"place": "north', "your arguments were cut")


def test_an_agent_that_sends_broken_arguments_back_as_they_were_fails() -> None:
    recorded = conversation(
        asks(call("call_m", "measure", '{"place": "north')), [result("call_m", "broken")], says("Sorry.")
    )
    assert_fails(recorded, "exchange 1 $.messages[2].tool_calls[0].function.arguments: arguments_not_json")
    (found,) = judged(recorded)[1].drift
    assert found.drift.kind == "history"


def test_broken_arguments_at_the_token_limit_are_to_be_expected() -> None:
    asking = asks(call("call_m", "measure", '{"place": "north'))
    assert_passes(with_response(conversation(asking), 0, plain(asking, "length")), steps=1, calls=1)
    assert_fails(with_response(conversation(asking), 0, plain(asking)), "arguments_broken")


# --- controls: a damaged recording fails, and its first line names the damage


def swap_results(body: dict[str, Any]) -> None:
    messages = body["messages"]
    messages[3], messages[4] = messages[4], messages[3]


def drop_result(body: dict[str, Any]) -> None:
    del body["messages"][3]


def swap_result_ids(body: dict[str, Any]) -> None:
    first, second = body["messages"][3:5]
    first["tool_call_id"], second["tool_call_id"] = second["tool_call_id"], first["tool_call_id"]


def swap_call_ids(body: dict[str, Any]) -> None:
    first, second = body["messages"][2]["tool_calls"]
    first["id"], second["id"] = second["id"], first["id"]


@both_ways
def test_results_in_the_order_of_completion_fail(stream: bool) -> None:
    assert_fails(
        with_request(parallel(stream=stream), 1, swap_results),
        "exchange 1 $.messages[3]: results_out_of_order",
        "the result of 'call_b' stands where that of 'call_a' belongs",
        "order of completion",
    )


@both_ways
def test_a_dropped_result_fails(stream: bool) -> None:
    assert_fails(
        with_request(parallel(stream=stream), 1, drop_result),
        "exchange 1 $.messages[2]: result_missing: the call 'call_a' has no result",
    )


@pytest.mark.seed("W07")
@both_ways
def test_two_ids_swapped_in_the_tool_messages_fail(stream: bool) -> None:
    assert_fails(
        with_request(parallel(stream=stream), 1, swap_result_ids),
        "exchange 1",
        "results_out_of_order",
        "ids were swapped",
    )


@both_ways
def test_two_ids_swapped_in_the_assistant_message_fail(stream: bool) -> None:
    assert_fails(
        with_request(parallel(stream=stream), 1, swap_call_ids),
        "exchange 0 response tool_calls[0].id: ids_swapped",
        "'call_a'",
        "'call_b'",
    )


@both_ways
def test_two_ids_swapped_in_the_response_fail(stream: bool) -> None:
    swapped = asks({**MEASURE_A, "id": "call_b"}, {**MEASURE_B, "id": "call_a"})
    recorded = with_response(parallel(stream=stream), 0, streamed(swapped) if stream else plain(swapped))
    assert_fails(recorded, "exchange 0 response tool_calls[0].id: ids_swapped")


@both_ways
def test_an_empty_object_that_became_an_array_in_the_request_fails(stream: bool) -> None:
    def reencode(body: dict[str, Any]) -> None:
        body["messages"][2]["tool_calls"][0]["function"]["arguments"] = "[]"

    assert_fails(with_request(without_parameters(stream=stream), 1, reencode), "object_became_array", "'[]'", "'{}'")


@both_ways
def test_an_empty_object_that_became_an_array_in_the_response_fails(stream: bool) -> None:
    wrong = asks(call("call_l", "list_plants", "[]"))
    answer = streamed(wrong) if stream else plain(wrong)
    assert_fails(
        with_response(without_parameters(stream=stream), 0, answer),
        "exchange 0 response",
        "object_became_array",
        "'[]'",
    )
    last = conversation(asks(call("call_l", "list_plants", "{}")), stream=stream)
    assert_fails(with_response(last, 0, answer), "exchange 0 response", "object_became_array", "list_plants")


def test_an_array_that_is_no_text_in_the_response_fails() -> None:
    wrong = asks(call("call_l", "list_plants", ""))
    wrong["tool_calls"][0]["function"]["arguments"] = []
    assert_fails(with_response(without_parameters(), 0, plain(wrong)), "exchange 0 response", "object_became_array")


@both_ways
def test_an_empty_object_that_became_an_array_in_the_tools_fails(stream: bool) -> None:
    def reencode(body: dict[str, Any]) -> None:
        body["tools"][1]["function"]["parameters"]["properties"] = []

    assert_fails(
        with_requests_from(without_parameters(stream=stream), 0, reencode),
        "exchange 0 $.tools[1].function.parameters.properties: object_became_array",
        "re-encoded",
    )


def test_a_lost_fragment_fails_by_what_the_next_request_repeats() -> None:
    assert_fails(
        without_event(parallel(stream=True), 0, b'"orth"'),
        "exchange 0 response tool_calls[0].function.arguments: arguments_differ",
        "the answer lacks the fragment 'orth' (4 characters) at character 12",
    )


def test_a_lost_fragment_fails_in_a_last_turn_where_the_json_breaks() -> None:
    recorded = conversation(asks(MEASURE_A, MEASURE_B), stream=True)
    assert_passes(recorded, steps=1, calls=2)
    assert_fails(
        without_event(recorded, 0, rb'"arguments": ": \"s"'),
        "exchange 0 response tool_calls[1].function.arguments: arguments_broken",
        "a fragment was lost",
    )


def test_a_lost_brace_of_an_empty_object_is_no_agents_repair() -> None:
    recorded = with_response(without_parameters(), 0, plain(asks(call("call_l", "list_plants", "{"))))
    assert_fails(recorded, "arguments_differ", "the answer lacks the fragment '}'")


def _means(arguments: str) -> object:
    try:
        return json.loads(arguments)
    except ValueError:
        return None


ARGUMENTS = {"place": "north bed", "depth": [1, 22, 333], "note": 'säe "spät" 🌱'}


@given(data=st.data(), size=st.integers(1, 9))
@settings(max_examples=40, deadline=None)
def test_any_lost_fragment_fails(data: st.DataObject, size: int) -> None:
    asking = asks(call("call_m", "measure", json.dumps(ARGUMENTS, ensure_ascii=False)))
    tools = [tool("measure", {name: {} for name in ARGUMENTS})]
    recorded = conversation(asking, [result("call_m", "14")], says("Fine."), stream=True, tools=tools)
    recorded = with_response(recorded, 0, streamed(asking, size=size))
    events = [part + b"\n\n" for part in recorded.exchanges[0].response.body.split(b"\n\n") if part]
    lost = data.draw(st.integers(1, len(events) - 3), label="lost event")
    damaged = with_response(recorded, 0, stream_of([*events[:lost], *events[lost + 1 :]]))
    case, _ = judged(damaged)
    # White space between tokens may go missing without any difference to the call.
    if _means(damaged.exchanges[0].turn().tool_calls[0].arguments) == ARGUMENTS:
        assert case.verdict is Verdict.PASS
    else:
        assert case.verdict is Verdict.FAIL
        assert "exchange 0 response" in case.first_line
        assert "lacks the fragment" in case.first_line


@pytest.mark.seed("S03")
def test_a_stream_cut_before_its_finish_reason_fails() -> None:
    whole = parallel(stream=True)
    body = whole.exchanges[0].response.body
    end = body.index(event({}, "tool_calls"))
    for cut in (end, end - 40):
        recorded = with_response(whole, 0, stream_of([body[:cut]]))
        assert_fails(recorded, "exchange 0 response: answer_broken_off", "before a finish_reason or [DONE]")
        assert judged(recorded)[1].planned_calls == 0


def test_a_stream_with_an_unreadable_event_fails() -> None:
    damaged = streamed(says("Fine."))
    broken = stream_of([b"data: {broken\n\n", damaged.body])
    assert_fails(
        with_response(conversation(says("Fine."), stream=True), 0, broken),
        "exchange 0 response event 0: event_unreadable",
    )


@pytest.mark.parametrize("body", [b"", b"<html>busy</html>", plain(says("The south is warmer.")).body[:60]])
def test_an_answer_that_is_no_completion_fails(body: bytes) -> None:
    recorded = with_response(parallel(), 1, Response(200, JSON_HEADERS, body))
    assert_fails(recorded, "exchange 1 response: answer_unreadable")


def longer() -> Cassette:
    """Three steps, so that what the second says may be changed in the third."""
    return conversation(
        asks(MEASURE_A),
        [result("call_a", "14 degrees")],
        asks(MEASURE_B),
        [result("call_b", "17 degrees")],
        says("The south is warmer."),
    )


def test_a_result_that_changes_from_one_request_to_the_next_fails() -> None:
    def rewrite(body: dict[str, Any]) -> None:
        body["messages"][3]["content"] = "41 degrees"

    assert_passes(longer(), steps=3, calls=2)
    assert_fails(
        with_request(longer(), 2, rewrite),
        "exchange 2 $.messages[3].content: drift in history",
        '"41 degrees"',
        '"14 degrees"',
    )


def reword_system(body: dict[str, Any]) -> None:
    body["messages"][0]["content"] = "You look after an orchard."


def add_system(body: dict[str, Any]) -> None:
    body["messages"].insert(1, {"role": "system", "content": "Be brief."})


def drop_system(body: dict[str, Any]) -> None:
    del body["messages"][0]


@pytest.mark.parametrize("change", [reword_system, add_system, drop_system])
def test_a_system_prompt_that_changes_midway_fails_once(change: Callable[[dict[str, Any]], None]) -> None:
    recorded = with_requests_from(longer(), 1, change)
    assert_fails(recorded, "exchange 1 $.messages[", "drift in system")
    _, replayed = judged(recorded)
    assert [(found.exchange, found.drift.kind) for found in replayed.drift] == [(1, "system")]
    assert (len(replayed.run.lanes), replayed.steps, replayed.planned_calls) == (1, 3, 2)


def test_other_text_beside_the_call_than_the_model_sent_fails_in_words() -> None:
    recorded = with_response(parallel(), 0, plain(asks(MEASURE_A, MEASURE_B, text="Let me measure.")))
    assert_fails(
        recorded,
        "exchange 1 $.messages[2].content: drift in history",
        "the recorded agent repeats other text beside the calls of measure, measure than the model sent",
        'built "Let me measure."',
    )


def test_one_fault_is_one_finding_and_the_rest_is_still_compared() -> None:
    recorded = with_requests_from(longer(), 1, lambda body: body["messages"][3].update(content="changed"))
    recorded = with_request(recorded, 2, lambda body: body["messages"][5].update(content="changed"))
    # Requests 1 and 2 agree on both results, so nothing contradicts them.
    assert_passes(recorded, steps=3, calls=2)
    recorded = with_request(recorded, 2, lambda body: body["messages"][3].update(content="changed again"))
    _, replayed = judged(recorded)
    assert [(found.exchange, found.drift.path) for found in replayed.drift] == [(2, "$.messages[3].content")]


def test_the_document_of_a_replay_says_all_there_is() -> None:
    recorded = with_request(parallel(), 1, swap_results)
    case, replayed = judged(recorded)
    document = replay_document(replayed, case)
    assert {
        key: document[key] for key in ("path", "exchanges", "chat_exchanges", "tool_calls", "steps", "verdict")
    } == {
        "path": "greenhouse.yaml",
        "exchanges": 2,
        "chat_exchanges": 2,
        "tool_calls": 2,
        "steps": 2,
        "verdict": "FAIL",
    }
    faults = document["faults"]
    assert isinstance(faults, list)
    assert [(fault["code"], fault["where"]) for fault in faults] == [
        ("results_out_of_order", "exchange 1 $.messages[3]")
    ]
    json.dumps(document)


def test_replay_leaves_the_cassette_as_it_was() -> None:
    recorded = parallel(stream=True)
    before = copy.deepcopy(recorded)
    judged(recorded)
    assert recorded == before


def test_a_stream_under_no_or_a_wrong_content_type_is_replayed() -> None:
    recorded = parallel(stream=True)
    response = recorded.exchanges[0].response
    assert response.headers == STREAM_HEADERS
    for headers in ((), JSON_HEADERS):
        assert_passes(with_response(recorded, 0, replace(response, headers=headers)), steps=2, calls=2)


def test_a_missing_exchange_fails() -> None:
    first, _, third = longer().exchanges
    assert_fails(
        cassette((first.request, first.response), (third.request, third.response)),
        "exchange 1 $.messages[4]: turn_not_recorded",
        "no recorded exchange gave this answer",
    )


def test_a_system_prompt_that_changes_and_changes_back_stays_one_conversation() -> None:
    _, replayed = judged(with_request(longer(), 1, reword_system))
    assert [(found.exchange, found.drift.kind) for found in replayed.drift] == [(1, "system"), (2, "system")]
    assert len(replayed.run.lanes) == 1


def test_a_fault_that_stays_in_the_history_is_reported_once() -> None:
    recorded = with_requests_from(longer(), 1, lambda body: body["messages"].pop(3))
    _, replayed = judged(recorded)
    assert [(fault.code, fault.where) for fault in replayed.faults] == [("result_missing", "exchange 1 $.messages[2]")]


def test_two_results_under_one_id_belong_to_the_calls_in_their_order() -> None:
    recorded = conversation(
        asks(MEASURE_A, {**MEASURE_B, "id": "call_a"}),
        [result("call_a", "14 degrees"), result("call_a", "17 degrees")],
        says("Fine."),
    )
    assert_fails(recorded, "exchange 1 $.messages[2].tool_calls[1].id: id_used_twice")
    (lane,) = judged(recorded)[1].run.lanes
    assert [each.observation for each in lane.steps[0].calls] == ["14 degrees", "17 degrees"]


def test_a_call_that_cannot_be_planned_as_it_came_fails_by_the_counts() -> None:
    nameless = {"id": "call_a", "type": "function", "function": {"arguments": "{}"}}
    assert_fails(conversation(asks(nameless)), "every call planned with its name, id and arguments: 0 of 1")
