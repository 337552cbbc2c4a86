"""The circuit breaker: a tool that keeps failing is taken out of use for a while (seed 000, gate 3).

CLOSED --N failures in a row--> OPEN --recovery time over--> HALF_OPEN --success--> CLOSED
                                 ^------------failure-----------'
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from harness.pipeline.result import REFUSALS, ErrorCode, ToolResult, ToolStatus
from harness.seams import Clock, SystemClock

FAILURE_THRESHOLD = 3
RECOVERY_TIMEOUT_S = 300.0


class CircuitState(StrEnum):
    """The state of one tool's circuit."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


CountingPolicy = Callable[[ToolResult], bool]
"""Whether a result counts as a failure of the tool."""

NO_EVIDENCE = REFUSALS | {ErrorCode.CANCELLED}
"""Codes that say nothing about the tool, whatever the policy: it was not run, or was stopped from outside."""


def counts_all_errors(result: ToolResult) -> bool:
    """The default policy: every error that the tool itself returned (G04, G05)."""
    return result.status is ToolStatus.ERROR and result.error_code not in NO_EVIDENCE


def counts_only(codes: Iterable[ErrorCode]) -> CountingPolicy:
    """A policy that counts the named codes; raises ValueError for one of NO_EVIDENCE."""
    counted = frozenset(codes)
    if innocent := counted & NO_EVIDENCE:
        raise ValueError(f"no failures of a tool, so they do not count: {', '.join(sorted(innocent))}")
    return lambda result: result.error_code in counted


@dataclass(frozen=True, slots=True)
class Permit:
    """Leave to run a tool once; ``probe`` marks the one attempt of a HALF_OPEN circuit."""

    tool: str
    probe: bool


@dataclass(slots=True)
class _Circuit:
    failures: int = 0
    opened_at: float | None = None
    probe: Permit | None = None
    last_failure: ErrorCode | None = None


class CircuitBreaker:
    """One circuit per tool, on an injected clock, safe under threads.

    ``failure_threshold`` failures in a row open a circuit, for ``recovery_timeout_s`` seconds. Raises ValueError for a
    threshold below one or a negative time.
    """

    def __init__(
        self,
        failure_threshold: int = FAILURE_THRESHOLD,
        recovery_timeout_s: float = RECOVERY_TIMEOUT_S,
        clock: Clock | None = None,
        counts: CountingPolicy = counts_all_errors,
    ) -> None:
        if failure_threshold < 1:
            raise ValueError(f"failure_threshold is {failure_threshold}; at least 1 failure opens a circuit")
        if recovery_timeout_s < 0:
            raise ValueError(f"recovery_timeout_s is {recovery_timeout_s}; a time is not negative")
        self.failure_threshold = failure_threshold
        self.recovery_timeout_s = recovery_timeout_s
        self._clock = clock or SystemClock()
        self._counts = counts
        self._circuits: dict[str, _Circuit] = {}
        self._lock = threading.Lock()

    def fresh(self) -> CircuitBreaker:
        """A breaker with the same settings and clock, all circuits closed."""
        return CircuitBreaker(self.failure_threshold, self.recovery_timeout_s, self._clock, self._counts)

    def state(self, tool: str) -> CircuitState:
        """The state now; looking changes nothing."""
        with self._lock:
            return self._state(self._circuits.get(tool))

    def is_available(self, tool: str) -> bool:
        """Whether the tool may be shown to the model; reading it uses no attempt up."""
        return self.state(tool) is not CircuitState.OPEN

    def retry_after_s(self, tool: str) -> float:
        """Seconds until an open circuit lets an attempt through; 0 where it is not open."""
        with self._lock:
            circuit = self._circuits.get(tool)
            if circuit is None or circuit.opened_at is None:
                return 0.0
            return max(0.0, circuit.opened_at + self.recovery_timeout_s - self._clock.monotonic())

    def last_failure(self, tool: str) -> ErrorCode | None:
        """The code of the failure that was counted last, so that a refusal says its true cause (G04); or None."""
        with self._lock:
            circuit = self._circuits.get(tool)
            return None if circuit is None else circuit.last_failure

    def admit(self, tool: str) -> Permit | None:
        """Ask to run the tool once; None is a refusal. HALF_OPEN gives one permit until its result is recorded.

        Whoever gets a permit must hand it to `record` or `release`.
        """
        with self._lock:
            circuit = self._circuits.setdefault(tool, _Circuit())
            state = self._state(circuit)
            if state is CircuitState.CLOSED:
                return Permit(tool, probe=False)
            if state is CircuitState.OPEN or circuit.probe is not None:
                return None
            circuit.probe = Permit(tool, probe=True)
            return circuit.probe

    def record(self, permit: Permit, result: ToolResult) -> None:
        """Take the result of a permitted run.

        A success resets the count or closes the circuit; a counted failure adds to it or opens the circuit anew; what
        the policy does not count changes neither. A run admitted before the circuit opened does not close it.
        """
        with self._lock:
            circuit = self._circuits.setdefault(permit.tool, _Circuit())
            if permit.probe:
                if circuit.probe is not permit:
                    return
                circuit.probe = None
            if self._counts(result):
                circuit.failures += 1
                circuit.last_failure = result.error_code
                if permit.probe or (circuit.opened_at is None and circuit.failures >= self.failure_threshold):
                    circuit.opened_at = self._clock.monotonic()
            elif result.status is not ToolStatus.ERROR and (permit.probe or circuit.opened_at is None):
                circuit.failures = 0
                circuit.opened_at = None

    def release(self, permit: Permit) -> None:
        """Give a permit back unused, for a run that ended without any result."""
        with self._lock:
            circuit = self._circuits.get(permit.tool)
            if circuit is not None and circuit.probe is permit:
                circuit.probe = None

    def _state(self, circuit: _Circuit | None) -> CircuitState:
        if circuit is None or circuit.opened_at is None:
            return CircuitState.CLOSED
        if self._clock.monotonic() - circuit.opened_at >= self.recovery_timeout_s:
            return CircuitState.HALF_OPEN
        return CircuitState.OPEN
