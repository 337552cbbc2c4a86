"""Circuits, file versions, folders and sizes that go wrong as in bug reports (families E, F and G)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.pipeline.builtin import builtin_tools
from harness.pipeline.circuit_breaker import CircuitBreaker, Permit
from harness.pipeline.executor import Execution, ToolExecutor
from harness.pipeline.file_versions import EXPECTED_DIGEST, EXPECTED_MTIME, FileVersion, FileVersions
from harness.pipeline.observation import ToolObservation
from harness.pipeline.orchestrator import ToolOrchestrator, Truncation
from harness.pipeline.registry import ToolRegistry
from harness.pipeline.result import ErrorCode, ToolResult
from harness.pipeline.tool import Tool, ToolKind, ToolParameter
from harness.pipeline.workspace import OutsideWorkspaceError, Workspace
from harness.seams import Clock
from tests.fuzz.faulty.tools import pipeline

TWO = 2
"""Failures that open a circuit here."""


class _CountsRefusals(ToolExecutor):
    """What was refused counts as a failure of the tool."""

    counted = ErrorCode.INVALID_PARAM

    def execute_call(self, name: str, input_text: object, call_id: str = "") -> Execution:
        done = super().execute_call(name, input_text, call_id)
        if done.result.error_code is self.counted and (permit := self.registry.breaker.admit(name)) is not None:
            self.registry.breaker.record(permit, ToolResult.error(ErrorCode.EXECUTION_ERROR, "refused"))
        return done


class _CountsDenials(_CountsRefusals):
    counted = ErrorCode.PERMISSION_DENIED


class _OneCircuit(CircuitBreaker):
    """One circuit for all tools."""

    def admit(self, tool: str) -> Permit | None:
        return super().admit("all")


class _WithoutContent(ToolRegistry):
    """A version is size and time."""

    left_out: tuple[str, ...] = (EXPECTED_DIGEST,)

    def inject_optimistic_lock_params(self, path: Path | None, parameters: Mapping[str, Any]) -> dict[str, Any]:
        injected = super().inject_optimistic_lock_params(path, parameters)
        return {key: part for key, part in injected.items() if key not in self.left_out}


class _SizeAlone(_WithoutContent):
    left_out = (EXPECTED_DIGEST, EXPECTED_MTIME)


class _ReadsAlone(FileVersions):
    """Only a read tells what the model has seen; its own edits do not."""

    def __init__(self) -> None:
        super().__init__()
        self._inside = False

    def remember(self, path: Path, version: FileVersion) -> None:
        if not self._inside:
            super().remember(path, version)

    @contextmanager
    def writing(self, path: Path) -> Iterator[None]:
        with super().writing(path):
            self._inside = True
            try:
                yield
            finally:
                self._inside = False


class _Show(Tool):
    """Shows a file of a folder."""

    kind = ToolKind.READ

    def __init__(self, workspace: Workspace) -> None:
        super().__init__("show", "Show a file of the project.")
        self._workspace = workspace

    def get_parameters(self) -> Sequence[ToolParameter]:
        return (ToolParameter("path", "string"),)

    def run(self, parameters: Mapping[str, Any]) -> ToolResult:
        path = self.inside(parameters["path"])
        if path is None:
            return ToolResult.error(ErrorCode.ACCESS_DENIED, "outside the project")
        try:
            return ToolResult.success(path.read_text("utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            return ToolResult.error(ErrorCode.NOT_FOUND, str(error))

    def inside(self, name: str) -> Path | None:
        try:
            return self._workspace.resolve(name)
        except OutsideWorkspaceError:
            return None


class _ShowByPrefix(_Show):
    """Whatever begins as the folder's name is taken to be in it."""

    def inside(self, name: str) -> Path | None:
        try:
            path = (self._workspace.root / name).resolve()
        except (OSError, ValueError):
            return None
        return path if str(path).startswith(str(self._workspace.root)) else None


class _Shorten(Tool):
    """Cuts a text to so many bytes."""

    kind = ToolKind.READ
    lenient = True

    def __init__(self) -> None:
        super().__init__("shorten", "Cut a text to so many bytes.")

    def get_parameters(self) -> Sequence[ToolParameter]:
        return (ToolParameter("text", "string"), ToolParameter("bytes", "integer", extra={"minimum": 0}))

    def run(self, parameters: Mapping[str, Any]) -> ToolResult:
        kept = parameters["text"].encode()[: int(parameters["bytes"])]
        return ToolResult.success(kept.decode("utf-8", "ignore" if self.lenient else "strict"))


class _ShortenStrictly(_Shorten):
    """Decodes what may end inside a character."""

    lenient = False


class _NoBudget(ToolOrchestrator):
    """Results are sent as they are."""

    def _within_budgets(
        self, observations: Sequence[ToolObservation], bytes_taken: int
    ) -> tuple[list[ToolObservation], tuple[Truncation, ...]]:
        return list(observations), ()


def _with_files(workspace: Workspace, clock: Clock, registry: ToolRegistry) -> ToolOrchestrator:
    tools = builtin_tools(workspace, registry.versions, names=("Read", "Edit"))
    return pipeline(workspace, clock, tools=tools, registry=registry)


def files_sound(workspace: Workspace, clock: Clock) -> ToolOrchestrator:
    return _with_files(workspace, clock, ToolRegistry(CircuitBreaker(clock=clock)))


def e01(workspace: Workspace, clock: Clock) -> ToolOrchestrator:
    return _with_files(workspace, clock, _WithoutContent(CircuitBreaker(clock=clock)))


def e03(workspace: Workspace, clock: Clock) -> ToolOrchestrator:
    return _with_files(workspace, clock, ToolRegistry(CircuitBreaker(clock=clock), _ReadsAlone()))


def e14(workspace: Workspace, clock: Clock) -> ToolOrchestrator:
    return _with_files(workspace, clock, _SizeAlone(CircuitBreaker(clock=clock)))


def f07(workspace: Workspace, clock: Clock) -> ToolOrchestrator:
    return pipeline(workspace, clock, orchestrator=_NoBudget)


def f09(workspace: Workspace, clock: Clock) -> list[Tool]:
    return [_ShortenStrictly()]


def f09_sound(workspace: Workspace, clock: Clock) -> list[Tool]:
    return [_Shorten()]


def circuits_sound(workspace: Workspace, clock: Clock) -> ToolOrchestrator:
    return pipeline(workspace, clock, registry=ToolRegistry(CircuitBreaker(TWO, clock=clock)))


def g04(workspace: Workspace, clock: Clock) -> ToolOrchestrator:
    registry = ToolRegistry(CircuitBreaker(TWO, clock=clock))
    return pipeline(workspace, clock, executor=_CountsRefusals, registry=registry)


def g05(workspace: Workspace, clock: Clock) -> ToolOrchestrator:
    registry = ToolRegistry(CircuitBreaker(TWO, clock=clock))
    return pipeline(workspace, clock, executor=_CountsDenials, registry=registry)


def g05_scope(workspace: Workspace, clock: Clock) -> ToolOrchestrator:
    return pipeline(workspace, clock, registry=ToolRegistry(_OneCircuit(TWO, clock=clock)))


def g13(workspace: Workspace, clock: Clock) -> list[Tool]:
    return [_ShowByPrefix(workspace)]


def g13_sound(workspace: Workspace, clock: Clock) -> list[Tool]:
    return [_Show(workspace)]
