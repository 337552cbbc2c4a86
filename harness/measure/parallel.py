"""What parallel calls saved against one call a turn, and what non-ASCII results in them cost (rule 16)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.measure.encodings import encoding
from harness.measure.messages import content_text
from harness.measure.prompt import count_request
from harness.measure.render import render_parallel_results
from harness.measure.task import RESULT_ROLES, TaskStep, calls_of, role_of


@dataclass(frozen=True, slots=True)
class ParallelTurn:
    """Several calls in one answer, all their results in the next request.

    ``round_trips`` is how many more requests one call a turn would have taken, ``saved_tokens`` an estimate of the
    prompt tokens which those would have sent again, less what the merged form costs more (or plus what it costs less)
    than single calls. ``escaping_tokens`` is what escaping non-ASCII results costs in one request, ``sent`` how many
    requests carry this turn. Where the recording begins after the turn, nothing is said to be saved.
    """

    step: int
    calls: int
    round_trips: int
    saved_tokens: int
    escaping_tokens: int
    sent: int

    @property
    def escaping_total(self) -> int:
        """What the escaping costs over the task."""
        return self.escaping_tokens * self.sent


@dataclass(slots=True)
class _Turn:
    step: int
    start: int
    calls: int
    resent: int
    merged_extra: int
    escaping: int
    sent: int = 0


def parallel_turns(steps: Sequence[TaskStep]) -> list[ParallelTurn]:
    """The parallel calls that the requests of a task repeat; ``step`` is the position (from 0) of the answer."""
    finished: list[_Turn] = []
    alive: list[_Turn] = []
    for number, step in enumerate(steps):
        while alive and alive[-1].start >= step.shared:
            finished.append(alive.pop())
        before = steps[number - 1] if number else None
        alive += _new_turns(step, number - 1, before)
        for turn in alive:
            turn.sent += 1
    return [
        ParallelTurn(
            turn.step,
            turn.calls,
            turn.calls - 1 if turn.step >= 0 else 0,
            turn.resent - turn.merged_extra * turn.sent if turn.step >= 0 else 0,
            turn.escaping,
            turn.sent,
        )
        for turn in sorted([*finished, *alive], key=lambda turn: (turn.step, turn.start))
    ]


def _new_turns(step: TaskStep, answered: int, before: TaskStep | None) -> list[_Turn]:
    found: list[_Turn] = []
    messages = step.messages
    for index in range(step.shared, len(messages)):
        calls = calls_of(messages[index]) if role_of(messages[index]) == "assistant" else ()
        if len(calls) < 2:
            continue
        end = index + 1
        while end < len(messages) and role_of(messages[end]) in RESULT_ROLES:
            end += 1
        # Only the answer to the request before was given in this task.
        own = before is not None and index == step.adds_from
        prompt = before.count.total if before is not None and own else 0
        found.append(_turn(messages[index:end], step, index, answered if own else -1, prompt))
    return found


def _turn(unit: Sequence[Any], step: TaskStep, start: int, answered: int, prompt: int) -> _Turn:
    model = step.count.model
    merged = count_request({"messages": list(unit)}, model).history_tokens
    entries = unit[0]["tool_calls"]
    results = list(unit[1:])
    by_id = {result.get("tool_call_id"): result for result in results if isinstance(result, Mapping)}
    singles: list[int] = []
    for position, entry in enumerate(entries):
        result = by_id.get(entry.get("id")) if isinstance(entry, Mapping) else None
        if result is None and position < len(results):
            result = results[position]
        # What the model said beside its calls it would have said beside the first.
        said = None if position else unit[0].get("content")
        alone = {"role": "assistant", "content": said, "tool_calls": [entry]}
        singles.append(count_request({"messages": [alone, *([result] if result else [])]}, model).history_tokens)
    resent = sum(prompt + sum(singles[:position]) for position in range(1, len(singles)))
    return _Turn(answered, start, len(entries), resent, merged - sum(singles), _escaping(results, step))


def _escaping(results: Sequence[Any], step: TaskStep) -> int:
    bodies = [content_text(result) for result in results]
    if all(body.isascii() and "\\u" not in body for body in bodies):
        return 0
    count = encoding(step.count.encoding).count
    return count(render_parallel_results(bodies)) - count(_unescaped(bodies))


def _unescaped(results: Sequence[str]) -> str:
    entries = []
    for text in results:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = text
        entries.append(json.dumps(value, ensure_ascii=False))
    return f"[{', '.join(entries)}]"
