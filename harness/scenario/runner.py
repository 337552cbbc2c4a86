"""One scenario: a fresh workspace, the built-in pipeline, a player, and what came of it."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx2

from harness.cassette.dialects import load_cassette
from harness.cassette.scrubbing import scrub_headers
from harness.errors import InputError
from harness.pipeline.budget import BudgetPolicy
from harness.pipeline.circuit_breaker import CircuitBreaker
from harness.pipeline.executor import ToolExecutor
from harness.pipeline.history import History
from harness.pipeline.loop import LoopConfig, LoopResult, ReActLoop, StepRecord
from harness.pipeline.orchestrator import ToolOrchestrator
from harness.pipeline.permissions import ask_allows, ask_denies
from harness.pipeline.registry import ToolRegistry
from harness.pipeline.workspace import Workspace
from harness.play.cassette_player import CassettePlayer
from harness.play.client import openai_client
from harness.play.player import MissError
from harness.play.script import ScriptedCall, ScriptedTurn, ScriptPlayer
from harness.play.transport import PlayerTransport
from harness.scenario.format import Scenario, TurnSpec
from harness.scenario.tools import register_tools
from harness.scenario.workspace import ALIAS, contents, happen, lay_out
from harness.seams import ManualClock, SequentialIds
from harness.trace.run import Run
from harness.wire.exchange import Exchange


@dataclass(slots=True)
class ScenarioRun:
    """What came of a scenario.

    ``files_before`` and ``files_after`` are the workspace's bytes by path. ``miss`` explains a request that nothing
    answered. ``unused`` says what the player was not asked for. ``root`` is the folder, gone by now.
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


@dataclass(slots=True)
class _Stage:
    """Everything a run needs, ready."""

    scenario: Scenario
    workspace: Workspace
    clock: ManualClock
    registry: ToolRegistry


def run_scenario(scenario: Scenario) -> ScenarioRun:
    """Run a scenario against its own player; raises InputError for files or tools that it names wrongly."""
    with _stage(scenario) as stage:
        if scenario.player.cassette is not None:
            return _with_cassette(stage)
        return _with_script(stage)


def record_scenario(scenario: Scenario, endpoint: str, api_key: str, keep: Callable[[Exchange], None]) -> ScenarioRun:
    """Run a scenario against the live model at ``endpoint``, handing each finished exchange to ``keep``.

    The workspace's folder is replaced by its alias in what is kept.
    """
    from harness.play.transport import RecordingTransport  # noqa: PLC0415
    from harness.seams import SystemClock  # noqa: PLC0415

    with _stage(scenario) as stage:
        exchanges: list[Exchange] = []

        def take(exchange: Exchange) -> None:
            kept = scrub_headers(_under_alias(exchange, str(stage.workspace.root)))
            exchanges.append(kept)
            keep(kept)

        # A server may close a kept connection just as the next request goes out, and a recording does not try again.
        unkept = httpx2.HTTPTransport(limits=httpx2.Limits(max_keepalive_connections=0))
        transport = RecordingTransport(unkept, take, SystemClock())
        return _drive(stage, transport, lambda: exchanges, base_url=endpoint, api_key=api_key)


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
        try:
            register_tools(registry, scenario.agent, workspace)
        except ValueError as error:
            raise InputError(f"agent.tools: {error}", where=str(scenario.path)) from error
        yield _Stage(scenario, workspace, clock, registry)


def _with_script(stage: _Stage) -> ScenarioRun:
    turns = [turn for turn in stage.scenario.player.script or [] for _ in range(turn.repeat)]

    def before(number: int) -> None:
        for event in turns[number].before:
            happen(event, stage.workspace, stage.clock)

    player = ScriptPlayer(
        [_scripted(turn, number) for number, turn in enumerate(turns)], stage.scenario.player.models, before
    )
    transport = PlayerTransport(player)
    outcome = _drive(stage, transport, lambda: transport.exchanges)
    if player.unused:
        outcome.unused = [f"turn {number + 1} of the script" for number in range(player.played, len(turns))]
    return outcome


