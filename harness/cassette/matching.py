"""Which recorded exchange answers a request: one hash look-up of its canonical form, and reasons when none does."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from harness.cassette.canonical import Canonicalizer, CanonicalRequest
from harness.cassette.cassette import Cassette
from harness.cassette.drift import Drift, DriftClass
from harness.cassette.miss import BodyPair, Miss, RequestDifference, explained, request_differences
from harness.cassette.nearest import nearest
from harness.cassette.paths import KnownPaths, PathMap
from harness.cassette.volatile import VolatileRules
from harness.wire.exchange import Exchange, Request


class Replacement(NamedTuple):
    """What a match left out of account: a volatile value or a known folder, as recorded and as it is now."""

    kind: str
    recorded: str
    now: str
    times: int = 1


@dataclass(frozen=True, slots=True)
class Match:
    """A recorded exchange that answers a request; ``drift`` is what was allowed to differ, empty for an exact match."""

    exchange: Exchange
    drift: tuple[Drift, ...] = ()


class Matcher:
    """Finds the recorded exchange for a request; safe to use from several threads.

    The key is the method, the path (of a chat request only that it is one) and the canonical body, see
    `Canonicalizer`: model, parameters, system prompt, tools and the whole history; headers and query do not count.
    ``present`` are the session's folders by name; the recorded ones are the cassette's, or ``recorded`` where given.

    Each exchange is handed out once. Equal requests get their answers in recorded order, and one more than was
    recorded is a miss: a retry after a recorded 429 must get the second answer, and an agent that asks more often
    than it did has changed. ``allow_drift`` names classes that may differ: then, where no exchange is equal, the next
    one in recorded order that is equal in all other classes answers, and the match says what differs.
    """

    def __init__(
        self,
        cassette: Cassette,
        present: Mapping[str, str] | None = None,
        *,
        recorded: Mapping[str, str] | None = None,
        rules: VolatileRules | None = None,
        allow_drift: Collection[DriftClass] = (),
    ) -> None:
        if recorded is None:
            folders = {"workspace": cassette.workspace, "home": cassette.home}
            recorded = {name: folder for name, folder in folders.items() if folder}
        self.cassette = cassette
        self.paths = PathMap(KnownPaths(recorded), KnownPaths(present or {}))
        self._recorded = Canonicalizer(self.paths.recorded, rules, shared_objects=True)
        self._present = Canonicalizer(self.paths.present, rules)
        self._allowed = frozenset(allow_drift)
        self._requests = [self._recorded.canonical(exchange.request) for exchange in cassette.exchanges]
        self._waiting = self._index(frozenset())
        self._tolerant = self._index(self._allowed) if self._allowed else {}
        self._used: set[int] = set()
        self._lock = threading.Lock()

    @property
    def unused(self) -> tuple[Exchange, ...]:
        """The chat exchanges not handed out yet, in recorded order."""
        with self._lock:
            used = set(self._used)
        return tuple(
            exchange
            for position, exchange in enumerate(self.cassette.exchanges)
            if exchange.is_chat and position not in used
        )

    def match(self, request: Request) -> Match | None:
        """The next recorded exchange for the request, or None."""
        asked = self._present.canonical(request)
        with self._lock:
            position = self._next(self._waiting.get(asked.key))
            if position is not None:
                return Match(self.cassette.exchanges[position])
            if not self._allowed:
                return None
            position = self._next(self._tolerant.get(asked.key_without(self._allowed)))
        if position is None:
            return None
        exchange = self.cassette.exchanges[position]
        differences = self._differences(position, asked, request)
        return Match(exchange, tuple(difference.drift for difference in differences))

    def find(self, request: Request) -> Exchange | None:
        """The exchange of `match`, or None."""
        found = self.match(request)
        return found.exchange if found is not None else None

    def replaced(self, exchange: Exchange, request: Request) -> list[Replacement]:
        """What a match of the two left out of account: values that differ, and folders; each kind of pair once."""
        recorded = self._recorded.canonical(exchange.request)
        asked = self._present.canonical(request)
        pairs: Counter[tuple[str, str, str]] = Counter()
        for (_, _, old), (_, _, new) in zip(recorded.parts(), asked.parts(), strict=False):
            for one, other in zip(old.values, new.values, strict=False):
                if one.text != other.text:
                    pairs[one.kind, one.text, other.text] += 1
        text = exchange.request.body.decode("utf-8", "replace")
        for found in self.paths.recorded.find(text):
            folder = text[found.start : found.end]
            now = self.paths.present.spelled(found.name, found.form)
            if now is not None and now != folder:
                pairs[f"{found.name} ({found.form})", folder, now] += 1
        return [Replacement(*pair, count) for pair, count in pairs.items()]

    def miss(self, request: Request) -> Miss:
        """Why `match` has nothing: the nearest exchange, what differs, and what to do."""
        asked = self._present.canonical(request)
        equal = [position for position, recorded in enumerate(self._requests) if recorded.key == asked.key]
        with self._lock:
            used = frozenset(self._used)
        if equal:
            return Miss.repeated(self.cassette, request, equal)
        position = nearest(asked, request, self._requests, self.cassette.exchanges, used)
        if position is None:
            return Miss.unknown(self.cassette, request)
        return explained(self.cassette, request, position, self._differences(position, asked, request))

    def explain_miss(self, request: Request) -> str:
        """The text of `miss`."""
        return self.miss(request).text

    def _differences(self, position: int, asked: CanonicalRequest, request: Request) -> list[RequestDifference]:
        recorded = self.cassette.exchanges[position].request
        bodies = BodyPair(self._recorded, recorded, self._present, request)
        try:
            return request_differences(self._requests[position], asked, bodies)
        except RecursionError:  # nested deeper than can be walked; that they differ is known
            return []

    def _index(self, left_out: frozenset[DriftClass]) -> dict[bytes, deque[int]]:
        waiting: dict[bytes, deque[int]] = {}
        for position, request in enumerate(self._requests):
            waiting.setdefault(self._key(request, left_out), deque()).append(position)
        return waiting

    @staticmethod
    def _key(request: CanonicalRequest, left_out: frozenset[DriftClass]) -> bytes:
        return request.key_without(left_out) if left_out else request.key

    def _next(self, waiting: deque[int] | None) -> int | None:
        """The first position not handed out; the two indexes share what is."""
        while waiting:
            position = waiting.popleft()
            if position not in self._used:
                self._used.add(position)
                return position
        return None
