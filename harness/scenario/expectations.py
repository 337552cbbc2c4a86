"""What must hold of a run: the ``expect`` part of a scenario file (see docs/checks.md)."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from harness.pipeline.builtin.glob import GlobPattern
from harness.pipeline.loop import LoopStatus
from harness.pipeline.result import ErrorCode, ToolStatus
from harness.scenario.argument_patterns import check_patterns, check_regex
from harness.scenario.expected_diff import diff_problem
from harness.scenario.functions import FORM
from harness.scenario.part import Part
from harness.scenario.pipeline_expectation import PipelineExpectation
from harness.wire.rules import CODES

ALL_LANES = "all"
"""In place of a lane's name: the calls of all lanes, one lane after the other."""


def _as_list(value: object) -> object:
    return value if value is None or isinstance(value, list) else [value]


def _function_name(value: str) -> str:
    if not re.fullmatch(FORM, value):
        raise ValueError(f"{value!r} is not module:function or file.py:function")
    return value


def _with_patterns(value: Any) -> Any:
    check_patterns(value)
    return value


def _regex(value: str) -> str:
    check_regex(value, "matches")
    return value


def _diff(value: str) -> str:
    if problem := diff_problem(value):
        raise ValueError(f"no unified diff: {problem}")
    return value


def _path_pattern(value: str) -> str:
    GlobPattern(value)
    return value


FunctionName = Annotated[str, AfterValidator(_function_name)]
_FunctionNames = Annotated[
    list[FunctionName], BeforeValidator(_as_list, json_schema_input_type=FunctionName | list[FunctionName])
]
_Regex = Annotated[str, AfterValidator(_regex)]
_Diff = Annotated[str, AfterValidator(_diff)]
_PathPattern = Annotated[str, AfterValidator(_path_pattern)]
_Arguments = Annotated[dict[str, Any], AfterValidator(_with_patterns)]


class TextSpec(Part):
    """What a text must be: all of the keys given hold. ``lacks`` is what it must not contain."""

    equals: str | None = None
    contains: str | list[str] | None = None
    lacks: str | list[str] | None = None
    matches: _Regex | None = None


class FileExpectation(TextSpec):
    """What a file must be at the end; ``absent``: there is none; ``unchanged``: it is as it was at the start.

    ``diff`` is how it has changed, as a unified diff: its changed lines are what counts, context helps to place them.
    """

    absent: bool = False
    unchanged: bool = False
    base64: str | None = None
    diff: _Diff | None = None


class CountExpectation(Part):
    """Bounds of a count, both within."""

    min: int | None = Field(default=None, ge=0)
    max: int | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _has_room(self) -> CountExpectation:
        if self.min is None and self.max is None:
            raise ValueError("a count has min, max or both")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError("min is above max")
        return self


_Count = Annotated[int, Field(ge=0)] | CountExpectation


class CallExpectation(Part):
    """What a call and its result must be; only the keys given are checked. ``contains`` looks at the observation.

    ``arguments`` are all arguments, as an object in which patterns may stand for values, or as the raw text;
    ``arguments_include`` those that are named, at any depth; ``arguments_python`` is a function that is given them.
    """

    tool: str
    id: str | None = None
    arguments: _Arguments | str | None = None
    arguments_include: _Arguments | None = None
    arguments_python: FunctionName | None = None
    status: ToolStatus | None = None
    error_code: ErrorCode | None = None
    contains: str | list[str] | None = None
    executed: bool | None = None
    truncated: bool | None = None


TrajectoryMode = Literal["strict", "ordered", "unordered", "subset", "superset"]


class TrajectoryExpectation(Part):
    """How a run's calls relate to a reference list of calls.

    *strict*: the same list; *ordered*: the reference in its order, other calls may come between; *unordered*: the same
    calls in any order; *subset*: every call is one of the reference; *superset*: every call of the reference was made.
    A call stands for at most one of the reference and the reverse. ``lane`` names a sub-agent's lane, or is ``all``;
    without it the lane is the one that the expectation stands under.
    """

    mode: TrajectoryMode
    calls: list[CallExpectation]
    lane: str | None = None


_Trajectories = Annotated[
    list[TrajectoryExpectation],
    BeforeValidator(_as_list, json_schema_input_type=TrajectoryExpectation | list[TrajectoryExpectation]),
]


class CountsExpectation(Part):
    """How many calls there may be: in all, of each tool, of a kind that is ``forbidden``, and of the same one.

    ``forbidden`` are tools by name, or calls described as everywhere. ``max_identical`` bounds how often a call with
    the same tool and the same arguments is made, in a row or not. ``lane`` is as in a trajectory.
    """

    calls: _Count | None = None
    tools: dict[str, _Count] = Field(default_factory=dict)
    forbidden: list[str | CallExpectation] = Field(default_factory=list)
    max_identical: int | None = Field(default=None, ge=1)
    lane: str | None = None


class BatchExpectation(Part):
    """One batch of a step: the tools of a ``concurrent`` or of a ``serial`` one, in order."""

    concurrent: list[str] | None = None
    serial: list[str] | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> BatchExpectation:
        if (self.concurrent is None) == (self.serial is None):
            raise ValueError("a batch is either concurrent or serial")
        return self


class ShownExpectation(Part):
    """Which tools the request of a step (from 1) offers or does not offer."""

    step: int = Field(ge=1)
    shown: list[str] = Field(default_factory=list)
    hidden: list[str] = Field(default_factory=list)


