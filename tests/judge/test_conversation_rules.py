from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.judge.checks import judge_scenario
from harness.judge.conversation_rules import Finding, conversation_findings
from harness.judge.verdict import Verdict
from harness.play.script import ScriptedCall, ScriptedTurn, render_turn
from harness.scenario.expectations import CHANGES, NOTED_CHANGES
from harness.scenario.observed import Asked, observe
from harness.scenario.runner import run_scenario
from harness.trace.run import Run
from harness.wire.exchange import Request
from tests.scenario.agents.playing import function, task

URL = "http://harness.invalid/v1/chat/completions"
Body = dict[str, Any]


def tool(name: str, description: str = "") -> Body:
    return {"type": "function", "function": {"name": name, "description": description, "parameters": {}}}


def turn(text: str | None, *calls: tuple[str, str, str]) -> ScriptedTurn:
    return ScriptedTurn(text, tuple(ScriptedCall(name, arguments, call_id) for call_id, name, arguments in calls))


def repeated(given: ScriptedTurn) -> Body:
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in given.calls
    ]
    return {"role": "assistant", "content": given.text, **({"tool_calls": calls} if calls else {})}


ONE = turn("Let me look.", ("a", "look", '{"at": "x"}'), ("b", "look", '{"at": "y"}'))
TWO = turn("And again.", ("c", "look", '{"at": "z", "deep": true}'))
END = turn("Done.")


def bodies() -> list[Body]:
    """Three requests of an agent that changes nothing."""
    start: list[Body] = [{"role": "system", "content": "Be brief. " * 20}, {"role": "user", "content": "task"}]
    second = [*start, repeated(ONE), *({"role": "tool", "tool_call_id": i, "content": i.upper()} for i in "ab")]
    third = [*second, repeated(TWO), {"role": "tool", "tool_call_id": "c", "content": "C"}]
    tools = [tool("look"), tool("write")]
    made = [{"model": "m", "messages": messages, "tools": tools} for messages in (start, second, third)]
    unshared: list[Body] = json.loads(json.dumps(made))
    return unshared


def answered(body: Body, answer: ScriptedTurn) -> Asked:
    return Asked(Request("POST", URL, (), json.dumps(body).encode()), render_turn(answer, 0, body))


def findings(requests: list[Body], turns: tuple[ScriptedTurn, ...] = (ONE, TWO, END)) -> list[Finding]:
    run = Run("r", "scenario", "r.yaml")
    observe(run, [answered(body, answer) for body, answer in zip(requests, turns, strict=True)], "task")
    assert len(run.lanes) == 1
    return conversation_findings(run)


def test_an_agent_that_changes_nothing_has_no_findings() -> None:
    assert findings(bodies()) == []


def test_the_same_arguments_in_another_spelling_and_marks_for_caching_are_no_findings() -> None:
    requests = bodies()
    for request in requests[1:]:
        request["messages"][2]["tool_calls"][0]["function"]["arguments"] = '{ "at" : "x" }'
        request["messages"][2]["content"] = [{"type": "text", "text": "Let me look."}]
    requests[2]["messages"][1]["cache_control"] = {"type": "ephemeral"}
    assert findings(requests) == []


Change = Callable[[list[Body]], None]


def _arguments(requests: list[Body]) -> None:
    for request in requests[1:]:
        request["messages"][2]["tool_calls"][1]["function"]["arguments"] = '{"at": "Y"}'


def _renamed(requests: list[Body]) -> None:
    for request in requests[1:]:
        request["messages"][2]["tool_calls"][0]["function"]["name"] = "Look"


def _dropped(requests: list[Body]) -> None:
    for request in requests[1:]:
        del request["messages"][2]["tool_calls"][0]
        del request["messages"][3]


def _added(requests: list[Body]) -> None:
    more = {"id": "n", "type": "function", "function": {"name": "write", "arguments": "{}"}}
    for request in requests[1:]:
        request["messages"][2]["tool_calls"].append(more)
        request["messages"].insert(5, {"role": "tool", "tool_call_id": "n", "content": ""})


def _reordered(requests: list[Body]) -> None:
    for request in requests[1:]:
        request["messages"][2]["tool_calls"].reverse()
        request["messages"][3:5] = reversed(request["messages"][3:5])


