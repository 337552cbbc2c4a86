"""The growing requests of one conversation, counted so that the cost grows with the new messages only."""

from __future__ import annotations

from collections.abc import Sequence

from harness.measure.ledger import Ledger
from harness.measure.prompt import PromptCount, PromptRequest, assemble
from harness.measure.render import NO_TOOLS, RenderedTools


class ConversationCounter:
    """Counts one request after the other; what stood in the request before is not encoded again.

    Messages are taken for the same when they are equal, which is quick where they are the same objects, as in the parts
    of deferred requests. Who knows how many are the same (`LaneStep.shared`) says so and saves the comparison. A list
    may grow in place; a message must not be changed in place.
    """

    def __init__(self, *, sorted_keys: bool = False) -> None:
        self._sorted_keys = sorted_keys
        self._ledger: Ledger | None = None
        self._messages: Sequence[object] = ()
        self._tools: tuple[Sequence[object], RenderedTools] = ((), NO_TOOLS)

    def count(self, body: object, model: str | None = None, *, shared: int | None = None) -> PromptCount:
        """Count the next request; ``messages`` of the result are those counted for it, from ``messages_from`` on.

        ``shared`` is how many messages from the first on are the same as in the request before.
        """
        request = PromptRequest.of(body, model)
        if self._ledger is None or self._ledger.encoding is not request.encoding.encoding:
            self._ledger, shared = Ledger(request.encoding.encoding), 0
        if shared is None:
            shared = _shared(self._messages, request.messages)
        first = self._ledger.advance(request.messages, min(shared, len(request.messages)))
        self._messages = request.messages
        if request.tools != self._tools[0]:
            self._tools = (request.tools, request.rendered(sorted_keys=self._sorted_keys))
        return assemble(request, self._ledger, first, self._tools[1])


def _shared(before: Sequence[object], now: Sequence[object]) -> int:
    limit = min(len(before), len(now))
    if before is now:
        return limit
    if before[:limit] == now[:limit]:
        return limit
    return next((index for index in range(limit) if before[index] != now[index]), 0)
