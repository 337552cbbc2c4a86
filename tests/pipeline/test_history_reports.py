"""Bug reports of family D, and A13: what goes wrong with a history, each by its id."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import orjson
import pytest

from harness.cassette.canonical import Canonicalizer
from harness.pipeline.history import INTERRUPTED, History, HistoryError
from harness.pipeline.loop import LoopStatus
from harness.pipeline.result import ErrorCode, ToolResult, ToolStatus
from harness.pipeline.resuming import resumed
from harness.pipeline.tool import ToolKind
from harness.seams import SequentialIds
from harness.wire.exchange import Request
from harness.wire.rules import check_request
from tests.pipeline.playing import (
    JSON,
    Answers,
    Session,
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
from tests.pipeline.tools import WAIT_S, SmallTool, flat, orchestrator_with


def contents(messages: Any) -> list[Any]:
    return [message["content"] for message in messages if message["role"] == "tool"]


def valid(messages: list[dict[str, Any]]) -> bool:
    return check_request({"model": "m", "messages": messages}) == []


def reported(shared_dir: Path, report: str) -> list[dict[str, Any]]:
    """The messages that a bug report gives as its input."""
    for line in (shared_dir / "cases" / "bug-reports.jsonl").read_text().splitlines():
        entry = json.loads(line)
        if entry["id"] == report:
            messages: list[dict[str, Any]] = entry["input"]["messages"]
            return messages
    raise LookupError(report)


# A13: ids that are unique in their turn only


def reading() -> SmallTool:
    return SmallTool("Read", lambda given: ToolResult.success(f"content of {given['value']}"), kind=ToolKind.READ)


@pytest.mark.parametrize("streamed", [False, True])
def test_a13_an_id_that_comes_back_is_renamed_and_answered_with_its_own_result(streamed: bool) -> None:
    turns = [calling(call("Read", json.dumps({"value": path}), "Read:0")) for path in "abc"]
    result, bodies = held([*turns, saying()], reading(), stream=streamed)
    sent = bodies[-1]["messages"]
    ids = [entry["id"] for message in sent for entry in message.get("tool_calls", ())]
    assert ids[0] == "Read:0"
    assert len(set(ids)) == 3
    assert [message["tool_call_id"] for message in sent if message["role"] == "tool"] == ids
    assert [json.loads(text)["text"] for text in contents(sent)] == [f"content of {path}" for path in "abc"]
    assert [outcome_of(result, step).plans[0].received_id for step in range(3)] == ["Read:0"] * 3


def test_a13_an_id_of_a_compacted_turn_is_not_free_again() -> None:
    history = History([{"role": "user", "content": "go"}])
    turn = calling(call("Read", '{"value": "a"}', "Read:0"))
    with Session([turn, saying(), turn, saying()], reading(), history=history) as session:
        session.run()
        history.compact(0, "a was read")
        session.run()
    again = [entry["id"] for message in history.messages for entry in message.get("tool_calls", ())]
    assert again == ["call_fresh_0001"]


def test_a13_the_same_ids_can_be_kept_where_a_recording_has_them() -> None:
    turns = [calling(call("Read", json.dumps({"value": path}), "Read:0")) for path in "ab"]
    _, bodies = held([*turns, saying()], reading(), unique_ids=False)
    assert [message["tool_call_id"] for message in bodies[-1]["messages"] if message["role"] == "tool"] == [
        "Read:0",
        "Read:0",
    ]


@pytest.mark.corpus
def test_a13_a_saved_conversation_is_paired_within_its_turns(shared_dir: Path) -> None:
    history = resumed(reported(shared_dir, "A13"), SequentialIds())
    messages = history.messages
    ids = [message["tool_calls"][0]["id"] for message in messages if message["role"] == "assistant"]
    assert ids == ["read_file:0", "call_fresh_0001"]
    assert [(m["tool_call_id"], m["content"]) for m in messages if m["role"] == "tool"] == [
        ("read_file:0", "A"),
        ("call_fresh_0001", "B"),
    ]


# D05, D06, D12: errors in a parallel batch


@pytest.mark.parametrize("error", [KeyError(), TimeoutError()])
def test_d05_a_silent_error_is_answered_with_id_name_and_class(error: BaseException) -> None:
    def fail(given: dict[str, Any]) -> ToolResult:
        if given.get("value") == "b":
            raise error
        return ToolResult.success("ok")

    calls = [call("Read", json.dumps({"value": value}), f"call_{value}") for value in "abc"]
    result, bodies = held([calling(*calls), saying()], SmallTool("Read", fail, kind=ToolKind.READ))
    failed = outcome_of(result).observations[1]
    assert (failed.tool_call_id, failed.tool_name) == ("call_b", "Read")
    assert failed.result.text == f"Read raised {type(error).__name__}"
    assert [json.loads(text)["status"] for text in contents(bodies[1]["messages"])] == ["success", "error", "success"]


@pytest.mark.parametrize("kind", [ToolKind.READ, ToolKind.OTHER])
def test_d06_a_call_that_cancels_itself_fails_alone(kind: ToolKind) -> None:
    def run(given: dict[str, Any]) -> ToolResult:
        if given["value"] == "b":
            raise asyncio.CancelledError
        return ToolResult.success(given["value"])

    calls = [call("T", json.dumps({"value": value}), f"call_{value}") for value in "abc"]
    result, bodies = held([calling(*calls), saying()], SmallTool("T", run, kind=kind))
    assert result.status is LoopStatus.ANSWERED
    assert [item.result.status for item in outcome_of(result).observations] == [
        ToolStatus.SUCCESS,
        ToolStatus.ERROR,
        ToolStatus.SUCCESS,
    ]
    assert [json.loads(text)["text"] for text in contents(bodies[1]["messages"])][::2] == ["a", "c"]


@pytest.mark.parametrize("kind", [ToolKind.READ, ToolKind.OTHER])
@pytest.mark.parametrize("interrupted", [0, 1, 2])
def test_d06_an_interrupt_of_the_user_goes_on_up_after_the_results_are_filled_in(
    kind: ToolKind, interrupted: int
) -> None:
    together = threading.Barrier(3)

    def run(given: dict[str, Any]) -> ToolResult:
        if kind is ToolKind.READ:
            together.wait(WAIT_S)
        if given["value"] == "abc"[interrupted]:
            raise KeyboardInterrupt
        return ToolResult.success(given["value"])

    calls = [call("T", json.dumps({"value": value}), f"call_{value}") for value in "abc"]
    with Session([calling(*calls), saying()], SmallTool("T", run, kind=kind)) as session:
        with pytest.raises(KeyboardInterrupt):
            session.run()
        assert session.loop.history.open_calls == ()
        answers = [json.loads(text) for text in contents(session.loop.history.messages)]
        finished = {0, 1, 2} - {interrupted} if kind is ToolKind.READ else set(range(interrupted))
        for position, answer in enumerate(answers):
            if position in finished:
                assert answer["text"] == "abc"[position]
            else:
                assert answer["error"] == {"code": ErrorCode.CANCELLED, "message": INTERRUPTED}
        assert [record.error for record in session.records] == ["interrupted"]
        assert session.run(None).status is LoopStatus.ANSWERED


def test_d12_a_failing_call_leaves_its_siblings_their_results(tmp_path: Path) -> None:
    tools = [
        SmallTool("Read", lambda given: ToolResult.success(given["value"]), kind=ToolKind.READ),
        SmallTool("Bash", lambda _: ToolResult.error(ErrorCode.EXECUTION_ERROR, "exit code 1")),
    ]
    calls = [flat("Read", {"value": "a"}), flat("Bash"), flat("Read", {"value": "b"})]
    outcome = orchestrator_with(*tools).run(calls)
    assert [item.result.text for item in outcome.observations] == ["a", "exit code 1", "b"]
    assert [item.result.status for item in outcome.observations] == ["success", "error", "success"]


# D07: null, "" and absent content

VARIANTS: list[dict[str, Any]] = [
    {"role": "assistant", "content": None, "tool_calls": [flat("Read")]},
    {"role": "assistant", "content": "", "tool_calls": [flat("Read")]},
    {"role": "assistant", "tool_calls": [flat("Read")]},
]


def _with_call(variant: dict[str, Any]) -> dict[str, Any]:
    entry = {"id": "call_a", "type": "function", "function": {"name": "Read", "arguments": "{}"}}
    return {**variant, "tool_calls": [entry]}


def test_d07_content_beside_calls_goes_back_as_it_came() -> None:
    for variant in map(_with_call, VARIANTS):
        _, bodies = held(Answers(completion(variant), saying()), SmallTool("Read"))
        assert bodies[1]["messages"][1] == {"role": "assistant", **variant}


def test_d07_null_content_without_calls_is_sent_as_an_empty_text() -> None:
    with Session(Answers(completion({"content": None}, "stop"), saying()), SmallTool("Read")) as session:
        session.run()
        session.run("and?")
    assert session.bodies[1]["messages"][1] == {"role": "assistant", "content": ""}
    silent = {"role": "assistant", "content": None}
    assert resumed([{"role": "user", "content": "go"}, silent]).messages[1] == {"role": "assistant", "content": ""}


def test_d07_the_variants_are_one_request_to_a_cassette() -> None:
    def key(message: dict[str, Any]) -> bytes:
        answer = {"role": "tool", "tool_call_id": "call_a", "content": "x"}
        body = {"model": "m", "messages": [{"role": "user", "content": "go"}, message, answer]}
        request = Request("POST", "http://provider/v1/chat/completions", JSON, orjson.dumps(body))
        return Canonicalizer().canonical(request).key

    assert len({key(_with_call(variant)) for variant in VARIANTS}) == 1


# D08: fields beyond the protocol


def test_d08_reasoning_survives_storing_repairing_and_sending() -> None:
    thinking = {
        "role": "assistant",
        "content": None,
        "reasoning_content": "think 1",
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "T", "arguments": "{cut"}}],
    }
    _, bodies = held(Answers(completion(thinking), saying()), SmallTool("T"))
    assert bodies[1]["messages"][1]["reasoning_content"] == "think 1"
    again = resumed([{"role": "user", "content": "go"}, thinking])
    assert again.messages[1]["reasoning_content"] == "think 1"
    assert again.messages[1]["tool_calls"][0]["function"]["arguments"] == "{}"


def test_d08_streamed_reasoning_stays_out_of_content_and_arguments() -> None:
    function = {"name": "T", "arguments": '{"value":'}
    events: list[dict[str, Any] | str] = [
        {"role": "assistant", "reasoning_content": "think "},
        {"tool_calls": [{"index": 0, "id": "a", "type": "function", "function": function}]},
        {"reasoning_content": "more"},
        {"tool_calls": [{"index": 0, "function": {"arguments": ' "x"}'}}]},
        {"content": "said"},
        finishing("tool_calls"),
        "[DONE]",
    ]
    tool = SmallTool("T")
    _, bodies = held(Answers(stream(*events), saying()), tool, stream=True)
    message = bodies[1]["messages"][1]
    assert (message["content"], message["reasoning_content"]) == ("said", "think more")
    assert message["tool_calls"][0]["function"]["arguments"] == '{"value": "x"}'
    assert tool.runs == [{"value": "x"}]


# D09: arguments that do not parse


def test_d09_cut_arguments_do_not_poison_the_conversation() -> None:
    cut = '{"command":"git commit -m \\"x'
    turn = calling(call("Bash", cut, "call_a"))
    with Session([turn, saying("failed"), saying("again")], SmallTool("Bash")) as session:
        result = session.run()
        session.run("next")
    assert codes_of(result) == [ErrorCode.INVALID_PARAM]
    assert outcome_of(result).plans[0].raw_arguments == cut
    for body in session.bodies[1:]:
        entry, answer = body["messages"][1]["tool_calls"][0], body["messages"][2]
        assert (entry["function"]["arguments"], entry["id"], answer["tool_call_id"]) == ("{}", "call_a", "call_a")
        assert "not valid JSON" in answer["content"]


# D10: going on after an interruption


@pytest.mark.parametrize("ending", ["cut", "ctrl-c"])
def test_d10_going_on_after_a_stopped_stream_runs_nothing_twice(ending: str) -> None:
    create = SmallTool("create_doc")
    stopped: Any = stream({"content": "The doc"}) if ending == "cut" else KeyboardInterrupt()

    class Stopping(Answers):
        def answer(self, request: Any) -> Any:
            if self._answers and isinstance(self._answers[0], KeyboardInterrupt):
                self._answers.pop(0)
                raise KeyboardInterrupt
            return super().answer(request)

    player = Stopping(calling(call("create_doc")), stopped, saying("is there"))
    with Session(player, create, stream=True) as session:
        if ending == "cut":
            assert session.run().status is LoopStatus.ERROR
        else:
            with pytest.raises(KeyboardInterrupt):
                session.run()
        assert session.run(None).final_text == "is there"
    assert len(create.runs) == 1
    assert [message["role"] for message in session.bodies[-1]["messages"]] == ["user", "assistant", "tool"]


def test_d10_what_was_done_before_the_interrupt_in_the_same_step_is_kept() -> None:
    create = SmallTool("create_doc")

    def interrupt(_: object) -> ToolResult:
        raise KeyboardInterrupt

    turn = calling(call("create_doc", "{}", "call_a"), call("slow", "{}", "call_b"))
    with Session([turn, saying()], create, SmallTool("slow", interrupt)) as session:
        with pytest.raises(KeyboardInterrupt):
            session.run()
        session.run("go on")
    first, second = (json.loads(text) for text in contents(session.bodies[-1]["messages"]))
    assert (first["status"], second["error"]["message"]) == ("success", INTERRUPTED)
    assert len(create.runs) == 1


def test_d10_a_saved_conversation_that_was_interrupted_can_be_gone_on_with() -> None:
    history = History()
    turn = calling(call("create_doc", "{}", "call_a"), call("slow", "{}", "call_b"))
    with Session([turn, saying()], SmallTool("create_doc"), SmallTool("slow"), history=history) as session:
        session.run()
    saved = history.messages[:3]
    with Session([saying("done")], history=resumed(saved)) as session:
        session.run("go on")
    messages = session.bodies[0]["messages"]
    assert contents(messages)[1:] == [INTERRUPTED]
    assert messages[-1] == {"role": "user", "content": "go on"}


# D11: answers without an id


@pytest.mark.corpus
def test_d11_answers_that_may_be_of_several_calls_are_refused(shared_dir: Path) -> None:
    with pytest.raises(HistoryError, match=r"\$\.messages\[1\]: an answer without tool_call_id, and 2 calls"):
        resumed(reported(shared_dir, "D11"))


@pytest.mark.corpus
def test_d11_an_answer_that_can_only_be_of_one_call_is_recovered(shared_dir: Path) -> None:
    asked, _, for_a = reported(shared_dir, "D11")
    known = {"role": "tool", "tool_call_id": "b", "content": "for b"}
    for answers in ([known, for_a], [for_a, known]):
        messages = resumed([asked, *answers]).messages
        assert [(m["tool_call_id"], m["content"]) for m in messages[1:]] == [("a", "for a"), ("b", "for b")]
        assert valid(messages)


def test_d11_the_loop_never_guesses_because_pairing_is_by_position() -> None:
    calls = [call("Read", json.dumps({"value": value}), None) for value in "ab"]
    _, bodies = held([calling(*calls), saying()], reading())
    sent = bodies[1]["messages"]
    assert [message["tool_call_id"] for message in sent[2:]] == [entry["id"] for entry in sent[1]["tool_calls"]]
    assert [json.loads(text)["text"] for text in contents(sent)] == ["content of a", "content of b"]
