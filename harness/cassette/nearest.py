"""The recorded request that a request without an answer is most like: the one it would have matched before the change.

Work is one comparison of digests a message, and only ties look at texts.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.cassette.canonical import CanonicalRequest, Part
from harness.wire.exchange import Exchange, Request
from harness.wire.half_pairs import dumps

_MOST_TIES = 50


def nearest(
    asked: CanonicalRequest,
    request: Request,
    recorded: Sequence[CanonicalRequest],
    exchanges: Sequence[Exchange],
    used: frozenset[int],
) -> int | None:
    """The position of the nearest request of the same kind, or None where there is none.

    Most equal messages at equal places, then the most alike length, then the most equal other keys; among equals the
    one whose differing text is most alike, then one not handed out yet, then the earliest.
    """
    scores = {
        position: _score(asked, candidate)
        for position, candidate in enumerate(recorded)
        if candidate.is_chat == asked.is_chat and (asked.is_chat or candidate.head == asked.head)
    }
    if not scores:
        return None
    best = max(scores.values())
    ties = [position for position, score in scores.items() if score == best]
    if len(ties) == 1:
        return ties[0]
    return max(
        ties[:_MOST_TIES],
        key=lambda position: (
            _text_likeness(asked, request, recorded[position], exchanges[position].request),
            position not in used,
            -position,
        ),
    )


def _score(asked: CanonicalRequest, candidate: CanonicalRequest) -> tuple[int, int, int]:
    pairs = zip(asked.messages, candidate.messages, strict=False)
    same = sum(one.digest == other.digest for one, other in pairs)
    keys = asked.keys.keys() & candidate.keys.keys()
    same_keys = sum(asked.keys[name].digest == candidate.keys[name].digest for name in keys)
    other_keys = len(asked.keys.keys() ^ candidate.keys.keys())
    return same, -abs(len(asked.messages) - len(candidate.messages)), same_keys - other_keys


def _text_likeness(asked: CanonicalRequest, request: Request, candidate: CanonicalRequest, recorded: Request) -> float:
    """How much of the first differing message stands on both sides, from 0 to 1; common beginning and end count."""
    position = _first_difference(asked.messages, candidate.messages)
    now, then = request.parts(), recorded.parts()
    if position is None or now is None or then is None:
        return 0.0
    new, old = dumps((now.messages or ())[position]), dumps((then.messages or ())[position])
    head = _common(new, old)
    tail = _common(new[head:][::-1], old[head:][::-1])
    return 2 * (head + tail) / (len(new) + len(old))


def _first_difference(new: Sequence[Part], old: Sequence[Part]) -> int | None:
    return next((n for n, (one, other) in enumerate(zip(new, old, strict=False)) if one.digest != other.digest), None)


def _common(one: bytes, other: bytes) -> int:
    """How many bytes two texts begin with alike, found by halving."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
