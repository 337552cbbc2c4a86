"""Tools that answer with what was recorded, and the ids and registry that go with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.pipeline.arguments import SchemaError
from harness.pipeline.history import History
from harness.pipeline.names import PLACEHOLDER_NAME
from harness.pipeline.registry import SchemaTool, ToolRegistry
from harness.pipeline.result import ToolResult
from harness.pipeline.tool import Tool
from harness.scenario.replay.tool_kinds import foreign_kind
from harness.seams import SequentialIds
from harness.wire.chat import ModelTurn, text_of

NOT_RECORDED = "(the recording ends before this result)"


@dataclass(frozen=True, slots=True)
class RecordedResults:
    """What the next request says became of a turn's calls, by position.

    ``message`` is the assistant message in which the agent repeats the turn, None where no request follows.
    ``contents`` holds the text of one result for each of its calls, None where none is recorded; ``parts`` the whole
    of a result that is more than text, an image for instance.
    """

    message: Mapping[str, Any] | None
    contents: tuple[str | None, ...] = ()
    parts: tuple[list[Any] | None, ...] = ()

    @property
    def calls(self) -> list[Mapping[str, Any]]:
        """The calls as the agent repeats them."""
        calls = (self.message or {}).get("tool_calls") or ()
        return [call for call in calls if isinstance(call, Mapping)]


def recorded_results(following: Sequence[Mapping[str, Any]]) -> RecordedResults:
    """Read them from the messages that the next request adds."""
    if not following or following[0].get("role") != "assistant":
        return RecordedResults(None)
    message = following[0]
    answers: list[Mapping[str, Any]] = []
    for answer in following[1:]:
        if answer.get("role") not in ("tool", "function"):
            break
        answers.append(answer)
    if isinstance(message.get("function_call"), Mapping):
        return RecordedResults(message, tuple(_content(answer) for answer in answers[:1]) or (None,))
    by_id: dict[object, list[Mapping[str, Any]]] = {}
    for answer in answers:
        by_id.setdefault(answer.get("tool_call_id"), []).append(answer)
    given: list[Mapping[str, Any] | None] = []
    for call in message.get("tool_calls") or ():
        waiting = by_id.get(call.get("id") if isinstance(call, Mapping) else None)
        given.append(waiting.pop(0) if waiting else None)
    contents = tuple(None if answer is None else _content(answer) for answer in given)
    return RecordedResults(message, contents, tuple(None if answer is None else _parts(answer) for answer in given))


def with_recorded_parts(history: History, parts: Mapping[str, list[Any]]) -> History:
    """The history with what its last results hold beside text; the pipeline's observations are text alone.

    Only a result that the pipeline put where the recording has it, with the same text, gets its parts.
    """
    if not parts:
        return history
    messages = history.messages
    for message in reversed(messages):
        if message.get("role") != "tool":
            break
        recorded = parts.get(message["tool_call_id"])
        if recorded is not None and message["content"] == text_of(recorded):
            message["content"] = recorded
    return History(messages)


class RecordedIds:
    """Where a call came without a usable id, the id that the recorded agent gave it."""

    def __init__(self, turn: ModelTurn, results: RecordedResults) -> None:
        self._given = self._of_idless(turn, results)
        self._fresh = SequentialIds()

    def call_id(self) -> str:
        """The next recorded id, or a fresh one where none is left."""
        return next(self._given, None) or self._fresh.call_id()

    @staticmethod
    def _of_idless(turn: ModelTurn, results: RecordedResults) -> Iterator[str]:
        seen: set[str] = set()
        for call, given in zip(turn.tool_calls, results.calls, strict=False):
            if not call.id or call.id in seen:
                yield str(given.get("id") or "")
            else:
                seen.add(call.id)


class RecordedRegistry(ToolRegistry):
    """The tools of one recorded request, sent on as they came; any other name has a tool too, which is not shown.

    ``problems`` lists the definitions that no provider would take.
    """

    def __init__(self, definitions: Iterable[object], contents: dict[str, str]) -> None:
        super().__init__()
        self.contents = contents
        self.problems: list[str] = []
        for number, definition in enumerate(definitions):
            try:
                kind = foreign_kind(_name(definition))
                self.register_schema_tool(SchemaTool(_definition(definition), self._unused, kind))
            except (SchemaError, ValueError) as error:
                self.problems.append(f"$.tools[{number}]: {error}")

    def get(self, name: str) -> Tool | None:
        """A tool that answers from the recording, for every name."""
        known = super().get(name)
        definition = known.definition if isinstance(known, SchemaTool) else {"function": {"name": name}}
        return _RecordedTool(definition, self.contents)

    def resolve(self, received: str) -> str:
        """The name as it was recorded: the recorded agent knew it, or answered that it did not."""
        return received or PLACEHOLDER_NAME

    def problem_with(self, tool: Tool, parameters: Mapping[str, Any]) -> str | None:
        """By the schema of the request; a name that it does not offer has none."""
        return super().problem_with(tool, parameters) if super().get(tool.name) is not None else None

    @staticmethod
    def _unused(_: Mapping[str, Any]) -> ToolResult:
        raise AssertionError("recorded tools answer by call id")


class _RecordedTool(SchemaTool):
    def __init__(self, definition: Mapping[str, Any], contents: dict[str, str]) -> None:
        name = definition["function"]["name"]
        super().__init__(definition, RecordedRegistry._unused, foreign_kind(name))  # noqa: SLF001  same module
        self.contents = contents

    def run_call(self, parameters: Mapping[str, Any], call_id: str) -> ToolResult:  # noqa: ARG002
        return ToolResult.success(self.contents.get(call_id, NOT_RECORDED))


def _definition(definition: object) -> Mapping[str, Any]:
    if not isinstance(definition, Mapping):
        raise SchemaError(f"a tool is an object, not {type(definition).__name__}")
    return definition


def _name(definition: object) -> str:
    function = definition.get("function") if isinstance(definition, Mapping) else None
    return str(function.get("name")) if isinstance(function, Mapping) else ""


def _content(message: Mapping[str, Any]) -> str:
    return text_of(message.get("content")) or ""


def _parts(message: Mapping[str, Any]) -> list[Any] | None:
    """The content of a result, if it is more than text."""
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    only_text = all(isinstance(part, Mapping) and part.get("type") == "text" for part in parts)
    return None if only_text else parts
