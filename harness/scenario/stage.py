"""Where a scenario is played: fresh folders, a clock, what happens in between, and the players that see them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.errors import InputError
from harness.pipeline.workspace import Workspace
from harness.play.live import LivePlayer
from harness.play.player import Player
from harness.play.script import ScriptPlayer
from harness.scenario.children import Channel
from harness.scenario.dry_trial import Endless
from harness.scenario.format import Scenario
from harness.scenario.happening import RequestEvents, World
from harness.scenario.limits import RequestLimits
from harness.scenario.policy import ReplayPolicy
from harness.scenario.turns import script_turn
from harness.scenario.workspace import lay_out
from harness.seams import ManualClock, SystemClock


@dataclass(slots=True)
class Stage:
    """A scenario's folders and world, ready. ``home`` is empty, beside the workspace.

    ``endless`` is what a trial has shown not to end; ``channel`` leads from a trial to who waits for it.
    """

    scenario: Scenario
    workspace: Workspace
    home: Path
    world: World
    events: RequestEvents
    limits: RequestLimits
    endless: Endless | None = None
    channel: Channel | None = None

    @property
    def left(self) -> list[str]:
        """What the scenario holds and the run did not come to."""
        waiting = [f"what happens before request {event.before_request}" for event in self.events.waiting]
        return waiting + self.world.failures.left

    def script_player(self, folder: str) -> ScriptPlayer:
        """The player of the script; ``folder`` is the workspace as the agent names it."""
        turns = [turn for turn in self.scenario.player.script or [] for _ in range(turn.repeat)]

        def before(number: int) -> None:
            for event in turns[number].before:
                self.world.happen(event)

        scripted = [script_turn(turn, number, folder) for number, turn in enumerate(turns)]
        spec = self.scenario.player
        return ScriptPlayer(scripted, spec.models, before, spec.side)

    def live_player(self, policy: ReplayPolicy, purpose: str) -> LivePlayer:
        """The agent's model, at the endpoint that only the command line says; raises InputError where it does not."""
        scenario = self.scenario
        endpoint = policy.endpoints.get(scenario.agent.model)
        if endpoint is None:
            raise InputError(
                f"agent.model: no endpoint for {scenario.agent.model!r} {purpose}",
                where=str(scenario.path),
                hint="--endpoint MODEL=URL",
            )
        return LivePlayer(endpoint, policy.api_key)

    def fallback(self, policy: ReplayPolicy, stack: ExitStack, folder: str) -> Player | None:
        """Who answers after a divergence; raises InputError where the policy names somebody who is not there."""
        scenario = self.scenario
        if policy.on_miss == "script":
            if scenario.player.script is None:
                raise InputError("player.script: there is no script to go on with", where=str(scenario.path))
            return self.script_player(folder)
        if policy.on_miss == "live":
            return stack.enter_context(self.live_player(policy, "to go on with"))
        return None


@contextmanager
def stage_of(scenario: Scenario) -> Iterator[Stage]:
    """Lay the scenario's folders out; they are gone afterwards. Raises InputError for what it names wrongly."""
    with tempfile.TemporaryDirectory(prefix="harness-", ignore_cleanup_errors=True) as folder:
        root, home = (Path(folder).resolve() / name for name in ("workspace", "home"))
        root.mkdir()
        home.mkdir()
        workspace = lay_out(scenario, root)
        world = World(workspace, ManualClock())
        # Only the pipeline counts its own steps.
        limits = RequestLimits(scenario.limits, SystemClock(), count_steps=not scenario.agent.is_pipeline)
        yield Stage(scenario, workspace, home, world, RequestEvents(scenario, world), limits)
