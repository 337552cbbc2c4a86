"""Steps of mixed calls with random delays and failures, on one agent and on two at once.

However calls end, each is answered once and in its place, only neighbouring reads run side by side, and of edits of one
file none interleaves with another and none that was reported as done is lost.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from harness.pipeline.builtin import EditTool, ReadTool
from harness.pipeline.circuit_breaker import CircuitBreaker
from harness.pipeline.executor import ToolExecutor
from harness.pipeline.file_versions import FileVersions
from harness.pipeline.orchestrator import StepOutcome, ToolOrchestrator
from harness.pipeline.permissions import ask_allows
from harness.pipeline.registry import ToolRegistry
from harness.pipeline.result import ErrorCode, ToolResult, ToolStatus
from harness.pipeline.tool import ToolKind
from harness.pipeline.workspace import Workspace
from tests.pipeline.tools import WAIT_S, SmallTool, flat

READERS = ("Grep", "Look")
WRITERS = ("Task", "Change")
FILES = ("a.txt", "b.txt")
SPELLINGS = {"a.txt": ("a.txt", "./a.txt", "link.txt"), "b.txt": ("b.txt", "d/../b.txt")}
SLOTS = 400

DELAYS_MS = st.sampled_from([0, 0, 0, 1, 3])
ENDINGS: dict[str, tuple[ErrorCode | None, str]] = {
    "fine": (None, "fine"),
    "error": (ErrorCode.TIMEOUT, "slow"),
    "raises": (ErrorCode.EXECUTION_ERROR, "raised KeyError: 'gone'"),
    "exits": (ErrorCode.EXECUTION_ERROR, "raised SystemExit: 3"),
    "cancels": (ErrorCode.CANCELLED, "raised CancelledError"),
    "returns nothing": (ErrorCode.INTERNAL_ERROR, "returned NoneType"),
    "bad arguments": (ErrorCode.INVALID_PARAM, "not valid JSON"),
}
INTERRUPTS = "is interrupted"


@dataclass(frozen=True)
class Asked:
    """One call of a step; ``number`` is unique in the test."""

    tool: str
    number: int
    ending: str
    delay_ms: int

    def wire(self) -> dict[str, Any]:
        if self.tool == "Edit":
            path = self.ending
            edit = {"path": path, "old_string": f"<todo {self.number}>", "new_string": f"<done {self.number}>"}
            return flat("Edit", edit, f"call_{self.number}")
        if self.ending == "bad arguments":
            return flat(self.tool, '{"value": ', f"call_{self.number}")
        value = json.dumps([self.number, self.ending, self.delay_ms])
        return flat(self.tool, {"value": value}, f"call_{self.number}")


class Running:
    """Which calls run now, and which ran side by side."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._now: set[int] = set()
        self.together: list[frozenset[int]] = []
        self.ended: list[int] = []

    @contextmanager
    def call(self, number: int) -> Iterator[None]:
        with self._guard:
            self._now.add(number)
            self.together.append(frozenset(self._now))
        try:
            yield
        finally:
            with self._guard:
                self._now.discard(number)
                self.ended.append(number)

    @property
    def nothing(self) -> bool:
        return not self._now


class WatchedVersions(FileVersions):
    """Notes when two edits of one file are at work at once, and gives others time to get in between."""

    def __init__(self) -> None:
        super().__init__()
        self.interleaved: list[Path] = []
        self._at_work: dict[Path, int] = {}

    @contextmanager
    def writing(self, path: Path) -> Iterator[None]:
        with super().writing(path):
            self._at_work[path] = self._at_work.get(path, 0) + 1
            if self._at_work[path] > 1:
                self.interleaved.append(path)
            try:
                threading.Event().wait(0.0005)
                yield
            finally:
                self._at_work[path] -= 1


def behave(running: Running, parameters: Mapping[str, Any]) -> ToolResult:
    number, ending, delay_ms = json.loads(parameters["value"])
    with running.call(number):
        threading.Event().wait(delay_ms / 1000)
        if ending == "raises":
            raise KeyError("gone")
        if ending == "exits":
            raise SystemExit(3)
        if ending == "cancels":
            raise asyncio.CancelledError
        if ending == INTERRUPTS:
            raise KeyboardInterrupt
        if ending == "returns nothing":
            return None  # type: ignore[return-value]
        if ending == "error":
            return ToolResult.error(ErrorCode.TIMEOUT, "slow", {"number": number})
        return ToolResult.success("fine", {"number": number})


class BatchingMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        root = Path(self._folder.name).resolve()
        (root / "d").mkdir()
        for name in FILES:
            (root / name).write_text("".join(f"<todo {number}>\n" for number in range(SLOTS)))
        (root / "link.txt").symlink_to("a.txt")
        self.root = root
        self.running = Running()
        self.versions = WatchedVersions()
        workspace = Workspace(root)
        registry = ToolRegistry(CircuitBreaker(1_000_000), self.versions)
        for name in (*READERS, *WRITERS):
            kind = ToolKind.READ if name in READERS else ToolKind.OTHER
            registry.register_tool(SmallTool(name, lambda parameters: behave(self.running, parameters), kind=kind))
        registry.register_tool(ReadTool(workspace))
        registry.register_tool(EditTool(workspace, self.versions))
        self.executor = ToolExecutor(registry, workspace, ask=ask_allows)
        self.orchestrator = ToolOrchestrator(self.executor)
        self.numbers = itertools.count()
        self.pending: list[Asked] = []
        self.done: dict[str, set[int]] = {name: set() for name in FILES}

    def teardown(self) -> None:
        self._folder.cleanup()

    @rule(
        tool=st.sampled_from([*READERS, *READERS, *WRITERS]),
        endings=st.lists(st.sampled_from(["fine", "fine", *ENDINGS]), min_size=1, max_size=4),
        delay_ms=DELAYS_MS,
    )
    def ask_for_calls(self, tool: str, endings: list[str], delay_ms: int) -> None:
        self.pending += [Asked(tool, next(self.numbers), ending, delay_ms) for ending in endings]

    @rule(file=st.sampled_from(FILES), spelling=st.integers(0, 2), times=st.integers(1, 3))
    def ask_for_edits(self, file: str, spelling: int, times: int) -> None:
        path = SPELLINGS[file][spelling % len(SPELLINGS[file])]
        self.pending += [Asked("Edit", next(self.numbers), path, 0) for _ in range(times)]

    @rule(file=st.sampled_from(FILES), number=st.integers(0, 10_000))
    def somebody_else_changes_a_file(self, file: str, number: int) -> None:
        with (self.root / file).open("a") as text:
            text.write(f"<other {number}>\n")

    @rule(file=st.sampled_from(FILES))
    def the_model_reads(self, file: str) -> None:
        assert self.executor.execute("Read", {"path": file}).status is not ToolStatus.ERROR

    @precondition(lambda self: self.pending)
    @rule()
    def run_the_step(self) -> None:
        asked, self.pending = self.pending, []
        self.running.together.clear()
        self._judge(asked, self.orchestrator.run([call.wire() for call in asked]))
        self._demand_only_neighbouring_reads_together([asked])

    @precondition(lambda self: len(self.pending) > 1)
    @rule(data=st.data())
    def two_agents_run_a_step_each_at_once(self, data: st.DataObject) -> None:
        where = data.draw(st.integers(1, len(self.pending) - 1))
        shares, self.pending = [self.pending[:where], self.pending[where:]], []
        start = threading.Barrier(2)
        outcomes: dict[int, StepOutcome] = {}

        def run(position: int) -> None:
            start.wait(WAIT_S)
            calls = [call.wire() for call in shares[position]]
            outcomes[position] = ToolOrchestrator(self.executor).run(calls)

        threads = [threading.Thread(target=run, args=(position,)) for position in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT_S)
        for position, share in enumerate(shares):
            self._judge(share, outcomes[position])

    @rule(before=st.integers(0, 4), after=st.integers(0, 4), delay_ms=DELAYS_MS)
    def the_user_interrupts_a_batch(self, before: int, after: int, delay_ms: int) -> None:
        endings = [*["fine"] * before, INTERRUPTS, *["fine"] * after]
        asked = [Asked("Grep", next(self.numbers), ending, delay_ms) for ending in endings]
        with pytest.raises(KeyboardInterrupt):
            self.orchestrator.run([call.wire() for call in asked])
        assert asked[before].number in self.running.ended

    @invariant()
    def nothing_runs_between_steps(self) -> None:
        assert self.running.nothing

    @invariant()
    def no_two_edits_of_one_file_interleave_and_none_is_lost(self) -> None:
        assert self.versions.interleaved == []
        for name in FILES:
            text = (self.root / name).read_text()
            assert {number for number in range(SLOTS) if f"<done {number}>" in text} == self.done[name]

    def _judge(self, asked: list[Asked], outcome: StepOutcome) -> None:
        assert [item.tool_call_id for item in outcome.observations] == [f"call_{call.number}" for call in asked]
        assert [plan for batch in outcome.batches for plan in batch.calls] == list(outcome.plans)
        for call, observation in zip(asked, outcome.observations, strict=True):
            result = observation.result
            if call.tool == "Edit":
                if result.status is ToolStatus.SUCCESS:
                    self.done["b.txt" if "b.txt" in call.ending else "a.txt"].add(call.number)
                else:
                    assert result.error_code is ErrorCode.CONFLICT, result.text
                continue
            code, words = ENDINGS[call.ending]
            assert result.error_code is code
            assert words in result.text
            assert result.data.get("number", call.number) == call.number

    def _demand_only_neighbouring_reads_together(self, steps: list[list[Asked]]) -> None:
        for step in steps:
            batch_of = {
                call.number: (position, key)
                for position, (key, group) in enumerate(itertools.groupby(step, self._shares_a_batch))
                for call in group
            }
            for together in self.running.together:
                if len(together) > 1:
                    (batch,) = {batch_of[number] for number in together}
                    assert batch[1]

    @staticmethod
    def _shares_a_batch(call: Asked) -> bool:
        return call.tool in READERS and call.ending != "bad arguments"


TestBatching = pytest.mark.seed("P05", "P06", "P08", "P09", "C02")(BatchingMachine.TestCase)
TestBatching.settings = settings(deadline=None, max_examples=60, stateful_step_count=20)
