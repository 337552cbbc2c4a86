"""Checks of a pipeline under test: its invariants, what came to its tools, whether it decides the same again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from harness.judge.functions import BrokenCheckError, Functions
from harness.judge.invariants import INVARIANTS, breaches, decided, differ
from harness.judge.verdict import Check, Verdict
from harness.pipeline.file_versions import EXPECTED_KEYS
from harness.scenario.pipeline_expectation import PipelineExpectation, ToolRunExpectation
from harness.scenario.runner import ScenarioRun, run_scenario
from harness.scenario.tool_watch import SeenStep, ToolRun


def pipeline_checks(expect: PipelineExpectation, outcome: ScenarioRun, functions: Functions) -> Iterator[Check]:
    """What was expected of the pipeline, check by check."""
    if outcome.pipeline_facts is None:
        yield Check("pipeline", Verdict.ERROR, "only the built-in pipeline, or one in its place, can be looked into")
        return
    for name in expect.holds:
        if name not in INVARIANTS:
            yield Check(f"holds {name}", Verdict.ERROR, f"{name} is no invariant ({', '.join(INVARIANTS)})")
            continue
        found = list(breaches(outcome.seen, outcome.pipeline_facts, [name]))
        for breach in found:
            yield Check(f"holds {name}", Verdict.FAIL, breach.text, where=f"step {breach.step + 1}")
        if not found:
            yield Check(f"holds {name}", Verdict.PASS)
    if expect.runs is not None:
        yield _runs(expect.runs, [run for step in outcome.seen for run in step.runs])
    for name in expect.oracles:
        yield _oracle(name, outcome.seen, functions)
    if expect.again:
        yield _again(expect.again, outcome)


def _runs(expected: Sequence[ToolRunExpectation], runs: Sequence[ToolRun]) -> Check:
    """All runs of tools, in any order; what the lock adds to a call's parameters is left out of account."""
    left = [(run.tool, run.parameters) for run in runs]
    missing: list[str] = []
    for wanted in expected:
        match = next((one for one in left if _is(wanted, *one)), None)
        if match is None:
            missing.append(f"{wanted.tool} with {_text(wanted.parameters)}")
        else:
            left.remove(match)
    surplus = [f"{tool} ran with {_text(parameters)}" for tool, parameters in left]
    problems = [*(f"no run of {one}" for one in missing), *surplus]
    said = "; ".join(f"{one.tool} {_text(one.parameters)}" for one in expected) or "no run"
    found = "; ".join(f"{run.tool} {_text(run.parameters)}" for run in runs) or "no run"
    return Check("runs", Verdict.FAIL if problems else Verdict.PASS, "; ".join(problems), said, found)


def _is(wanted: ToolRunExpectation, tool: str, parameters: dict[str, object]) -> bool:
    if wanted.tool != tool or wanted.parameters is None:
        return wanted.tool == tool
    own = {key: part for key, part in parameters.items() if key not in EXPECTED_KEYS or key in wanted.parameters}
    return _text(own) == _text(wanted.parameters)


def _text(parameters: object) -> str:
    """Equal for parameters that are equal as JSON, true and 1 told apart."""
    try:
        return json.dumps(parameters, ensure_ascii=False, sort_keys=True)
    except (TypeError, ValueError):
        return repr(parameters)


def _oracle(name: str, seen: Sequence[SeenStep], functions: Functions) -> Check:
    try:
        objection = functions.objection(name, seen)
    except BrokenCheckError as error:
        return Check("oracle", Verdict.ERROR, str(error))
    return Check("oracle", Verdict.FAIL if objection else Verdict.PASS, f"{name}: {objection}" if objection else "")


def _again(times: int, outcome: ScenarioRun) -> Check:
    first = decided(outcome.seen)
    for number in range(times):
        other = decided(run_scenario(outcome.scenario).seen)
        if differ(first, other):
            why = f"run {number + 2} of the same scenario decided otherwise"
            return Check("again", Verdict.FAIL, why, str(first), str(other))
    return Check("again", Verdict.PASS)
