"""The figures of one trial, and what is left open where the recording does not say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from harness.measure.prices import price_of_usage
from harness.measure.trial import measure_trial
from harness.measure.usage import RecordedUsage
from harness.trace.run import CallRecord, Run, Trial
from tests.judge.trials import call, run
from tests.measure.talks import talk, tool

USAGE = {"prompt_tokens": 90, "completion_tokens": 10}


def with_steps(tested: Run, **changes: Any) -> Run:
    """The run with something recorded in each step."""
    tested.lanes[0].steps[:] = [replace(step, **changes) for step in tested.lanes[0].steps]
    return tested


def test_calls_are_counted() -> None:
    read, broken = call("Read", {"path": "a", "n": 1}), call("Read", '{"path": ')
    same = call("Read", '{"n": 1, "path": "a"}')
    figures = measure_trial(run("t", [[read, broken], [same], [call("Edit", {})]]))
    assert (figures.steps, figures.calls, figures.malformed, figures.repeated, figures.parallel) == (4, 4, 1, 1, 2)


@pytest.mark.parametrize(
    ("kind", "status", "observation", "known", "failed"),
    [
        ("imported", "error", "x", 1, 1),
        ("imported", "success", "x", 1, 0),
        ("imported", "unknown", "x", 0, 0),
        ("imported", "missing", "", 0, 0),
        ("scenario", "partial", "x", 1, 0),
        ("replay", "success", "Error: no such file", 0, 0),
        ("replay", "success", '{"status": "error", "text": ""}', 1, 1),
        ("replay", "success", '{"status": "success"}', 1, 0),
        ("replay", "success", "[1]", 0, 0),
    ],
)
def test_errors_are_counted_among_the_results_that_tell(
    kind: str, status: str, observation: str, known: int, failed: int
) -> None:
    tested = run("t", [[call("Read", {})]])
    tested.kind = kind
    made: CallRecord = replace(tested.lanes[0].steps[0].calls[0], status=status, observation=observation)
    tested.lanes[0].steps[0] = replace(tested.lanes[0].steps[0], calls=(made,))
    figures = measure_trial(tested)
    assert (figures.known, figures.failed) == (known, failed)


def test_tokens_are_those_reported_in_every_step_or_none() -> None:
    tested = with_steps(run("t", [[call("Read")]]), usage=USAGE)
    assert measure_trial(tested).tokens == 200
    tested.lanes[0].steps[0] = replace(tested.lanes[0].steps[0], usage={"prompt_tokens": 90})
    assert measure_trial(tested).tokens is None
    assert measure_trial(run("t")).tokens is None


def test_the_price_is_the_recorded_one_else_that_of_the_list() -> None:
    tested = with_steps(run("t", [[call("Read")]]), usage=USAGE, model="gpt-4o")
    listed = price_of_usage("gpt-4o", RecordedUsage(prompt=90, completion=10))
    assert listed is not None
    figures = measure_trial(tested)
    assert figures.cost_usd == pytest.approx(2 * listed.total)
    assert figures.cost_listed
    assert tested.trial is not None
    # A recorder that knows no price writes 0.
    tested.trial = replace(tested.trial, cost_usd=0.0)
    assert measure_trial(tested).cost_listed
    by_step = measure_trial(with_steps(tested, cost_usd=0.5))
    assert by_step.cost_listed
    tested.trial = replace(tested.trial, cost_usd=None)
    assert (measure_trial(tested).cost_usd, measure_trial(tested).cost_listed) == (1.0, False)
    tested.trial = replace(tested.trial, cost_usd=0.75)
    assert (measure_trial(tested).cost_usd, measure_trial(tested).cost_listed) == (0.75, False)
    assert measure_trial(with_steps(run("t"), usage=USAGE, model="a-model-nobody-sells")).cost_usd is None
    assert measure_trial(run("t")).cost_usd is None


def test_the_time_is_the_trials_else_the_sum_of_the_steps() -> None:
    tested = with_steps(run("t", [[call("Read")]]), duration_s=1.5)
    assert measure_trial(tested).duration_s == 3.0
    tested.lanes[0].steps[0] = replace(tested.lanes[0].steps[0], duration_s=None)
    assert measure_trial(tested).duration_s is None
    tested.trial = Trial("t", 0, "m", duration_s=9.0)
    assert measure_trial(tested).duration_s == 9.0


def test_kept_exchanges_tell_schemas_and_times() -> None:
    exchanges = talk([[("read", "x")], []], [tool("read")], USAGE)
    tested = Run("t", "replay", "t.yaml", exchanges=exchanges)
    figures = measure_trial(tested)
    assert figures.duration_s == 0.5
    assert figures.tools_tokens is not None
    assert figures.counted_tokens is not None
    assert 0 < figures.tools_tokens < figures.counted_tokens
    assert figures.cost_listed
    untimed = [replace(each, response=replace(each.response, chunks=())) for each in exchanges]
    assert measure_trial(Run("t", "replay", "t.yaml", exchanges=untimed)).duration_s is None
    assert measure_trial(Run("t", "imported", "t.json")).tools_tokens is None