def _ids(requests: list[Body]) -> None:
    for request in requests[1:]:
        request["messages"][2]["tool_calls"][0]["id"] = "fresh"
        request["messages"][3]["tool_call_id"] = "fresh"


def _text(requests: list[Body]) -> None:
    for request in requests[1:]:
        request["messages"][2]["content"] = "I look."


def _tool_described(requests: list[Body]) -> None:
    requests[2]["tools"][1] = tool("write", "Write a file")


def _tool_gone(requests: list[Body]) -> None:
    del requests[2]["tools"][1]


def _history(requests: list[Body]) -> None:
    requests[2]["messages"][3]["content"] = "(cleared)"


@pytest.mark.parametrize(
    ("change", "kind", "where", "message"),
    [
        (_arguments, "arguments_changed", "step 2 $.messages[2].tool_calls[1].function.arguments",
         'look: $.at was "y" from the model and is "Y" in the request'),
        (_renamed, "call_renamed", "step 2 $.messages[2].tool_calls[0].function.name",
         "the model called 'look', the request says 'Look'"),
        (_dropped, "call_dropped", "step 2 $.messages[2]",
         'the model called look({"at": "x"}), the request does not have the call'),
        (_added, "call_added", "step 2 $.messages[2].tool_calls[2]",
         "the model did not call write, the request says it did"),
        (_reordered, "calls_reordered", "step 2 $.messages[2].tool_calls",
         "the calls stand in another order than the model made them in"),
        (_ids, "ids_rewritten", "step 2 $.messages[2].tool_calls[0].id",
         "the model's id is 'a', the request has 'fresh'"),
        (_text, "text_changed", "step 2 $.messages[2].content",
         "the model said 'Let me look.', the request says 'I look.'"),
        (_tool_described, "tools_changed", "step 3 $.tools[1]",
         "write is defined in another way; a prompt cache ends at token "),
        (_tool_gone, "tools_changed", "step 3 $.tools[1]",
         "write is no longer offered; a prompt cache ends at token "),
        (_history, "history_changed", "step 3 $.messages[3].content",
         'the tool message was "A" in the request before and is "(cleared)"; a prompt cache ends at token '),
    ],
)  # fmt: skip
def test_each_change_is_found_at_its_place(change: Change, kind: str, where: str, message: str) -> None:
    requests = bodies()
    change(requests)
    (found,) = findings(requests)
    assert (found.kind, found.where) == (kind, where)
    assert found.message.startswith(message)
    assert found.violation is (kind in CHANGES)
    assert found.violation or kind in NOTED_CHANGES


def test_where_the_prompt_cache_ends_is_the_token_before_the_change() -> None:
    early, late = bodies(), bodies()
    early[2]["messages"][0]["content"] = "Be long."
    _history(late)
    tokens = []
    for requests in (early, late):
        (found,) = [one for one in findings(requests) if one.kind == "history_changed"]
        kept, _, total = found.message.rpartition("ends at token ")[2].partition(" of ")
        tokens.append((int(kept), int(total)))
    assert tokens[0][0] < tokens[1][0] < tokens[1][1]


def test_a_history_that_begins_again_is_noted_where_a_run_has_it_in_one_lane() -> None:
    whole, short = bodies()[1:]
    summary = {"role": "user", "content": "What has happened: you looked."}
    short["messages"] = [short["messages"][0], summary, short["messages"][5]]
    run = Run("r", "scenario", "r.yaml")
    observe(run, [answered(whole, TWO), answered(short, END)])
    first, second = run.lanes
    first.steps.append(replace(second.steps[0], index=1))
    run.lanes = [first]
    (found, *_) = conversation_findings(run)
    assert (found.kind, found.violation) == ("history_shrunk", False)
    assert found.message.startswith("the history has 2 messages less than in the request before")


def test_arguments_that_are_no_json_may_be_repaired() -> None:
    broken = turn(None, ("a", "look", '{"at": "x"'))
    start = bodies()[0]
    mended = repeated(turn(None, ("a", "look", "{}")))
    second = {**start, "messages": [*start["messages"], mended, {"role": "tool", "tool_call_id": "a", "content": "no"}]}
    (found,) = findings([start, second], (broken, END))
    assert (found.kind, found.violation) == ("arguments_repaired", False)


