"""Executors that read arguments as those of bug reports did (family B)."""

from __future__ import annotations

import ast
import json
import re
from contextlib import suppress
from typing import Any

from harness.pipeline.argument_policy import ArgumentReading
from harness.pipeline.executor import ToolExecutor
from harness.pipeline.orchestrator import ToolOrchestrator
from harness.pipeline.workspace import Workspace
from harness.seams import Clock
from tests.fuzz.faulty.tools import pipeline

_PAIR = re.compile(r"\\u[dD][89abAB]", re.ASCII)


class _EmptyInstead(ToolExecutor):
    """What cannot be parsed becomes an empty object."""

    def read_arguments(self, tool_name: str | None, raw: object) -> ArgumentReading:
        reading = super().read_arguments(tool_name, raw)
        return ArgumentReading({}, None) if reading.problem else reading


class _DecodesTwice(ToolExecutor):
    """A text in a text is decoded once more."""

    def read_arguments(self, tool_name: str | None, raw: object) -> ArgumentReading:
        try:
            inner = json.loads(str(raw))
        except ValueError:
            inner = None
        return super().read_arguments(tool_name, inner if isinstance(inner, str) else raw)


class _MendsBraces(ToolExecutor):
    """``}{`` is mended before anything is parsed."""

    def read_arguments(self, tool_name: str | None, raw: object) -> ArgumentReading:
        return super().read_arguments(tool_name, raw.replace("}{", ",") if isinstance(raw, str) else raw)


class _ClosesBrackets(ToolExecutor):
    """A cut text is closed, and run."""

    def read_arguments(self, tool_name: str | None, raw: object) -> ArgumentReading:
        reading = super().read_arguments(tool_name, raw)
        if reading.problem and isinstance(raw, str):
            for end in ("}", '"}'):
                closed = super().read_arguments(tool_name, raw + end)
                if not closed.problem:
                    return closed
        return reading


class _PythonLiterals(ToolExecutor):
    """What is no JSON may be Python."""

    def read_arguments(self, tool_name: str | None, raw: object) -> ArgumentReading:
        reading = super().read_arguments(tool_name, raw)
        if reading.problem:
            try:
                value = ast.literal_eval(str(raw))
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                return reading
            if isinstance(value, dict):
                return ArgumentReading({str(key): part for key, part in value.items()}, None)
        return reading


class _Lenient(ToolExecutor):
    """Python's own parser, and what it takes."""

    def read_arguments(self, tool_name: str | None, raw: object) -> ArgumentReading:
        reading = super().read_arguments(tool_name, raw)
        try:
            value = json.loads(str(raw)) if reading.problem and isinstance(raw, str) else None
        except (ValueError, RecursionError):
            value = None
        return ArgumentReading(value, None) if isinstance(value, dict) and self.takes(str(raw)) else reading

    def takes(self, text: str) -> bool:
        return True


class _TakesInfinity(_Lenient):
    def takes(self, text: str) -> bool:
        return "Infinity" in text or "NaN" in text


class _LastKeyWins(_Lenient):
    def takes(self, text: str) -> bool:
        return "Infinity" not in text and "NaN" not in text


class _ThroughFloat(ToolExecutor):
    """Numbers pass through a float."""

    def read_arguments(self, tool_name: str | None, raw: object) -> ArgumentReading:
        reading = super().read_arguments(tool_name, raw)
        rounded = {
            key: int(float(part)) if type(part) is int and abs(part) < 2**1000 else part
            for key, part in reading.parameters.items()
        }
        return ArgumentReading(rounded, reading.problem)


class _DecodesContents(ToolExecutor):
    """Texts that are JSON are decoded, file contents included."""

    def read_arguments(self, tool_name: str | None, raw: object) -> ArgumentReading:
        reading = super().read_arguments(tool_name, raw)
        return ArgumentReading({key: _decoded(part) for key, part in reading.parameters.items()}, reading.problem)


class _HalvesOfPairs(ToolExecutor):
    """Each escape is decoded alone."""

    def read_arguments(self, tool_name: str | None, raw: object) -> ArgumentReading:
        reading = super().read_arguments(tool_name, raw)
        if not isinstance(raw, str) or not _PAIR.search(raw):
            return reading
        return ArgumentReading({key: _halved(part) for key, part in reading.parameters.items()}, reading.problem)


