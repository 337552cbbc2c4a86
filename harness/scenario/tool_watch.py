"""What a pipeline under test does, seen from outside: which tools ran with what, and how each step was answered.

Nothing here relies on what the pipeline says of itself: the tools are watched at their own `run`.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from harness.pipeline.builtin.base import BuiltinTool
from harness.pipeline.orchestrator import StepOutcome, ToolCallPlan, ToolOrchestrator
from harness.pipeline.result import ToolResult, serialize_tool_result
from harness.pipeline.tool import Tool, ToolKind
from harness.scenario.guard import Guarded, ProcessRefusedError, may_start_programs

_WAIT_S = 0.005
NOT_RUN = "not run: commands are only looked at here"


@dataclass(slots=True)
class ToolRun:
    """One run of a tool: ``parameters`` as they were when it began, and how it ended.

    ``raised`` is what the tool raised, with its place; ``beside`` names the tools that were running when it began,
    ``touched`` what of its own it has touched outside the workspace, where no other tool was running.
    """

    tool: str
    parameters: dict[str, Any]
    call_id: str
    beside: tuple[str, ...] = ()
    result: Any = None
    raised: str = ""
    refused_process: bool = False
    touched: tuple[str, ...] = ()


@dataclass(slots=True)
class SeenStep:
    """The calls of one step as the model sent them, and all that came of them.

    ``outcome`` is None where something was raised out of the pipeline: ``raised`` says what, and where. ``touched``
    are paths outside the workspace.
    """

    calls: tuple[Any, ...]
    taken: frozenset[str]
    plans: tuple[ToolCallPlan, ...] = ()
    outcome: StepOutcome | None = None
    runs: list[ToolRun] = field(default_factory=list)
    raised: str = ""
    touched: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Facts:
    """What an orchestrator says of itself: kinds of tools, budgets, whether results are JSON, the circuits' threshold.

    ``fits`` says whether parameters fit the schema of the tool with that name.
    """

    kinds: Mapping[str, ToolKind]
    per_result_bytes: int
    total_bytes: int
    max_calls: int
    as_json: bool
    threshold: int
    fits: Callable[[str, Mapping[str, Any]], bool]

    @classmethod
    def of(cls, orchestrator: ToolOrchestrator) -> Facts:
        """The facts of one."""
        registry, budget = orchestrator.executor.registry, orchestrator.budget
        kinds = {name: tool.kind for name in registry.names if (tool := registry.get(name)) is not None}
        return cls(
            kinds,
            budget.per_result_bytes,
            budget.total_bytes,
            budget.max_calls,
            orchestrator.serializer is serialize_tool_result,
            registry.breaker.failure_threshold,
            lambda name, parameters: (
                (tool := registry.get(name)) is not None and registry.problem_with(tool, parameters) is None
            ),
        )


class ToolWatch:
    """Watches an orchestrator until the end of a ``with`` block.

    With ``spy_shell`` tools that run commands are spies: they take what they get and run nothing. In a step whose
    calls run side by side, the first to run returns after another one, so that an order is not kept by chance.
    """

    def __init__(self, orchestrator: ToolOrchestrator, guard: Guarded | None = None, *, spy_shell: bool) -> None:
        self.orchestrator = orchestrator
        self.steps: list[SeenStep] = []
        self._guard = guard
        self._spy_shell = spy_shell
        self._lock = threading.Lock()
        self._active: list[str] = []
        self._inside = threading.local()
        self._undo: list[Callable[[], None]] = []
        self._main = threading.get_ident()
        self._apart = 0
        self._ended = threading.Event()

    def __enter__(self) -> Self:
        registry = self.orchestrator.executor.registry
        for name in registry.names:
            tool = registry.get(name)
            if tool is not None:
                self._watch_tool(tool)
        self._replace(self.orchestrator, "plan_tool_calls", self._planned(self.orchestrator.plan_tool_calls))
        self._replace(self.orchestrator, "run_plans", self._ran(self.orchestrator.run_plans))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for undo in reversed(self._undo):
            undo()

    def forget_touched(self) -> None:
        """What was touched so far was nobody's call."""
        if self._guard is not None:
            self._guard.touched.clear()

    def _replace(self, owner: object, name: str, value: Any) -> None:
        held = vars(owner).get(name)
        setattr(owner, name, value)
        self._undo.append(lambda: setattr(owner, name, held) if held is not None else delattr(owner, name))

    def _watch_tool(self, tool: Tool) -> None:
        spy = self._spy_shell and tool.kind is ToolKind.SHELL
        trusted = isinstance(tool, BuiltinTool) and not spy
        run, run_call = tool.run, tool.run_call

        def watched(do: Callable[[], Any], parameters: Mapping[str, Any], call_id: str) -> Any:
            if getattr(self._inside, "now", False):
                return do()
            self._inside.now = True
            try:
                return self._run(tool.name, (lambda: ToolResult.success(NOT_RUN)) if spy else do, parameters, call_id,
                                 trusted=trusted)  # fmt: skip
            finally:
                self._inside.now = False

        self._replace(tool, "run", lambda parameters: watched(lambda: run(parameters), parameters, ""))
        self._replace(
            tool,
            "run_call",
            lambda parameters, call_id: watched(lambda: run_call(parameters, call_id), parameters, call_id),
        )

    def _run(
        self, name: str, do: Callable[[], Any], parameters: Mapping[str, Any], call_id: str, *, trusted: bool
    ) -> Any:
        seen = ToolRun(name, copy.deepcopy(dict(parameters)), call_id)
        apart = threading.get_ident() != self._main
        with self._lock:
            seen.beside = tuple(self._active)
            self._active.append(name)
            if self.steps:
                self.steps[-1].runs.append(seen)
            self._apart += apart
            first = apart and self._apart == 1
        try:
            if trusted:
                with may_start_programs():
                    seen.result = do()
            else:
                seen.result = do()
            if first:
                self._ended.wait(_WAIT_S)
        except ProcessRefusedError:
            seen.refused_process = True
            raise
        except BaseException as error:
            seen.raised = described(error)
            raise
        finally:
            with self._lock:
                self._active.remove(name)
                if self._guard is not None and not apart:
                    seen.touched = tuple(dict.fromkeys(self._guard.touched))
            self._ended.set()
        return seen.result

    def _planned(self, plan: Callable[..., list[ToolCallPlan]]) -> Callable[..., list[ToolCallPlan]]:
        def planned(tool_calls: Sequence[Any], taken: Sequence[str] = ()) -> list[ToolCallPlan]:
            calls = tuple(tool_calls)
            step = SeenStep(calls, frozenset(taken))
            self.steps.append(step)
            self._main, self._apart = threading.get_ident(), 0
            self._ended.clear()
            try:
                plans = plan(calls, taken)
            except Exception as error:
                step.raised = described(error)
                raise
            step.plans = tuple(plans)
            return plans

        return planned

    def _ran(self, run: Callable[..., StepOutcome]) -> Callable[..., StepOutcome]:
        def ran(plans: Sequence[ToolCallPlan], *rest: Any) -> StepOutcome:
            step = self.steps[-1]
            try:
                step.outcome = run(plans, *rest)
            except BaseException as error:
                step.raised = described(error)
                raise
            finally:
                step.touched = self._guard.take_touched() if self._guard is not None else ()
            return step.outcome

        return ran


def described(error: BaseException) -> str:
    """The class of an error, its text on one line, and the innermost function that it came out of."""
    trace, place = error.__traceback__, ""
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename != __file__:
            place = code.co_name
        trace = trace.tb_next
    try:
        text = " ".join(str(error).split())[:200]
    except Exception:  # noqa: BLE001  the error's own code may raise anything
        text = ""
    return f"{type(error).__name__}{f': {text}' if text else ''} (in {place})"
