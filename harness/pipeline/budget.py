"""The two budgets of a step's results (seed 000, step 6).

Layer 1: a result over 51,200 bytes is cut, its full content goes to disk. Layer 2: while all results of the step
together exceed 204,800 bytes, the largest not yet cut is cut; when all are cut, the largest are cut again. Bytes are
those of the serialized observation in UTF-8, markers and paths included.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from harness.files import write_atomically
from harness.pipeline.observation import Serializer, ToolObservation
from harness.pipeline.result import ToolResult, serialize_tool_result
from harness.pipeline.truncation import Spill, fit
from harness.pipeline.workspace import SPILL_FOLDER, OutsideWorkspaceError, Workspace

PER_RESULT_BYTES = 51_200
TOTAL_BYTES = 204_800
MAX_CALLS = 128
LEAST_RESULT_BYTES = 512
REFUSAL_BYTES = 256
MAX_REFUSED_FACTOR = 4

_LEADS_ELSEWHERE = f"{SPILL_FOLDER} leads elsewhere"

OnTruncation = Callable[[ToolObservation, ToolObservation, int], None]
"""Told of each cut: the observation before, after, and the layer (1 or 2)."""


@dataclass(frozen=True, slots=True)
class BudgetPolicy:
    """The limits of a step.

    ``max_calls`` calls of a step are executed, up to four times as many more are answered with TOO_MANY_CALLS, and a
    step with still more is not executed at all: so that both bounds hold for every input. Raises ValueError for limits
    below their floor: ``per_result_bytes`` 512, ``total_bytes`` 1,536 for each of ``max_calls``.
    """

    per_result_bytes: int = PER_RESULT_BYTES
    total_bytes: int = TOTAL_BYTES
    max_calls: int = MAX_CALLS

    def __post_init__(self) -> None:
        if self.max_calls < 1:
            raise ValueError(f"max_calls is {self.max_calls}; a step can hold at least 1 call")
        if self.per_result_bytes < LEAST_RESULT_BYTES:
            raise ValueError(f"per_result_bytes is {self.per_result_bytes}; the least is {LEAST_RESULT_BYTES}")
        floor = self.max_calls * (LEAST_RESULT_BYTES + MAX_REFUSED_FACTOR * REFUSAL_BYTES)
        if self.total_bytes < floor:
            raise ValueError(f"total_bytes is {self.total_bytes}; for {self.max_calls} calls the least is {floor}")

    @property
    def most_calls_answered(self) -> int:
        """Calls in one step beyond which nothing of it is executed or stored."""
        return self.max_calls * (1 + MAX_REFUSED_FACTOR)


class SpillStore:
    """Keeps the full content of cut results in the workspace, where Read finds it and Glob and Grep do not.

    Names come from the call's id and the content, so that a replayed run names the same file.
    """

    def __init__(self, workspace: Workspace | None) -> None:
        self._workspace = workspace

    def keep(self, observation: ToolObservation) -> Spill:
        """Write the full content; a failure is said, never raised (F05)."""
        if self._workspace is None:
            return Spill(None, "there is no workspace")
        content = full_text(observation.raw_result)
        digest = hashlib.blake2b(content.encode("utf-8"), digest_size=4).hexdigest()
        name = re.sub(r"[^A-Za-z0-9_-]+", "_", observation.tool_call_id)[:60]
        path = self._workspace.spill_folder / f"{name}-{digest}.txt"
        try:
            if self._workspace.resolve(str(path)) != path:
                return Spill(None, _LEADS_ELSEWHERE)
            write_atomically(path, content.encode("utf-8"), mode=0o600)
        except OutsideWorkspaceError:
            return Spill(None, _LEADS_ELSEWHERE)
        except OSError as error:
            return Spill(None, error.strerror or type(error).__name__)
        return Spill(self._workspace.relative(path))


def full_text(result: ToolResult) -> str:
    """All of a result as a text that Read can show by lines: long texts raw under a heading, the rest as JSON.

    A text with NUL characters stays JSON, because Read takes a file with many of them for a binary one.
    """
    sections: list[str] = []
    rest: dict[str, object] = {"status": result.status.value}
    if result.error_code is not None:
        rest["error_code"] = result.error_code.value
    for name in ("data", "stats", "context"):
        rest[name] = _without_long_texts(getattr(result, name), name, sections)
    head = json.dumps(rest, ensure_ascii=False, indent=1)
    text = json.dumps(result.text, ensure_ascii=False) if "\0" in result.text else result.text
    return "\n".join([head, f"--- text ---\n{text}", *sections]) + "\n"


def apply_budgets(
    observations: Sequence[ToolObservation],
    spills: SpillStore,
    *,
    per_result_bytes: int = PER_RESULT_BYTES,
    total_bytes: int = TOTAL_BYTES,
    serializer: Serializer = serialize_tool_result,
    on_truncation: OnTruncation = lambda *_: None,
) -> list[ToolObservation]:
    """The observations of a whole step, cut where a budget asks for it; order and ids stay.

    The total holds where it leaves at least 512 bytes for each observation, which `BudgetPolicy` sees to.
    """
    kept = list(observations)
    saved: dict[int, Spill] = {}

    def cut(position: int, limit: int, layer: int) -> None:
        before = kept[position]
        if position not in saved:
            saved[position] = spills.keep(before)
        result = fit(before.raw_result, limit, saved[position], lambda result: len(serializer(result).encode("utf-8")))
        kept[position] = ToolObservation(before.tool_call_id, before.tool_name, result, before.raw_result, serializer)
        on_truncation(before, kept[position], layer)

    for position, observation in enumerate(observations):
        if observation.size > per_result_bytes:
            cut(position, per_result_bytes, 1)

    while (excess := sum(item.size for item in kept) - total_bytes) > 0:
        whole = [
            position for position, item in enumerate(kept) if not item.truncated and item.size > LEAST_RESULT_BYTES
        ]
        if not whole:
            _level(kept, total_bytes, cut)
            break
        largest = max(whole, key=lambda position: kept[position].size)
        cut(largest, max(LEAST_RESULT_BYTES, kept[largest].size - excess), 2)
    return kept


def _level(kept: list[ToolObservation], total: int, cut: Callable[[int, int, int], None]) -> None:
    """All is cut and it is still too much: bring the largest down to the one level at which everything fits."""
    sizes = sorted(item.size for item in kept)
    remaining, level = total, 0
    for position, size in enumerate(sizes):
        level = remaining // (len(sizes) - position)
        if size > level:
            break
        remaining -= size
    for position, item in enumerate(list(kept)):
        if item.size > level:
            cut(position, level, 2)


def _without_long_texts(value: object, path: str, sections: list[str]) -> object:
    if isinstance(value, str) and (len(value) > 200 or "\n" in value) and "\0" not in value:
        sections.append(f"--- {path} ---\n{value}")
        return f"(below: {path})"
    if isinstance(value, Mapping):
        return {key: _without_long_texts(item, f"{path}.{key}", sections) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_long_texts(item, f"{path}[{position}]", sections) for position, item in enumerate(value)]
    return value
