"""The scenario format: a test case in YAML (see docs/scenarios.md)."""

from __future__ import annotations

import base64
import difflib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, ValidationError, model_validator

from harness.errors import InputError
from harness.pipeline.budget import MAX_CALLS, PER_RESULT_BYTES, TOTAL_BYTES
from harness.pipeline.circles import REPEAT_LIMIT
from harness.pipeline.circuit_breaker import FAILURE_THRESHOLD, RECOVERY_TIMEOUT_S
from harness.pipeline.loop import CALL_IN_TEXT_LIMIT, STEP_LIMIT, LoopStatus
from harness.pipeline.permissions import RuntimeMode
from harness.pipeline.result import ErrorCode, ToolStatus
from harness.pipeline.sub_agent import MAX_SUB_AGENTS, SUB_AGENT_STEPS, SYSTEM
from harness.play.neutral.folder import PLACEHOLDER as CWD
from harness.play.script import FRAGMENT_CHARACTERS
from harness.scenario.source import Location, Source, read_source
from harness.wire.faults import Fault, read_fault


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class FileSpec(_Part):
    """A file of the workspace: ``text``, or ``base64`` bytes; ``times`` repeats the content."""

    text: str | None = None
    base64: str | None = None
    times: int = Field(default=1, ge=1)

    @model_validator(mode="after")
    def _one_content(self) -> FileSpec:
        if (self.text is None) == (self.base64 is None):
            raise ValueError("a file has either text or base64")
        return self

    def content(self) -> bytes:
        """The bytes of the file."""
        once = self.text.encode() if self.text is not None else base64.b64decode(self.base64 or "")
        return once * self.times


class WorkspaceSpec(_Part):
    """The folder the agent starts with: inline files by path, on top of a copied ``folder`` where one is named."""

    folder: str | None = None
    files: dict[str, str | FileSpec] = Field(default_factory=dict)


class BudgetSpec(_Part):
    """Limits of a step's results, in bytes."""

    per_result_bytes: int = PER_RESULT_BYTES
    total_bytes: int = TOTAL_BYTES
    max_calls: int = MAX_CALLS


class BreakerSpec(_Part):
    """The circuit breaker's settings."""

    failure_threshold: int = FAILURE_THRESHOLD
    recovery_timeout_s: float = RECOVERY_TIMEOUT_S


class SubAgentSpec(_Part):
    """What each sub-agent may use, and how many the agent may start."""

    step_limit: int = Field(default=SUB_AGENT_STEPS, ge=1)
    system: str = SYSTEM
    budget: BudgetSpec = BudgetSpec()
    max_sub_agents: int = Field(default=MAX_SUB_AGENTS, ge=0)


class ArgumentsSpec(_Part):
    """Whether arguments that do not fit are repaired and coerced; by default each is INVALID_PARAM."""

    repair: bool = False
    coerce: bool = False


class AgentSpec(_Part):
    """The built-in pipeline's settings.

    ``tools`` are built-ins by name, or their definitions frozen as a request has them; without it all but the optional
    ones are offered. ``sub_agent`` is for those that the tool Task starts.
    """

    model: str = "scripted"
    system: str | None = None
    stream: bool = False
    tools: list[str | dict[str, Any]] | None = None
    mode: RuntimeMode = RuntimeMode.NORMAL
    ask: Literal["deny", "allow"] = "deny"
    require_read: bool = False
    arguments: ArgumentsSpec = ArgumentsSpec()
    tool_choice: str | dict[str, Any] | list[str | dict[str, Any]] | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)
    step_limit: int = Field(default=STEP_LIMIT, ge=1)
    repeat_limit: int = Field(default=REPEAT_LIMIT, ge=0)
    retries: int = Field(default=0, ge=0)
    call_in_text_limit: int = Field(default=CALL_IN_TEXT_LIMIT, ge=0)
    check_capabilities: bool = False
    bash_timeout_s: float = Field(default=120.0, gt=0)
    budget: BudgetSpec = BudgetSpec()
    breaker: BreakerSpec = BreakerSpec()
    sub_agent: SubAgentSpec = SubAgentSpec()


class EventSpec(_Part):
    """Something that happens to the world: a file written, touched or deleted by somebody else, time passing."""

    write: dict[str, str] = Field(default_factory=dict)
    touch: list[str] = Field(default_factory=list)
    delete: list[str] = Field(default_factory=list)
    advance_s: float = Field(default=0.0, ge=0)


class CallSpec(_Part):
    """A scripted call. ``arguments`` is an object, or the raw text as the model would send it."""

    tool: str | None
    arguments: dict[str, Any] | str | None = Field(default_factory=dict)
    id: str | None = None

    def arguments_text(self) -> str | None:
        """The text that goes over the wire."""
        if self.arguments is None or isinstance(self.arguments, str):
            return self.arguments
        return json.dumps(self.arguments, ensure_ascii=False)


class ErrorSpec(_Part):
    """An HTTP error in place of an answer."""

    status: int = Field(ge=400, le=599)
    message: str = "scripted error"


