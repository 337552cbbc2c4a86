"""What happens in a run from outside, when it is due: to the files, the clock, the tools, and the next answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from harness.pipeline.workspace import Workspace
from harness.scenario.failing import Failures
from harness.scenario.format import Scenario
from harness.scenario.workspace import happen
from harness.scenario.world import EventSpec, RequestEventSpec
from harness.seams import ManualClock
from harness.wire.exchange import Request, Response
from harness.wire.faults import Fault


@dataclass(slots=True)
class World:
    """What events change. ``add_fault`` puts a fault before the next answers."""

    workspace: Workspace
    clock: ManualClock
    failures: Failures = field(default_factory=Failures)
    add_fault: Callable[[Fault], None] = lambda _: None

    def happen(self, event: EventSpec) -> None:
        """Let it happen; raises InputError for a file outside of the workspace."""
        happen(event, self.workspace, self.clock)
        for failure in event.failures:
            self.failures.arm(failure)
        for fault in event.faults_due:
            self.add_fault(fault)


class RequestEvents:
    """The guard that lets a scenario's ``events`` happen before the requests that they name; safe under threads."""

    def __init__(self, scenario: Scenario, world: World) -> None:
        self._world = world
        self._waiting = list(scenario.events)
        self._asked = 0
        self._lock = threading.Lock()

    def before_request(self, request: Request) -> None:
        """Let happen what is due before this request."""
        if not request.is_chat:
            return
        with self._lock:
            self._asked += 1
            due = [event for event in self._waiting if event.before_request == self._asked]
            self._waiting = [event for event in self._waiting if event.before_request != self._asked]
            for event in due:
                self._world.happen(event)

    def after_answer(self, request: Request, response: Response) -> None:
        """Nothing happens then."""

    @property
    def waiting(self) -> list[RequestEventSpec]:
        """The events whose request never came."""
        return list(self._waiting)


def all_events(scenario: Scenario) -> Iterator[EventSpec]:
    """Every event that the scenario names, wherever it stands."""
    yield from scenario.events
    for turn in scenario.user_turns:
        yield from turn.before
    for scripted in scenario.player.script or ():
        yield from scripted.before


def failing_tools(scenario: Scenario) -> set[str]:
    """The tools that some event lets fail."""
    return {failure.tool for event in all_events(scenario) for failure in event.failures}