class _ObjectsOnly(ToolExecutor):
    """Whatever parses is taken for an object."""

    def read_arguments(self, tool_name: str | None, raw: object) -> ArgumentReading:
        if isinstance(raw, str):
            with suppress(ValueError):
                json.loads(raw).items()
        return super().read_arguments(tool_name, raw)


class _NothingIsNoJson(ToolExecutor):
    """No arguments are no JSON."""

    def read_arguments(self, tool_name: str | None, raw: object) -> ArgumentReading:
        if raw == "":
            return ArgumentReading({}, "Expecting value: line 1 column 1 (char 0)")
        return super().read_arguments(tool_name, raw)


class _RunsUnchecked(ToolExecutor):
    """Gates go by the name as it came, and a name in another case is seen through after them."""

    def execute_call(self, name: str, input_text: object, call_id: str = "") -> Any:
        done = super().execute_call(name, input_text, call_id)
        tool = next((self.registry.get(known) for known in self.registry.names if known.lower() == name.lower()), None)
        if not done.executed and tool is not None and tool.name != name:
            tool.run_call(self.read_arguments(tool.name, input_text).parameters, call_id)
        return done


class _UnknownRaises(ToolExecutor):
    """An unknown name is an error of the program."""

    def execute_call(self, name: str, input_text: object, call_id: str = "") -> Any:
        if self.registry.resolve(name) is None:
            raise KeyError(name)
        return super().execute_call(name, input_text, call_id)


def _decoded(part: Any) -> Any:
    try:
        return json.loads(part) if isinstance(part, str) else part
    except (ValueError, RecursionError):
        return part


def _halved(part: Any) -> Any:
    if not isinstance(part, str):
        return part
    units = part.encode("utf-16-be", "surrogatepass")
    return "".join(chr(int.from_bytes(units[at : at + 2], "big")) for at in range(0, len(units), 2))


def b01(workspace: Workspace, clock: Clock) -> ToolOrchestrator:
    return pipeline(workspace, clock, executor=_NothingIsNoJson)


def b02(workspace: Workspace, clock: Clock) -> ToolOrchestrator:
    return pipeline(workspace, clock, executor=_ObjectsOnly)


def b03(workspace: Workspace, clock: Clock) -> ToolOrchestrator:
    return pipeline(workspace, clock, executor=_DecodesTwice)


def b05(workspace: Workspace, clock: Clock) -> ToolOrchestrator:
    return pipeline(workspace, clock, executor=_DecodesContents)


def b08(workspace: Workspace, clock: Clock) -> ToolOrchestrator:
    return pipeline(workspace, clock, executor=_MendsBraces)


def b09(workspace: Workspace, clock: Clock) -> ToolOrchestrator:
    return pipeline(workspace, clock, executor=_EmptyInstead)


def b11(workspace: Workspace, clock: Clock) -> ToolOrchestrator:
    return pipeline(workspace, clock, executor=_PythonLiterals)


def b13(workspace: Workspace, clock: Clock) -> ToolOrchestrator:
    return pipeline(workspace, clock, executor=_HalvesOfPairs)


def b14(workspace: Workspace, clock: Clock) -> ToolOrchestrator:
    return pipeline(workspace, clock, executor=_ClosesBrackets)


def b18(workspace: Workspace, clock: Clock) -> ToolOrchestrator:
    return pipeline(workspace, clock, executor=_TakesInfinity)


def b20(workspace: Workspace, clock: Clock) -> ToolOrchestrator:
    return pipeline(workspace, clock, executor=_ThroughFloat)


def b24(workspace: Workspace, clock: Clock) -> ToolOrchestrator:
    return pipeline(workspace, clock, executor=_UnknownRaises)


def b27(workspace: Workspace, clock: Clock) -> ToolOrchestrator:
    return pipeline(workspace, clock, executor=_RunsUnchecked)


def x02(workspace: Workspace, clock: Clock) -> ToolOrchestrator:
    return pipeline(workspace, clock, executor=_LastKeyWins)
