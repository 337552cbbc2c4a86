"""What is expected of each conversation of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from harness.judge.checks.batches import batches
from harness.judge.checks.budgets import budgets
from harness.judge.checks.calls import calls
from harness.judge.checks.counts import counts
from harness.judge.checks.elsewhere import says_where
from harness.judge.checks.offered import offered
from harness.judge.checks.values import count, text
from harness.judge.functions import Functions
from harness.judge.trajectory.made import Made, made_calls
from harness.judge.trajectory.modes import judge_trajectory
from harness.judge.verdict import Check, Verdict
from harness.scenario.expectations import ALL_LANES, Expectations, LaneExpectation
from harness.trace.run import Lane


def all_lanes(expect: Expectations, lanes: Sequence[Lane], functions: Functions) -> list[Check]:
    """The checks of the main conversation, which is the first, and of those of sub-agents that are named.

    Calls come before counts and texts, which follow from them: the first check that failed is what a person reads.
    """
    if not lanes:
        return [Check("lanes", Verdict.FAIL, "the run has no conversation")]
    checks = list(_lane(expect, lanes[0], lanes, functions))
    by_name = {lane.name: lane for lane in lanes[1:]}
    for name, wanted in expect.lanes.items():
        if name in by_name:
            found = _lane(wanted, by_name[name], lanes, functions)
            checks += [replace(check, where=f"lane {name} {check.where}".rstrip()) for check in found]
        else:
            known = ", ".join(by_name) or "none"
            checks.append(Check("lanes", Verdict.FAIL, f"there is no lane {name} (sub-agents: {known})", name, known))
    return checks


def _lane(expect: LaneExpectation, lane: Lane, lanes: Sequence[Lane], functions: Functions) -> Iterator[Check]:
    wanted_outcomes = [outcome.value for outcome in expect.outcomes]
    ended_well = lane.outcome in wanted_outcomes
    ended = "" if ended_well else f"the run ended as {lane.outcome}: {lane.reason}"
    verdict = Verdict.PASS if ended_well else Verdict.FAIL
    yield Check("outcome", verdict, ended, " or ".join(wanted_outcomes), lane.outcome)
    if expect.calls is not None:
        yield from calls(expect.calls, made_calls([lane]), functions)
    for trajectory in expect.trajectory:
        made = _calls_of(trajectory.lane, lane, lanes)
        yield _no_lane(trajectory.lane, lanes) if made is None else judge_trajectory(trajectory, made, functions)
    if expect.counts is not None:
        made = _calls_of(expect.counts.lane, lane, lanes)
        if made is None:
            yield _no_lane(expect.counts.lane, lanes)
        else:
            yield from counts(expect.counts, made, functions)
    if expect.batches is not None:
        yield from batches(expect.batches, lane.steps)
    for shown in expect.tools:
        yield offered(shown, lane.steps)
    if expect.budget is not None:
        yield from budgets(expect.budget, lane.steps)
    if expect.steps is not None:
        yield count("steps", "steps", expect.steps, len(lane.steps))
    yield from _texts(expect, lane)


def _calls_of(name: str | None, lane: Lane, lanes: Sequence[Lane]) -> list[Made] | None:
    """The calls that an expectation is about, those of its own lane by default; None where there is no such lane."""
    if name is None:
        return made_calls([lane])
    if name == ALL_LANES:
        return made_calls(lanes, name_lanes=True)
    found = [one for one in lanes if one.name == name]
    return made_calls(found, name_lanes=True) if found else None


def _no_lane(name: str | None, lanes: Sequence[Lane]) -> Check:
    known = ", ".join(lane.name for lane in lanes)
    return Check("lanes", Verdict.FAIL, f"there is no lane {name} (lanes: {known})", name or "", known)


def _texts(expect: LaneExpectation, lane: Lane) -> Iterator[Check]:
    if expect.reason is not None:
        yield text("reason", expect.reason, lane.reason)
    if expect.final_text is not None:
        yield says_where(text("final_text", expect.final_text, lane.final_text), expect.final_text, lane)
    if expect.notes is not None:
        yield text("notes", expect.notes, "\n".join(note for step in lane.steps for note in step.notes))
