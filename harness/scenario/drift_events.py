"""Drift as events of a run: at the step where it stands, with both values, so that a report can show the difference."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness.cassette.cassette import Cassette
from harness.cassette.drift import Drift
from harness.trace.run import Run
from harness.wire.exchange import Exchange

LONGEST = 20_000
"""Characters kept of either value."""

_STEP = re.compile(r"\.([A-Za-z0-9_-]+)|\[(\d+)\]|\[(\"(?:[^\"\\]|\\.)*\")\]")


def drift_event(
    lane: str, step: int, drift: Drift, recorded: object, present: object, *, allowed: bool
) -> dict[str, Any]:
    """The event of a difference between two request bodies; ``allowed`` where the run went on regardless."""
    return {
        "lane": lane,
        "step": step,
        "event": "drift",
        "class": drift.kind,
        "path": drift.path,
        "why": drift.why,
        "allowed": allowed,
        "recorded": _shown(recorded, drift.path),
        "present": _shown(present, drift.path),
    }


def note_allowed_drift(run: Run, cassette: Cassette, drifted: Iterable[tuple[int, Drift]]) -> None:
    """Note what was allowed to differ, each at the step that was answered with the recorded exchange."""
    recorded = {exchange.index: exchange for exchange in cassette.exchanges}
    places = {
        step.exchange: (lane.name, step.index) for lane in run.lanes for step in lane.steps if step.exchange is not None
    }
    taken: dict[int, int] = {}
    for index, drift in drifted:
        if index not in taken:
            position = _answered_by(run.exchanges, recorded[index], set(taken.values()))
            if position is None:
                continue
            taken[index] = position
        position = taken[index]
        if position in places:
            lane, step = places[position]
            bodies = _body(recorded[index]), _body(run.exchanges[position])
            run.events.append(drift_event(lane, step, drift, *bodies, allowed=True))


def value_at(document: object, path: str) -> object:
    """The value at a JSON path such as ``$.messages[2].content``, None where there is none.

    A path that leads into a text, as into a call's arguments, gives the text.
    """
    value = document
    for match in _STEP.finditer(path):
        if isinstance(value, str):
            return value
        key: str | int = int(match[2]) if match[2] else json.loads(match[3]) if match[3] else match[1]
        if isinstance(value, Mapping):
            value = value.get(key)
        elif isinstance(value, list) and isinstance(key, int) and key < len(value):
            value = value[key]
        else:
            return None
    return value


def _answered_by(exchanges: Sequence[Exchange], recorded: Exchange, taken: set[int]) -> int | None:
    return next(
        (
            position
            for position, exchange in enumerate(exchanges)
            if position not in taken and exchange.response.body == recorded.response.body
        ),
        None,
    )


def _body(exchange: Exchange) -> object:
    try:
        return exchange.request.json()
    except ValueError:
        return None


def _shown(document: object, path: str) -> str | None:
    value = value_at(document, path)
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text) - LONGEST:,} more characters)"
