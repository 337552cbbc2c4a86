"""Sub-agents: a second conversation in read-only mode, with its own history, tools, budget and step limit (seed 000).

Its model calls go through the client of the agent that started it. What it did is no part of that agent's history:
only its last message comes back.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from harness.errors import HarnessError
from harness.pipeline.budget import BudgetPolicy
from harness.pipeline.history import History
from harness.pipeline.loop import LoopResult, ReActLoop, StepRecord

SUB_AGENT_STEPS = 20
MAX_SUB_AGENTS = 32

SYSTEM = (
    "You look things up in a project for another agent. You can read and search, and change nothing. "
    "Your last message is all that the other agent gets: answer what was asked, and name files and lines."
)


class NoSubAgentError(HarnessError):
    """A sub-agent cannot be started; the text says why."""


class Watcher(Protocol):
    """Is told of a conversation while it goes on."""

    def on_answer(self, request: dict[str, Any]) -> None:
        """The model has answered ``request``, or failed to; nothing that it called has run yet."""
        ...

    def on_step(self, record: StepRecord) -> None:
        """A step is finished."""
        ...

    def on_end(self, result: LoopResult) -> None:
        """The conversation is over."""
        ...

    def on_failure(self, error: Exception) -> None:
        """The conversation was left by an exception, which goes on up."""
        ...


Watch = Callable[[str, str], Watcher]
"""Begins to watch a conversation: its name (``task-1`` for the first), and the id of the call that started it."""


@dataclass(frozen=True)
class SubAgentPolicy:
    """What a sub-agent may use.

    ``step_limit`` counts its own model calls, ``budget`` bounds the results of its own steps. ``max_sub_agents`` is
    how many one agent may start: without it a runaway agent multiplies its own step limit by this one.
    """

    step_limit: int = SUB_AGENT_STEPS
    system: str = SYSTEM
    budget: BudgetPolicy = field(default_factory=BudgetPolicy)
    max_sub_agents: int = MAX_SUB_AGENTS


@dataclass(frozen=True, slots=True)
class SubAgentRun:
    """A finished sub-agent: the name of its conversation, and how it ended."""

    name: str
    result: LoopResult


class SubAgents:
    """Starts the sub-agents of one loop, one at a time; `connect` says of which.

    A sub-agent has the loop's tools in a registry of its own: circuits that opened for the agent are closed for it,
    and what it reads does not count as read by the agent. It runs READ_ONLY, so it is shown, and allowed, only what
    reads. Model, parameters, streaming and retries are the loop's.
    """

    def __init__(self, policy: SubAgentPolicy | None = None) -> None:
        self.policy = policy or SubAgentPolicy()
        self._loop: ReActLoop | None = None
        self._watch: Watch | None = None
        self._numbers = itertools.count(1)

    def connect(self, loop: ReActLoop, watch: Watch | None = None) -> None:
        """Take client, tools and settings from ``loop``; ``watch`` is called for each conversation that begins."""
        self._loop, self._watch = loop, watch

    def run(self, prompt: str, call_id: str, starter: str) -> SubAgentRun:
        """Hold a conversation about ``prompt`` to its end.

        ``starter`` is the tool that starts sub-agents: they do not get it. Raises NoSubAgentError when none may be
        started, and what the player raises for a request it has no answer for.
        """
        if self._loop is None:
            raise NoSubAgentError("there is no model here that a sub-agent could ask")
        number = next(self._numbers)
        if number > self.policy.max_sub_agents:
            raise NoSubAgentError(f"{self.policy.max_sub_agents} sub-agents have been started, which is the limit")
        name = f"task-{number}"
        watcher = self._watch(name, call_id) if self._watch else None
        loop = self._conversation(self._loop, starter, watcher)
        try:
            result = loop.run(prompt)
        except Exception as error:
            if watcher is not None:
                watcher.on_failure(error)
            raise
        if watcher is not None:
            watcher.on_end(result)
        return SubAgentRun(name, result)

    def _conversation(self, parent: ReActLoop, starter: str, watcher: Watcher | None) -> ReActLoop:
        executor = parent.orchestrator.executor
        orchestrator = parent.orchestrator.beside(
            executor.read_only(executor.registry.fresh(without=starter)), self.policy.budget
        )
        config = replace(
            parent.config, step_limit=self.policy.step_limit, tool_choice=None, check_capabilities=False
        )  # the parent could call, so the model has tools
        history = History([{"role": "system", "content": self.policy.system}])
        if watcher is None:
            return ReActLoop(parent.client, orchestrator, config, history)
        return ReActLoop(
            parent.client, orchestrator, config, history, on_step=watcher.on_step, on_answer=watcher.on_answer
        )
