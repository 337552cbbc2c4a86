"""A pipeline of the user's own in a scenario: made, watched, and kept from doing harm."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from harness.pipeline.orchestrator import ToolOrchestrator
from harness.scenario.children import Channel
from harness.scenario.dry_trial import Begun, Endless
from harness.scenario.ending import EndlessError, within
from harness.scenario.format import AgentSpec, Scenario
from harness.scenario.guard import guarded, plant_outside
from harness.scenario.stage import Stage
from harness.scenario.target import Target, load_target, stubs_of
from harness.scenario.tool_watch import Facts, SeenStep, ToolWatch

_T = TypeVar("_T")


@dataclass(slots=True)
class Watch:
    """What is seen of a run; of a pipeline that nobody asks about, nothing is. For the rest see `Stage`."""

    steps: list[SeenStep]
    facts: Facts | None = None
    within_s: float | None = None
    endless: Endless | None = None
    channel: Channel | None = None
    turn: int = 0

    def timed(self, work: Callable[[], _T]) -> _T:
        """What ``work`` gives for the next turn; raises EndlessError where it takes longer than it may."""
        turn, self.turn = self.turn, self.turn + 1
        if self.within_s is None:
            return work()
        if self.endless is not None and self.endless.turn == turn:
            raise EndlessError(self.endless.why)
        if self.channel is None:
            return within(self.within_s, work)
        self.channel.send(Begun(turn))
        self.channel.pulse.begin(self.within_s)
        try:
            return within(self.within_s, work)
        except EndlessError as error:
            self.channel.send(Endless(turn, str(error)))
            raise
        finally:
            self.channel.pulse.end()

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
        within_s = None if expected is None else expected.within_s
        yield Watch(watch.steps, facts, within_s, stage.endless, stage.channel)


def _is_tested(agent: AgentSpec) -> bool:
    return agent.registry is not None or agent.stubs is not None or agent.shell == "spy"
