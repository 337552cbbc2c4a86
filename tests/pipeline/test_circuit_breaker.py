from __future__ import annotations

import threading
from typing import Literal

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from harness.pipeline.circuit_breaker import (
    CircuitBreaker,
    CircuitState,
    Permit,
    counts_all_errors,
    counts_only,
)
from harness.pipeline.result import REFUSALS, ErrorCode, ToolResult, ToolStatus
from harness.seams import ManualClock
from tests.pipeline.tools import WAIT_S

GOOD = ToolResult.success("fine")
BAD = ToolResult.error(ErrorCode.EXECUTION_ERROR, "no")


def run(breaker: CircuitBreaker, result: ToolResult, tool: str = "T", times: int = 1) -> None:
    for _ in range(times):
        permit = breaker.admit(tool)
        assert permit is not None
        breaker.record(permit, result)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1000)


@pytest.mark.seed("B01", "B02")
def test_three_failures_in_a_row_open_a_circuit_for_three_hundred_seconds(clock: ManualClock) -> None:
    breaker = CircuitBreaker(clock=clock)
    run(breaker, BAD, times=2)
    assert breaker.state("T") is CircuitState.CLOSED
    run(breaker, BAD)
    assert breaker.state("T") is CircuitState.OPEN
    assert not breaker.is_available("T")
    for advance in (0.0, 100.0, 199.9):
        clock.advance(advance)
        assert breaker.admit("T") is None
    assert breaker.retry_after_s("T") == pytest.approx(0.1)
    clock.advance(0.2)
    assert breaker.state("T") is CircuitState.HALF_OPEN
    assert breaker.retry_after_s("T") == 0


@pytest.mark.seed("B01")
@pytest.mark.parametrize("threshold", [1, 2, 5])
def test_the_number_of_failures_can_be_chosen(clock: ManualClock, threshold: int) -> None:
    breaker = CircuitBreaker(threshold, clock=clock)
    run(breaker, BAD, times=threshold)
    assert breaker.admit("T") is None


@pytest.mark.seed("B06")
@pytest.mark.parametrize("status", [ToolStatus.SUCCESS, ToolStatus.PARTIAL])
def test_a_success_while_closed_resets_the_count(clock: ManualClock, status: ToolStatus) -> None:
    breaker = CircuitBreaker(clock=clock)
    for _ in range(4):
        run(breaker, BAD, times=2)
        run(breaker, ToolResult(status, "some of it"))
    assert breaker.state("T") is CircuitState.CLOSED
    run(breaker, BAD, times=3)
    assert breaker.state("T") is CircuitState.OPEN


@pytest.mark.seed("B03")
def test_after_the_recovery_time_one_attempt_is_let_through(clock: ManualClock) -> None:
    breaker = CircuitBreaker(clock=clock)
    run(breaker, BAD, times=3)
    clock.advance(300)
    assert breaker.is_available("T")
    assert breaker.admit("T") is not None
    assert breaker.admit("T") is None
    clock.advance(10_000)
    assert breaker.admit("T") is None
    assert breaker.state("T") is CircuitState.HALF_OPEN


@pytest.mark.seed("B04")
def test_success_of_the_attempt_closes_the_circuit_and_forgets_the_failures(clock: ManualClock) -> None:
    breaker = CircuitBreaker(clock=clock)
    run(breaker, BAD, times=3)
    clock.advance(300)
    run(breaker, GOOD)
    assert breaker.state("T") is CircuitState.CLOSED
    run(breaker, BAD, times=2)
    assert breaker.state("T") is CircuitState.CLOSED


@pytest.mark.seed("B05")
def test_failure_of_the_attempt_opens_the_circuit_for_the_whole_time_anew(clock: ManualClock) -> None:
    breaker = CircuitBreaker(clock=clock)
    run(breaker, BAD, times=3)
    clock.advance(450)
    run(breaker, BAD)
    assert breaker.state("T") is CircuitState.OPEN
    clock.advance(299)
    assert breaker.admit("T") is None
    clock.advance(1)
    assert breaker.admit("T") is not None


@pytest.mark.seed("B07")
def test_circuits_are_per_tool(clock: ManualClock) -> None:
    breaker = CircuitBreaker(clock=clock)
    run(breaker, BAD, "A", 3)
    run(breaker, BAD, "B", 2)
    assert [breaker.state(tool) for tool in "ABC"] == [CircuitState.OPEN, CircuitState.CLOSED, CircuitState.CLOSED]
    run(breaker, GOOD, "B")
    assert breaker.admit("A") is None


