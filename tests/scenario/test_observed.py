from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.judge.conversation_rules import conversation_findings
from harness.play.script import ScriptedCall, ScriptedTurn, render_turn
from harness.scenario.observed import Asked, observe
from harness.trace.run import Run
from harness.wire.exchange import Ending, Request, Response
from harness.wire.rules import check_request

URL = "http://harness.invalid/v1/chat/completions"
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}]

Message = dict[str, Any]


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def said(*calls: tuple[str, str], text: str | None = None) -> Message:
    """An assistant message with calls of ``look``: id and the text of its argument."""
    message: Message = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {"id": call_id, "type": "function", "function": {"name": "look", "arguments": arguments(at)}}
            for call_id, at in calls
        ]
    return message


def arguments(at: str) -> str:
    return json.dumps({"at": at})


def result(call_id: str, content: object) -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def turn(*calls: tuple[str, str], text: str | None = None) -> ScriptedTurn:
    scripted = tuple(ScriptedCall("look", arguments(at), call_id) for call_id, at in calls)
    return ScriptedTurn(text, scripted, "tool_calls" if calls else "stop")


def request(messages: list[Message], tools: object = TOOLS, **keys: object) -> Request:
    body = {"model": "m", "messages": messages, **({"tools": tools} if tools else {}), **keys}
    return Request("POST", URL, (), json.dumps(body).encode())


def asked(messages: list[Message], answer: ScriptedTurn | Response, tools: object = TOOLS, **keys: object) -> Asked:
    sent = request(messages, tools, **keys)
    response = answer if isinstance(answer, Response) else render_turn(answer, 0, sent.json())
    return Asked(sent, response)


def observed(*requests: Asked, prompt: str = "task") -> Run:
    run = Run("r", "scenario", "r.yaml")
    observe(run, requests, prompt)
    return run


def test_steps_have_calls_with_the_results_that_the_next_request_tells() -> None:
    start = [user("task")]
    more = [*start, said(("a", "x"), ("b", "y")), result("a", "X"), result("b", [{"type": "text", "text": "Y"}])]
    run = observed(asked(start, turn(("a", "x"), ("b", "y"))), asked(more, turn(text="Done.")))
    (lane,) = run.lanes
    assert (lane.name, lane.outcome, lane.final_text) == ("main", "answered", "Done.")
    first, last = lane.steps
    assert [(call.id, call.name, call.observation) for call in first.calls] == [("a", "look", "X"), ("b", "look", "Y")]
    assert first.tools == ("look",)
    assert (first.messages_sent, last.messages_sent) == (1, 4)
    assert [step.exchange for step in lane.steps] == [0, 1]
    assert len(run.exchanges) == 2
    assert [event["event"] for event in run.events] == ["request", "turn", "request", "turn"]


@given(st.data(), st.integers(1, 5), st.booleans())
def test_results_find_their_calls_whatever_order_and_ids_the_agent_gives_them(
    data: st.DataObject, count: int, rewritten: bool
) -> None:
    calls = [(f"c{n}", f"place {n}") for n in range(count)]
    ids = [f"new{n}" if rewritten else f"c{n}" for n in range(count)]
    order = data.draw(st.permutations(range(count)))
    repeated = [(ids[n], f"place {n}") for n in range(count)]
    more = [user("task"), said(*repeated), *(result(ids[n], f"result {n}") for n in order)]
    run = observed(asked([user("task")], turn(*calls)), asked(more, turn(text="Done.")))
    found = run.lanes[0].steps[0].calls
    assert [(call.received_id, call.id, call.observation) for call in found] == [
        (f"c{n}", ids[n], f"result {n}") for n in range(count)
    ]


def test_a_call_that_the_agent_drops_has_no_result() -> None:
    more = [user("task"), said(("b", "y")), result("b", "Y")]
    run = observed(asked([user("task")], turn(("a", "x"), ("b", "y"))), asked(more, turn(text="Done.")))
    assert [call.observation for call in run.lanes[0].steps[0].calls] == ["", "Y"]


