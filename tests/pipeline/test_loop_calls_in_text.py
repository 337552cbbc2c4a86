"""A38 in the loop: a call that the model wrote into its text."""

from __future__ import annotations

import pytest

from harness.pipeline.loop import LoopStatus
from tests.pipeline.playing import call, calling, held, saying
from tests.pipeline.tools import SmallTool

XML = '<tool_call>\n{"name":"Read","arguments":{}}\n</tool_call>'
BARE = '{"name": "Read", "arguments": {}}'
PROSE = f"Example of a call: {BARE} - do you want it?"


@pytest.mark.parametrize("text", [XML, BARE])
@pytest.mark.parametrize("streamed", [False, True])
def test_a38_a_call_in_text_is_not_run_and_the_model_is_asked_once_more(text: str, streamed: bool) -> None:
    tool = SmallTool("Read")
    result, bodies = held([saying(text), saying(text)], tool, stream=streamed)
    assert (result.status, result.final_text) == (LoopStatus.CALL_IN_TEXT, text)
    assert [len(body["messages"]) for body in bodies] == [1, 3]
    assert bodies[1]["messages"][1]["content"] == text
    assert "was not run" in bodies[1]["messages"][2]["content"]


def test_a38_the_call_sent_afterwards_runs_and_later_leaks_are_told_again() -> None:
    script = [saying(XML), calling(call("Read")), saying(XML), saying("done")]
    result, bodies = held(script, SmallTool("Read"))
    assert (result.status, result.final_text, len(bodies)) == (LoopStatus.ANSWERED, "done", 4)
    assert [len(step.outcome.observations) if step.outcome else 0 for step in result.steps] == [0, 1, 0, 0]


@pytest.mark.parametrize("limit", [0, 2])
def test_a38_how_often_is_a_setting(limit: int) -> None:
    result, bodies = held([saying(XML)] * 5, SmallTool("Read"), call_in_text_limit=limit)
    assert (result.status, len(bodies)) == (LoopStatus.CALL_IN_TEXT, limit + 1)


def test_a38_prose_about_a_call_is_an_answer() -> None:
    result, _ = held([saying(PROSE)], SmallTool("Read"))
    assert (result.status, result.final_text) == (LoopStatus.ANSWERED, PROSE)
