"""A cassette's conversations, one after the other, step by step through the real pipeline.

For each recorded request the pipeline builds its own: from the history it made itself, with the request's tools and
parameters. It goes through the ``openai`` client to a player that gives the recorded answer; the calls are planned,
batched and pass the gates, which here only observe; each tool answers with the recorded result. What the pipeline
sent is compared with what was recorded. After a difference the recorded history is taken up again, so that one
fault is one finding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from harness.cassette.cassette import Cassette
from harness.cassette.drift import Drift, extension_differences, request_drift
from harness.cassette.lanes import Lane, LaneStep, find_lanes
from harness.cassette.scrubbing import scrub_headers
from harness.errors import InputError
from harness.pipeline.arguments import parse_tool_input
from harness.pipeline.budget import BudgetPolicy
from harness.pipeline.executor import GateMode, ToolExecutor
from harness.pipeline.history import History
from harness.pipeline.loop import LoopConfig, LoopResult, LoopStatus, ReActLoop, StepRecord
from harness.pipeline.orchestrator import ToolOrchestrator
from harness.pipeline.result import verbatim
from harness.play.client import openai_client
from harness.play.transport import PlayerTransport
from harness.scenario.drift_events import drift_event
from harness.scenario.replay.faults import Fault, request_faults, turn_faults, unreadable_answer, unrecorded_turns
from harness.scenario.replay.recorded import (
    RecordedIds,
    RecordedRegistry,
    RecordedResults,
    recorded_results,
    with_recorded_parts,
)
from harness.scenario.replay.untouched import UntouchedExchange, play_untouched
from harness.seams import ManualClock
from harness.trace.run import Run
from harness.wire.chat import ModelTurn
from harness.wire.exchange import Exchange, Request, Response

if TYPE_CHECKING:
    import openai

_Value = TypeVar("_Value")

_LOOP_KEYS = ("model", "messages", "stream")
_NO_LIMIT = BudgetPolicy(2**40, 2**50, 2**20)
_IN_TEXT = (LoopStatus.ANSWERED, LoopStatus.CALL_IN_TEXT)


@dataclass(frozen=True, slots=True)
class StepDrift:
    """A difference found at a step, with the exchange at which the conversation stood."""

    exchange: int
    drift: Drift


@dataclass(slots=True)
class ReplayedCassette:
    """What came of a cassette: counts, the drift, the faults of the recording, the anomalies of its streams."""

    cassette: Cassette
    run: Run
    steps: int = 0
    tool_calls: int = 0
    planned_calls: int = 0
    drift: list[StepDrift] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    anomalies: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    untouched: list[UntouchedExchange] = field(default_factory=list)


def replay_cassette(cassette: Cassette, name: str) -> ReplayedCassette:
    """Replay every conversation of a cassette, and play its other exchanges as bytes.

    Raises InputError for a cassette without exchanges, or with a chat request that cannot be read.
    """
    if not cassette.exchanges:
        raise InputError("the cassette holds no exchange", where=str(cassette.path), hint="record the session again")
    chat = cassette.chat_exchanges
    replayed = ReplayedCassette(cassette, Run(name, "replay", str(cassette.path)))
    try:
        lanes = find_lanes(chat)
    except ValueError as error:
        raise InputError(str(error), where=str(cassette.path)) from error
    player = _StepPlayer()
    transport = PlayerTransport(player)
    if lanes:
        with openai_client(transport) as client:
            for lane in lanes:
                _Conversation(lane, replayed, client, player).run()
    replayed.untouched = play_untouched(cassette, [exchange for exchange in cassette.exchanges if not exchange.is_chat])
    played = [*transport.exchanges, *(entry.exchange for entry in replayed.untouched)]
    replayed.run.exchanges = [
        replace(scrub_headers(exchange), index=position) for position, exchange in enumerate(played)
    ]
    return replayed


class _StepPlayer:
    """Answers with the exchange at which a conversation stands, and keeps what was asked.

    ``counted`` holds the recorded exchanges that have had their turn: lanes may begin with the same steps.
    """

    def __init__(self) -> None:
        self.due: Exchange | None = None
        self.asked: Request | None = None
        self.played = 0
        self.counted: set[int] = set()

    def expect(self, exchange: Exchange) -> None:
        """Be ready for one step."""
        self.due, self.asked = exchange, None

    def answer(self, request: Request) -> Response:
        assert self.due is not None  # noqa: S101  the conversation says what it expects before each step
        self.asked = request
        self.played += 1
        return self.due.response


class _Conversation:
    """One lane. Steps that it shares with an earlier lane are replayed for their history and counted once."""

    def __init__(self, lane: Lane, replayed: ReplayedCassette, client: openai.OpenAI, player: _StepPlayer) -> None:
        self._lane = lane
        self._replayed = replayed
        self._client = client
        self._player = player
        self._trace = replayed.run.lane(f"lane-{lane.number}")
        self._history = History()
        self._records: list[StepRecord] = []

    def run(self) -> None:
        """Play the lane's steps in order."""
        ended: tuple[LoopStatus, str] | None = None
        for number, step in enumerate(self._lane.steps):
            before = self._lane.steps[number - 1] if number else None
            after = self._lane.steps[number + 1] if number + 1 < len(self._lane.steps) else None
            ended = self._step(step, before, after)
        status, reason = ended or (LoopStatus.STEP_LIMIT, "the recording ends while results are due")
        last = self._records[-1].turn
        text = last.content if last is not None and status in _IN_TEXT else None
        result = LoopResult(status, reason, text, tuple(self._records), tuple(self._history.messages))
        self._replayed.run.finish(self._trace, result)

    def _step(self, step: LaneStep, before: LaneStep | None, after: LaneStep | None) -> tuple[LoopStatus, str] | None:
        index = step.exchange.index
        first_time = index not in self._player.counted
        self._player.counted.add(index)
        turn, problem = _recorded_turn(step.exchange)
        results = recorded_results(_messages(after)[after.adds_from :] if after else ())
        self._begin(step, before)
        self._player.expect(step.exchange)
        ended, record = self._drive(step, turn, results)
        if turn is not None:
            self._history = with_recorded_parts(self._history, _by_call_id(turn, results, results.parts))
        position = self._player.played - 1 if self._player.asked is not None else None
        self._replayed.run.add_step(self._trace, record, position)
        self._records.append(record)
        built = self._player.asked.json() if self._player.asked is not None else {}
        differences = request_drift(step.body, built)
        if any(drift.kind in ("history", "system") for drift in differences):
            self._take_up(step, record)
            if turn is not None:
                self._history = with_recorded_parts(self._history, _by_call_id(turn, results, results.parts))
        if first_time:
            self._count(turn, record)
            self._replayed.faults += request_faults(index, step.body, before.body if before else None)
            if before is not None:
                said_from = _end_of_turn(_messages(step), step.adds_from)
                self._replayed.faults += unrecorded_turns(index, _messages(step), said_from)
            self._replayed.drift += [StepDrift(index, drift) for drift in differences]
            self._replayed.run.events += [
                drift_event(self._trace.name, record.index, drift, step.body, built, allowed=False)
                for drift in differences
            ]
            self._note(index, extension_differences(step.body, built))
            if turn is not None:
                self._inspect(index, turn, results)
            elif problem is not None:
                self._replayed.faults.append(unreadable_answer(index, problem))
        return ended

    def _begin(self, step: LaneStep, before: LaneStep | None) -> None:
        """Bring the history to where the recorded request stands: what the agent's user or system said since."""
        messages = _messages(step)
        if before is None:
            self._history = History(messages)
            return
        self._history.close_interrupted()
        for message in messages[_end_of_turn(messages, step.adds_from) :]:
            self._history.append(message)

    def _take_up(self, step: LaneStep, record: StepRecord) -> None:
        self._history = History(_messages(step))
        if record.turn is not None and record.error is None:
            plans = record.outcome.plans if record.outcome else ()
            self._history.append_turn(record.turn, plans)
            for observation in record.outcome.observations if record.outcome else ():
                self._history.append_observation(observation, legacy=record.turn.legacy_function_call)

    def _drive(
        self, step: LaneStep, turn: ModelTurn | None, results: RecordedResults
    ) -> tuple[tuple[LoopStatus, str] | None, StepRecord]:
        body = step.body
        tools = body.get("tools")
        registry = RecordedRegistry(tools if isinstance(tools, list) else (), {})
        parameters = {key: value for key, value in body.items() if key not in (*_LOOP_KEYS, "tools")}
        if tools is not None and (registry.problems or not tools) and _sendable(tools):
            parameters["tools"] = tools
        executor = ToolExecutor(registry, gates=GateMode.OBSERVE, clock=ManualClock())
        ids = RecordedIds(turn, results) if turn is not None else None
        orchestrator = ToolOrchestrator(executor, budget=_NO_LIMIT, serializer=verbatim, ids=ids)
        if turn is not None:
            registry.contents.update(_by_call_id(turn, results, results.contents))
        records: list[StepRecord] = []
        config = LoopConfig(
            model=body.get("model", ""),
            stream=bool(body.get("stream")),
            parameters=parameters | ({"stream": body["stream"]} if "stream" in body else {}),
            repeat_limit=0,
            unique_ids=False,
            call_in_text_limit=0,
        )
        loop = ReActLoop(self._client, orchestrator, config, self._history, on_step=records.append)
        ended = loop.step()
        return ended, replace(records[0], index=len(self._records))

    def _count(self, turn: ModelTurn | None, record: StepRecord) -> None:
        if turn is None:
            self._replayed.steps += 1
            return
        self._replayed.steps += record.turn is not None
        self._replayed.tool_calls += len(turn.tool_calls)
        plans = record.outcome.plans if record.outcome is not None else ()
        for call, plan in zip(turn.tool_calls, plans, strict=False):
            same_id = plan.received_id == call.id and (not call.id or plan.tool_call_id == call.id)
            self._replayed.planned_calls += (
                plan.tool_name == call.name and plan.raw_arguments == call.arguments and same_id
            )

    def _inspect(self, index: int, turn: ModelTurn, results: RecordedResults) -> None:
        faults = turn_faults(index, turn, results)
        self._replayed.faults += faults
        if not faults:
            self._replayed.notes += [
                f"exchange {index}: {call.name} was called with arguments that are no JSON object"
                for call in turn.tool_calls
                if parse_tool_input(call.arguments)[1] is not None
            ]
        self._replayed.anomalies += [
            {"exchange": index, "code": anomaly.code, "at": anomaly.at, "detail": anomaly.detail}
            for anomaly in turn.anomalies
        ]

    def _note(self, index: int, unlike: Sequence[str]) -> None:
        if unlike:
            fields = ", ".join(unlike)
            self._replayed.notes.append(f"exchange {index}: the agent sends {fields} back in a form of its own")