class EditSpec(_Part):
    """An edit for any agent: ``old``, which stands once in the file (``all``: anywhere), becomes ``new``."""

    path: str = Field(min_length=1)
    old: str = Field(min_length=1)
    new: str
    all: bool = False

    @model_validator(mode="after")
    def _changes_something(self) -> EditSpec:
        if self.old == self.new:
            raise ValueError("old and new are the same text")
        return self


def _as_list(value: object) -> object:
    return value if value is None or isinstance(value, list) else [value]


_Text = Annotated[str, Field(min_length=1)]
_Texts = Annotated[list[_Text], BeforeValidator(_as_list, json_schema_input_type=_Text | list[_Text])]
_Edits = Annotated[list[EditSpec], BeforeValidator(_as_list, json_schema_input_type=EditSpec | list[EditSpec])]
"""One, or a list of them."""


class TurnSpec(_Part):
    """One scripted answer of the model; ``before`` happens when it is asked for. ``repeat`` gives it several times.

    ``read``, ``edit`` and ``bash`` (one or a list of each) and ``finish`` are for any agent: they become calls of the
    tools that it offers. ``calls`` name an agent's own tools.
    """

    text: str | None = None
    read: _Texts = Field(default_factory=list)
    edit: _Edits = Field(default_factory=list)
    bash: _Texts = Field(default_factory=list)
    finish: str | None = None
    calls: list[CallSpec] = Field(default_factory=list)
    finish_reason: str | None = None
    usage: dict[str, Any] | None = None
    before: list[EventSpec] = Field(default_factory=list)
    error: ErrorSpec | None = None
    fragment: int = Field(default=FRAGMENT_CHARACTERS, ge=1)
    cut: bool = False
    repeat: int = Field(default=1, ge=1)

    @model_validator(mode="after")
    def _finishes_alone(self) -> TurnSpec:
        if self.finish is not None and (self.neutral or self.calls or self.text is not None):
            raise ValueError("a turn that finishes does nothing else: its text is what finish says")
        return self

    @property
    def neutral(self) -> list[str | EditSpec]:
        """What the turn does with whatever tools the agent has."""
        return [*self.read, *self.edit, *self.bash]

    @property
    def is_neutral(self) -> bool:
        """Whether the answer depends on the agent: on its tools, or on its folder."""
        texts = [self.text, *(call.arguments_text() for call in self.calls)]
        return bool(self.neutral) or self.finish is not None or any(CWD in text for text in texts if text)


def _fault(value: object) -> Fault:
    try:
        return read_fault(value)
    except InputError as error:
        raise ValueError(f"{error.what} ({error.hint})" if error.hint else error.what) from error


class PlayerSpec(_Part):
    """What answers: a ``script`` or a ``cassette`` (a path relative to the scenario). ``models`` is ``/v1/models``.

    ``strict`` refuses requests as a strict provider does; ``faults`` happen between the agent and what answers.
    ``side`` is the text for what an agent asks beside the script, without tools: a title, a summary.

    With both, the cassette answers, and the script from the first miss on where the run's policy says so.
    """

    script: list[TurnSpec] | None = None
    cassette: str | None = None
    models: list[dict[str, Any]] = Field(default_factory=list)
    side: str | None = None
    strict: bool = False
    faults: list[Annotated[Fault, PlainValidator(_fault)]] = Field(default_factory=list)

    @model_validator(mode="after")
    def _a_player(self) -> PlayerSpec:
        if self.script is None and self.cassette is None:
            raise ValueError("a player is a script or a cassette")
        return self


class TextSpec(_Part):
    """What a text must be: all of the keys given hold."""

    equals: str | None = None
    contains: str | list[str] | None = None
    matches: str | None = None


class FileExpectation(TextSpec):
    """What a file must be at the end; ``absent``: there is none; ``unchanged``: it is as it was at the start."""

    absent: bool = False
    unchanged: bool = False
    base64: str | None = None


class CallExpectation(_Part):
    """What a call and its result must be; only the keys given are checked. ``contains`` looks at the observation."""

    tool: str
    id: str | None = None
    arguments: dict[str, Any] | str | None = None
    status: ToolStatus | None = None
    error_code: ErrorCode | None = None
    contains: str | list[str] | None = None
    executed: bool | None = None
    truncated: bool | None = None


class BatchExpectation(_Part):
    """One batch of a step: the tools of a ``concurrent`` or of a ``serial`` one, in order."""

    concurrent: list[str] | None = None
    serial: list[str] | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> BatchExpectation:
        if (self.concurrent is None) == (self.serial is None):
            raise ValueError("a batch is either concurrent or serial")
        return self


class ShownExpectation(_Part):
    """Which tools the request of a step (from 1) offers or does not offer."""

    step: int = Field(ge=1)
    shown: list[str] = Field(default_factory=list)
    hidden: list[str] = Field(default_factory=list)


class BudgetExpectation(_Part):
    """Bounds that every step's observations keep, in bytes of UTF-8."""

    per_result_bytes: int | None = None
    total_bytes: int | None = None


