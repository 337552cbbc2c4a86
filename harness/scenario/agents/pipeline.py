"""The built-in pipeline as an agent: in this process, its steps and decisions seen from within."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import httpx2

from harness.cassette.scrubbing import Scrubber, recordable
from harness.errors import InputError
from harness.pipeline.argument_policy import ArgumentPolicy
from harness.pipeline.budget import BudgetPolicy
from harness.pipeline.circuit_breaker import CircuitBreaker
from harness.pipeline.executor import ToolExecutor
from harness.pipeline.history import History
from harness.pipeline.loop import LoopConfig, LoopResult, LoopStatus, ReActLoop
from harness.pipeline.orchestrator import ToolOrchestrator
from harness.pipeline.permissions import ask_allows, ask_denies
from harness.pipeline.registry import ToolRegistry
from harness.pipeline.sub_agent import SubAgentPolicy, SubAgents
from harness.play.client import openai_client
from harness.play.player import MissError
from harness.scenario.failing import let_fail
from harness.scenario.format import BudgetSpec, Scenario
from harness.scenario.happening import failing_tools
from harness.scenario.incidents import explain_refusals
from harness.scenario.outcome import ScenarioRun
from harness.scenario.stage import Stage
from harness.scenario.target import Surroundings, Target
from harness.scenario.tools import register_tools
from harness.scenario.under_test import target_under_test, watched
from harness.scenario.watching import RunWatcher
from harness.scenario.workspace import contents
from harness.seams import SequentialIds
from harness.trace.run import Run
from harness.wire.exchange import Exchange


@dataclass(slots=True)
class PipelineAgent:
    """The pipeline with its tools, on a stage."""

    stage: Stage
    registry: ToolRegistry
    sub_agents: SubAgents
    own: ToolOrchestrator | None = None
    """The user's own pipeline, where the scenario names one."""

    @classmethod
    def on(cls, stage: Stage) -> PipelineAgent:
        """Make it as the scenario says; raises InputError for settings that there are not."""
        scenario = stage.scenario
        settings = scenario.agent.breaker
        try:
            breaker = CircuitBreaker(settings.failure_threshold, settings.recovery_timeout_s, stage.world.clock)
        except ValueError as error:
            raise InputError(f"agent.breaker: {error}", where=str(scenario.path)) from error
        if (target := target_under_test(scenario)) is not None:
            return cls._of_target(stage, target, breaker)
        registry = ToolRegistry(breaker)
        sub_agents = SubAgents(_sub_agent_policy(scenario))
        try:
            register_tools(registry, scenario.agent, stage.workspace, sub_agents)
        except ValueError as error:
            raise InputError(f"agent.tools: {error}", where=str(scenario.path)) from error
        let_fail(registry, failing_tools(scenario), stage.world.failures)
        return cls(stage, registry, sub_agents)

    @classmethod
    def _of_target(cls, stage: Stage, target: Target, breaker: CircuitBreaker) -> PipelineAgent:
        """The user's own pipeline; ``breaker`` takes the place of its own where the scenario sets one."""
        scenario = stage.scenario
        own = target(Surroundings(stage.workspace, stage.world.clock))
        registry = own.executor.registry
        if "breaker" in scenario.agent.model_fields_set and type(registry.breaker) is CircuitBreaker:
            registry.breaker = breaker
        let_fail(registry, failing_tools(scenario), stage.world.failures)
        return cls(stage, registry, SubAgents(_sub_agent_policy(scenario)), own)

    def drive(
        self,
        transport: httpx2.BaseTransport,
        exchanges: Callable[[], list[Exchange]],
        scrubber: Scrubber | None = None,
        **client_options: str,
    ) -> ScenarioRun:
        """Do the scenario's task through ``transport``; ``exchanges`` gives those that were held so far."""
        scenario, agent = self.stage.scenario, self.stage.scenario.agent
        run = Run(scenario.name, "scenario", str(scenario.path))
        watcher = RunWatcher(run, exchanges)
        main = watcher.main
        before = contents(self.stage.workspace)
        miss: str | None = None
        result: LoopResult | None = None
        turns, said = scenario.user_turns, 0
        orchestrator = self.own or self._orchestrator()

        with openai_client(transport, **client_options) as client, watched(self.stage, orchestrator) as watch:
            loop = ReActLoop(
                client,
                orchestrator,
                _config(scenario),
                _history(scenario),
                on_step=main.on_step,
                on_answer=main.on_answer,
            )
            self.sub_agents.connect(loop, watcher.sub_agent)
            try:
                for turn in turns:
                    for event in turn.before:
                        self.stage.world.happen(event)
                    said += 1
                    result = watch.timed(partial(loop.run, turn.text))
                    main.on_end(result)
                    if result.status is not LoopStatus.ANSWERED:
                        break
            except MissError as error:
                miss = str(error)
                main.on_failure(error)
            except BaseException as error:
                if not watch.forgives(error):
                    raise
                result = None
                main.on_failure(error)
        scrubber = scrubber or Scrubber()
        run.exchanges = [recordable(exchange, scrubber) for exchange in exchanges() if exchange.is_chat]
        run.facts = {"model": agent.model, "stream": agent.stream}
        explain_refusals(run)
        root, after = str(self.stage.workspace.root), contents(self.stage.workspace)
        unsaid = [f"turn {number + 1} of the user" for number in range(said, len(turns))]
        outcome = ScenarioRun(
            scenario, run, result, watcher.requests, before, after, root, miss, unsaid, scrubber=scrubber
        )
        outcome.seen, outcome.pipeline_facts = watch.steps, watch.facts
        return outcome

    def _orchestrator(self) -> ToolOrchestrator:
        agent = self.stage.scenario.agent
        executor = ToolExecutor(
            self.registry,
            self.stage.workspace,
            mode=agent.mode,
            ask=ask_allows if agent.ask == "allow" else ask_denies,
            require_read=agent.require_read,
            arguments=ArgumentPolicy(agent.arguments.repair, agent.arguments.coerce),
            clock=self.stage.world.clock,
        )
        budget = _budget(agent.budget, "agent.budget", self.stage.scenario)
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
    steps = scenario.limits.steps
    return LoopConfig(
        model=agent.model,
        stream=agent.stream,
        tool_choice=agent.tool_choice,
        parameters=agent.parameters,
        step_limit=agent.step_limit if steps is None else min(agent.step_limit, steps),
        retries=agent.retries,
        repeat_limit=agent.repeat_limit,
        call_in_text_limit=agent.call_in_text_limit,
        check_capabilities=agent.check_capabilities,
    )


def _history(scenario: Scenario) -> History:
    system = scenario.agent.system
    return History([] if system is None else [{"role": "system", "content": system}])
