"""What must hold of every tool pipeline, whatever is called: judged from what was seen of it (`ToolWatch`).

Each invariant has a name, by which scenarios and the fuzzer call it. Sources: seed 000 (one observation for each call,
in order; budgets; batches), and families B, D, F and G of the bug reports.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from harness.pipeline.decision import Decision
from harness.pipeline.result import ErrorCode, ToolResult, ToolStatus
from harness.pipeline.shell import classify_command
from harness.pipeline.tool import ToolKind
from harness.scenario.tool_watch import Facts, SeenStep, ToolRun
from harness.wire.half_pairs import is_whole


class Breach(NamedTuple):
    """An invariant that did not hold.

    ``step`` and ``call`` count from 0, ``call`` is None where it is no single one. ``place`` tells causes apart: the
    kind of an error, the function that it came out of. ``text`` is for a person.
    """

    invariant: str
    step: int
    call: int | None
    place: str
    text: str


Seen = Sequence[SeenStep]
Invariant = Callable[[Seen, Facts], Iterator[Breach]]


def breaches(seen: Seen, facts: Facts, names: Sequence[str]) -> Iterator[Breach]:
    """Where the named invariants did not hold, in their order. Raises KeyError for a name that is none."""
    for name in names:
        yield from INVARIANTS[name](seen, facts)


def runs_of(step: SeenStep, position: int) -> list[ToolRun]:
    """The runs that one call led to: by the call's id, else by tool and parameters, in the order of the calls."""
    if position >= len(step.plans):
        return []
    plan = step.plans[position]
    found = [run for run in step.runs if run.call_id == plan.tool_call_id]
    if found or any(run.call_id for run in step.runs):
        return found
    same = [other for other in step.plans if other.tool_name == plan.tool_name]
    runs = [run for run in step.runs if run.tool == plan.tool_name]
    if len(same) == 1:
        return runs
    alike = [run for run in runs if run.parameters == plan.parsed_input]
    twins = [other for other in same if other.parsed_input == plan.parsed_input]
    share = twins.index(plan)
    return alike[share :: len(twins)]


def code_of(step: SeenStep, position: int) -> ErrorCode | None:
    """The error code that the call was answered with, None for a success or where it was not answered."""
    if step.outcome is None or position >= len(step.outcome.observations):
        return None
    return step.outcome.observations[position].result.error_code


def decided(seen: Seen) -> list[list[str]]:
    """What was decided of each call: whether its tool ran, else the code."""
    return [
        ["ran" if runs_of(step, position) else str(code_of(step, position)) for position in range(len(step.plans))]
        for step in seen
    ]


def differ(one: Sequence[Sequence[str]], other: Sequence[Sequence[str]]) -> bool:
    """Whether decisions about the same calls are two; an open circuit may be a matter of timing."""
    if [len(step) for step in one] != [len(step) for step in other]:
        return True
    pairs = [pair for steps in zip(one, other, strict=True) for pair in zip(*steps, strict=True)]
    return any(a != b and ErrorCode.CIRCUIT_OPEN not in (a, b) for a, b in pairs)


def _no_exception(seen: Seen, _: Facts) -> Iterator[Breach]:
    for number, step in enumerate(seen):
        if step.raised:
            yield Breach("no_exception", number, None, _kind_and_place(step.raised),
                         f"the pipeline raised {step.raised}; a call is answered, whatever it is")  # fmt: skip


def _tool_returns(seen: Seen, facts: Facts) -> Iterator[Breach]:
    for number, step in enumerate(seen):
        for run in step.runs:
            if not facts.fits(run.tool, run.parameters):
                continue
            if run.raised:
                text = f"{run.tool} raised {run.raised} on input that fits its schema"
                yield Breach("tool_returns", number, None, f"{run.tool}: {_kind_and_place(run.raised)}", text)
            elif run.result is not None and not isinstance(run.result, ToolResult):
                kind = type(run.result).__name__
                text = f"{run.tool} returned {kind}; every tool returns a ToolResult"
                yield Breach("tool_returns", number, None, f"{run.tool}: {kind}", text)


def _one_answer(seen: Seen, _: Facts) -> Iterator[Breach]:
    for number, step in enumerate(seen):
        if step.outcome is None:
            continue
        answers = step.outcome.observations
        if len(answers) != len(step.calls):
            text = f"{len(step.calls)} calls got {len(answers)} answers"
            yield Breach("one_answer", number, None, "count", text)
            continue
        used = set(step.taken)
        ids = [answer.tool_call_id for answer in answers]
        for position, (call, found) in enumerate(zip(step.calls, ids, strict=True)):
            sent = _id_of(call)
            if not found or found in ids[:position]:
                text = f"the answer to call {position + 1} has the id {found!r}, which is not unique"
                yield Breach("one_answer", number, position, "unique", text)
            elif found in step.taken:
                text = f"the answer to call {position + 1} has the id {found!r}, which an earlier step has used"
                yield Breach("one_answer", number, position, "taken", text)
            elif sent and is_whole(sent) and sent not in used and found != sent:
                text = f"call {position + 1} came with the id {sent!r} and was answered as {found!r}"
                yield Breach("one_answer", number, position, "id", text)
            used.add(found)


