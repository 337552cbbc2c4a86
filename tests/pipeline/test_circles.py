from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.pipeline.circles import LONGEST_CIRCLE, CircleDetector
from harness.pipeline.orchestrator import ToolCallPlan
from harness.pipeline.result import ToolResult
from tests.pipeline.tools import SmallTool, flat, orchestrator_with, plan


def told(detector: CircleDetector, *steps: list[ToolCallPlan]) -> list[str | None]:
    return [detector.next_step(step) for step in steps]


def read(path: str) -> list[ToolCallPlan]:
    return [plan("Read", json.dumps({"path": path}))]


def test_the_same_call_is_stopped_when_it_is_about_to_be_made_once_more_than_allowed() -> None:
    *fine, stopped = told(CircleDetector(), *[read("a")] * 4)
    assert fine == [None] * 3
    assert stopped == 'the same calls 3 times in a row: Read({"path": "a"})'


def test_a_circle_of_several_steps_is_named_in_its_order() -> None:
    steps = [read("a"), read("b"), read("c")] * 3
    *fine, stopped = told(CircleDetector(), *steps, read("a"))
    assert fine == [None] * 9
    assert stopped is not None
    assert stopped.endswith('Read({"path": "b"}) -> Read({"path": "c"}) -> Read({"path": "a"})')


def test_other_ids_and_another_order_of_keys_do_not_hide_a_circle() -> None:
    one = plan("Grep", '{"pattern": "a", "path": "b"}', "call_1")
    other = plan("Grep", '{"path":"b","pattern":"a"}', "call_2")
    assert told(CircleDetector(1), [one], [other])[1] is not None


def test_broken_arguments_go_in_a_circle_too() -> None:
    orchestrator = orchestrator_with()

    def step(arguments: str) -> list[ToolCallPlan]:
        return orchestrator.plan_tool_calls([{"name": "Write", "arguments": arguments}])

    assert told(CircleDetector(2), *[step('{"cut')] * 3)[2] == 'the same calls 2 times in a row: Write({"cut)'
    assert told(CircleDetector(2), step('{"a'), step('{"b'), step('{"c'), step("{}")) == [None] * 4


@pytest.mark.parametrize(
    "different",
    [
        [read("a"), read("a"), read("b"), read("a"), read("a"), read("b"), read("c")],
        [read("a"), read("a"), [plan("Grep", '{"path": "a"}')], read("a"), read("a")],
        [read("a"), [*read("a"), *read("a")], read("a"), [*read("a"), *read("a"), *read("a")]],
    ],
)
def test_steps_that_differ_are_no_circle(different: list[list[ToolCallPlan]]) -> None:
    assert told(CircleDetector(), *different) == [None] * len(different)


def test_work_that_goes_on_after_a_few_repeats_is_not_stopped() -> None:
    steps = [read("a")] * 3 + [read("b")] * 3 + [read("a")] * 3
    assert told(CircleDetector(), *steps) == [None] * 9


def test_g01_long_arguments_are_compared_whole_and_shown_in_part() -> None:
    def step(end: str) -> list[ToolCallPlan]:
        return [plan("Write", json.dumps({"text": "x" * 100_000 + end}))] * 3

    *fine, stopped = told(CircleDetector(), *[step("a")] * 4)
    assert fine == [None] * 3
    assert stopped is not None
    assert len(stopped) < 500
    assert 'Write({"text": "xxx' in stopped
    assert "bytes shown" in stopped
    assert told(CircleDetector(), *map(step, "abcdefgh")) == [None] * 8


def test_g01_half_a_surrogate_pair_in_broken_arguments_can_be_compared_and_shown() -> None:
    (broken,) = orchestrator_with().plan_tool_calls([{"name": "Write", "arguments": '{"\ud800'}])
    stopped = told(CircleDetector(1), [broken], [broken])[1]
    assert stopped is not None
    stopped.encode("utf-8")


def test_g01_circles_are_counted_until_a_reset() -> None:
    detector = CircleDetector(1)
    told(detector, *[read("a")] * 3)
    assert detector.found == 2
    detector.reset()
    assert detector.found == 0
    assert told(detector, read("a"), read("a"))[0] is None
    assert detector.found == 1


def test_g02_g03_only_the_calls_are_compared_never_their_results() -> None:
    clock = SmallTool("Bash", lambda _: ToolResult.success("Mon 30 Nov"))
    orchestrator, detector = orchestrator_with(clock), CircleDetector()
    answers = []
    for _ in range(4):
        plans = orchestrator.plan_tool_calls([flat("Bash", {"value": "date"})])
        answers.append(detector.next_step(plans))
        orchestrator.run_plans(plans)
    assert [answer is None for answer in answers] == [True] * 3 + [False]


def test_a_circle_is_at_least_one_repetition() -> None:
    with pytest.raises(ValueError, match="limit is 0"):
        CircleDetector(0)


@settings(deadline=None)
@given(
    st.lists(st.sampled_from("abcde"), max_size=6),
    st.lists(st.sampled_from("abcde"), min_size=1, max_size=LONGEST_CIRCLE),
    st.integers(1, 4),
)
def test_every_short_circle_is_found_at_the_latest_when_it_begins_once_more(
    before: list[str], circle: list[str], limit: int
) -> None:
    detector = CircleDetector(limit)
    answers = told(detector, *map(read, before), *map(read, circle * limit), read(circle[0]))
    assert any(answers)


@settings(deadline=None)
@given(st.lists(st.integers(0, 3), max_size=20), st.integers(2, 4))
def test_nothing_is_called_a_circle_that_is_none(numbers: list[int], limit: int) -> None:
    answers = told(CircleDetector(limit), *(read(str(number)) for number in numbers))

    def repeats(end: int, length: int) -> bool:
        recent: list[Any] = numbers[: end + 1][-(length * limit + 1) :]
        return len(recent) == length * limit + 1 and all(
            recent[position] == recent[position % length] for position in range(len(recent))
        )

    for end, answer in enumerate(answers):
        assert bool(answer) is any(repeats(end, length) for length in range(1, LONGEST_CIRCLE + 1))
