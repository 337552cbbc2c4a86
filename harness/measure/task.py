"""Tasks: the conversations of a session, each step with what its request costs and what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.cassette.dialects import pydantic_ai
from harness.cassette.lanes import Lane, LaneStep, find_lanes
from harness.measure.conversation import ConversationCounter
from harness.measure.prompt import PromptCount
from harness.measure.usage import RecordedUsage, recorded_usage
from harness.wire.chat import ModelTurn, ToolCall
from harness.wire.exchange import Exchange

RESULT_ROLES = frozenset({"tool", "function"})
SYSTEM_ROLES = frozenset({"system", "developer"})


@dataclass(frozen=True, slots=True)
class TaskStep:
    """One request of a task. ``exchange`` is its index in the file.

    ``shared`` is how many of its messages, from the first, stood in the step before; those from ``adds_from`` on are
    what it adds. The two differ where the history was rewritten. ``calls`` are those of its answer; where no answer was
    kept, those that the next request repeats.
    """

    exchange: int
    model: str | None
    url: str
    count: PromptCount
    usage: RecordedUsage
    calls: tuple[ToolCall, ...]
    messages: Sequence[Any]
    tools: Sequence[Any]
    shared: int = 0
    adds_from: int = 0

    @property
    def results(self) -> int:
        """How many results of calls it adds to the step before."""
        return sum(role_of(message) in RESULT_ROLES for message in self.messages[self.adds_from :])

    @property
    def prompt_tokens(self) -> int:
        """As the provider reported them, else as counted."""
        return self.count.total if self.usage.prompt is None else self.usage.prompt


@dataclass(slots=True)
class Task:
    """One conversation of a file, its steps in order.

    A conversation that branches off another begins with steps that both have: the first ``told`` steps belong to the
    other task, so that sums over tasks hold each exchange once.
    """

    file: str
    number: int
    steps: list[TaskStep] = field(default_factory=list)
    told: int = 0

    @property
    def own_steps(self) -> list[TaskStep]:
        """The steps that no earlier task has."""
        return self.steps[self.told :]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A chat exchange that is no step of a task, and why."""

    exchange: int
    why: str


@dataclass(slots=True)
class Session:
    """The tasks of one file and the chat exchanges that are in none."""

    file: str
    tasks: list[Task] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)


def read_tasks(exchanges: Sequence[Exchange], file: str = "", dialect: str = "") -> Session:
    """The tasks among the chat exchanges of a session.

    A conversation's messages are counted once, however many requests repeat them. Error answers cost nothing and are
    left out, as are bodies that are no JSON object.
    """
    session = Session(file)
    readable: list[Exchange] = []
    for exchange in exchanges:
        if not exchange.is_chat:
            continue
        why = _unreadable(exchange)
        if why:
            session.left_out.append(LeftOut(exchange.index, why))
        else:
            readable.append(exchange)
    counted: dict[int, TaskStep] = {}
    # The YAML dump of pydantic-ai's recorder sorts the keys of its parsed bodies.
    sorted_keys = dialect == pydantic_ai.NAME
    for lane in find_lanes(readable):
        session.tasks.append(_task(lane, file, counted, sorted_keys=sorted_keys))
    return session


def role_of(message: object) -> str:
    """The role of a message, "" without one."""
    role = message.get("role") if isinstance(message, Mapping) else None
    return role if isinstance(role, str) else ""


def calls_of(message: object) -> tuple[ToolCall, ...]:
    """The calls in an assistant message of a history."""
    calls = message.get("tool_calls") if isinstance(message, Mapping) else None
    found: list[ToolCall] = []
    for entry in calls if isinstance(calls, list) else ():
        function = entry.get("function") if isinstance(entry, Mapping) else None
        if isinstance(function, Mapping):
            name, arguments, identity = function.get("name"), function.get("arguments"), entry.get("id")
            found.append(
                ToolCall(
                    identity if isinstance(identity, str) else None,
                    name if isinstance(name, str) else None,
                    arguments if isinstance(arguments, str) else "",
                )
            )
    return tuple(found)


def _unreadable(exchange: Exchange) -> str:
    if exchange.response.status >= 400:
        return f"answered with HTTP {exchange.response.status}"
    parts = exchange.request.parts()
    return "" if parts is not None else "the request body is no JSON object"


def _task(lane: Lane, file: str, counted: dict[int, TaskStep], *, sorted_keys: bool) -> Task:
    task = Task(file, lane.number)
    counter = ConversationCounter(sorted_keys=sorted_keys)
    for position, step in enumerate(lane.steps):
        following = lane.steps[position + 1] if position + 1 < len(lane.steps) else None
        known = counted.get(id(step.exchange))
        if known is not None:
            task.told += 1
        taken = _step(step, following, task.steps[-1] if task.steps else None, counter)
        counted[id(step.exchange)] = taken
        task.steps.append(taken)
    return task


def _step(
    step: LaneStep, following: LaneStep | None, before: TaskStep | None, counter: ConversationCounter
) -> TaskStep:
    exchange, body = step.exchange, step.body
    turn = _turn(exchange)
    messages = body.get("messages")
    messages = messages if isinstance(messages, list) else []
    shared, adds_from = (step.shared, step.adds_from) if before is not None else (0, 0)
    if not all(isinstance(message, Mapping) for message in messages):
        # Lanes number the messages that are objects only.
        shared = adds_from = 0
    known = before.messages if before is not None else ()
    # A lane that goes on under other system messages does not say which of them stayed.
    while shared < min(len(known), len(messages)) and known[shared] == messages[shared]:
        shared += 1
    adds_from = max(adds_from, shared)
    model = (turn.model if turn else None) or None
    count = counter.count(body, model, shared=shared)
    return TaskStep(
        exchange.index,
        count.model,
        exchange.request.url,
        count,
        recorded_usage(exchange),
        turn.tool_calls if turn else _repeated_calls(following),
        messages,
        _tools(body),
        shared,
        adds_from,
    )


def _turn(exchange: Exchange) -> ModelTurn | None:
    if not exchange.response.body:
        return None
    try:
        return exchange.turn()
    except ValueError:
        return None


def _repeated_calls(following: LaneStep | None) -> tuple[ToolCall, ...]:
    if following is None:
        return ()
    messages = following.body.get("messages") or ()
    answer = messages[following.adds_from] if following.adds_from < len(messages) else None
    return calls_of(answer) if role_of(answer) == "assistant" else ()


def _tools(body: Mapping[str, Any]) -> Sequence[Any]:
    found: list[Any] = []
    for key in ("tools", "functions"):
        value = body.get(key)
        found += value if isinstance(value, list) else []
    return found