def _own_answer(seen: Seen, _: Facts) -> Iterator[Breach]:
    for number, step in enumerate(seen):
        results = {run.call_id: run.result for run in step.runs if run.call_id and isinstance(run.result, ToolResult)}
        for position, answer in enumerate(step.outcome.observations if step.outcome else ()):
            own = results.get(answer.tool_call_id)
            if own is None or answer.raw_result.text == own.text:
                continue
            if any(other.text == answer.raw_result.text for other in results.values()):
                yield Breach("own_answer", number, position, "",
                             f"call {position + 1} was answered with what another call had returned")  # fmt: skip


def _runs_once(seen: Seen, _: Facts) -> Iterator[Breach]:
    for number, step in enumerate(seen):
        for position in range(len(step.plans)):
            if len(runs := runs_of(step, position)) > 1:
                yield Breach("runs_once", number, position, "",
                             f"{runs[0].tool} ran {len(runs)} times for one call")  # fmt: skip


def _apart(seen: Seen, facts: Facts) -> Iterator[Breach]:
    for number, step in enumerate(seen):
        for run in step.runs:
            both = (run.tool, *run.beside)
            changing = [name for name in both if facts.kinds.get(name) is not ToolKind.READ]
            if run.beside and changing:
                text = f"{changing[0]} ran beside another call; only tools that read may"
                yield Breach("apart", number, None, "", text)


def _contained(seen: Seen, _: Facts) -> Iterator[Breach]:
    for number, step in enumerate(seen):
        for path in step.touched:
            tool = next((run.tool for run in step.runs if path in run.touched), "")
            who = tool or "a call" if step.runs else "the pipeline"
            yield Breach("contained", number, None, tool, f"{who} touched {path}, which is outside the workspace")


def _valid_json(seen: Seen, facts: Facts) -> Iterator[Breach]:
    for number, step in enumerate(seen):
        for position, answer in enumerate(step.outcome.observations if step.outcome and facts.as_json else ()):
            try:
                json.loads(answer.observation, parse_constant=_refuse)
                answer.observation.encode("utf-8")
            except ValueError as error:
                text = f"the answer to call {position + 1} is no JSON: {error}"
                yield Breach("valid_json", number, position, type(error).__name__, text)


def _budget(seen: Seen, facts: Facts) -> Iterator[Breach]:
    for number, step in enumerate(seen):
        sizes = [len(answer.observation.encode("utf-8", "replace")) for answer in step.outcome.observations] \
            if step.outcome else []  # fmt: skip
        for position, size in enumerate(sizes):
            if size > facts.per_result_bytes:
                text = f"the answer to call {position + 1} has {size:,} bytes, {facts.per_result_bytes:,} are allowed"
                yield Breach("budget", number, position, "one", text)
        if sum(sizes) > facts.total_bytes:
            text = f"the answers have {sum(sizes):,} bytes together, {facts.total_bytes:,} are allowed"
            yield Breach("budget", number, None, "all", text)


def _permission(seen: Seen, facts: Facts) -> Iterator[Breach]:
    for number, step in enumerate(seen):
        for run in step.runs:
            command = run.parameters.get("command")
            if facts.kinds.get(run.tool) is not ToolKind.SHELL or not isinstance(command, str):
                continue
            ruling = classify_command(command)
            if ruling.decision is Decision.DENY:
                yield Breach("permission", number, None, run.tool,
                             f"{run.tool} got a command that is denied: {ruling.reason}")  # fmt: skip


def _circuit(seen: Seen, facts: Facts) -> Iterator[Breach]:
    """A circuit is open only after so many failures of that very tool; refusals are none (G04, G05)."""
    failures: dict[str, int] = {}
    for number, step in enumerate(seen):
        for run in step.runs:
            if not isinstance(run.result, ToolResult) or run.result.status is ToolStatus.ERROR:
                failures[run.tool] = failures.get(run.tool, 0) + 1
        for position, plan in enumerate(step.plans):
            if code_of(step, position) is ErrorCode.CIRCUIT_OPEN and failures.get(plan.tool_name, 0) < facts.threshold:
                failed = failures.get(plan.tool_name, 0)
                yield Breach("circuit", number, position, "",
                             f"{plan.tool_name} was taken out of use after {failed} failures of its own")  # fmt: skip


INVARIANTS: Mapping[str, Invariant] = {
    "no_exception": _no_exception,
    "tool_returns": _tool_returns,
    "one_answer": _one_answer,
    "own_answer": _own_answer,
    "runs_once": _runs_once,
    "apart": _apart,
    "contained": _contained,
    "valid_json": _valid_json,
    "budget": _budget,
    "permission": _permission,
    "circuit": _circuit,
}
"""Each invariant by its name."""


def _id_of(call: Any) -> str | None:
    found = call.get("id") if isinstance(call, Mapping) else getattr(call, "id", None)
    return found if isinstance(found, str) else None


def _kind_and_place(text: str) -> str:
    """Class and function of an error as `described` has it, without its words."""
    kind = text.split(":", 1)[0].split(" (in ", 1)[0]
    return f"{kind} in {text.rsplit(' (in ', 1)[-1].rstrip(')')}"


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