@pytest.mark.parametrize("code", sorted(REFUSALS))
def test_refusals_never_count(clock: ManualClock, code: ErrorCode) -> None:
    assert not counts_all_errors(ToolResult.error(code, "refused"))
    breaker = CircuitBreaker(1, clock=clock)
    run(breaker, ToolResult.error(code, "refused"))
    assert breaker.state("T") is CircuitState.CLOSED


@pytest.mark.parametrize("code", sorted(set(ErrorCode) - REFUSALS))
def test_by_default_every_error_that_a_tool_returned_counts(code: ErrorCode) -> None:
    assert counts_all_errors(ToolResult.error(code, "failed"))


def test_which_errors_count_is_a_policy(clock: ManualClock) -> None:
    breaker = CircuitBreaker(2, clock=clock, counts=counts_only([ErrorCode.TIMEOUT]))
    run(breaker, BAD, times=5)
    assert breaker.state("T") is CircuitState.CLOSED
    run(breaker, ToolResult.error(ErrorCode.TIMEOUT, "slow"))
    run(breaker, BAD)
    run(breaker, ToolResult.error(ErrorCode.TIMEOUT, "slow"))
    assert breaker.state("T") is CircuitState.OPEN
    with pytest.raises(ValueError, match="PERMISSION_DENIED"):
        counts_only([ErrorCode.TIMEOUT, ErrorCode.PERMISSION_DENIED])


def test_a_released_attempt_leaves_room_for_another(clock: ManualClock) -> None:
    breaker = CircuitBreaker(1, 10, clock)
    run(breaker, BAD)
    clock.advance(10)
    first = breaker.admit("T")
    assert first is not None
    breaker.release(first)
    second = breaker.admit("T")
    assert second is not None
    breaker.record(first, GOOD)
    assert breaker.state("T") is CircuitState.HALF_OPEN
    breaker.record(second, GOOD)
    assert breaker.state("T") is CircuitState.CLOSED


def test_a_run_admitted_before_the_circuit_opened_does_not_close_it(clock: ManualClock) -> None:
    breaker = CircuitBreaker(2, 10, clock)
    slow = breaker.admit("T")
    assert slow is not None
    run(breaker, BAD, times=2)
    breaker.record(slow, GOOD)
    assert breaker.state("T") is CircuitState.OPEN
    clock.advance(10)
    assert breaker.admit("T") is not None


def test_a_late_failure_does_not_start_the_time_of_an_open_circuit_anew(clock: ManualClock) -> None:
    breaker = CircuitBreaker(2, 10, clock)
    slow = breaker.admit("T")
    assert slow is not None
    run(breaker, BAD, times=2)
    clock.advance(6)
    breaker.record(slow, BAD)
    assert breaker.retry_after_s("T") == pytest.approx(4)


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="failure_threshold is 0"):
        CircuitBreaker(0)
    with pytest.raises(ValueError, match="not negative"):
        CircuitBreaker(recovery_timeout_s=-1)


@pytest.mark.seed("B03")
def test_of_many_threads_exactly_one_gets_the_attempt(clock: ManualClock) -> None:
    breaker = CircuitBreaker(1, 10, clock)
    run(breaker, BAD)
    for _ in range(20):
        clock.advance(10)
        start = threading.Barrier(16)
        permits: list[Permit | None] = []

        def ask(start: threading.Barrier = start, permits: list[Permit | None] = permits) -> None:
            start.wait(WAIT_S)
            permits.append(breaker.admit("T"))

        threads = [threading.Thread(target=ask) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT_S)
        given = [permit for permit in permits if permit is not None]
        assert len(permits) == 16
        assert len(given) == 1
        breaker.record(given[0], BAD)


THRESHOLD = 3
RECOVERY_S = 10.0

Outcome = Literal["success", "failure", "uncounted"]

RESULTS: dict[Outcome, ToolResult] = {
    "success": GOOD,
    "failure": ToolResult.error(ErrorCode.TIMEOUT, "slow"),
    "uncounted": ToolResult.error(ErrorCode.NOT_FOUND, "no such file"),
}


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
