"""One scenario: a fresh workspace, the built-in pipeline, a player, and what came of it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import httpx2

from harness.cassette.dialects import load_cassette
from harness.cassette.drift import Drift
from harness.cassette.scrubbing import Scrubber, recordable
from harness.errors import InputError
from harness.pipeline.argument_policy import ArgumentPolicy
from harness.pipeline.budget import BudgetPolicy
from harness.pipeline.circuit_breaker import CircuitBreaker
from harness.pipeline.executor import ToolExecutor
from harness.pipeline.history import History
from harness.pipeline.loop import LoopConfig, LoopResult, ReActLoop
from harness.pipeline.orchestrator import ToolOrchestrator
from harness.pipeline.permissions import ask_allows, ask_denies
from harness.pipeline.registry import ToolRegistry
from harness.pipeline.sub_agent import SubAgentPolicy, SubAgents
from harness.pipeline.workspace import Workspace
from harness.play.cassette_player import CassettePlayer
from harness.play.client import openai_client
from harness.play.faulty_player import FaultyPlayer
from harness.play.live import LivePlayer
from harness.play.player import MissError, Player
from harness.play.script import ScriptPlayer
from harness.play.strict_player import StrictPlayer
from harness.play.transport import PlayerTransport, RecordingTransport
from harness.scenario.drift_events import note_allowed_drift
from harness.scenario.format import BudgetSpec, Scenario
from harness.scenario.incidents import explain_refusals, note_incidents
from harness.scenario.policy import ReplayPolicy
from harness.scenario.tools import register_tools
from harness.scenario.turns import script_turn
from harness.scenario.watching import RunWatcher
from harness.scenario.workspace import ALIAS, contents, happen, lay_out
from harness.seams import ManualClock, SequentialIds, SystemClock
from harness.trace.run import Run
from harness.wire.exchange import Exchange, Request, Response


@dataclass(slots=True)
class ScenarioRun:
    """What came of a scenario.

    ``files_before`` and ``files_after`` are the workspace's bytes by path. ``miss`` explains a request that nothing
    answered. ``unused`` says what the player was not asked for, ``drift`` by exchange what was allowed to differ,
    ``diverged`` who answered after a miss (empty where nobody did). ``root`` is the folder, gone by now. ``scrubber``
    has scrubbed the exchanges and gives the rest of the run the same placeholders. ``faults`` are those injected,
    ``idle_faults`` those of them that changed nothing.
    """

    scenario: Scenario
    run: Run
    result: LoopResult | None
    requests: list[dict[str, object]]
    files_before: dict[str, bytes]
    files_after: dict[str, bytes]
    root: str
    miss: str | None = None
    unused: list[str] = field(default_factory=list)
    drift: list[tuple[int, Drift]] = field(default_factory=list)
    diverged: str = ""
    scrubber: Scrubber = field(default_factory=Scrubber)
    faults: list[str] = field(default_factory=list)
    idle_faults: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Stage:
    """Everything a run needs, ready."""

    scenario: Scenario
    workspace: Workspace
    clock: ManualClock
    registry: ToolRegistry
    sub_agents: SubAgents


def run_scenario(scenario: Scenario, policy: ReplayPolicy | None = None) -> ScenarioRun:
    """Run a scenario against its own player; raises InputError for files or tools that it names wrongly."""
    with _stage(scenario) as stage:
        if scenario.player.cassette is not None:
            return _with_cassette(stage, policy or ReplayPolicy())
        return _with_script(stage, policy or ReplayPolicy())


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
    with _stage(scenario) as stage:
        exchanges: list[Exchange] = []
        scrubber = scrubber or Scrubber()

        def take(exchange: Exchange) -> None:
            kept = recordable(_under_alias(exchange, str(stage.workspace.root)), scrubber)
            exchanges.append(kept)
            keep(kept)

        # A server may close a kept connection just as the next request goes out, and a recording does not try again.
        unkept = httpx2.HTTPTransport(limits=httpx2.Limits(max_keepalive_connections=0))
        transport = RecordingTransport(unkept, take, SystemClock())
        return _drive(stage, transport, lambda: exchanges, scrubber, base_url=endpoint, api_key=api_key)


@contextmanager
def _stage(scenario: Scenario) -> Iterator[_Stage]:
    with tempfile.TemporaryDirectory(prefix="harness-") as folder:
        root = Path(folder).resolve() / "workspace"
        root.mkdir()
        workspace = lay_out(scenario, root)
        clock = ManualClock()
        settings = scenario.agent.breaker
        try:
            breaker = CircuitBreaker(settings.failure_threshold, settings.recovery_timeout_s, clock)
        except ValueError as error:
            raise InputError(f"agent.breaker: {error}", where=str(scenario.path)) from error
        registry = ToolRegistry(breaker)
        sub_agents = SubAgents(_sub_agent_policy(scenario))
        try:
            register_tools(registry, scenario.agent, workspace, sub_agents)
        except ValueError as error:
            raise InputError(f"agent.tools: {error}", where=str(scenario.path)) from error
        yield _Stage(scenario, workspace, clock, registry, sub_agents)


def _with_script(stage: _Stage, policy: ReplayPolicy) -> ScenarioRun:
    player = _script_player(stage)
    outcome = _play(stage, player, policy)
    outcome.unused = [f"turn {number + 1} of the script" for number in range(player.played, len(player.turns))]
    return outcome


def _script_player(stage: _Stage) -> ScriptPlayer:
    turns = [turn for turn in stage.scenario.player.script or [] for _ in range(turn.repeat)]

    def before(number: int) -> None:
        for event in turns[number].before:
            happen(event, stage.workspace, stage.clock)

    scripted = [script_turn(turn, number, ALIAS) for number, turn in enumerate(turns)]
    spec = stage.scenario.player
    return ScriptPlayer(scripted, spec.models, before, spec.side)


def _with_cassette(stage: _Stage, policy: ReplayPolicy) -> ScenarioRun:
    cassette = load_cassette(stage.scenario.beside(stage.scenario.player.cassette or ""))
    with ExitStack() as stack:
        fallback = _fallback(stage, policy, stack)
        player = CassettePlayer(cassette, allow_drift=policy.allow_drift, fallback=fallback)
        outcome = _play(stage, _UnderAlias(player, str(stage.workspace.root)), policy)
    outcome.unused = [f"exchange {exchange.index} of {cassette.path.name}" for exchange in player.unused]
    outcome.drift = player.drifted
    note_allowed_drift(outcome.run, cassette, player.drifted)
    if player.miss is not None:
        outcome.miss = str(player.miss)
        outcome.diverged = "" if fallback is None else f"the {policy.on_miss}"
    return outcome


def _play(stage: _Stage, player: Player, policy: ReplayPolicy) -> ScenarioRun:
    """Run against ``player`` behind what the scenario and the policy put in front of it."""
    spec = stage.scenario.player
    upstream = StrictPlayer(player) if spec.strict else player
    faulty = FaultyPlayer(upstream, [*spec.faults, *policy.faults], policy.seed)
    transport = PlayerTransport(faulty)
    outcome = _drive(stage, transport, lambda: transport.exchanges)
    note_incidents(outcome.run, faulty.incidents)
    outcome.faults = [fault.text for fault in faulty.faults]
    outcome.idle_faults = [fault.text for fault in faulty.idle]
    if outcome.faults:
        outcome.run.facts["faults"] = outcome.faults
    return outcome


def _fallback(stage: _Stage, policy: ReplayPolicy, stack: ExitStack) -> Player | None:
    scenario = stage.scenario
    if policy.on_miss == "script":
        if scenario.player.script is None:
            raise InputError("player.script: there is no script to go on with", where=str(scenario.path))
        return _script_player(stage)
    if policy.on_miss == "live":
        endpoint = policy.endpoints.get(scenario.agent.model)
        if endpoint is None:
            raise InputError(
                f"agent.model: no endpoint for {scenario.agent.model!r} to go on with",
                where=str(scenario.path),
                hint="--endpoint MODEL=URL",
            )
        return stack.enter_context(LivePlayer(endpoint, policy.api_key))
    return None


@dataclass(frozen=True, slots=True)
class _UnderAlias:
    """Shows a player the requests with the workspace's folder under its alias, as cassettes hold them."""

    player: Player
    root: str

    def answer(self, request: Request) -> Response:
        return self.player.answer(_request_under_alias(request, self.root))


