"""What the prompts of a run consist of, by step: system prompt, tool schemas, history by role."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.measure.prompt import PromptCount
from harness.measure.task import read_tasks
from harness.trace.run import Run

KINDS = ("system", "tools", "user", "assistant", "results", "rest")
_ROLES = {"user": "user", "assistant": "assistant", "tool": "results", "function": "results"}


@dataclass(frozen=True, slots=True)
class Spending:
    """The counted prompt tokens of one request by kind, and whether the count is an estimate."""

    tokens: Mapping[str, int]
    estimate: bool

    @property
    def total(self) -> int:
        """All of the prompt."""
        return sum(self.tokens.values())

    def document(self) -> list[int]:
        """The tokens in the order of `KINDS`, then 1 for an estimate."""
        return [*(self.tokens[kind] for kind in KINDS), int(self.estimate)]


def spending_of(run: Run) -> dict[int, Spending]:
    """By the position of each chat exchange of the run; empty for imported runs, which have no requests.

    Requests that cannot be read, and those answered with an error, are not counted.
    """
    positions = {exchange.index: position for position, exchange in enumerate(run.exchanges)}
    try:
        session = read_tasks(run.exchanges)
    except ValueError:
        return {}
    found: dict[int, Spending] = {}
    for task in session.tasks:
        for step in task.own_steps:
            found[positions[step.exchange]] = _spending(step.count)
    return found


def _spending(count: PromptCount) -> Spending:
    tokens = dict.fromkeys(KINDS, 0)
    tokens["system"], tokens["tools"] = count.system_tokens, count.tools_tokens
    for role, number in count.history.items():
        tokens[_ROLES.get(role, "rest")] += number
    tokens["rest"] += count.total - sum(tokens.values())
    return Spending(tokens, count.estimate)
