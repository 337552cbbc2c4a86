"""Conversations told apart: which request goes on from which (the vocabulary's *lane*).

A request continues another when it begins with all of the other's messages and has more. Where several recorded
requests are the same (repeats, samples), the one whose answer the later request repeats is continued. A request that
parts from an earlier one only within its calls and results continues it too: that is a rewritten history, which
replay then reports. So does one with other system messages, if it repeats the answer to the earlier one, and one that
has nothing new but what a user says, if the answer to the earlier one was calls. Work is linear in the messages of all
requests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from harness.cassette.messages import canonical_arguments, canonical_message, digest, leading_system
from harness.wire.exchange import Exchange

_OWN_ROLES = ("assistant", "tool", "function")  # a tuple: a role that is no text cannot be hashed


@dataclass(frozen=True, slots=True)
class LaneStep:
    """One exchange of a lane.

    ``shared`` is how many of its messages, from the first, stand in the step before it; the messages from
    ``adds_from`` on are those that it adds to that step. The two differ where the history was rewritten.
    """

    exchange: Exchange
    body: Mapping[str, Any]
    shared: int = 0
    adds_from: int = 0


@dataclass(slots=True)
class Lane:
    """One conversation, its steps in order. ``number`` counts from 1 in order of first appearance."""

    number: int
    steps: list[LaneStep] = field(default_factory=list)


def find_lanes(exchanges: Sequence[Exchange]) -> list[Lane]:
    """The lanes of the chat exchanges given; raises ValueError for a request body that is no JSON object."""
    finder = _Finder()
    for exchange in exchanges:
        body = exchange.request.json()
        if not isinstance(body, dict):
            raise ValueError(f"exchange {exchange.index}: the request body is no JSON object")  # noqa: TRY004
        finder.place(exchange, body)
    return finder.lanes


class _Finder:
    def __init__(self) -> None:
        self.lanes: list[Lane] = []
        self._whole: dict[bytes, list[_Place]] = {}
        self._prefixes: dict[bytes, list[_Place]] = {}
        self._unheaded: dict[bytes, list[_Place]] = {}

    def place(self, exchange: Exchange, body: Mapping[str, Any]) -> None:
        messages = [message for message in body.get("messages") or () if isinstance(message, dict)]
        chain = _chain(messages)
        head = leading_system(messages)
        unheaded = _chain(messages[head:]) if head else chain
        found = (self._parent(messages, chain), self._reheaded(messages, head, unheaded))
        # The later of the two steps: a system prompt may change and change back.
        parent, shared, adds_from = max((one for one in found if one), key=itemgetter(2), default=_NEW)
        if parent is None:
            lane = Lane(len(self.lanes) + 1)
            self.lanes.append(lane)
        else:
            lane = parent.lane if parent.is_last else self._branch(parent)
        lane.steps.append(LaneStep(exchange, body, shared, adds_from))
        place = _Place(lane, len(lane.steps), exchange, messages)
        if chain:
            self._whole.setdefault(chain[-1], []).append(place)
        for link in chain:
            self._prefixes.setdefault(link, []).append(place)
        if unheaded:
            self._unheaded.setdefault(unheaded[-1], []).append(place)

    def _parent(self, messages: list[dict[str, Any]], chain: list[bytes]) -> _Parent | None:
        longest = 0
        for length in range(len(chain) - 1, 0, -1):
            candidates = self._whole.get(chain[length - 1])
            if candidates and messages[length].get("role") in _OWN_ROLES:
                return _best(candidates, messages[length]), length, length
            if candidates and (dropped := _dropped(candidates, messages[length:])) is not None:
                return dropped, length, length
            if not longest and chain[length - 1] in self._prefixes:
                longest = length
                rewritten = _rewritten(self._prefixes[chain[length - 1]], messages, length)
                if rewritten is not None:
                    return rewritten, length, len(rewritten.messages)
        if chain and chain[-1] in self._whole:
            return _NEW
        first_own = next((n for n, message in enumerate(messages) if message.get("role") in _OWN_ROLES), len(messages))
        for length in range(len(chain) - 1, first_own - 1, -1):
            places = self._prefixes.get(chain[length - 1]) if length else None
            if places:
                place = places[-1]
                parts = _parts_within_own(place.messages, messages, length)
                return (place, length, len(place.messages)) if parts else None
        return None

    def _reheaded(self, messages: list[dict[str, Any]], head: int, unheaded: list[bytes]) -> _Parent | None:
        """The request that this one continues with other system messages.

        Two agents may be given the same task under different system prompts, so the answer has to be repeated too.
        """
        for length in range(len(unheaded) - 1, 0, -1):
            candidates = self._unheaded.get(unheaded[length - 1])
            answer = messages[head + length]
            if candidates and answer.get("role") == "assistant":
                best = _best(candidates, answer)
                if _likeness(best.exchange, answer) > 0:
                    return best, 0, head + length
        return None

    def _branch(self, parent: _Place) -> Lane:
        """A second continuation of the same step is a lane of its own, which starts with the steps they share."""
        lane = Lane(len(self.lanes) + 1, parent.lane.steps[: parent.position])
        self.lanes.append(lane)
        return lane


@dataclass(slots=True)
class _Place:
    lane: Lane
    position: int
    exchange: Exchange
    messages: list[dict[str, Any]]

    @property
    def is_last(self) -> bool:
        return self.position == len(self.lane.steps)


_Parent = tuple[_Place | None, int, int]
_NEW: _Parent = (None, 0, 0)


def _best(candidates: list[_Place], answer: Mapping[str, Any]) -> _Place:
    """Of several equal requests the one whose answer the message repeats, the latest one not yet continued first."""

    def fitness(place: _Place) -> tuple[int, bool, int]:
        return _likeness(place.exchange, answer), place.is_last, place.exchange.index

    return max(candidates, key=fitness) if len(candidates) > 1 else candidates[0]


def _likeness(exchange: Exchange, answer: Mapping[str, Any]) -> int:
    try:
        turn = exchange.turn()
    except ValueError:
        return -1
    ids = [call.get("id") for call in answer.get("tool_calls") or () if isinstance(call, Mapping)]
    if turn.tool_calls and ids == [call.id for call in turn.tool_calls]:
        return 3
    given = canonical_message(answer)
    calls = [(entry["function"]["name"], entry["function"]["arguments"]) for entry in given.get("tool_calls", ())]
    if turn.tool_calls and calls == [(call.name, canonical_arguments(call.arguments)) for call in turn.tool_calls]:
        return 2
    return int(not calls and not turn.tool_calls and given.get("content", "") == (turn.content or ""))


def _dropped(candidates: Sequence[_Place], added: Sequence[Mapping[str, Any]]) -> _Place | None:
    """The request that is continued without the calls it was answered with, only with what a user says.

    So do agents that throw a broken call away and tell the model about it.
    """
    if any(message.get("role") != "user" for message in added):
        return None
    return next((place for place in reversed(candidates) if place.is_last and _calls(place.exchange)), None)


def _calls(exchange: Exchange) -> bool:
    try:
        return bool(exchange.turn().tool_calls)
    except ValueError:
        return False


def _rewritten(places: Sequence[_Place], messages: Sequence[Mapping[str, Any]], shared: int) -> _Place | None:
    """Of the requests that begin alike the latest one whose answer comes later in a history that was changed."""
    for place in reversed(places):
        end = len(place.messages)
        if (
            end < len(messages)
            and _parts_within_own(place.messages, messages, shared)
            and messages[end].get("role") == "assistant"
            and _likeness(place.exchange, messages[end]) > 0
        ):
            return place
    return None


def _parts_within_own(earlier: Sequence[Mapping[str, Any]], later: Sequence[Mapping[str, Any]], shared: int) -> bool:
    """Whether two histories part at a message of the agent's own making, on both sides."""
    if shared >= len(earlier) or shared >= len(later):
        return False
    return earlier[shared].get("role") in _OWN_ROLES and later[shared].get("role") in _OWN_ROLES


def _chain(messages: Sequence[Mapping[str, Any]]) -> list[bytes]:
    """For each message a digest of it and all before it."""
    links: list[bytes] = []
    before = ""
    for message in messages:
        link = digest([before, canonical_message(message)])
        links.append(link)
        before = link.hex()
    return links
