"""What ``harness call`` found, for a person at a terminal and for a log: one row for each decision."""

from __future__ import annotations

import json

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.pipeline.decision import Decision
from harness.report.printing import print_line, printable
from harness.report.text import one_line, shortened, visible
from harness.scenario.one_call import OneCall

_STYLES = {Decision.ALLOW: "green", Decision.ASK: "yellow", Decision.DENY: "bold red"}
_OBSERVATION_CHARACTERS = 4_000
_REASON_CHARACTERS = 500
_NOT_REACHED = "not reached"


def print_call(call: OneCall, console: Console) -> None:
    """Print each decision with its reason, and the observation as the model would see it, shortened."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in _rows(call):
        table.add_row(Text(name, "bold"), printable(value, console))
    if console.is_terminal:
        console.print(table)
        return
    for name, value in _rows(call):
        line = Text.assemble(f"{name:<13}", value)
        print_line(console, line)


def _rows(call: OneCall) -> list[tuple[str, Text]]:
    plan = call.plan
    named = call.gate("name")
    return [
        ("name", Text(plan.tool_name if named is None else f"{plan.tool_name} ({one_line(named.reason)})")),
        ("arguments", Text(_arguments(call))),
        ("validation", Text(_validation(call))),
        ("permission", _permission(call)),
        ("lock", Text(_told(call, "lock", "not needed" if call.gate("breaker") else _NOT_REACHED))),
        ("breaker", Text(_told(call, "breaker", _NOT_REACHED))),
        ("concurrency", Text("may run beside other calls" if plan.concurrency_safe else "runs alone")),
        ("executed", Text(_executed(call))),
        ("budget", Text(_budget(call))),
        ("observation", Text(_observation(call))),
    ]


def _arguments(call: OneCall) -> str:
    if call.plan.parse_error is not None:
        return f"{one_line(str(call.plan.raw_arguments))} (no JSON object)"
    return one_line(json.dumps(call.plan.parsed_input, ensure_ascii=False))


def _validation(call: OneCall) -> str:
    done = [gate for outcome in ("repaired", "coerced") if (gate := call.gate("arguments", outcome)) is not None]
    invalid = call.gate("arguments")
    if invalid is None:
        verdict = "valid" if call.known else "not validated: there is no such tool"
    else:
        verdict = f"INVALID_PARAM: {one_line(invalid.reason, _REASON_CHARACTERS)}"
    return "; ".join([*(f"{gate.outcome}: {one_line(gate.reason, _REASON_CHARACTERS)}" for gate in done), verdict])


def _permission(call: OneCall) -> Text:
    ruled = call.gate("permission")
    if ruled is None:
        return Text(f"{_NOT_REACHED}, so {call.decision.value}")
    parts: list[str | tuple[str, str]] = [
        (call.decision.value.upper(), _STYLES[call.decision]),
        f": {one_line(ruled.reason, _REASON_CHARACTERS)}",
    ]
    parts += [
        f"; {outcome} ({one_line(asked.reason)})"
        for outcome in ("granted", "refused")
        if (asked := call.gate("permission", outcome)) is not None
    ]
    return Text.assemble(*parts)


def _told(call: OneCall, gate: str, otherwise: str) -> str:
    decided = call.gate(gate)
    if decided is None:
        return otherwise
    reason = one_line(decided.reason, _REASON_CHARACTERS)
    return f"{decided.outcome}: {reason}" if reason else str(decided.outcome)


def _executed(call: OneCall) -> str:
    if call.executed:
        result = call.answer.result
        return f"yes: {result.status}" + (f", {result.error_code}" if result.error_code else "")
    if call.refused:
        return f"no: {call.answer.result.error_code}"
    return "no: a dry run; it would be run"


def _budget(call: OneCall) -> str:
    if call.dry_run:
        return "nothing to count in a dry run"
    sizes = f"{call.answer.size:,} of {call.budget.per_result_bytes:,} bytes"
    return f"{sizes}, cut" if call.answer.truncated else sizes


def _observation(call: OneCall) -> str:
    if call.dry_run:
        return "none in a dry run"
    return visible(shortened(call.answer.observation, _OBSERVATION_CHARACTERS))
