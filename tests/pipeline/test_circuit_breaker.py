from __future__ import annotations

import asyncio
import concurrent.futures
import threading

import pytest

from harness.pipeline.circuit_breaker import (
    NO_EVIDENCE,
    CircuitBreaker,
    CircuitState,
    Permit,
    counts_all_errors,
    counts_only,
)
from harness.pipeline.executor import ToolExecutor
from harness.pipeline.orchestrator import ToolOrchestrator
from harness.pipeline.result import ErrorCode, ToolResult, ToolStatus
from harness.pipeline.tool import ToolKind, ToolParameter
from harness.seams import ManualClock
from tests.pipeline.tools import WAIT_S, SmallTool, flat, registry_with

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


@pytest.mark.parametrize("code", sorted(NO_EVIDENCE))
def test_g05_what_is_no_evidence_about_the_tool_never_counts(clock: ManualClock, code: ErrorCode) -> None:
    assert not counts_all_errors(ToolResult.error(code, "refused"))
    breaker = CircuitBreaker(1, clock=clock)
    run(breaker, ToolResult.error(code, "refused"))
    assert breaker.state("T") is CircuitState.CLOSED


@pytest.mark.parametrize("code", sorted(set(ErrorCode) - NO_EVIDENCE))
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
    with pytest.raises(ValueError, match=r"do not count: CANCELLED, PERMISSION_DENIED$"):
        counts_only([ErrorCode.TIMEOUT, ErrorCode.PERMISSION_DENIED, ErrorCode.CANCELLED])


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


def test_a_recovery_time_may_be_short_or_none_at_all(clock: ManualClock) -> None:
    assert CircuitBreaker(recovery_timeout_s=0.5).recovery_timeout_s == 0.5
    at_once = CircuitBreaker(1, 0, clock)
    run(at_once, BAD)
    assert at_once.state("T") is CircuitState.HALF_OPEN


def test_a_tool_that_never_failed_can_be_tried_at_once(clock: ManualClock) -> None:
    breaker = CircuitBreaker(1, clock=clock)
    assert breaker.retry_after_s("T") == 0.0
    run(breaker, GOOD)
    assert breaker.retry_after_s("T") == 0.0
    run(breaker, BAD)
    assert breaker.retry_after_s("T") == 300.0


def test_a_permit_says_whether_it_is_the_attempt(clock: ManualClock) -> None:
    breaker = CircuitBreaker(1, 10, clock)
    assert breaker.admit("T") == Permit("T", probe=False)
    run(breaker, BAD)
    clock.advance(10)
    assert breaker.admit("T") == Permit("T", probe=True)


def test_releasing_a_permit_that_is_not_the_attempt_changes_nothing(clock: ManualClock) -> None:
    breaker = CircuitBreaker(1, 10, clock)
    early = breaker.admit("T")
    assert early is not None
    run(breaker, BAD)
    clock.advance(10)
    assert breaker.admit("T") is not None
    breaker.release(early)
    breaker.release(Permit("never asked for", probe=False))
    assert breaker.admit("T") is None


def test_a_result_counts_also_where_the_tool_was_not_known(clock: ManualClock) -> None:
    breaker = CircuitBreaker(1, clock=clock)
    breaker.record(Permit("T", probe=False), BAD)
    assert breaker.state("T") is CircuitState.OPEN


def test_a_fresh_breaker_has_the_same_settings_and_no_memory(clock: ManualClock) -> None:
    breaker = CircuitBreaker(2, 10, clock, counts_only([ErrorCode.TIMEOUT]))
    slow = ToolResult.error(ErrorCode.TIMEOUT, "slow")
    run(breaker, slow, times=2)
    fresh = breaker.fresh()
    assert fresh.state("T") is CircuitState.CLOSED
    run(fresh, BAD, times=5)
    run(fresh, slow)
    assert fresh.state("T") is CircuitState.CLOSED
    run(fresh, slow)
    clock.advance(9)
    assert fresh.retry_after_s("T") == 1.0
    assert fresh.admit("T") is None


# The bug reports


