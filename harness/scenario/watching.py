"""Conversations written into a run while they go on, each into its lane."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from harness.pipeline.loop import LoopResult, StepRecord
from harness.play.player import MissError
from harness.trace.run import Lane, Run
from harness.wire.exchange import Exchange


class RunWatcher:
    """Watches all conversations of a run; ``exchanges`` gives those that were held so far, a list that only grows.

    ``requests`` are the bodies in the order in which they were sent. ``miss`` is the first request that nothing
    answered, also where a tool swallowed it.
    """

    def __init__(self, run: Run, exchanges: Callable[[], Sequence[Exchange]]) -> None:
        self.run = run
        self.requests: list[dict[str, Any]] = []
        self.miss: MissError | None = None
        self._exchanges = exchanges
        self._seen = 0
        self._chats = 0
        self._main = LaneWatcher(self, run.lane("main"))

    @property
    def main(self) -> LaneWatcher:
        """The watcher of the agent's own conversation."""
        return self._main

    def sub_agent(self, name: str, call_id: str) -> LaneWatcher:
        """Begin to watch a sub-agent that the call ``call_id`` of the agent's present step started."""
        main = self._main.lane
        self.run.events.append(
            {"lane": main.name, "step": len(main.steps), "event": "sub_agent", "call": call_id, "sub_lane": name}
        )
        return LaneWatcher(self, self.run.lane(name))

    def answered(self, request: dict[str, Any]) -> int | None:
        """Note a request that was sent; the position of its exchange, None where there is none."""
        self.requests.append(request)
        exchanges = self._exchanges()
        fresh = [exchange for exchange in exchanges[self._seen :] if exchange.is_chat]
        self._seen = len(exchanges)
        self._chats += len(fresh)
        return self._chats - 1 if self._chats else None


class LaneWatcher:
    """Watches one conversation."""

    def __init__(self, whole: RunWatcher, lane: Lane) -> None:
        self.lane = lane
        self._whole = whole
        self._exchange: int | None = None

    def on_answer(self, request: dict[str, Any]) -> None:
        """Note which exchange the step has, before a sub-agent adds further ones."""
        self._exchange = self._whole.answered(request)

    def on_step(self, record: StepRecord) -> None:
        """Take the step into the lane; raises MissError when a sub-agent's request was not answered in it."""
        self._whole.run.add_step(self.lane, record, self._exchange)
        if self._whole.miss is not None:
            raise self._whole.miss

    def on_end(self, result: LoopResult) -> None:
        """Say how the lane ended."""
        self._whole.run.finish(self.lane, result)

    def on_failure(self, error: BaseException) -> None:
        """Say that the lane ended with a miss, or with something that should not have happened."""
        if isinstance(error, MissError):
            self._whole.miss = self._whole.miss or error
        self.lane.outcome = "miss" if isinstance(error, MissError) else "error"
        self.lane.reason = next(iter(str(error).splitlines()), type(error).__name__)
        if isinstance(error, MissError):
            event = {"lane": self.lane.name, "step": len(self.lane.steps), "event": "miss", "text": str(error)}
            self._whole.run.events.append(event)
