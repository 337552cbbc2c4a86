"""A scenario's expectations, each judged against its run."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from textwrap import dedent

from harness.judge.verdict import Case, Check, Verdict, judged
from harness.pipeline.arguments import parse_tool_input
from harness.scenario.format import (
    BatchExpectation,
    BudgetExpectation,
    CallExpectation,
    Expectations,
    FileExpectation,
    LaneExpectation,
    ShownExpectation,
    TextSpec,
)
from harness.scenario.runner import ScenarioRun
from harness.trace.run import CallRecord, Lane, Run, Step
from harness.wire.rules import check_request


def judge_scenario(outcome: ScenarioRun, path: str) -> Case:
    """One case of a scenario run: its expectations, the protocol of every request, and that all was asked for."""
    expect = outcome.scenario.expect
    checks = list(_infrastructure(outcome))
    if expect is not None and (outcome.miss is None or outcome.diverged):
        checks += _expectations(outcome, expect)
        checks += _protocol(outcome)
        checks += [
            Check("faults took effect", Verdict.INCONCLUSIVE, f"the fault {fault} changed no answer: it tested nothing")
            for fault in outcome.idle_faults
        ]
        checks += [
            Check("nothing unused", Verdict.FAIL, f"{unused} was never asked for: the run is partial")
            for unused in (outcome.unused if not outcome.diverged else ())
        ]
    facts: dict[str, object] = {}
    if expect is not None and expect.tokens is not None:
        from harness.judge.token_checks import count_requests, token_checks, token_facts  # noqa: PLC0415  encodings

        counts = count_requests(outcome.requests)
        checks += token_checks(expect.tokens, counts)
        facts = token_facts(counts)
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
            **({"marks": marks} if (marks := _marks(outcome, facts)) else {}),
        },
    )


def _infrastructure(outcome: ScenarioRun) -> Iterator[Check]:
    if outcome.miss is None:
        return
    first, _, rest = outcome.miss.partition("\n")
    if outcome.diverged:
        because = f"diverged from the cassette, {outcome.diverged} has answered since: {first}"
        yield Check("every request answered from the cassette", Verdict.INCONCLUSIVE, because, details=dedent(rest))
    else:
        yield Check("every request answered", Verdict.FAIL, first, details=dedent(rest))


def _marks(outcome: ScenarioRun, facts: Mapping[str, object]) -> str:
    """What every output says of a run: that it was not an exact replay, what its tools cost where that is judged."""
    marks = []
    if outcome.drift:
        classes = sorted({drift.kind for _, drift in outcome.drift})
        marks.append(f"drift allowed in {', '.join(classes)}: the model was not asked again")
    if outcome.diverged:
        marks.append(f"after a miss {outcome.diverged} has answered")
    if outcome.faults:
        marks.append(f"faults injected: {' + '.join(outcome.faults)}")
    if "tools_tokens" in facts:
        tools, total = facts["tools_tokens"], facts["counted_prompt_tokens"]
        marks.append(f"tool schemas take {tools:,} of {total:,} prompt tokens")
    return "; ".join(marks)


def judge_lanes(expect: Expectations, run: Run) -> tuple[Verdict, str]:
    """What a saved run shows of a scenario's expectations: the verdict and its first line.

    A saved run holds neither the files nor what was left of the script, so where nothing fails and files or tokens are
    expected too, it is INCONCLUSIVE.
    """
    checks = _all_lanes(expect, run.lanes)
    for name, wanted in (("files", expect.files), ("tokens", expect.tokens)):
        if wanted:
            checks.append(Check(name, Verdict.INCONCLUSIVE, f"{name} are expected, which a saved run does not tell"))
    return judged(checks)


def _expectations(outcome: ScenarioRun, expect: Expectations) -> list[Check]:
    checks = _all_lanes(expect, outcome.run.lanes)
    checks += [_file(name, wanted, outcome) for name, wanted in expect.files.items()]
    return checks


def _all_lanes(expect: Expectations, all_lanes: Sequence[Lane]) -> list[Check]:
    if not all_lanes:
        return [Check("lanes", Verdict.FAIL, "the run has no conversation")]
    checks = _lane_expectations(expect, all_lanes[0])
    lanes = {lane.name: lane for lane in all_lanes[1:]}
    for name, wanted in expect.lanes.items():
        if name in lanes:
            found = _lane_expectations(wanted, lanes[name])
            checks += [replace(check, where=f"lane {name} {check.where}".rstrip()) for check in found]
        else:
            known = ", ".join(lanes) or "none"
            checks.append(Check("lanes", Verdict.FAIL, f"there is no lane {name} (sub-agents: {known})", name, known))
    return checks


def _lane_expectations(expect: LaneExpectation, lane: Lane) -> list[Check]:
    wanted_outcomes = [outcome.value for outcome in expect.outcomes]
    ended_well = lane.outcome in wanted_outcomes
    ended = "" if ended_well else f"the run ended as {lane.outcome}: {lane.reason}"
    verdict = Verdict.PASS if ended_well else Verdict.FAIL
    checks = [Check("outcome", verdict, ended, " or ".join(wanted_outcomes), lane.outcome)]
    for name, wanted, text in (
        ("reason", expect.reason, lane.reason),
        ("final_text", expect.final_text, lane.final_text),
        ("notes", expect.notes, "\n".join(note for step in lane.steps for note in step.notes)),
    ):
        if wanted is not None:
            checks.append(_text(name, wanted, text))
    if expect.steps is not None:
        checks.append(_equal("steps", str(expect.steps), str(len(lane.steps))))
    if expect.calls is not None:
        checks += _calls(expect.calls, lane.steps)
    if expect.batches is not None:
        checks += _batches(expect.batches, lane.steps)
    checks += [_shown(expected, lane.steps) for expected in expect.tools]
    if expect.budget is not None:
        checks += _budgets(expect.budget, lane.steps)
    return checks


def _protocol(outcome: ScenarioRun) -> list[Check]:
    """Every request that went out is one a strict server takes; on by default."""
    breaches = [
        Check(f"protocol: {breach.code}", Verdict.FAIL, f"{breach.code}: {breach.why}",
              where=f"request {number + 1} {breach.path}")
        for number, request in enumerate(outcome.requests)
        for breach in check_request(request)
    ]  # fmt: skip
    return breaches or [Check("protocol", Verdict.PASS, actual=f"{len(outcome.requests)} requests")]


def _calls(expected: Sequence[CallExpectation], steps: Sequence[Step]) -> list[Check]:
    made = [(step.index, number, call) for step in steps for number, call in enumerate(step.calls)]
    names, wanted = [call.name for _, _, call in made], [item.tool for item in expected]
    if names != wanted:
        part = next((n for n, pair in enumerate(zip(names, wanted, strict=False)) if pair[0] != pair[1]), None)
        at = min(len(names), len(wanted)) if part is None else part
        found = names[at] if at < len(names) else "no call"
        due = wanted[at] if at < len(wanted) else "no call"
        step = made[min(at, len(made) - 1)][0] + 1 if made else 1
        return [
            Check("calls", Verdict.FAIL, f"call {at + 1} is {found}, expected {due}", ", ".join(wanted),
                  ", ".join(names), f"step {step}")
        ]  # fmt: skip
    checks: list[Check] = []
    for item, (step, number, call) in zip(expected, made, strict=True):
        checks += _call(item, call, f"step {step + 1} call {number + 1} ({call.name})")
    return checks or [_equal("calls", "no call", "no call")]


def _call(expected: CallExpectation, call: CallRecord, where: str) -> list[Check]:
    checks = [Check("calls", Verdict.PASS, expected=expected.tool, actual=call.name, where=where)]
    facts: list[tuple[str, object, object]] = [
        ("id", expected.id, call.id),
        ("status", expected.status, call.status),
        ("error_code", expected.error_code, call.error_code),
        ("executed", expected.executed, call.executed),
        ("truncated", expected.truncated, call.truncated_from_bytes is not None),
    ]
    for name, wanted, found in facts:
        if wanted is not None:
            because = f"{name} is {found}, expected {wanted}: {call.observation[:200]}"
            checks.append(_equal(name, str(wanted), str(found), because, where))
    if expected.arguments is not None:
        checks.append(_arguments(expected.arguments, call, where))
    for part in _listed(expected.contains):
        if part in call.observation:
            checks.append(Check("contains", Verdict.PASS, expected=part, where=where))
        else:
            checks.append(
                Check("contains", Verdict.FAIL, f"the observation does not contain {part!r}", part, call.observation,
                      where)
            )  # fmt: skip
    return checks


def _arguments(expected: object, call: CallRecord, where: str) -> Check:
    if isinstance(expected, str):
        return _equal("arguments", expected, str(call.arguments), where=where)
    parsed, problem = parse_tool_input(call.arguments)
    shown = json.dumps(parsed, ensure_ascii=False, sort_keys=True) if problem is None else problem
    wanted = json.dumps(expected, ensure_ascii=False, sort_keys=True)
    return _equal("arguments", wanted, shown, f"arguments are {shown}, expected {wanted}", where)


def _batches(expected: Sequence[Sequence[BatchExpectation]], steps: Sequence[Step]) -> list[Check]:
    wanted = ["; ".join(_batch_text(batch) for batch in step) for step in expected]
    found = [_batches_of(step) for step in steps if step.calls]
    if len(wanted) != len(found):
        return [
            _equal(
                "batches", "\n".join(wanted), "\n".join(found), f"{len(found)} steps with calls, expected {len(wanted)}"
            )
        ]
    with_calls = [step for step in steps if step.calls]
    return [
        _equal("batches", due, got, f"the batches are {got}, expected {due}", f"step {step.index + 1}")
        for due, got, step in zip(wanted, found, with_calls, strict=True)
    ]


def _batch_text(batch: BatchExpectation) -> str:
    if batch.concurrent is not None:
        return f"concurrent({', '.join(batch.concurrent)})"
    return f"serial({', '.join(batch.serial or [])})"


def _batches_of(step: Step) -> str:
    kinds: dict[int, tuple[bool, list[str]]] = {}
    for call in step.calls:
        if call.batch is not None:
            kinds.setdefault(call.batch, (call.concurrency_safe, []))[1].append(call.name)
    return "; ".join(
        f"{'concurrent' if safe else 'serial'}({', '.join(names)})" for _, (safe, names) in sorted(kinds.items())
    )


def _shown(expected: ShownExpectation, steps: Sequence[Step]) -> Check:
    name, where = "tools", f"step {expected.step}"
    if expected.step > len(steps):
        return Check(name, Verdict.FAIL, f"there is no step {expected.step}", actual=f"{len(steps)} steps", where=where)
    tools = steps[expected.step - 1].tools
    missing = [tool for tool in expected.shown if tool not in tools]
    surplus = [tool for tool in expected.hidden if tool in tools]
    problems = [*(f"{tool} is not offered" for tool in missing), *(f"{tool} is offered" for tool in surplus)]
    wanted = "; ".join(filter(None, ["shown " + ", ".join(expected.shown) if expected.shown else "",
                                     "hidden " + ", ".join(expected.hidden) if expected.hidden else ""]))  # fmt: skip
    verdict = Verdict.FAIL if problems else Verdict.PASS
    return Check(name, verdict, "; ".join(problems), wanted, ", ".join(tools), where)


def _budgets(expected: BudgetExpectation, steps: Sequence[Step]) -> Iterator[Check]:
    for step in steps:
        sizes = [len(call.observation.encode()) for call in step.calls]
        where = f"step {step.index + 1}"
        for name, limit, size in (
            ("per_result_bytes", expected.per_result_bytes, max(sizes, default=0)),
            ("total_bytes", expected.total_bytes, sum(sizes)),
        ):
            if limit is not None:
                verdict = Verdict.PASS if size <= limit else Verdict.FAIL
                message = "" if size <= limit else f"{size} bytes, the budget is {limit}"
                yield Check(name, verdict, message, f"at most {limit}", str(size), where)


def _file(name: str, wanted: str | FileExpectation, outcome: ScenarioRun) -> Check:
    content = outcome.files_after.get(name)
    where = f"file {name}"
    if isinstance(wanted, str):
        return _bytes(where, wanted.encode(), content)
    if wanted.absent:
        verdict = Verdict.PASS if content is None else Verdict.FAIL
        return Check(
            "files", verdict, "" if content is None else "the file exists", "no file", _shown_bytes(content), where
        )
    if wanted.unchanged:
        return _bytes(where, outcome.files_before.get(name), content)
    if wanted.base64 is not None:
        return _bytes(where, base64.b64decode(wanted.base64), content)
    if content is None:
        return Check("files", Verdict.FAIL, "there is no such file", "a file", "no file", where)
    return _text("files", wanted, content.decode("utf-8", "replace"), where)


def _bytes(where: str, wanted: bytes | None, content: bytes | None) -> Check:
    verdict = Verdict.PASS if wanted == content else Verdict.FAIL
    message = "" if wanted == content else "the content differs" if content is not None else "there is no such file"
    return Check("files", verdict, message, _shown_bytes(wanted), _shown_bytes(content), where)


def _text(name: str, wanted: str | TextSpec, text: str | None, where: str = "") -> Check:
    spec = TextSpec(equals=wanted) if isinstance(wanted, str) else wanted
    found = text or ""
    problems = []
    if spec.equals is not None and found != spec.equals:
        problems.append("the text differs")
    problems += [f"the text does not contain {part!r}" for part in _listed(spec.contains) if part not in found]
    if spec.matches is not None and re.search(spec.matches, found) is None:
        problems.append(f"the text does not match {spec.matches!r}")
    parts = [spec.equals, *_listed(spec.contains), spec.matches]
    shown = "\n".join(part for part in parts if part is not None)
    verdict = Verdict.FAIL if problems else Verdict.PASS
    return Check(name, verdict, f"{name}: {problems[0]}" if problems else "", shown, found, where)


def _equal(name: str, wanted: str, found: str, message: str = "", where: str = "") -> Check:
    if wanted == found:
        return Check(name, Verdict.PASS, "", wanted, found, where)
    return Check(name, Verdict.FAIL, message or f"{name} is {found}, expected {wanted}", wanted, found, where)


def _listed(value: str | list[str] | None) -> list[str]:
    return [] if value is None else [value] if isinstance(value, str) else value


def _shown_bytes(content: bytes | None) -> str:
    return "no file" if content is None else content.decode("utf-8", "backslashreplace")


def _steps(outcome: ScenarioRun) -> list[Step]:
    return [step for lane in outcome.run.lanes for step in lane.steps]
