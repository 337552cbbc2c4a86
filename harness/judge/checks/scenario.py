"""One case of a scenario: that its run was whole, that its requests were valid ones, and what it expects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from textwrap import dedent

from harness.judge.agent_checks import agent_checks, with_output
from harness.judge.checks.conversation import conversation, noted
from harness.judge.checks.files import files
from harness.judge.checks.lanes import all_lanes
from harness.judge.checks.pipeline import pipeline_checks
from harness.judge.checks.protocol import protocol, protocol_mark
from harness.judge.functions import BrokenCheckError, Functions
from harness.judge.verdict import Case, Check, Verdict, judged
from harness.scenario.expectations import Expectations
from harness.scenario.runner import ScenarioRun
from harness.trace.run import Run, Step


def judge_scenario(outcome: ScenarioRun, path: str) -> Case:
    """One case of a scenario run: its expectations, the protocol of every request, and that all was asked for."""
    expect = outcome.scenario.expect
    checks = list(_infrastructure(outcome))
    of_agent = agent_checks(outcome)
    judgeable = all(check.verdict is not Verdict.ERROR for check in of_agent)
    if expect is not None and judgeable and (outcome.miss is None or outcome.diverged):
        # A request that breaks the protocol is the cause of what goes wrong after it, so it comes first; then the
        # agent's own end.
        checks += protocol(outcome.requests, expect.rules_off)
        checks += conversation(outcome.run, expect.rules_off, expect.strict_changes)
        checks += of_agent
        checks += _expectations(outcome, expect)
        checks += _whole(outcome, may_be_partial=expect.partial)
    else:
        checks += [check for check in of_agent if check.verdict is not Verdict.PASS]
    facts: dict[str, object] = {}
    if expect is not None and expect.tokens is not None:
        from harness.judge.token_checks import count_requests, token_checks, token_facts  # noqa: PLC0415  encodings

        counts = count_requests(outcome.requests)
        checks += token_checks(expect.tokens, counts)
        facts = token_facts(counts)
    checks = with_output(checks, outcome)
    verdict, first_line = judged(checks)
    steps = _steps(outcome)
    usages = [step.usage for step in steps if step.usage]
    prompt_tokens = sum(usage.get("prompt_tokens") or 0 for usage in usages)
    return Case(
        name=outcome.scenario.name,
        kind="scenario",
        path=path,
        checks=tuple(checks),
        verdict=verdict,
        first_line=first_line,
        description=outcome.scenario.description,
        tags=tuple(outcome.scenario.tags),
        facts={
            "model": outcome.scenario.agent.model,
            "steps": len(steps),
            "tool_calls": sum(len(step.calls) for step in steps),
            **({"prompt_tokens": prompt_tokens} if usages else {}),
            **facts,
            **({"marks": marks} if (marks := _marks(outcome, facts, noted(checks))) else {}),
        },
    )


def judge_lanes(expect: Expectations, run: Run, functions: Functions) -> tuple[Verdict, str]:
    """What a saved run shows of a scenario's expectations: the verdict and its first line.

    A saved run holds neither the files nor what was left of the script, so where nothing fails and files, tokens or
    functions are expected too, it is INCONCLUSIVE.
    """
    checks = all_lanes(expect, run.lanes, functions)
    for name, wanted in (
        ("files", bool(expect.files)),
        ("changed", expect.changed is not None),
        ("untouched", bool(expect.untouched)),
        ("tokens", expect.tokens is not None),
        ("python", bool(expect.python)),
        ("pipeline", expect.pipeline is not None),
    ):
        if wanted:
            checks.append(Check(name, Verdict.INCONCLUSIVE, f"{name} is expected, which a saved run does not tell"))
    return judged(checks)


def _infrastructure(outcome: ScenarioRun) -> Iterator[Check]:
    if outcome.miss is None:
        return
    first, _, rest = outcome.miss.partition("\n")
    if outcome.diverged:
        because = f"diverged from the cassette, {outcome.diverged} has answered since: {first}"
        yield Check("every request answered from the cassette", Verdict.INCONCLUSIVE, because, details=dedent(rest))
    else:
        yield Check("every request answered", Verdict.FAIL, first, details=dedent(rest))


def _expectations(outcome: ScenarioRun, expect: Expectations) -> list[Check]:
    functions = Functions(outcome.scenario.path.parent)
    checks = all_lanes(expect, outcome.run.lanes, functions)
    if expect.pipeline is not None:
        checks += pipeline_checks(expect.pipeline, outcome, functions)
    checks += files(expect, outcome.files_before, outcome.files_after)
    return checks + [_function(name, outcome, functions) for name in expect.python]


def _function(name: str, outcome: ScenarioRun, functions: Functions) -> Check:
    """What a user's function says of the whole run."""
    try:
        objection = functions.objection(name, outcome)
    except BrokenCheckError as error:
        return Check("python", Verdict.ERROR, str(error))
    verdict = Verdict.FAIL if objection else Verdict.PASS
    return Check("python", verdict, f"{name}: {objection}" if objection else "", f"{name} has no objection", objection)


def _whole(outcome: ScenarioRun, *, may_be_partial: bool) -> Iterator[Check]:
    """That nothing of what the scenario brings along was left over: what was not used has tested nothing."""
    for fault in outcome.idle_faults:
        yield Check(
            "faults took effect", Verdict.INCONCLUSIVE, f"the fault {fault} changed no answer: it tested nothing"
        )
    for unused in () if outcome.diverged or may_be_partial else outcome.unused:
        yield Check("nothing unused", Verdict.FAIL, f"{unused} was never asked for: the run is partial")


def _marks(outcome: ScenarioRun, facts: Mapping[str, object], notes: str) -> str:
    """What every output says of a run: that it was no exact replay, which rules did not count, what its tools cost."""
    marks = []
    if outcome.drift:
        classes = sorted({drift.kind for _, drift in outcome.drift})
        marks.append(f"drift allowed in {', '.join(classes)}: the model was not asked again")
    if outcome.diverged:
        marks.append(f"after a miss {outcome.diverged} has answered")
    if by := outcome.run.facts.get("answered_by"):
        marks.append(f"{by} has answered: nothing was replayed")
    if outcome.faults:
        marks.append(f"faults injected: {' + '.join(outcome.faults)}")
    if outcome.scenario.expect is not None and (mark := protocol_mark(outcome.scenario.expect.rules_off)):
        marks.append(mark)
    if notes:
        marks.append(f"the agent changed the conversation: {notes}")
    if "tools_tokens" in facts:
        tools, total = facts["tools_tokens"], facts["counted_prompt_tokens"]
        marks.append(f"tool schemas take {tools:,} of {total:,} prompt tokens")
    return "; ".join(marks)


def _steps(outcome: ScenarioRun) -> list[Step]:
    return [step for lane in outcome.run.lanes for step in lane.steps]
