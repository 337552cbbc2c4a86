"""The circuit breaker against a model of it, calls beginning and ending in any order and on several threads at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Literal, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from harness.pipeline.circuit_breaker import CircuitBreaker, CircuitState, Permit, counts_only
from harness.pipeline.result import ErrorCode, ToolResult
from harness.seams import ManualClock
from tests.pipeline.tools import WAIT_S

THRESHOLD = 3
RECOVERY_S = 10.0

Outcome = Literal["success", "failure", "uncounted"]

RESULTS: dict[Outcome, ToolResult] = {
    "success": ToolResult.success("fine"),
    "failure": ToolResult.error(ErrorCode.TIMEOUT, "slow"),
    "uncounted": ToolResult.error(ErrorCode.NOT_FOUND, "no such file"),
}


_Answer = TypeVar("_Answer")


def at_once(*calls: Callable[[], _Answer]) -> list[_Answer]:
    """What the calls return, each made on a thread of its own, all released at the same moment."""
    start = threading.Barrier(len(calls))
    answers: dict[int, _Answer] = {}

    def make(position: int, call: Callable[[], _Answer]) -> None:
        start.wait(WAIT_S)
        answers[position] = call()

    threads = [threading.Thread(target=make, args=item) for item in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S)
    return [answers[position] for position in range(len(calls))]


class ModelCircuit:
    """The seed's three states, written down a second time as plainly as possible."""

    def __init__(self) -> None:
        self.failures_in_a_row = 0
        self.open_since: float | None = None
        self.attempt: Permit | None = None

    def state(self, now: float) -> CircuitState:
        if self.open_since is None:
            return CircuitState.CLOSED
        if self.attempt is not None or now >= self.open_since + RECOVERY_S:
            return CircuitState.HALF_OPEN
        return CircuitState.OPEN

    def lets_through(self, now: float) -> bool:
        state = self.state(now)
        return state is CircuitState.CLOSED or (state is CircuitState.HALF_OPEN and self.attempt is None)

    def take(self, permit: Permit, outcome: Outcome, now: float) -> None:
        if permit is self.attempt:
            self.attempt = None
            if outcome == "failure":
                self.open_since = now
            elif outcome == "success":
                self.open_since, self.failures_in_a_row = None, 0
        elif not permit.probe and self.open_since is None:
            if outcome == "failure":
                self.failures_in_a_row += 1
                if self.failures_in_a_row == THRESHOLD:
                    self.open_since = now
            elif outcome == "success":
                self.failures_in_a_row = 0