def test_calls_in_their_old_form_have_results_too() -> None:
    legacy = {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": "{}"}}
    completion = {"choices": [{"index": 0, "message": legacy, "finish_reason": "function_call"}]}
    answer = Response(200, (("content-type", "application/json"),), json.dumps(completion).encode())
    more = [user("task"), legacy, {"role": "function", "name": "look", "content": "seen"}]
    run = observed(asked([user("task")], answer, None), asked(more, turn(text="Done."), None))
    (lane,) = run.lanes
    assert [(call.name, call.received_id, call.observation) for call in lane.steps[0].calls] == [("look", None, "seen")]
    assert lane.outcome == "answered"


def test_the_main_conversation_comes_first_also_where_a_title_is_asked_for_before_it() -> None:
    title = asked([{"role": "system", "content": "Find a title."}, user("task")], turn(text="A title"), None)
    helper = asked([user("another job")], turn(text="Helped."))
    main = asked([user("task")], turn(text="Done."))
    run = observed(title, helper, main)
    assert [(lane.name, lane.final_text) for lane in run.lanes] == [
        ("main", "Done."), ("lane-1", "A title"), ("lane-2", "Helped.")
    ]  # fmt: skip
    assert [lane.steps[0].exchange for lane in run.lanes] == [2, 0, 1]


def test_an_attempt_that_failed_and_was_made_again_is_a_step_of_the_same_lane() -> None:
    down = Response(503, (("content-type", "application/json"),), b'{"error": {"message": "overloaded"}}')
    cut = render_turn(ScriptedTurn("Do", finish_reason=None, done=False), 0, {"stream": True})
    start = [user("task")]
    again = asked(start, turn(("a", "x")), stream=True)
    more = asked([*start, said(("a", "x")), result("a", "X")], turn(text="Done."))
    run = observed(asked(start, down), asked(start, cut, stream=True), again, more)
    (lane,) = run.lanes
    assert [step.error for step in lane.steps] == [
        "HTTP 503: overloaded", "the answer broke off before its end", None, None
    ]  # fmt: skip
    assert [step.index for step in lane.steps] == [0, 1, 2, 3]
    assert lane.outcome == "answered"


def test_the_same_question_twice_with_whole_answers_is_two_conversations() -> None:
    run = observed(asked([user("task")], turn(text="One.")), asked([user("task")], turn(text="Two.")))
    assert [lane.final_text for lane in run.lanes] == ["One.", "Two."]


def test_a_branch_does_not_count_the_steps_it_shares_again() -> None:
    start, first = [user("task")], [user("task"), said(text="Hello."), user("and?")]
    run = observed(
        asked(start, turn(text="Hello.")),
        asked(first, turn(text="One.")),
        asked([user("task"), said(text="Hello."), user("or?")], turn(text="Two.")),
    )
    assert sorted(len(lane.steps) for lane in run.lanes) == [1, 2]
    assert sorted(step.exchange or 0 for lane in run.lanes for step in lane.steps) == [0, 1, 2]


@pytest.mark.parametrize(
    ("last", "outcome", "reason"),
    [
        (turn(("a", "x")), "unfinished", "the model called look, and the agent asked no more: no result was sent"),
        (ScriptedTurn("Do", finish_reason="length"), "cut", "the answer was cut at the token limit"),
        (Response(400, (), b'{"error": {"message": "no"}}'), "error", "HTTP 400: no"),
        (Response(502, (), b"<html>"), "error", "HTTP 502: the answer cannot be read"),
        (Response(200, (), b"", ending=Ending.TIMEOUT), "error", "HTTP 200: the answer cannot be read"),
        (turn(text="Done."), "answered", "the model answered without a call"),
    ],
)
def test_how_a_conversation_ends(last: ScriptedTurn | Response, outcome: str, reason: str) -> None:
    (lane,) = observed(asked([user("task")], last)).lanes
    assert lane.outcome == outcome
    assert lane.reason.startswith(reason)


def test_a_call_that_ends_the_work_is_an_answer() -> None:
    done = ScriptedTurn(None, (ScriptedCall("attempt_completion", '{"result": "All fixed."}', "a"),), "tool_calls")
    (lane,) = observed(asked([user("task")], done)).lanes
    assert (lane.outcome, lane.final_text) == ("answered", "All fixed.")
    shell = '{"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"}'
    done = ScriptedTurn("Bye.", (ScriptedCall("bash", shell, "a"),), "tool_calls")
    (lane,) = observed(asked([user("task")], done)).lanes
    assert (lane.outcome, lane.final_text) == ("answered", "Bye.")


def test_a_request_that_nothing_answers_ends_its_lane_as_a_miss() -> None:
    start = [user("task")]
    missed = Asked(request([*start, said(("a", "x")), result("a", "X")]), None, "nothing fits\n  details", miss=True)
    run = observed(asked(start, turn(("a", "x"))), missed)
    (lane,) = run.lanes
    assert (lane.outcome, lane.reason, len(lane.steps)) == ("miss", "nothing fits", 1)
    assert lane.steps[0].calls[0].observation == "X"
    assert run.events[-1] == {"lane": "main", "step": 1, "event": "miss", "text": "nothing fits\n  details"}


def test_a_first_request_that_nothing_answers_is_a_conversation_without_steps() -> None:
    (lane,) = observed(Asked(request([user("task")]), None, "nothing fits", miss=True)).lanes
    assert (lane.name, lane.outcome, lane.steps) == ("main", "miss", [])


def test_what_is_no_json_object_is_an_event_and_harms_nothing() -> None:
    odd = [Asked(Request("POST", URL, (), body), Response(400)) for body in (b"[1]", b"\xff", b"")]
    run = observed(*odd, asked([user("task")], turn(text="Done.")))
    assert [lane.outcome for lane in run.lanes] == ["answered"]
    assert [event["request"] for event in run.events if event["event"] == "unreadable_request"] == [0, 1, 2]
    assert run.lanes[0].steps[0].exchange == 3


def test_nothing_asked_is_a_run_without_lanes() -> None:
    assert observed().lanes == []


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "user", "assistant", "tool", "a", "{}", "["]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["role", "content", "tool_calls", "id", "function", "name", "arguments", "tool_call_id", "type"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
_BODIES = st.fixed_dictionaries({"model": _JSON, "messages": st.lists(_JSON, max_size=4) | _JSON, "tools": _JSON})
_ANSWERS = st.one_of(
    st.binary(max_size=20),
    st.fixed_dictionaries({"choices": st.lists(st.fixed_dictionaries({"message": _JSON}), max_size=1)}).map(
        lambda document: json.dumps(document).encode()
    ),
)


@given(st.lists(st.tuples(_BODIES, _ANSWERS, st.sampled_from([200, 400, 500]), st.booleans()), max_size=4))
def test_whatever_an_agent_sends_there_is_a_run(
    sent: list[tuple[dict[str, Any], bytes, int, bool]],
) -> None:
    requests = [
        Asked(
            Request("POST", URL, (), json.dumps(body).encode()),
            Response(status, (), answer) if answered else None,
            "" if answered else "nothing fits",
            miss=not answered,
        )
        for body, answer, status, answered in sent
    ]
    run = observed(*requests)
    conversation_findings(run)
    for body, *_ in sent:
        check_request(body)
    assert len(run.exchanges) == sum(answered for *_, answered in sent)
    steps = [step.exchange for lane in run.lanes for step in lane.steps]
    assert len(steps) == len(set(steps))
