"""One scenario: a fresh workspace, an agent, a player, and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import httpx2

from harness.cassette.dialects import load_cassette
from harness.cassette.scrubbing import Scrubber, recordable
from harness.play.cassette_player import CassettePlayer
from harness.play.faulty_player import FaultyPlayer
from harness.play.player import Player
from harness.play.strict_player import StrictPlayer
from harness.play.transport import PlayerTransport, RecordingTransport
from harness.scenario.agents.agent import Agent
from harness.scenario.agents.pipeline import PipelineAgent
from harness.scenario.children import Channel
from harness.scenario.drift_events import note_allowed_drift
from harness.scenario.dry_trial import dry_trial, is_needed
from harness.scenario.format import Scenario
from harness.scenario.guards import GuardedPlayer, GuardedTransport
from harness.scenario.incidents import note_incidents
from harness.scenario.matrix import demand_single
from harness.scenario.outcome import ScenarioRun
from harness.scenario.policy import ReplayPolicy
from harness.scenario.served import Upstream, agent_of, record_served, run_served
from harness.scenario.stage import Stage, stage_of
from harness.scenario.workspace import ALIAS
from harness.seams import SystemClock
from harness.wire.exchange import Exchange, Request, Response

__all__ = ["ScenarioRun", "record_scenario", "run_scenario"]


def run_scenario(scenario: Scenario, policy: ReplayPolicy | None = None, agent: Agent | None = None) -> ScenarioRun:
    """Run a scenario against its own player; raises InputError for files or tools that it names wrongly.

    ``agent`` takes the place of the scenario's own. A scenario that has to end in time is tried in a child process
    first; what does not end there is not run again.
    """
    demand_single(scenario)
    policy = policy or ReplayPolicy()
    if policy.agent is not None:
        scenario = scenario.with_preset(policy.agent)
    agent = agent or agent_of(scenario, policy.agent_bin)
    with stage_of(scenario) as stage:
        if agent is not None:
            return run_served(stage, agent, policy)
        if is_needed(scenario, policy):
            stage.endless = dry_trial(scenario, policy, _try)
        return _in_process(stage, policy)


def record_scenario(
    scenario: Scenario,
    endpoint: str,
    api_key: str,
    keep: Callable[[Exchange], None],
    scrubber: Scrubber | None = None,
) -> ScenarioRun:
    """Run a scenario against the live model at ``endpoint``, handing each finished exchange to ``keep``.

    What is kept holds no secrets, and the workspace's folder only as its alias.
    """
    demand_single(scenario)
    agent = agent_of(scenario)
    scrubber = scrubber or Scrubber()
    with stage_of(scenario) as stage:
        if agent is not None:
            return record_served(stage, agent, Upstream(endpoint, api_key), keep, scrubber)
        exchanges: list[Exchange] = []

        def take(exchange: Exchange) -> None:
            kept = recordable(_under_alias(exchange, str(stage.workspace.root)), scrubber)
            exchanges.append(kept)
            keep(kept)
            stage.limits.after_answer(exchange.request, exchange.response)

        # A server may close a kept connection just as the next request goes out, and a recording does not try again.
        unkept = httpx2.HTTPTransport(limits=httpx2.Limits(max_keepalive_connections=0))
        recording = RecordingTransport(unkept, take, SystemClock())
        transport = GuardedTransport(recording, (stage.limits, stage.events))
        pipeline = PipelineAgent.on(stage)
        outcome = pipeline.drive(transport, lambda: exchanges, scrubber, base_url=endpoint, api_key=api_key)
        outcome.unused += stage.left
        return outcome


def _try(scenario: Scenario, policy: ReplayPolicy, channel: Channel) -> None:
    with stage_of(scenario) as stage:
        stage.channel = channel
        _in_process(stage, policy)


def _in_process(stage: Stage, policy: ReplayPolicy) -> ScenarioRun:
    cassette = stage.scenario.cassette
    if cassette is not None:
        return _with_cassette(stage, cassette, policy)
    if stage.scenario.player.live:
        return _with_live(stage, policy)
    return _with_script(stage, policy)


def _with_script(stage: Stage, policy: ReplayPolicy) -> ScenarioRun:
    player = stage.script_player(ALIAS)
    outcome = _play(stage, player, policy)
    outcome.unused += [f"turn {number + 1} of the script" for number in range(player.played, len(player.turns))]
    return outcome


def _with_live(stage: Stage, policy: ReplayPolicy) -> ScenarioRun:
    with stage.live_player(policy, "to ask") as player:
        outcome = _play(stage, player, policy)
    outcome.run.facts["answered_by"] = "the live model"
    return outcome


def _with_cassette(stage: Stage, path: Path, policy: ReplayPolicy) -> ScenarioRun:
    cassette = load_cassette(path)
    with ExitStack() as stack:
        fallback = stage.fallback(policy, stack, ALIAS)
        player = CassettePlayer(cassette, allow_drift=policy.allow_drift, fallback=fallback)
        outcome = _play(stage, _UnderAlias(player, str(stage.workspace.root)), policy)
    outcome.unused += [f"exchange {exchange.index} of {cassette.path.name}" for exchange in player.unused]
    outcome.drift = player.drifted
    note_allowed_drift(outcome.run, cassette, player.drifted)
    if player.miss is not None:
        outcome.miss = str(player.miss)
        outcome.diverged = "" if fallback is None else f"the {policy.on_miss}"
    return outcome


def _play(stage: Stage, player: Player, policy: ReplayPolicy) -> ScenarioRun:
    """Run against ``player`` behind what the scenario and the policy put in front of it."""
    spec = stage.scenario.player
    upstream = StrictPlayer(player) if spec.strict else player
    faulty = FaultyPlayer(upstream, [*spec.faults, *policy.faults], policy.seed)
    stage.world.add_fault = faulty.add
    transport = PlayerTransport(GuardedPlayer(faulty, (stage.limits, stage.events)))
    outcome = PipelineAgent.on(stage).drive(transport, lambda: transport.exchanges)
    outcome.unused += stage.left
    note_incidents(outcome.run, faulty.incidents)
    outcome.faults = [fault.text for fault in faulty.faults]
    outcome.idle_faults = [fault.text for fault in faulty.idle]
    if outcome.faults:
        outcome.run.facts["faults"] = outcome.faults
    return outcome


@dataclass(frozen=True, slots=True)
class _UnderAlias:
    """Shows a player the requests with the workspace's folder under its alias, as cassettes hold them."""

    player: Player
    root: str

    def answer(self, request: Request) -> Response:
        return self.player.answer(_request_under_alias(request, self.root))


def _under_alias(exchange: Exchange, root: str) -> Exchange:
    """The exchange as it is kept: its request under the alias."""
    return replace(exchange, request=_request_under_alias(exchange.request, root))


def _request_under_alias(request: Request, root: str) -> Request:
    folder = root.encode()
    return replace(request, body=request.body.replace(folder, ALIAS.encode())) if folder in request.body else request