class TokenBaseline(_Part):
    """An accepted earlier figure: all prompt tokens of the run, and by how many percent a run may exceed it."""

    prompt_tokens: int = Field(ge=1)
    percent: float = Field(default=0.0, ge=0)


class TokenExpectation(_Part):
    """Bounds on what the requests cost, counted as the provider counts.

    ``tools_tokens`` and ``tools_share`` (0 to 1) hold for each request, ``tools_tokens_total`` and ``prompt_tokens``
    for all requests of the run together.
    """

    tools_tokens: int | None = None
    tools_share: float | None = Field(default=None, ge=0, le=1)
    tools_tokens_total: int | None = None
    prompt_tokens: int | None = None
    baseline: TokenBaseline | None = None


class LaneExpectation(_Part):
    """What must hold of one conversation.

    ``outcome`` is how it ends, or a list of ends that will do; ``calls`` are all its calls in order, ``batches`` those
    of each step with calls.
    """

    outcome: LoopStatus | list[LoopStatus] = LoopStatus.ANSWERED
    reason: str | TextSpec | None = None
    final_text: str | TextSpec | None = None
    steps: int | None = None
    calls: list[CallExpectation] | None = None
    batches: list[list[BatchExpectation]] | None = None
    tools: list[ShownExpectation] = Field(default_factory=list)
    budget: BudgetExpectation | None = None
    notes: str | TextSpec | None = None

    @property
    def outcomes(self) -> tuple[LoopStatus, ...]:
        """The ends that will do."""
        return (self.outcome,) if isinstance(self.outcome, LoopStatus) else tuple(self.outcome)


class Expectations(LaneExpectation):
    """What must hold of a run: of its main conversation, of those of its sub-agents by name, and of all together."""

    lanes: dict[str, LaneExpectation] = Field(default_factory=dict)
    files: dict[str, str | FileExpectation] = Field(default_factory=dict)
    tokens: TokenExpectation | None = None


class Scenario(_Part):
    """A test case."""

    name: str = ""
    description: str = ""
    tags: list[str] = Field(default_factory=list)
    workspace: WorkspaceSpec = WorkspaceSpec()
    agent: AgentSpec = AgentSpec()
    prompt: Annotated[str, Field(min_length=1)]
    player: PlayerSpec
    expect: Expectations | None = None
    path: Annotated[Path, Field(exclude=True)] = Path()

    def beside(self, name: str) -> Path:
        """A file that the scenario names, relative to its own."""
        return (self.path.parent / name).resolve()


def load_scenario(path: Path) -> Scenario:
    """Read a scenario; raises InputError with file, line and key for the first thing that is wrong."""
    return parse_scenario(read_source(path))


def parse_scenario(source: Source) -> Scenario:
    """`load_scenario` of a document that is read already."""
    if not isinstance(source.data, dict):
        raise InputError("a scenario is a mapping with prompt, player and expect", where=str(source.path))
    if "path" in source.data:
        raise InputError("path: unknown key", where=source.where(("path",)))
    try:
        scenario = Scenario.model_validate({**source.data, "path": source.path})
    except ValidationError as error:
        raise _input_error(source, error) from error
    return scenario if scenario.name else scenario.model_copy(update={"name": source.path.stem})


def _input_error(source: Source, error: ValidationError) -> InputError:
    """The first error, most specific place first; pydantic lists one for each alternative of a union."""
    first = max(error.errors(), key=_weight)
    location = _in_document(source.data, first["loc"])
    key = ".".join(str(step) for step in location) or "scenario"
    hint = ""
    if first["type"] == "extra_forbidden":
        what = f"{key}: unknown key"
        close = difflib.get_close_matches(str(location[-1]), _known_keys(), n=1)
        hint = f"did you mean {close[0]}?" if close else ""
    elif first["type"] == "missing":
        what = f"{'.'.join(str(step) for step in first['loc'])}: missing"
    else:
        what = f"{key}: {first['msg'].removeprefix('Value error, ')}"
    return InputError(what, where=source.where(location), hint=hint)


def _weight(found: Mapping[str, Any]) -> tuple[bool, int, bool]:
    kind = str(found["type"])
    return kind == "extra_forbidden", len(found["loc"]), not kind.endswith("_type")


def _in_document(data: Any, location: tuple[int | str, ...]) -> Location:
    """The part of pydantic's location that stands in the document: it puts names of union members in between."""
    steps: list[str | int] = []
    for step in location:
        in_list = isinstance(data, list) and isinstance(step, int) and step < len(data)
        if in_list or (isinstance(data, dict) and step in data):
            data = data[step]
        else:
            continue
        steps.append(step)
    return tuple(steps)


def _known_keys() -> list[str]:
    parts: list[type[BaseModel]] = [
        *_Part.__subclasses__(), *TextSpec.__subclasses__(), *LaneExpectation.__subclasses__()
    ]  # fmt: skip
    return sorted({key for part in parts for key in part.model_fields} - {"path"})