def _drive(
    stage: _Stage,
    transport: httpx2.BaseTransport,
    exchanges: Callable[[], list[Exchange]],
    scrubber: Scrubber | None = None,
    **client_options: str,
) -> ScenarioRun:
    scenario, agent = stage.scenario, stage.scenario.agent
    run = Run(scenario.name, "scenario", str(scenario.path))
    watcher = RunWatcher(run, exchanges)
    main = watcher.main
    before = contents(stage.workspace)
    miss: str | None = None
    result: LoopResult | None = None

    with openai_client(transport, **client_options) as client:
        loop = ReActLoop(
            client,
            _orchestrator(stage),
            _config(scenario),
            _history(scenario),
            on_step=main.on_step,
            on_answer=main.on_answer,
        )
        stage.sub_agents.connect(loop, watcher.sub_agent)
        try:
            result = loop.run(scenario.prompt)
            main.on_end(result)
        except MissError as error:
            miss = str(error)
            main.on_failure(error)
    scrubber = scrubber or Scrubber()
    run.exchanges = [recordable(exchange, scrubber) for exchange in exchanges() if exchange.is_chat]
    run.facts = {"model": agent.model, "stream": agent.stream}
    explain_refusals(run)
    root = str(stage.workspace.root)
    return ScenarioRun(
        scenario, run, result, watcher.requests, before, contents(stage.workspace), root, miss, scrubber=scrubber
    )


