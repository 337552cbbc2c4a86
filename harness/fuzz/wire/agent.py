"""The agent that is fuzzed, and what is seen of it when it is played an example."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import InputError
from harness.fuzz.calls import ToolSchema, tool_schemas
from harness.fuzz.examples import Example, Turn
from harness.fuzz.wire.scenarios import WireRules, document_of
from harness.judge.checks import judge_scenario
from harness.judge.verdict import Case, Check, Verdict
from harness.scenario.format import Scenario
from harness.scenario.outcome import ScenarioRun
from harness.scenario.policy import ReplayPolicy
from harness.scenario.runner import run_scenario
from harness.trace.run import Step

OUTCOMES = ("answered", "unanswered", "not reached")
"""What became of a call: it has a result in a later request, it has none, or its turn was never asked for."""


@dataclass(frozen=True)
class WireOutcome:
    """What was seen: the checks that failed, and for each turn what became of its calls, of `OUTCOMES`."""

    failed: tuple[Check, ...]
    answers: tuple[tuple[str, ...], ...]

    def failures(self, cause: str) -> tuple[Check, ...]:
        """The failures with that cause."""
        return tuple(check for check in self.failed if cause_of(check) == cause)

    @property
    def causes(self) -> tuple[str, ...]:
        """What failed, each once, in the order in which it is told."""
        return tuple(dict.fromkeys(map(cause_of, self.failed)))


@dataclass(frozen=True)
class WireAgent:
    """An agent by its name: a preset, a file ``NAME.toml``, or a function ``module:function``.

    ``program`` is a preset's where it is not found by itself.
    """

    name: str
    program: str | None = None

    def play(self, example: Example, rules: WireRules) -> WireOutcome:
        """Play the example to it. Raises InputError where it is not there."""
        outcome, case = self._run(example, rules)
        failed = tuple(check for check in case.checks if check.verdict in (Verdict.FAIL, Verdict.ERROR))
        return WireOutcome(failed, tuple(_answers(example.turns, outcome)))

    def offered(self, rules: WireRules) -> tuple[list[ToolSchema], bool]:
        """Its tools, and whether it asks for streams.

        Raises InputError where it is not there, offers no tools, or does not pass without a single call: then nothing
        that is found would be told by the calls.
        """
        outcome, case = self._run(Example(()), rules)
        request = next((request for request in outcome.requests if request.get("tools")), None)
        if request is None and outcome.requests:
            raise InputError("the agent offers no tools, so there is nothing to call", where=self.name)
        if case.verdict is not Verdict.PASS or request is None:
            raise InputError(
                f"the agent does not pass a run without calls: {case.first_line}",
                where=self.name,
                hint="fuzzing tells nothing until it does",
            )
        tools = request.get("tools")
        return tool_schemas(tools if isinstance(tools, list) else []), bool(request.get("stream"))

    def _run(self, example: Example, rules: WireRules) -> tuple[ScenarioRun, Case]:
        document = document_of(self.name, example, rules, Path())
        scenario = Scenario.model_validate({**document, "path": Path("fuzz.yaml"), "name": "fuzz"})
        outcome = run_scenario(scenario, ReplayPolicy(agent_bin=self.program))
        if outcome.served is not None and outcome.served.unavailable:
            raise InputError(outcome.served.unavailable, where=self.name)
        return outcome, judge_scenario(outcome, "fuzz.yaml")


def cause_of(check: Check) -> str:
    """What a failure is one of: the check, or the user's own function."""
    return check.message.partition(": ")[0] if check.name == "python" else check.name


def _answers(turns: Sequence[Turn], outcome: ScenarioRun) -> Iterator[tuple[str, ...]]:
    """Turn by turn; one that was asked for again has what became of it in the end."""
    steps = sorted(
        (step for lane in outcome.run.lanes for step in lane.steps if step.calls),
        key=lambda step: -1 if step.exchange is None else step.exchange,
    )
    sent = set(_results(outcome.requests))
    left = iter(steps)
    step = next(left, None)
    for turn in turns:
        found: list[Step] = []
        while step is not None and _is(step, turn):
            found.append(step)
            step = next(left, None)
            if step is not None and found[-1].error is None:
                break
        if not found:
            yield ("not reached",) * len(turn.calls)
            continue
        given = [bool(call.observation) or call.id in sent for call in found[-1].calls]
        given += [False] * (len(turn.calls) - len(given))
        yield tuple("answered" if answered else "unanswered" for answered in given)


def _is(step: Step, turn: Turn) -> bool:
    """Whether the step is that turn, or what there is of it where it broke off."""
    if step.error is not None:
        return len(step.calls) <= len(turn.calls)
    return [(call.name, call.arguments) for call in step.calls] == [
        (call.name or "", call.arguments or "") for call in turn.calls
    ]


def _results(requests: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for request in requests:
        messages = request.get("messages")
        for message in messages if isinstance(messages, list) else []:
            if isinstance(message, dict) and message.get("role") == "tool":
                yield str(message.get("tool_call_id"))
