"""Which recorded exchange answers a request: one hash look-up of its canonical form, and reasons when none does."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from typing import Any

from harness.cassette.canonical import Canonicalizer, RequestKey
from harness.cassette.cassette import Cassette
from harness.cassette.differences import Difference, first_difference
from harness.wire.exchange import Exchange, Request

HOW_TO_RECORD = "if the change is meant, record the session again (harness record)"


class Matcher:
    """Finds the recorded exchange for a request; safe to use from several threads.

    The key is the method, the path (of a chat request only that it is one) and the canonical body, see `Canonicalizer`;
    headers and query do not count. ``placeholders`` maps directories, the recorded and the present ones, to names;
    it applies to both sides alike.

    Each exchange is handed out once. Equal requests get their answers in recorded order, and one more than was
    recorded is a miss: a retry after a recorded 429 must get the second answer, and an agent that asks more often
    than it did has changed.
    """

    def __init__(self, cassette: Cassette, placeholders: Mapping[str, str] | None = None) -> None:
        self._cassette = cassette
        self._canonical = Canonicalizer(placeholders)
        self._keys = [self._canonical.key_of(exchange.request) for exchange in cassette.exchanges]
        self._waiting: dict[bytes, deque[int]] = {}
        for position, key in enumerate(self._keys):
            self._waiting.setdefault(key.key, deque()).append(position)
        self._used: set[int] = set()
        self._lock = threading.Lock()

    @property
    def unused(self) -> tuple[Exchange, ...]:
        """The chat exchanges not handed out yet, in recorded order."""
        with self._lock:
            used = set(self._used)
        return tuple(
            exchange
            for position, exchange in enumerate(self._cassette.exchanges)
            if exchange.is_chat and position not in used
        )

    def find(self, request: Request) -> Exchange | None:
        """The next recorded exchange with an equal request, or None."""
        key = self._canonical.key_of(request).key
        with self._lock:
            waiting = self._waiting.get(key)
            if not waiting:
                return None
            position = waiting.popleft()
            self._used.add(position)
        return self._cassette.exchanges[position]

    def explain_miss(self, request: Request) -> str:
        """Why `find` has nothing: the nearest exchange, the first difference, and what to do.

        Nearest is the exchange with the longest common beginning of messages, then the most equal top-level keys,
        then the most equal messages at equal places, then one not handed out yet, then the earliest. The first line
        says it all in short; further lines give the details.
        """
        asked = self._canonical.key_of(request)
        name = self._cassette.path.name
        what = f"no recorded answer in {name} for {request.method.upper()} {request.path}"
        equal = [position for position, key in enumerate(self._keys) if key.key == asked.key]
        if equal:
            places = ", ".join(str(position + 1) for position in equal)
            times = "once" if len(equal) == 1 else f"{len(equal)} times"
            return (
                f"{what}: this request was recorded {times} (exchange {places}) and has been played as often\n"
                f"  {HOW_TO_RECORD}"
            )
        nearest = self._nearest(request, asked)
        if nearest is None:
            kind = "chat exchanges" if asked.is_chat else "exchanges with this path"
            return f"{what}: the cassette has no {kind} ({len(self._keys)} in all)\n  {HOW_TO_RECORD}"
        return f"{what}: {self._difference_text(request, asked, nearest)}\n  {HOW_TO_RECORD}"

    def _nearest(self, request: Request, asked: RequestKey) -> int | None:
        candidates = [
            position
            for position, key in enumerate(self._keys)
            if key.is_chat == asked.is_chat
            and (asked.is_chat or self._cassette.exchanges[position].request.path == request.path)
        ]
        with self._lock:
            used = set(self._used)
        return max(
            candidates,
            key=lambda position: (*_nearness(asked, self._keys[position]), position not in used, -position),
            default=None,
        )

    def _difference_text(self, request: Request, asked: RequestKey, position: int) -> str:
        recorded = self._cassette.exchanges[position].request
        place = f"exchange {position + 1} of {len(self._keys)}"
        try:
            old, new = self._canonical.body(recorded), self._canonical.body(request)
            found = _difference(old, new)
        except RecursionError:
            found = None
        if found is None:
            return f"the nearest is {place}, its body or method differs"
        difference, drift = found
        before, after = difference.shown()
        others = _differing_parts(asked, self._keys[position]) - {_top_level_key(difference.path)}
        also = f"\n  also different: {', '.join(sorted(others))}" if others else ""
        return (
            f"{drift} changed at {difference.path}, compared with {place}\n"
            f"  recorded: {before}\n  now:      {after}{also}"
        )


def _nearness(asked: RequestKey, recorded: RequestKey) -> tuple[int, int, int, int]:
    pairs = list(zip(asked.messages, recorded.messages, strict=False))
    common = next((index for index, (one, other) in enumerate(pairs) if one != other), len(pairs))
    same_parts = sum(recorded.parts.get(name) == digest for name, digest in asked.parts.items())
    same_messages = sum(one == other for one, other in pairs)
    return common, same_parts, same_messages, -abs(len(asked.messages) - len(recorded.messages))


def _differing_parts(asked: RequestKey, recorded: RequestKey) -> set[str]:
    names = asked.parts.keys() | recorded.parts.keys()
    differing = {name for name in names if asked.parts.get(name) != recorded.parts.get(name)}
    if asked.messages != recorded.messages:
        differing.add("messages")
    return differing


def _difference(old: Any, new: Any) -> tuple[Difference, str] | None:
    """The first difference and its class: model, parameters, tools, system or history, looked at in this order."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return None
    others = sorted((old.keys() | new.keys()) - {"model", "tools", "messages"})
    for name in ("model", *others, "tools", "messages"):
        if name not in old and name not in new:
            continue
        only_old = {name: old[name]} if name in old else {}
        only_new = {name: new[name]} if name in new else {}
        difference = first_difference(only_old, only_new)
        if difference is not None:
            return difference, _drift_class(name, difference.path, old, new)
    return None


def _drift_class(name: str, path: str, old: dict[str, Any], new: dict[str, Any]) -> str:
    if name != "messages":
        return name if name in {"model", "tools"} else "parameters"
    digits = path.removeprefix("$.messages[").partition("]")[0]
    if digits.isdecimal():
        for messages in (old.get(name), new.get(name)):
            if isinstance(messages, list) and int(digits) < len(messages):
                message = messages[int(digits)]
                if isinstance(message, dict) and message.get("role") in {"system", "developer"}:
                    return "system"
    return "history"


def _top_level_key(path: str) -> str:
    return path.removeprefix("$.").partition(".")[0].partition("[")[0]
