"""Where in a conversation a text stands that was looked for in another place (bug report J04)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from harness.judge.checks.values import listed
from harness.judge.trajectory.texts import readable_arguments
from harness.judge.verdict import Check, Verdict
from harness.scenario.expectations import TextSpec
from harness.trace.run import Lane
from harness.wire.chat import text_of


def says_where(check: Check, wanted: str | TextSpec, lane: Lane) -> Check:
    """The check of a final text that failed, with the place where the first text that is missing stands instead.

    An agent that answers by a call is right in another place than a check of its text looks at.
    """
    if check.verdict is not Verdict.FAIL:
        return check
    spec = TextSpec(equals=wanted) if isinstance(wanted, str) else wanted
    found = check.actual
    missing = [part for part in (spec.equals, *listed(spec.contains)) if part and part not in found]
    place = next((place for place, text in _texts(lane) if missing and missing[0] in text), None)
    return check if place is None else replace(check, message=f"{check.message}; it stands in {place}")


def _texts(lane: Lane) -> Iterator[tuple[str, str]]:
    for step in lane.steps:
        at = f"step {step.index + 1}"
        if step.message is not None:
            yield f"the text of {at}", text_of(step.message.get("content")) or ""
        for number, call in enumerate(step.calls):
            where = f"{at} call {number + 1} ({call.name})"
            yield f"the arguments of {where}", readable_arguments(call.arguments)
            yield f"the result of {where}", call.observation
