"""What has to become of an example: the invariants of every pipeline, and what its calls are due."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from harness.errors import InputError
from harness.fuzz.calls import Due
from harness.fuzz.examples import DueCall, Example, ExampleMaker, outcomes
from harness.fuzz.histories import Outcome
from harness.fuzz.playing import Played
from harness.fuzz.schema.values import identity
from harness.judge.invariants import INVARIANTS, Breach, breaches, code_of, runs_of
from harness.pipeline.decision import Decision
from harness.pipeline.file_versions import EXPECTED_KEYS
from harness.pipeline.result import ErrorCode
from harness.pipeline.shell import classify_command
from harness.pipeline.tool import ToolKind
from harness.scenario.functions import FunctionError, load_function
from harness.scenario.tool_watch import Facts, SeenStep

DUE = ("refuses_broken", "accepts_valid", "same_arguments", "file_versions")
OTHER = ("same_decision", "cut_stream", "ends")
ORACLES = (*INVARIANTS, *DUE, *OTHER)
"""All oracles: those that hold of every pipeline, those about what a call is due, those that need further runs."""

UserOracle = Callable[[Sequence[SeenStep]], object]
"""A user's own: given the steps that were seen, it returns what is wrong, or raises AssertionError; else nothing."""

_NOT_REFUSED = (ErrorCode.PERMISSION_DENIED, ErrorCode.CIRCUIT_OPEN, ErrorCode.CONFLICT, ErrorCode.TOO_MANY_CALLS)
"""Answers of the gates: a valid call may get one without a run."""


def user_oracles(names: Iterable[str]) -> list[tuple[str, UserOracle]]:
    """The functions of these names, looked for from the working folder; raises InputError for one that is not there."""
    try:
        return [(name, load_function(name, Path.cwd())) for name in names]
    except FunctionError as error:
        raise InputError(str(error), where="--oracle", hint="module:function") from error


def judge(
    example: Example,
    played: Played,
    maker: ExampleMaker,
    names: Iterable[str],
    own: Sequence[tuple[str, UserOracle]] = (),
) -> Iterator[Breach]:
    """Where the named oracles, and the user's ``own``, were breached; those that need further runs are left out."""
    wanted = list(names)
    yield from breaches(played.steps, played.facts, [name for name in wanted if name in INVARIANTS])
    if set(DUE) & set(wanted):
        yield from (breach for breach in _due(example, played, maker) if breach.invariant in wanted)
    for name, oracle in own:
        yield from _own(name, oracle, played)


def cut_short(played: Played, example: Example) -> Iterator[Breach]:
    """Nothing runs from a stream that broke off."""
    number = next((at for at, turn in enumerate(example.turns) if turn.cut), None)
    if number is not None and played.streamed and len(played.steps) > number and (runs := played.steps[number].runs):
        yield Breach("cut_stream", number, None, "", f"{runs[0].tool} ran although the stream broke off")


def _due(example: Example, played: Played, maker: ExampleMaker) -> Iterator[Breach]:
    circuit_opened = False
    on_files = outcomes(example)
    for number, (turn, step) in enumerate(zip(example.turns, played.steps, strict=False)):
        if len(step.plans) != len(turn.calls):
            continue
        for position, call in enumerate(turn.calls):
            due = maker.due(call)
            runs = runs_of(step, position)
            shown = f"{call.name}({_short(call.arguments)})"
            if due.due is Due.REFUSE and runs:
                text = f"{shown} reached {runs[0].tool}, which ran with {_short(runs[0].parameters)}"
                yield Breach("refuses_broken", number, position, "", text)
            elif due.due is Due.ACCEPT and not runs and step.outcome is not None and _may_run(due, played.facts):
                code = code_of(step, position)
                if code not in _NOT_REFUSED:
                    text = f"{shown} fits the schema and was not run: {code}"
                    yield Breach("accepts_valid", number, position, str(code), text)
            elif runs and due.value is not None and due.tool is not None:
                given = {key: part for key, part in runs[0].parameters.items()
                         if key not in EXPECTED_KEYS or key in due.value}  # fmt: skip
                if _identity(given) != _identity(due.value) or runs[0].tool != due.tool:
                    text = f"{shown} came to {runs[0].tool} as {_short(runs[0].parameters)}"
                    yield Breach("same_arguments", number, position, "", text)
            # What an open circuit kept from happening makes all later outcomes other ones.
            circuit_opened = circuit_opened or code_of(step, position) is ErrorCode.CIRCUIT_OPEN
            wanted = on_files[number][position]
            if wanted is not None and step.outcome is not None and not circuit_opened:
                code = code_of(step, position)
                found = Outcome.SUCCESS.value if code is None else code.value
                if found != wanted.value:
                    text = f"{shown} ended as {found}, {wanted.value} is due"
                    yield Breach("file_versions", number, position, f"{found} for {wanted.value}", text)


def _may_run(due: DueCall, facts: Facts) -> bool:
    """Whether no gate may turn the call away for its command."""
    if facts.kinds.get(due.tool or "") is not ToolKind.SHELL:
        return True
    command = (due.value or {}).get("command")
    return isinstance(command, str) and classify_command(command).decision is Decision.ALLOW


def _own(name: str, oracle: UserOracle, played: Played) -> Iterator[Breach]:
    try:
        found = oracle(played.steps)
    except AssertionError as error:
        found = str(error) or "an assertion failed"
    if found:
        yield Breach(name, 0, None, "", str(found)[:500])


def _identity(value: dict[str, Any]) -> str:
    try:
        return identity(value)
    except (TypeError, ValueError):
        return repr(value)


def _short(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 80 else f"{text[:60]}… ({len(text):,} characters)"