def test_a_lost_answer_is_noted() -> None:
    start = bodies()[0]
    second = {**start, "messages": [*start["messages"], {"role": "assistant", "content": None}]}
    kinds = [found.kind for found in findings([start, second], (turn("Hello."), END))]
    assert kinds == ["text_changed"]


def cut(body: Body, answer: ScriptedTurn) -> Asked:
    asked = answered({**body, "stream": True}, replace(answer, finish_reason=None, done=False))
    assert asked.response is not None
    return asked


def test_a_call_of_an_answer_that_broke_off_must_not_be_used() -> None:
    first, second, _ = bodies()
    run = Run("r", "scenario", "r.yaml")
    observe(run, [cut(first, ONE), answered(second, END)], "task")
    found = conversation_findings(run)
    assert [(one.kind, one.where, one.violation) for one in found] == [
        ("incomplete_call_used", "step 2 $.messages[2].tool_calls[0]", True),
        ("incomplete_call_used", "step 2 $.messages[2].tool_calls[1]", True),
    ]
    assert found[0].message == "the answer broke off, and its call of look is in the next request all the same"


def test_an_answer_that_broke_off_may_be_asked_for_again() -> None:
    first, second, third = bodies()
    run = Run("r", "scenario", "r.yaml")
    observe(run, [cut(first, ONE), answered(first, ONE), answered(second, TWO), answered(third, END)], "task")
    assert conversation_findings(run) == []


@given(st.lists(st.sampled_from([_arguments, _renamed, _ids, _text, _tool_gone, _history]), unique=True))
def test_findings_do_not_hide_each_other(changes: list[Change]) -> None:
    requests = bodies()
    for change in changes:
        change(requests)
    assert len(findings(requests)) == len(changes)


AGENT = """
import json

def run(context):
    client = context.openai_client()
    messages = [{{"role": "user", "content": context.prompt}}]
    tools = [{{"type": "function", "function": {{"name": "look", "parameters": {{"type": "object", "properties": {{}}}}}}}}]
    message = client.chat.completions.create(model="m", messages=messages, tools=tools).choices[0].message
    told = message.model_dump(exclude_none=True)
    told["tool_calls"][0]["function"]["arguments"] = json.dumps({told})
    messages += [told, {{"role": "tool", "tool_call_id": told["tool_calls"][0]["id"], "content": "seen"}}]
    {then}
    client.chat.completions.create(model="m", messages=messages, tools=tools)
"""  # noqa: E501
LOOK = "script: [{calls: [{tool: look, arguments: {at: x}}]}, {text: Done.}]"


@pytest.mark.parametrize(
    ("told", "then", "expect", "verdict", "first_line"),
    [
        ('{"at": "x"}', "pass", "steps: 2", Verdict.PASS, ""),
        ('{"at": "y"}', "pass", "steps: 2", Verdict.FAIL,
         'step 2 $.messages[1].tool_calls[0].function.arguments: arguments_changed: look: $.at was "x" from the model'),
        ('{"at": "y"}', "pass", "steps: 2\nprotocol: {without: [arguments_changed]}", Verdict.PASS, ""),
        ('{"at": "y"}', "pass", "steps: 2\nprotocol: false", Verdict.PASS, ""),
        ('{"at": "x"}', "tools = []", "steps: 2", Verdict.PASS, ""),
        ('{"at": "x"}', "tools.append({'type': 'function', 'function': {'name': 'b'}})",
         "steps: 2\nprotocol: {strict: [tools_changed]}", Verdict.FAIL,
         "step 2 $.tools[1]: tools_changed: b is offered too"),
    ],
)  # fmt: skip
def test_violations_fail_and_notes_where_they_are_strict(
    told: str, then: str, expect: str, verdict: Verdict, first_line: str, tmp_path: Any
) -> None:
    (tmp_path / "agent.py").write_text(AGENT.format(told=told, then=then))
    outcome = run_scenario(task("python: agent.py:run", LOOK, expect, tmp_path / "t.yaml"))
    case = judge_scenario(outcome, "t.yaml")
    assert case.verdict is verdict, case.first_line
    assert case.first_line.startswith(first_line)


def test_notes_are_marked_in_every_output() -> None:
    given = task(function("sync_agent"), "script: [{text: Hello.}]", "final_text: Hello.")
    assert "marks" not in judge_scenario(run_scenario(given), "t.yaml").facts
