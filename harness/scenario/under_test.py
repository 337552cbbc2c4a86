"""A pipeline of the user's own in a scenario: made, watched, and kept from doing harm."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from harness.pipeline.orchestrator import ToolOrchestrator
from harness.scenario.ending import within
from harness.scenario.format import AgentSpec, Scenario
from harness.scenario.guard import guarded, plant_outside
from harness.scenario.stage import Stage
from harness.scenario.target import Target, load_target, stubs_of
from harness.scenario.tool_watch import Facts, SeenStep, ToolWatch

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Watch:
    """What is seen of a run; of a pipeline that nobody asks about, nothing is."""

    steps: list[SeenStep]
    facts: Facts | None = None
    within_s: float | None = None

    def timed(self, work: Callable[[], _T]) -> _T:
        """What ``work`` gives; raises EndlessError where it takes longer than it may."""
        return work() if self.within_s is None else within(self.within_s, work)

    def forgives(self, error: BaseException) -> bool:
        """Whether an error is a fault of what is under test, so that the run is judged all the same."""
        return self.facts is not None and not isinstance(error, KeyboardInterrupt | SystemExit)


def target_under_test(scenario: Scenario) -> Target | None:
    """The pipeline that the scenario names, None for the built-in one; raises InputError."""
    agent = scenario.agent
    if agent.registry is not None:
        return load_target(agent.registry, scenario.path.parent)
    return None if agent.stubs is None else stubs_of(agent.stubs)


@contextmanager
def watched(stage: Stage, orchestrator: ToolOrchestrator) -> Iterator[Watch]:
    """Watch the orchestrator where the scenario has a word on it."""
    scenario = stage.scenario
    expected = None if scenario.expect is None else scenario.expect.pipeline
    if expected is None and not _is_tested(scenario.agent):
        yield Watch([])
        return
    root, spy = stage.workspace.root, scenario.agent.shell == "spy"
    plant_outside(root)
    with guarded(root, refuse_processes=spy) as guard, ToolWatch(orchestrator, guard, spy_shell=spy) as watch:
        facts = Facts.of(orchestrator)
        yield Watch(watch.steps, facts, None if expected is None else expected.within_s)


def _is_tested(agent: AgentSpec) -> bool:
    return agent.registry is not None or agent.stubs is not None or agent.shell == "spy"
