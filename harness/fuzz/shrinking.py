"""An example made as small as it gets while it still fails: fewer steps, fewer calls, simpler arguments."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from typing import Any

from harness.fuzz.examples import Example, MadeCall, Turn
from harness.fuzz.texts.writing import compact

MOST_TRIES = 600
_SIMPLEST = ("{}", "", "null", "[]", "{", "0")
_LONGEST_SEARCH = 4000
_LONGEST_PLAINER = 200
_DEEPEST = 40

Fails = Callable[[Example], bool]


def shrunk(example: Example, fails: Fails, most: int = MOST_TRIES) -> Example:
    """The smallest example found in at most so many tries; the example itself where nothing smaller fails."""
    left = most

    def still(candidate: Example) -> bool:
        nonlocal left
        left -= 1
        return fails(candidate)

    changed = True
    while changed and left > 0:
        changed = False
        for candidates in (_shorter, _plainer, _simpler_calls):
            again = True
            while again and left > 0:
                again = False
                for candidate in candidates(example):
                    if left <= 0:
                        break
                    if _weight(candidate) < _weight(example) and still(candidate):
                        example, changed, again = candidate, True, True
                        break
    return example


def _weight(example: Example) -> tuple[Any, ...]:
    calls = [call for turn in example.turns for call in turn.calls]
    return (
        len(calls),
        len(example.turns),
        sum(len(turn.before) for turn in example.turns),
        sum(turn.cut + bool(turn.fault) for turn in example.turns),
        example.kind != "calls",
        sum(call.id_family != "fresh" for call in calls),
        sum(call.name_family != "known" for call in calls),
        sum(len(call.arguments or "") for call in calls),
        sum(not character.isalnum() for call in calls for character in call.arguments or ""),
        [call.arguments or "" for call in calls],
        example.fragment,
    )


def _shorter(example: Example) -> Iterator[Example]:
    """Without some turns, calls or events, many at once first: most faults need one call and nothing else."""
    turns = example.turns
    if len(turns) > 1:
        yield from (example._replace(turns=(turn,)) for turn in turns)
    size = max(1, len(turns) // 2)
    while size:
        for start in range(0, len(turns), size):
            kept = turns[:start] + turns[start + size :]
            if kept:
                yield example._replace(turns=kept)
        size //= 2
    for at, turn in enumerate(turns):
        if len(turn.calls) > 2:
            yield from (_with_turn(example, at, turn._replace(calls=(call,))) for call in turn.calls)
        size = max(1, len(turn.calls) // 2)
        while size:
            for start in range(0, len(turn.calls), size):
                calls = turn.calls[:start] + turn.calls[start + size :]
                if calls:
                    yield _with_turn(example, at, turn._replace(calls=calls))
            size //= 2
        for position in range(len(turn.before)):
            before = turn.before[:position] + turn.before[position + 1 :]
            yield _with_turn(example, at, turn._replace(before=before))
    for at in range(len(turns) - 1):
        joined = turns[at]._replace(calls=turns[at].calls + turns[at + 1].calls)
        yield example._replace(turns=(*turns[:at], joined, *turns[at + 2 :]))


def _plainer(example: Example) -> Iterator[Example]:
    """Without what makes it special."""
    if example.kind in ("stream", "twice"):
        yield example._replace(kind="calls", turns=tuple(turn._replace(cut=False) for turn in example.turns))
    if example.fragment > 1:
        yield example._replace(fragment=1)
    for at, turn in enumerate(example.turns):
        if turn.fault:
            yield _with_turn(example, at, turn._replace(fault=""))
        for position, call in enumerate(turn.calls):
            if call.id_family != "fresh":
                fresh = call._replace(id=f"call_{at + 1}_{position + 1}", id_family="fresh")
                yield _with_call(example, at, position, fresh)
            if call.name_family != "known" and call.tool:
                named = call._replace(name=call.tool, name_family="known")
                yield _with_call(example, at, position, named)


def _simpler_calls(example: Example) -> Iterator[Example]:
    for at, turn in enumerate(example.turns):
        for position, call in enumerate(turn.calls):
            if call.outcome is None:
                for text in _simpler_texts(call.arguments or ""):
                    yield _with_call(example, at, position, call._replace(arguments=text))


def _simpler_texts(text: str) -> Iterator[str]:
    yield from _SIMPLEST
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict | list):
        for simpler in _simpler_values(value, 0):
            try:
                yield compact(simpler)
            except (ValueError, RecursionError):
                continue
    size = len(text) // 2
    while size:
        for start in range(0, len(text), size) if len(text) // size < _LONGEST_SEARCH else ():
            yield text[:start] + text[start + size :]
        size //= 2
    if len(text) < _LONGEST_PLAINER:
        yield from _plainer_texts(text)


def _plainer_texts(text: str) -> Iterator[str]:
    """Of the same length, with plainer characters; a key that stands twice stays twice."""
    for character in dict.fromkeys(text):
        if not character.isascii():
            yield text.replace(character, "a")
    for at, character in enumerate(text):
        for plain in "0a":
            if character.isalnum() != plain.isalnum() or character > plain:
                yield text[:at] + plain + text[at + 1 :]


def _simpler_values(value: Any, depth: int) -> Iterator[Any]:
    """Simpler values of the same kind, at this place or below."""
    if depth > _DEEPEST:
        return
    if isinstance(value, dict):
        for key in value:
            yield {other: part for other, part in value.items() if other != key}
        for key, part in value.items():
            for simpler in _simpler_values(part, depth + 1):
                yield {**value, key: simpler}
    elif isinstance(value, list):
        if value:
            yield from ([], value[: len(value) // 2], value[1:])
        for at, part in enumerate(value):
            for simpler in _simpler_values(part, depth + 1):
                yield [*value[:at], simpler, *value[at + 1 :]]
    else:
        yield from _simpler_scalars(value)


def _simpler_scalars(value: Any) -> Iterator[Any]:
    if isinstance(value, str):
        yield from ("", "a", value[: len(value) // 2], value[1:], value[:-1]) if value else ()
    elif isinstance(value, bool):
        yield False
    elif isinstance(value, int):
        yield from (0, 1, value // 2, value * 3 // 4, value - 1)
    elif isinstance(value, float):
        yield from (0, 1, *((int(value),) if math.isfinite(value) else ()))


def _with_turn(example: Example, at: int, turn: Turn) -> Example:
    return example._replace(turns=(*example.turns[:at], turn, *example.turns[at + 1 :]))


def _with_call(example: Example, at: int, position: int, call: MadeCall) -> Example:
    turn = example.turns[at]
    calls = (*turn.calls[:position], call, *turn.calls[position + 1 :])
    return _with_turn(example, at, turn._replace(calls=calls))
