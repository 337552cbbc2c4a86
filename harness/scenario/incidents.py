"""What went wrong on purpose or on the way, written into a finished run: faults, and refusals that name one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from harness.play.faulty_player import Incident
from harness.trace.run import Lane, Run
from harness.wire.refusals import explain_refusal


def note_incidents(run: Run, incidents: Iterable[Incident]) -> None:
    """Note each fault at the step whose answer, or further try of it, it happened to, and as an event of that step.

    The answers of a run are its exchanges, in order.
    """
    for incident in incidents:
        found = _step_of(run, incident.answer - 1)
        if found is None:
            continue
        lane, position = found
        lane.steps[position] = replace(lane.steps[position], notes=(*lane.steps[position].notes, incident.text))
        event = {
            "lane": lane.name, "step": lane.steps[position].index, "event": "fault", "exchange": incident.answer - 1,
            "fault": incident.fault.text, "what": incident.what,
        }  # fmt: skip
        run.events.insert(_behind_request(run, event), event)


def explain_refusals(run: Run) -> None:
    """Say of each lane that ended because a provider refused a request what its message is evidence of (E02)."""
    for lane in run.lanes:
        last = lane.steps[-1] if lane.steps else None
        if last is None or last.error is None or last.exchange is None or lane.outcome != "error":
            continue
        try:
            request = run.exchanges[last.exchange].request.json()
        except ValueError:
            continue
        if isinstance(request, dict) and (because := explain_refusal(request, last.error)):
            lane.steps[-1] = replace(last, notes=(*last.notes, because))
            lane.reason = f"{lane.reason} ({because})"


def _step_of(run: Run, exchange: int) -> tuple[Lane, int] | None:
    """The step that took an exchange: the first of all lanes whose last exchange it is, or that had a later one."""
    steps = [
        (step.exchange, number, position)
        for number, lane in enumerate(run.lanes)
        for position, step in enumerate(lane.steps)
        if step.exchange is not None and step.exchange >= exchange
    ]
    if not steps:
        return None
    _, number, position = min(steps)
    return run.lanes[number], position


def _behind_request(run: Run, event: dict[str, Any]) -> int:
    """Where a fault stands among the events: behind its step's request, and the faults noted there already."""
    begun = False
    for position, other in enumerate(run.events):
        same = other.get("lane") == event["lane"] and other.get("step") == event["step"]
        if begun and not (same and other["event"] == "fault"):
            return position
        begun = begun or (same and other["event"] == "request")
    return len(run.events)