def _recorded_turn(exchange: Exchange) -> tuple[ModelTurn | None, str | None]:
    """The recorded answer; None for an HTTP error, and with the reason for a body that is no chat completion."""
    if exchange.response.status >= 400:
        return None, None
    try:
        return exchange.turn(_tool_names(exchange.request.json())), None
    except ValueError as error:
        return None, str(error)


def _tool_names(body: Mapping[str, Any]) -> list[str]:
    tools = body.get("tools")
    functions = [tool.get("function") for tool in tools or () if isinstance(tool, Mapping)]
    return [str(function.get("name")) for function in functions if isinstance(function, Mapping)]


def _sendable(tools: Any) -> bool:
    """Whether the loop can send these tools as they are; it reads each function's name. Others show up as drift."""
    return all(isinstance(tool, Mapping) and (_has_name(tool) or _is_of_the_provider(tool)) for tool in tools or ())


def _has_name(tool: Mapping[str, Any]) -> bool:
    function = tool.get("function")
    return isinstance(function, Mapping) and "name" in function


def _is_of_the_provider(tool: Mapping[str, Any]) -> bool:
    """A tool that the provider runs itself, such as a web search: it has a type of its own and no function."""
    return isinstance(tool.get("type"), str) and tool["type"] != "function" and "function" not in tool


def _by_call_id(turn: ModelTurn, results: RecordedResults, values: Sequence[_Value | None]) -> dict[str, _Value]:
    """What is recorded of each planned call, by the id that the plan will have."""
    ids = RecordedIds(turn, results)
    found: dict[str, _Value] = {}
    used: set[str] = set()
    for position, call in enumerate(turn.tool_calls):
        call_id = call.id
        while not call_id or call_id in used:
            call_id = ids.call_id()
        used.add(call_id)
        value = values[position] if position < len(values) else None
        if value is not None:
            found[call_id] = value
    return found


def _end_of_turn(messages: Sequence[Mapping[str, Any]], start: int) -> int:
    """Where the turn that begins at ``start`` ends: behind the model's message and its results, if there is one."""
    end = start + 1 if start < len(messages) and messages[start].get("role") == "assistant" else start
    while end < len(messages) and messages[end].get("role") in ("tool", "function"):
        end += 1
    return end


def _messages(step: LaneStep) -> list[Mapping[str, Any]]:
    return [message for message in step.body.get("messages") or () if isinstance(message, Mapping)]