class BudgetExpectation(Part):
    """Bounds that every step's observations keep, in bytes of UTF-8."""

    per_result_bytes: int | None = None
    total_bytes: int | None = None


class TokenBaseline(Part):
    """An accepted earlier figure: all prompt tokens of the run, and by how many percent a run may exceed it."""

    prompt_tokens: int = Field(ge=1)
    percent: float = Field(default=0.0, ge=0)


class TokenExpectation(Part):
    """Bounds on what the requests cost, counted as the provider counts.

    ``tools_tokens`` and ``tools_share`` (0 to 1) hold for each request, ``tools_tokens_total`` and ``prompt_tokens``
    for all requests of the run together.
    """

    tools_tokens: int | None = None
    tools_share: float | None = Field(default=None, ge=0, le=1)
    tools_tokens_total: int | None = None
    prompt_tokens: int | None = None
    baseline: TokenBaseline | None = None


CHANGES = frozenset({
    "arguments_changed", "call_added", "call_dropped", "calls_reordered", "incomplete_call_used",
})  # fmt: skip
"""What an agent must not make of the model's words from one request to the next."""

NOTED_CHANGES = frozenset({
    "answer_dropped", "arguments_repaired", "call_renamed", "history_changed", "history_shrunk", "ids_rewritten",
    "text_changed", "tools_changed",
})  # fmt: skip
"""What it may make of a conversation, and often means to; it is noted, since it costs a provider's prompt cache."""


class ProtocolExpectation(Part):
    """Which rules are left out, by their codes; every output says so. ``strict`` names notes that fail."""

    without: list[str] = Field(default_factory=list)
    strict: list[str] = Field(default_factory=list)

    @model_validator(mode="after")
    def _known(self) -> ProtocolExpectation:
        for given, known in ((self.without, CODES | CHANGES), (self.strict, NOTED_CHANGES)):
            unknown = [code for code in given if code not in known]
            if unknown:
                raise ValueError(f"{unknown[0]!r} is no rule ({', '.join(sorted(known))})")
        if not self.without and not self.strict:
            raise ValueError("protocol names rules under without or strict")
        return self


class LaneExpectation(Part):
    """What must hold of one conversation.

    ``outcome`` is how it ends, or a list of ends that will do; ``calls`` are all its calls in order, ``batches`` those
    of each step with calls. ``trajectory`` (one or a list) is a looser word on its calls, ``counts`` one on numbers.
    """

    outcome: LoopStatus | list[LoopStatus] = LoopStatus.ANSWERED
    reason: str | TextSpec | None = None
    final_text: str | TextSpec | None = None
    steps: _Count | None = None
    calls: list[CallExpectation] | None = None
    trajectory: _Trajectories = Field(default_factory=list)
    counts: CountsExpectation | None = None
    batches: list[list[BatchExpectation]] | None = None
    tools: list[ShownExpectation] = Field(default_factory=list)
    budget: BudgetExpectation | None = None
    notes: str | TextSpec | None = None

    @property
    def outcomes(self) -> tuple[LoopStatus, ...]:
        """The ends that will do."""
        return (self.outcome,) if isinstance(self.outcome, LoopStatus) else tuple(self.outcome)


class Expectations(LaneExpectation):
    """What must hold of a run: of its main conversation, of those of its sub-agents by name, and of all together.

    ``changed`` are all files that are not as they were at the start, ``untouched`` those that are; both hold paths and
    patterns. ``python`` names functions that are given the whole run. ``protocol`` turns rules off. ``exit_code`` is
    that of an agent that is a command, a list of those that will do, or bounds. A ``partial`` run need not come to all
    that the script or the recording holds. ``pipeline`` is for the built-in pipeline, and for what takes its place.
    """

    lanes: dict[str, LaneExpectation] = Field(default_factory=dict)
    files: dict[str, str | FileExpectation] = Field(default_factory=dict)
    changed: list[_PathPattern] | None = None
    untouched: list[_PathPattern] = Field(default_factory=list)
    tokens: TokenExpectation | None = None
    python: _FunctionNames = Field(default_factory=list)
    protocol: bool | ProtocolExpectation = True
    pipeline: PipelineExpectation | None = None
    exit_code: int | list[int] | CountExpectation = 0
    partial: bool = False

    def allows_exit(self, code: int) -> bool:
        """Whether the exit code is one that will do."""
        if isinstance(self.exit_code, CountExpectation):
            low, high = self.exit_code.min, self.exit_code.max
            return (low is None or code >= low) and (high is None or code <= high)
        return code == self.exit_code if isinstance(self.exit_code, int) else code in self.exit_code

    @property
    def exit_text(self) -> str:
        """The exit codes that will do, in words."""
        if isinstance(self.exit_code, CountExpectation):
            low, high = self.exit_code.min, self.exit_code.max
            return f"at least {low}" if high is None else f"{low or 0} to {high}"
        codes = [self.exit_code] if isinstance(self.exit_code, int) else self.exit_code
        return " or ".join(map(str, codes))

    @property
    def rules_off(self) -> frozenset[str]:
        """The codes of the protocol's rules that are not asked for."""
        if isinstance(self.protocol, ProtocolExpectation):
            return frozenset(self.protocol.without)
        return frozenset() if self.protocol else CODES

    @property
    def strict_changes(self) -> frozenset[str]:
        """The notes on a conversation that fail here."""
        return frozenset(self.protocol.strict if isinstance(self.protocol, ProtocolExpectation) else ())