def _with_cassette(stage: _Stage) -> ScenarioRun:
    cassette = load_cassette(stage.scenario.beside(stage.scenario.player.cassette or ""))
    player = CassettePlayer(cassette, {str(stage.workspace.root): ALIAS, ALIAS: ALIAS})
    transport = PlayerTransport(player)
    outcome = _drive(stage, transport, lambda: transport.exchanges)
    outcome.unused = [f"exchange {exchange.index} of {cassette.path.name}" for exchange in player.unused]
    return outcome


def _drive(
    stage: _Stage,
    transport: httpx2.BaseTransport,
    exchanges: Callable[[], list[Exchange]],
    **client_options: str,
) -> ScenarioRun:
    scenario, agent = stage.scenario, stage.scenario.agent
    run = Run(scenario.name, "scenario", str(scenario.path))
    lane = run.lane("main")
    requests: list[dict[str, object]] = []
    before = contents(stage.workspace)
    miss: str | None = None
    result: LoopResult | None = None

    def on_step(record: StepRecord) -> None:
        requests.append(record.request)
        seen = len([exchange for exchange in exchanges() if exchange.is_chat])
        run.add_step(lane, record, seen - 1 if seen else None)

    with openai_client(transport, **client_options) as client:
        try:
            loop = ReActLoop(client, _orchestrator(stage), _config(scenario), _history(scenario), on_step=on_step)
            result = loop.run(scenario.prompt)
        except MissError as error:
            miss = str(error)
            lane.outcome, lane.reason = "miss", miss.splitlines()[0]
    if result is not None:
        run.finish(lane, result)
    run.exchanges = [scrub_headers(exchange) for exchange in exchanges() if exchange.is_chat]
    run.facts = {"model": agent.model, "stream": agent.stream}
    root = str(stage.workspace.root)
    return ScenarioRun(scenario, run, result, requests, before, contents(stage.workspace), root, miss)


def _orchestrator(stage: _Stage) -> ToolOrchestrator:
    agent = stage.scenario.agent
    executor = ToolExecutor(
        stage.registry,
        stage.workspace,
        mode=agent.mode,
        ask=ask_allows if agent.ask == "allow" else ask_denies,
        require_read=agent.require_read,
        clock=stage.clock,
    )
    try:
        budget = BudgetPolicy(agent.budget.per_result_bytes, agent.budget.total_bytes, agent.budget.max_calls)
    except ValueError as error:
        raise InputError(f"agent.budget: {error}", where=str(stage.scenario.path)) from error
    return ToolOrchestrator(executor, budget=budget, ids=SequentialIds())


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
        check_capabilities=agent.check_capabilities,
    )


def _history(scenario: Scenario) -> History:
    system = scenario.agent.system
    return History([] if system is None else [{"role": "system", "content": system}])


def _scripted(turn: TurnSpec, number: int) -> ScriptedTurn:
    calls = tuple(
        ScriptedCall(
            call.tool,
            call.arguments_text(),
            call.id if "id" in call.model_fields_set else f"call_{number + 1}_{position + 1}",
        )
        for position, call in enumerate(turn.calls)
    )
    reason = turn.finish_reason or ("tool_calls" if calls else "stop")
    return ScriptedTurn(
        text=turn.text,
        calls=calls,
        finish_reason=None if turn.cut else reason,
        usage=turn.usage,
        fragment=turn.fragment,
        done=not turn.cut,
        error_status=turn.error.status if turn.error else None,
        error_message=turn.error.message if turn.error else "",
    )


def _under_alias(exchange: Exchange, root: str) -> Exchange:
    """The exchange with the folder's name on this machine replaced by the alias, on both sides."""
    from dataclasses import replace  # noqa: PLC0415

    pattern = re.compile(re.escape(root).encode())
    request = replace(exchange.request, body=pattern.sub(ALIAS.encode(), exchange.request.body))
    return replace(exchange, request=request)
