"""One example played through a target's pipeline, in a workspace of its own, watched."""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from harness.fuzz.examples import FILES, Example
from harness.pipeline.circuit_breaker import CircuitBreaker
from harness.pipeline.workspace import Workspace
from harness.play.script import ScriptedCall, ScriptedTurn, ScriptPlayer
from harness.scenario.guard import guarded, plant_outside
from harness.scenario.target import Surroundings, Target
from harness.scenario.tool_watch import Facts, SeenStep, ToolWatch, described
from harness.scenario.workspace import ALIAS, FIXED_MTIME_NS, happen
from harness.scenario.world import EventSpec
from harness.seams import ManualClock


class Played(NamedTuple):
    """What was seen of an example; ``facts`` are those of its pipeline, ``started`` programs that were refused.

    ``streamed`` says that it went through the loop and a client; an example with a call without a name does not.
    """

    steps: Sequence[SeenStep]
    facts: Facts
    started: tuple[str, ...] = ()
    streamed: bool = False


Play = Callable[[Example], Played]

NEVER = 1_000_000
"""A threshold that no example reaches."""


class Stage:
    """A workspace in which examples are played one after the other, each in a fresh state; one stage a thread.

    It is made in ``folder``, and in memory where that is None.
    """

    def __init__(self, target: Target, folder: Path | None = None) -> None:
        # The client asks for it, and finding it out starts a program, once.
        platform.uname().processor  # noqa: B018
        self._target = target
        self._folder = Path(tempfile.mkdtemp(prefix="harness-fuzz-", dir=folder or memory())).resolve()
        self._root = self._folder / "workspace"
        self._dirty = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def play(self, example: Example) -> Played:
        """Play it; what the pipeline raises is in what was seen. Raises InputError for a target that cannot be made."""
        if self._dirty:
            self._lay_out()
        workspace, clock = Workspace(self._root, alias=ALIAS), ManualClock()
        orchestrator = self._target(Surroundings(workspace, clock))
        registry = orchestrator.executor.registry
        reading = {name for name in registry.names if (tool := registry.get(name)) and tool.read_only}
        breaker, registry.breaker = registry.breaker, _fresh_breaker(registry.breaker, example, reading)
        facts = Facts.of(orchestrator)
        with (
            guarded(self._root, refuse_processes=True) as guard,
            ToolWatch(orchestrator, guard, spy_shell=True) as watch,
        ):
            self._dirty = self._dirty or any(turn.before for turn in example.turns)
            turns = _as_script(example) if example.streamed else None
            if turns is not None:
                _through_a_loop(example, turns, watch, lambda event: happen(event, workspace, clock))
            else:
                _at_once(example, watch, lambda event: happen(event, workspace, clock))
        registry.breaker = breaker
        self._dirty = self._dirty or any(run.tool not in reading for step in watch.steps for run in step.runs)
        return Played(watch.steps, facts, tuple(guard.started), turns is not None)

    def _lay_out(self) -> None:
        shutil.rmtree(self._root, ignore_errors=True)
        self._root.mkdir()
        plant_outside(self._root)
        for name, text in FILES.items():
            path = self._root / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")
            os.utime(path, ns=(FIXED_MTIME_NS, FIXED_MTIME_NS))
        self._dirty = False


def prepare(example: Example) -> None:
    """Load what an example needs and what takes its time to load, so that no clock counts it to the example."""
    if example.streamed:
        import harness.pipeline.loop  # noqa: PLC0415
        import harness.play.client  # noqa: PLC0415
        import harness.play.transport  # noqa: F401, PLC0415


def may_run_together(example: Example, reading: Collection[str]) -> bool:
    """Whether calls of the example may run side by side; ``reading`` are the tools that only read."""
    return any(
        sum(call.name in reading or call.name_family != "known" for call in turn.calls) > 1 for turn in example.turns
    )


def _fresh_breaker(breaker: CircuitBreaker, example: Example, reading: Collection[str]) -> CircuitBreaker:
    """The breaker as it is at first, also that of a registry that examples share.

    Where calls may run side by side, which of them opens a circuit is a matter of timing. There it stays closed, so
    that the same seed gives the same report; a breaker of the target's own is left as it is.
    """
    if type(breaker) is not CircuitBreaker:
        return breaker
    fresh = breaker.fresh()
    if may_run_together(example, reading):
        fresh.failure_threshold = NEVER
    return fresh


def memory() -> str | None:
    """A folder in memory, where there is one: thousands of small workspaces are made and removed."""
    folder = Path("/dev/shm")  # noqa: S108
    return str(folder) if folder.is_dir() and os.access(folder, os.W_OK) else None


def _at_once(example: Example, watch: ToolWatch, on_event: Callable[[EventSpec], None]) -> None:
    """The calls of each turn given to the orchestrator as the loop gives them."""
    taken: set[str] = set()
    for turn in example.turns:
        for event in turn.before:
            on_event(event)
        watch.forget_touched()
        try:
            plans = watch.orchestrator.plan_tool_calls([call.sent() for call in turn.calls], frozenset(taken))
            watch.orchestrator.run_plans(plans)
        except BaseException:  # noqa: BLE001  the watch has it; whatever a pipeline raises is a finding
            break
        taken.update(plan.tool_call_id for plan in plans)


def _through_a_loop(
    example: Example, turns: Sequence[ScriptedTurn], watch: ToolWatch, on_event: Callable[[EventSpec], None]
) -> None:
    """The turns as streams of a model, read by the real client."""
    from harness.pipeline.loop import LoopConfig, ReActLoop  # noqa: PLC0415
    from harness.play.client import openai_client  # noqa: PLC0415  it takes a second to import
    from harness.play.transport import PlayerTransport  # noqa: PLC0415

    def before(number: int) -> None:
        for event in example.turns[number].before if number < len(example.turns) else ():
            on_event(event)
        watch.forget_touched()

    player = ScriptPlayer(turns, [], before)
    with openai_client(PlayerTransport(player)) as client:
        loop = ReActLoop(client, watch.orchestrator, LoopConfig("fuzzed", stream=True, repeat_limit=0))
        try:
            loop.run("Go on.")
        except BaseException as error:  # noqa: BLE001  whatever a pipeline raises is a finding
            if watch.steps and not watch.steps[-1].raised:
                watch.steps[-1].raised = described(error)


def _as_script(example: Example) -> list[ScriptedTurn] | None:
    """The turns for a script, each call with an id of its own; None where one has no name."""
    turns: list[ScriptedTurn] = []
    for number, turn in enumerate(example.turns, 1):
        if any(not call.name for call in turn.calls):
            return None
        calls = tuple(
            ScriptedCall(call.name, call.arguments, f"call_{number}_{position}")
            for position, call in enumerate(turn.calls, 1)
        )
        reason = None if turn.cut else "tool_calls"
        turns.append(ScriptedTurn(None, calls, reason, None, example.fragment, not turn.cut))
        if turn.cut:
            return turns
    return [*turns, ScriptedTurn("done")]