def _orchestrator(stage: _Stage) -> ToolOrchestrator:
    agent = stage.scenario.agent
    executor = ToolExecutor(
        stage.registry,
        stage.workspace,
        mode=agent.mode,
        ask=ask_allows if agent.ask == "allow" else ask_denies,
        require_read=agent.require_read,
        arguments=ArgumentPolicy(agent.arguments.repair, agent.arguments.coerce),
        clock=stage.clock,
    )
    budget = _budget(agent.budget, "agent.budget", stage.scenario)
    return ToolOrchestrator(executor, budget=budget, ids=SequentialIds())


def _budget(spec: BudgetSpec, key: str, scenario: Scenario) -> BudgetPolicy:
    try:
        return BudgetPolicy(spec.per_result_bytes, spec.total_bytes, spec.max_calls)
    except ValueError as error:
        raise InputError(f"{key}: {error}", where=str(scenario.path)) from error


def _sub_agent_policy(scenario: Scenario) -> SubAgentPolicy:
    spec = scenario.agent.sub_agent
    budget = _budget(spec.budget, "agent.sub_agent.budget", scenario)
    return SubAgentPolicy(spec.step_limit, spec.system, budget, spec.max_sub_agents)


def _config(scenario: Scenario) -> LoopConfig:
    agent = scenario.agent
    return LoopConfig(
        model=agent.model,
        stream=agent.stream,
        tool_choice=agent.tool_choice,
        parameters=agent.parameters,
        step_limit=agent.step_limit,
        retries=agent.retries,
        repeat_limit=agent.repeat_limit,
        call_in_text_limit=agent.call_in_text_limit,
        check_capabilities=agent.check_capabilities,
    )


def _history(scenario: Scenario) -> History:
    system = scenario.agent.system
    return History([] if system is None else [{"role": "system", "content": system}])


def _under_alias(exchange: Exchange, root: str) -> Exchange:
    """The exchange as it is kept: its request under the alias."""
    return replace(exchange, request=_request_under_alias(exchange.request, root))


def _request_under_alias(request: Request, root: str) -> Request:
    folder = root.encode()
    return replace(request, body=request.body.replace(folder, ALIAS.encode())) if folder in request.body else request
