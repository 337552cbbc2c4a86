"""A history under interruptions, compaction, wrong answers and resuming from what was saved: it stays valid."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from harness.pipeline.history import INTERRUPTED, History, HistoryError, interrupted_answers
from harness.pipeline.observation import ToolObservation
from harness.pipeline.orchestrator import StepOutcome
from harness.pipeline.result import ToolResult
from harness.pipeline.resuming import resumed
from harness.pipeline.tool import ToolKind
from harness.seams import SequentialIds
from harness.wire.chat import ModelTurn, parse_completion
from harness.wire.rules import check_request
from tests.pipeline.tools import SmallTool, orchestrator_with

ARGUMENTS = st.sampled_from(["{}", '{"value": "x"}', "{cut", "", "[]", '{"value": "\u00e9"}'])
IDS = st.sampled_from(["a", "b", "a", None, ""])


class HistoryMachine(RuleBasedStateMachine):
    """An agent whose calls are answered one by one, while everything that can come in between does."""

    def __init__(self) -> None:
        super().__init__()
        self.ids = SequentialIds()
        self.agent = orchestrator_with(SmallTool("Read", kind=ToolKind.READ), SmallTool("Write"), ids=self.ids)
        self.history = History()
        self.turn: ModelTurn | None = None
        self.waiting: list[ToolObservation] = []
        self.numbers: dict[str, int] = {}
        """Of each call that was answered or closed: how often."""
        self.summaries = 0

    @initialize(system=st.booleans())
    def begin(self, system: bool) -> None:
        if system:
            self.history.append({"role": "system", "content": "s"})
        self.history.append({"role": "user", "content": "go"})

    def _planned(self, turn: ModelTurn) -> StepOutcome:
        plans = self.agent.plan_tool_calls(turn.tool_calls, self.history.call_ids)
        return self.agent.run_plans(plans)

    @precondition(lambda self: not self.waiting)
    @rule(calls=st.lists(st.tuples(IDS, ARGUMENTS), max_size=4), legacy=st.booleans())
    def the_model_answers(self, calls: list[tuple[str | None, str]], legacy: bool) -> None:
        message: dict[str, Any] = {"role": "assistant", "content": None, "extra": {"kept": []}}
        if legacy and len(calls) == 1:
            message["function_call"] = {"name": "Write", "arguments": calls[0][1]}
        else:
            message["tool_calls"] = [
                {"id": call_id, "type": "function", "function": {"name": "Read", "arguments": text}}
                for call_id, text in calls
            ]
        body = {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
        self.turn = parse_completion(json.dumps(body).encode())
        outcome = self._planned(self.turn)
        self.history.append_turn(self.turn, outcome.plans)
        self.waiting = list(outcome.observations)
        assert self.history.open_calls == tuple(item.tool_call_id for item in self.waiting)

    @precondition(lambda self: self.waiting)
    @rule()
    def a_result_comes(self) -> None:
        assert self.turn is not None
        observation = self.waiting.pop(0)
        self.history.append_observation(observation, legacy=self.turn.legacy_function_call)
        self.numbers[observation.tool_call_id] = self.numbers.get(observation.tool_call_id, 0) + 1

    @precondition(lambda self: self.waiting)
    @rule(foreign=st.booleans())
    def a_wrong_result_comes(self, foreign: bool) -> None:
        before = self.history.messages
        wrong = ToolResult.success("not asked for")
        call_id = "nobody" if foreign or len(self.waiting) == 1 else self.waiting[-1].tool_call_id
        with pytest.raises(HistoryError):
            self.history.append_observation(ToolObservation(call_id, "Read", wrong, wrong))
        assert self.history.messages == before

    @rule()
    def an_interruption(self) -> None:
        closed = self.history.close_interrupted()
        assert closed == len(self.waiting)
        for observation in self.waiting:
            self.numbers[observation.tool_call_id] = self.numbers.get(observation.tool_call_id, 0) + 1
        if closed:
            assert [message["content"] for message in self.history.messages[-closed:]] == [INTERRUPTED] * closed
        self.waiting = []

    @rule(role=st.sampled_from(["user", "developer", "system"]))
    def somebody_speaks(self, role: str) -> None:
        if self.waiting:
            with pytest.raises(HistoryError):
                self.history.append({"role": role, "content": "words"})
        else:
            self.history.append({"role": role, "content": "words"})

    @rule(keep_last=st.integers(0, 9))
    def compaction(self, keep_last: int) -> None:
        before = self.history.messages
        used = self.history.call_ids
        if self.waiting:
            with pytest.raises(HistoryError):
                self.history.compact(keep_last, "summary")
            assert self.history.messages == before
            return
        replaced = self.history.compact(keep_last, "summary")
        after = self.history.messages
        assert len(after) == len(before) - replaced + bool(replaced)
        kept = min(keep_last, len(before))
        assert after[len(after) - kept :] == before[len(before) - kept :]
        assert self.history.call_ids == used

    @rule()
    def the_program_is_killed_and_goes_on_from_what_it_saved(self) -> None:
        saved = self.history.messages
        self.history = resumed(json.loads(json.dumps(saved)), self.ids)
        assert self.history.messages == saved
        # Nothing saved names the calls that a summary stands for.
        self.numbers = {call_id: self.numbers[call_id] for call_id in self.history.call_ids & self.numbers.keys()}
        assert len(self.history.open_calls) == len(self.waiting)
        if self.turn is not None and not self.turn.legacy_function_call:
            assert self.history.open_calls == tuple(item.tool_call_id for item in self.waiting)
        else:
            self.an_interruption()

    @invariant()
    def a_strict_server_takes_it(self) -> None:
        messages = self.history.messages
        if self.waiting and self.turn is not None and not self.turn.legacy_function_call:
            messages += interrupted_answers(self.history.open_calls, None)
        assert not messages or check_request({"messages": messages}) == []

    @invariant()
    def no_call_is_answered_twice(self) -> None:
        assert all(number == 1 for number in self.numbers.values())

    @invariant()
    def no_id_names_two_calls(self) -> None:
        ids = [entry["id"] for message in self.history.messages for entry in message.get("tool_calls") or ()]
        assert len(ids) == len(set(ids))


TestHistory = pytest.mark.seed("W06", "W07", "O05")(HistoryMachine.TestCase)
TestHistory.settings = settings(deadline=None, max_examples=150, stateful_step_count=30)
