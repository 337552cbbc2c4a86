"""What a run may use: a scenario's ``limits``, counted where every request of every agent passes."""

from __future__ import annotations

import threading

from harness.errors import HarnessError
from harness.play.player import MissError
from harness.scenario.world import LimitsSpec
from harness.seams import Clock
from harness.wire.exchange import Exchange, Request, Response


class LimitError(MissError):
    """A request beyond what the scenario's ``limits`` allow: it is not answered, and the run fails."""


class RequestLimits:
    """Refuses the first chat request beyond a limit, and all after it; safe under threads.

    ``steps`` counts requests that offer tools, for agents whose steps nobody counts. Where the limit of tokens is set,
    an answer without usage is the last one: what cannot be counted is not allowed.
    """

    def __init__(self, spec: LimitsSpec, clock: Clock, *, count_steps: bool = False) -> None:
        self._spec = spec
        self._clock = clock
        self._count_steps = count_steps
        self._started = clock.monotonic()
        self._lock = threading.Lock()
        self.requests = 0
        self.steps = 0
        self.tokens = 0
        self.exceeded: str | None = None

    def before_request(self, request: Request) -> None:
        """Count it; raises LimitError where it is one too many."""
        if not request.is_chat:
            return
        with self._lock:
            self.exceeded = self.exceeded or self._reached(request)
            if self.exceeded:
                raise LimitError(self.exceeded)
            self.requests += 1
            self.steps += _offers_tools(request)

    def after_answer(self, request: Request, response: Response) -> None:
        """Add what its usage reports."""
        if self._spec.tokens is None or not request.is_chat or response.status != 200:
            return
        used = _tokens_of(Exchange(request, response))
        with self._lock:
            if used is None:
                self.exceeded = f"limits.tokens is {self._spec.tokens}, and answer {self.requests} reports no usage"
            else:
                self.tokens += used

    def _reached(self, request: Request) -> str | None:
        spec = self._spec
        spent = self._clock.monotonic() - self._started
        if spec.requests is not None and self.requests >= spec.requests:
            return f"limits.requests is {spec.requests}, and the agent asked once more"
        if self._count_steps and spec.steps is not None and self.steps >= spec.steps and _offers_tools(request):
            return f"limits.steps is {spec.steps}, and the agent asked for one more"
        if spec.tokens is not None and self.tokens >= spec.tokens:
            return f"limits.tokens is {spec.tokens}, {self.tokens} are used, and the agent asked once more"
        if spec.wall_s is not None and spent > spec.wall_s:
            return f"limits.wall_s is {spec.wall_s:g}, and the agent asked once more after that"
        return None


def _offers_tools(request: Request) -> bool:
    try:
        body = request.json()
    except ValueError:
        return False
    return isinstance(body, dict) and bool(body.get("tools"))


def _tokens_of(exchange: Exchange) -> int | None:
    """All tokens that the answer's usage reports, None where it has none."""
    try:
        usage = exchange.turn().usage
    except (ValueError, HarnessError):
        return None
    if not usage:
        return None
    total = usage.get("total_tokens")
    if isinstance(total, int):
        return total
    parts = [usage.get("prompt_tokens"), usage.get("completion_tokens")]
    numbers = [part for part in parts if isinstance(part, int)]
    return sum(numbers) if numbers else None