class BreakerMachine(RuleBasedStateMachine):
    """Calls of two tools that begin and end in any order, late results and lost permits included."""

    running = Bundle("running")
    ended = Bundle("ended")

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.breaker = CircuitBreaker(
            THRESHOLD, RECOVERY_S, self.clock, counts_only([ErrorCode.TIMEOUT, ErrorCode.EXECUTION_ERROR])
        )
        self.model = {"A": ModelCircuit(), "B": ModelCircuit()}

    @rule(target=running, tool=st.sampled_from("AB"))
    def begin(self, tool: str) -> object:
        model, now = self.model[tool], self.clock.monotonic()
        expected, state = model.lets_through(now), model.state(now)
        permit = self.breaker.admit(tool)
        assert (permit is not None) is expected
        if permit is None:
            return None
        assert permit.probe is (state is CircuitState.HALF_OPEN)
        if permit.probe:
            model.attempt = permit
        return permit

    @rule(target=running, tool=st.sampled_from("AB"))
    def begin_before_the_circuit_opens(self, tool: str) -> object:
        permit = self.begin(tool)
        self.run_several(tool, "failure", THRESHOLD)
        return permit

    @rule(target=ended, permit=consumes(running), outcome=st.sampled_from(["success", "failure", "uncounted"]))
    def end(self, permit: Permit | None, outcome: Outcome) -> Permit | None:
        self._record(permit, outcome)
        return permit

    @rule(
        outcome=st.sampled_from(["failure", "failure", "success"]), times=st.integers(1, 4), tool=st.sampled_from("AB")
    )
    def run_several(self, tool: str, outcome: Outcome, times: int) -> None:
        for _ in range(times):
            permit = self.breaker.admit(tool)
            if permit is not None:
                if permit.probe:
                    self.model[tool].attempt = permit
                self._record(permit, outcome)

    @rule(tool=st.sampled_from("AB"), threads=st.integers(2, 6), outcome=st.sampled_from(["success", "failure"]))
    def many_threads_ask_and_answer_at_once(self, tool: str, threads: int, outcome: Outcome) -> None:
        model, now = self.model[tool], self.clock.monotonic()
        state = model.state(now)
        asked = at_once(*[lambda: self.breaker.admit(tool)] * threads)
        given = [permit for permit in asked if permit is not None]
        if state is CircuitState.CLOSED:
            assert len(given) == threads
        else:
            assert len(given) == model.lets_through(now)
        if not given:
            return
        if given[0].probe:
            model.attempt = given[0]
        at_once(*[lambda permit=permit: self.breaker.record(permit, RESULTS[outcome]) for permit in given])
        for permit in given:
            model.take(permit, outcome, now)

    @rule(tool=st.sampled_from("AB"), failures=st.integers(1, 4), successes=st.integers(1, 4))
    def the_answers_of_many_threads_cross(self, tool: str, failures: int, successes: int) -> None:
        """In which order they arrive is open; whatever it is, the circuit is left in a state that one order gives."""
        model, now = self.model[tool], self.clock.monotonic()
        if model.state(now) is not CircuitState.CLOSED:
            return
        permits = [permit for _ in range(failures + successes) if (permit := self.breaker.admit(tool)) is not None]
        outcomes: list[Outcome] = ["failure" for _ in range(failures)]
        outcomes += ["success" for _ in range(successes)]
        at_once(
            *[
                lambda permit=permit, outcome=outcome: self.breaker.record(permit, RESULTS[outcome])
                for permit, outcome in zip(permits, outcomes, strict=True)
            ]
        )
        possible = {CircuitState.CLOSED}
        if model.failures_in_a_row + failures >= THRESHOLD:
            possible.add(CircuitState.OPEN)
        assert self.breaker.state(tool) in possible
        if self.breaker.state(tool) is CircuitState.OPEN:
            model.open_since = now
        else:
            # How many failures came after the last success is open too; one more success settles it.
            model.failures_in_a_row = 0
            self.run_several(tool, "success", 1)

    @rule(target=ended, permit=consumes(running))
    def lose(self, permit: Permit | None) -> Permit | None:
        if permit is not None:
            self.breaker.release(permit)
            if self.model[permit.tool].attempt is permit:
                self.model[permit.tool].attempt = None
        return permit

    @rule(permit=ended, outcome=st.sampled_from(["success", "failure"]))
    def a_probe_that_is_over_says_something_again(self, permit: Permit | None, outcome: Outcome) -> None:
        if permit is not None and permit.probe:
            self._record(permit, outcome)
            self.breaker.release(permit)

    @rule(seconds=st.sampled_from([0.0, 1.0, 4.0, 9.0, 10.0, 25.0]))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @invariant()
    def the_breaker_is_where_the_model_is(self) -> None:
        now = self.clock.monotonic()
        for tool, model in self.model.items():
            state = model.state(now)
            assert self.breaker.state(tool) is state
            assert self.breaker.is_available(tool) is (state is not CircuitState.OPEN)
            since = model.open_since
            wait = 0.0 if since is None else max(0.0, since + RECOVERY_S - now)
            assert self.breaker.retry_after_s(tool) == pytest.approx(wait)

    def _record(self, permit: Permit | None, outcome: Outcome) -> None:
        if permit is not None:
            self.breaker.record(permit, RESULTS[outcome])
            self.model[permit.tool].take(permit, outcome, self.clock.monotonic())


TestBreakerAgainstItsModel = pytest.mark.seed("B01", "B02", "B03", "B04", "B05", "B06", "B07")(BreakerMachine.TestCase)
TestBreakerAgainstItsModel.settings = settings(deadline=None, max_examples=100, stateful_step_count=40)