def test_g04_three_rejected_calls_in_one_batch_leave_the_tool_in_use(clock: ManualClock) -> None:
    search = SmallTool(
        "search", lambda _: ToolResult.success("found"), kind=ToolKind.READ, parameters=[ToolParameter("q", "string")]
    )
    orchestrator = ToolOrchestrator(ToolExecutor(registry_with(search, breaker=CircuitBreaker(clock=clock))))
    rejected = orchestrator.run([flat("search", arguments) for arguments in ('{"q": 1}', "{}", '{"q": "x')])
    assert [item.result.error_code for item in rejected.observations] == [ErrorCode.INVALID_PARAM] * 3
    (valid,) = orchestrator.run([flat("search", '{"q": "x"}')]).observations
    assert valid.result.text == "found"
    assert orchestrator.executor.registry.breaker.last_failure("search") is None


def test_g04_a_refusal_says_what_the_tool_failed_with(clock: ManualClock) -> None:
    codes = iter([ErrorCode.NOT_FOUND, ErrorCode.EXECUTION_ERROR, ErrorCode.TIMEOUT])
    search = SmallTool("search", lambda _: ToolResult.error(next(codes), "failed"))
    executor = ToolExecutor(registry_with(search, breaker=CircuitBreaker(clock=clock)))
    for _ in range(3):
        executor.execute("search", "")
    executor.execute("search", "{broken")
    refusal = executor.execute("search", "")
    assert refusal.error_code is ErrorCode.CIRCUIT_OPEN
    assert "failed 3 times in a row, the last time with TIMEOUT," in refusal.text
    assert "300 s" in refusal.text


def test_g05_denials_and_cancellations_do_not_count_and_one_of_four_parallel_calls_probes(clock: ManualClock) -> None:
    outcomes: list[BaseException | ErrorCode] = [asyncio.CancelledError(), concurrent.futures.CancelledError()] * 3
    outcomes += [ErrorCode.TIMEOUT] * 3
    others_are_refused = threading.Event()

    def behave(_: object) -> ToolResult:
        if not outcomes:
            others_are_refused.wait(WAIT_S)
            return ToolResult.success("back")
        outcome = outcomes.pop(0)
        if isinstance(outcome, BaseException):
            raise outcome
        return ToolResult.error(outcome, "no")

    tool = SmallTool("Fetch", behave, kind=ToolKind.READ)
    denied = SmallTool("bash", kind=ToolKind.SHELL, parameters=[ToolParameter("command", "string")])
    breaker = CircuitBreaker(clock=clock)
    executor = ToolExecutor(registry_with(tool, denied, breaker=breaker), ask=lambda _: False)
    for _ in range(5):
        assert executor.execute("bash", {"command": "mv a b"}).error_code is ErrorCode.PERMISSION_DENIED
    assert breaker.state("bash") is CircuitState.CLOSED
    for _ in range(6):
        assert executor.execute("Fetch", "").error_code is ErrorCode.CANCELLED
    assert breaker.state("Fetch") is CircuitState.CLOSED
    for _ in range(3):
        executor.execute("Fetch", "")
    assert breaker.state("Fetch") is CircuitState.OPEN

    clock.advance(300)
    done: list[ErrorCode | None] = []
    guard = threading.Lock()

    def ask() -> None:
        code = executor.execute("Fetch", "").error_code
        with guard:
            done.append(code)
            if len(done) == 3:
                others_are_refused.set()

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S)
    assert sorted(map(str, done)) == ["CIRCUIT_OPEN"] * 3 + ["None"]
    assert breaker.state("Fetch") is CircuitState.CLOSED


def test_g05_a_cancelled_probe_leaves_room_for_another(clock: ManualClock) -> None:
    breaker = CircuitBreaker(1, 10, clock)
    run(breaker, BAD)
    clock.advance(10)
    run(breaker, ToolResult.error(ErrorCode.CANCELLED, "stopped"))
    assert breaker.state("T") is CircuitState.HALF_OPEN
    run(breaker, GOOD)
    assert breaker.state("T") is CircuitState.CLOSED


def test_the_last_failure_that_counted_is_remembered(clock: ManualClock) -> None:
    breaker = CircuitBreaker(clock=clock)
    assert breaker.last_failure("T") is None
    run(breaker, ToolResult.error(ErrorCode.TIMEOUT, "slow"))
    run(breaker, ToolResult.error(ErrorCode.CANCELLED, "stopped"))
    run(breaker, GOOD)
    assert breaker.last_failure("T") is ErrorCode.TIMEOUT
    assert breaker.last_failure("U") is None
