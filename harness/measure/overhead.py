"""What rides along with every request of a task, step by step and tool by tool."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from harness.measure.parallel import ParallelTurn, parallel_turns
from harness.measure.prefix import PrefixBreak, breaks
from harness.measure.repeated import Repeated, repeated_texts
from harness.measure.task import Task, TaskStep


@dataclass(frozen=True, slots=True)
class StepOverhead:
    """One step. ``other`` is what no message and no tool causes (priming, response format, a named tool choice).

    ``new`` are the messages that it adds, and tools that changed; ``alone`` is what the request would cost without the
    history before it.
    """

    step: TaskStep
    number: int
    system: int
    tools: int
    history: Mapping[str, int]
    other: int
    new: int
    alone: int
    total: int
    cumulated: int
    prefix_break: PrefixBreak | None = None

    @property
    def resent(self) -> int:
        """What the step before sent already."""
        return self.total - self.new

    @property
    def history_tokens(self) -> int:
        """All messages but the system's."""
        return sum(self.history.values())

    @property
    def tools_share(self) -> float:
        """The part of the request that the tools take, 0 to 1."""
        return self.tools / self.total if self.total else 0.0


@dataclass(slots=True)
class ToolUse:
    """One tool over some tasks: ``tokens`` is its size when it was last sent, ``sent_tokens`` all sendings together.

    ``unused_tokens`` are those of the sendings in tasks in which it was never called. ``described`` is False where a
    sending had no description. ``file`` is set for definitions that were not part of a request.
    """

    name: str
    tokens: int = 0
    description_tokens: int = 0
    sent: int = 0
    called: int = 0
    sent_tokens: int = 0
    unused_tokens: int = 0
    described: bool = True
    file: str = ""


@dataclass(slots=True)
class TaskOverhead:
    """A task, measured."""

    task: Task
    steps: list[StepOverhead] = field(default_factory=list)
    tools: list[ToolUse] = field(default_factory=list)
    parallel: list[ParallelTurn] = field(default_factory=list)
    repeated: list[Repeated] = field(default_factory=list)

    @property
    def own_steps(self) -> list[StepOverhead]:
        """The steps that no earlier task has."""
        return self.steps[self.task.told :]

    @property
    def total(self) -> int:
        """The prompt tokens of all its requests together."""
        return self.steps[-1].cumulated if self.steps else 0

    @property
    def alone(self) -> int:
        """What as many single requests would cost, each with its own new messages only."""
        return sum(step.alone for step in self.steps)

    @property
    def tools_tokens(self) -> int:
        """What the tools cost over the task."""
        return sum(step.tools for step in self.steps)

    @property
    def unused_tokens(self) -> int:
        """Tokens of tools that were sent and never called in it."""
        return sum(tool.unused_tokens for tool in self.tools)


def measure_task(task: Task) -> TaskOverhead:
    """Measure a task; work is linear in its messages, since each step looks at what it adds."""
    own = task.own_steps
    return TaskOverhead(
        task,
        _steps(task.steps),
        _tools(own, task.steps),
        [turn for turn in parallel_turns(task.steps) if turn.step + 1 >= task.told],
        repeated_texts(own),
    )


def tools_over(tasks: Iterable[TaskOverhead]) -> list[ToolUse]:
    """The tools of several tasks together, in order of first appearance."""
    found: dict[str, ToolUse] = {}
    for task in tasks:
        for one in task.tools:
            use = found.setdefault(one.name, ToolUse(one.name))
            if one.sent:
                use.tokens, use.description_tokens = one.tokens, one.description_tokens
            use.sent += one.sent
            use.called += one.called
            use.sent_tokens += one.sent_tokens
            use.unused_tokens += one.unused_tokens
            use.described = use.described and one.described
    return list(found.values())


def _steps(steps: Sequence[TaskStep]) -> list[StepOverhead]:
    found: list[StepOverhead] = []
    cumulated = 0
    before: TaskStep | None = None
    for number, (step, broken) in enumerate(zip(steps, breaks(steps), strict=True), 1):
        count = step.count
        added = sum(message.tokens for message in count.messages if message.index >= step.adds_from)
        fixed = count.total - count.history_tokens
        if before is None:
            new = alone = count.total
        else:
            system = sum(
                message.tokens
                for message in count.messages
                if message.index >= step.adds_from and message.role in {"system", "developer"}
            )
            alone = fixed + added - system
            new = added + (0 if before.tools == step.tools else count.tools_tokens)
        cumulated += count.total
        found.append(
            StepOverhead(
                step,
                number,
                count.system_tokens,
                count.tools_tokens,
                dict(count.history),
                fixed - count.system_tokens - count.tools_tokens,
                new,
                alone,
                count.total,
                cumulated,
                broken,
            )
        )
        before = step
    return found


def _tools(own: Sequence[TaskStep], whole: Sequence[TaskStep]) -> list[ToolUse]:
    used = {call.name for step in whole for call in step.calls if call.name}
    found: dict[str, ToolUse] = {}
    for step in own:
        for tool in step.count.tools:
            use = found.setdefault(tool.name, ToolUse(tool.name))
            use.tokens, use.description_tokens = tool.tokens, tool.description_tokens
            use.sent += 1
            use.sent_tokens += tool.tokens
            use.described = use.described and tool.description_tokens > 0
            if tool.name not in used:
                use.unused_tokens += tool.tokens
        for call in step.calls:
            if call.name:
                found.setdefault(call.name, ToolUse(call.name)).called += 1
    return list(found.values())
