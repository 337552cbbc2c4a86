"""The scenario format: a test case in YAML (see docs/scenarios.md)."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from harness.errors import InputError
from harness.pipeline.budget import MAX_CALLS, PER_RESULT_BYTES, TOTAL_BYTES
from harness.pipeline.circles import REPEAT_LIMIT
from harness.pipeline.circuit_breaker import FAILURE_THRESHOLD, RECOVERY_TIMEOUT_S
from harness.pipeline.loop import CALL_IN_TEXT_LIMIT, STEP_LIMIT
from harness.pipeline.permissions import RuntimeMode
from harness.pipeline.sub_agent import MAX_SUB_AGENTS, SUB_AGENT_STEPS, SYSTEM
from harness.play.neutral.folder import PLACEHOLDER as CWD
from harness.play.script import FRAGMENT_CHARACTERS
from harness.scenario.expectations import Expectations
from harness.scenario.functions import FORM as FUNCTION
from harness.scenario.halves import demand_whole
from harness.scenario.part import Part
from harness.scenario.source import Location, Source, read_source
from harness.scenario.variants import VariantSpec, merged_documents
from harness.scenario.world import EventSpec, FaultSpec, LimitsSpec, RequestEventSpec, UserTurnSpec, WorkspaceSpec


class BudgetSpec(Part):
    """Limits of a step's results, in bytes."""

    per_result_bytes: int = PER_RESULT_BYTES
    total_bytes: int = TOTAL_BYTES
    max_calls: int = MAX_CALLS


class BreakerSpec(Part):
    """The circuit breaker's settings."""

    failure_threshold: int = FAILURE_THRESHOLD
    recovery_timeout_s: float = RECOVERY_TIMEOUT_S


class SubAgentSpec(Part):
    """What each sub-agent may use, and how many the agent may start."""

    step_limit: int = Field(default=SUB_AGENT_STEPS, ge=1)
    system: str = SYSTEM
    budget: BudgetSpec = BudgetSpec()
    max_sub_agents: int = Field(default=MAX_SUB_AGENTS, ge=0)


class ArgumentsSpec(Part):
    """Whether arguments that do not fit are repaired and coerced; by default each is INVALID_PARAM."""

    repair: bool = False
    coerce: bool = False


class AgentSpec(Part):
    """What asks: the built-in pipeline with its settings, a ``python`` function, a ``command``, or a ``preset``.

    For the pipeline: ``tools`` are built-ins by name, or their definitions frozen as a request has them; without it all
    but the optional ones are offered. ``sub_agent`` is for those that the tool Task starts. ``registry`` names tools or
    an executor of the user's own instead, ``stubs`` are definitions of tools that answer with what they are given;
    with ``shell`` as ``spy`` tools that run commands run nothing. See docs/fuzzing.md.

    The others are programs of their own: of the pipeline's keys they take ``model`` and ``system``, which they are
    told. ``python`` is ``module:function`` or ``file.py:function``, called with an AgentContext. ``command`` is run
    with ``env`` and ``stdin`` in the workspace, or in ``cwd`` there; ``install`` says how to get it. ``timeout_s`` is
    how long each of them may take, ``max_requests`` how often it may ask. ``preset`` is the name of a known agent, or a
    TOML file beside the scenario. See docs/agents.md.
    """

    python: Annotated[str, Field(pattern=rf"^{FUNCTION}$")] | None = None
    command: Annotated[list[str], Field(min_length=1)] | None = None
    preset: str | None = None
    env: dict[str, str] = Field(default_factory=dict)
    stdin: str = ""
    cwd: str | None = None
    install: str = ""
    timeout_s: float = Field(default=120.0, gt=0)
    max_requests: int = Field(default=200, ge=1)

    model: str = "scripted"
    system: str | None = None
    stream: bool = False
    tools: list[str | dict[str, Any]] | None = None
    registry: Annotated[str, Field(pattern=rf"^{FUNCTION}$")] | None = None
    stubs: list[dict[str, Any]] | None = None
    shell: Literal["run", "spy"] = "run"
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

    @model_validator(mode="after")
    def _keys_of_one_kind(self) -> AgentSpec:
        if [self.python, self.command, self.preset].count(None) < 2:
            raise ValueError("an agent is a python function, a command or a preset, one of them")
        if [self.tools, self.registry, self.stubs].count(None) < 2:
            raise ValueError("an agent has tools, a registry or stubs, one of them")
        for key in sorted(self.model_fields_set - _KEYS[self.kind]):
            owner = "the built-in pipeline" if self.is_pipeline else f"an agent that is a {self.kind}"
            raise ValueError(f"{key} is no setting of {owner}")
        return self

    @property
    def kind(self) -> Literal["pipeline", "python", "command", "preset"]:
        """What kind of agent it is."""
        if self.python is not None:
            return "python"
        if self.command is not None:
            return "command"
        return "pipeline" if self.preset is None else "preset"

    @property
    def is_pipeline(self) -> bool:
        """Whether the agent is the built-in pipeline."""
        return self.kind == "pipeline"


_SHARED_KEYS = frozenset({"model", "system"})
_LIMIT_KEYS = frozenset({"timeout_s", "max_requests"})
_COMMAND_KEYS = _LIMIT_KEYS | {"command", "env", "stdin", "cwd", "install"}
_KEYS = {
    "pipeline": frozenset(AgentSpec.model_fields) - _COMMAND_KEYS - {"python", "preset"},
    "python": _SHARED_KEYS | _LIMIT_KEYS | {"python"},
    "command": _SHARED_KEYS | _COMMAND_KEYS,
    "preset": _SHARED_KEYS | _LIMIT_KEYS | {"preset"},
}


class CallSpec(Part):
    """A scripted call. ``arguments`` is an object, or the raw text as the model would send it."""

    tool: str | None
    arguments: dict[str, Any] | str | None = Field(default_factory=dict)
    id: str | None = None

    def arguments_text(self) -> str | None:
        """The text that goes over the wire."""
        if self.arguments is None or isinstance(self.arguments, str):
            return self.arguments
        return json.dumps(self.arguments, ensure_ascii=False)


class ErrorSpec(Part):
    """An HTTP error in place of an answer."""

    status: int = Field(ge=400, le=599)
    message: str = "scripted error"


class EditSpec(Part):
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


class TurnSpec(Part):
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


class PlayerSpec(Part):
    """What answers: a ``script``, a ``cassette`` (a path relative to the scenario, or one for each model), or a model.

    ``models`` is ``/v1/models``. ``strict`` refuses requests as a strict provider does; ``faults`` happen between the
    agent and what answers. ``side`` is the text for what an agent asks beside the script, without tools: a title, a
    summary. ``live`` asks the agent's model, at the endpoint that the command line names and nowhere else.

    With script and cassette, the cassette answers, and after a miss the script, where the run's policy says so.
    """

    script: list[TurnSpec] | None = None
    cassette: str | dict[str, str] | None = None
    live: bool = False
    models: list[dict[str, Any]] = Field(default_factory=list)
    side: str | None = None
    strict: bool = False
    faults: list[FaultSpec] = Field(default_factory=list)

    @model_validator(mode="after")
    def _a_player(self) -> PlayerSpec:
        if self.live and (self.script is not None or self.cassette is not None):
            raise ValueError("a live player has neither script nor cassette")
        if not self.live and self.script is None and self.cassette is None:
            raise ValueError("a player is a script or a cassette, or live")
        return self


class Scenario(Part):
    """A test case. The user says ``prompt``, or ``prompts`` one after the other, each when the last one is answered.

    ``events`` happen on the way, ``limits`` end a run that needs more. ``matrix`` makes several test cases of one file:
    see `harness.scenario.matrix.expand`.
    """

    name: str = ""
    description: str = ""
    tags: list[str] = Field(default_factory=list)
    workspace: WorkspaceSpec = WorkspaceSpec()
    agent: AgentSpec = AgentSpec()
    prompt: Annotated[str, Field(min_length=1)] | None = None
    prompts: Annotated[list[str | UserTurnSpec], Field(min_length=1)] | None = None
    player: PlayerSpec
    events: list[RequestEventSpec] = Field(default_factory=list)
    limits: LimitsSpec = LimitsSpec()
    expect: Expectations | None = None
    matrix: list[VariantSpec] = Field(default_factory=list)
    path: Annotated[Path, Field(exclude=True)] = Path()
    variants: Annotated[tuple[Scenario, ...], Field(exclude=True)] = ()

    @model_validator(mode="after")
    def _a_prompt(self) -> Scenario:
        if (self.prompt is None) == (self.prompts is None):
            raise ValueError(
                "prompt: missing" if self.prompt is None else "a scenario has a prompt or prompts, not both"
            )
        if any(not text for text in self.prompts or ()):
            raise ValueError("prompts: a user says something")
        if not self.agent.is_pipeline:
            self._demand_for_others()
        return self

    def with_preset(self, name: str) -> Scenario:
        """The scenario with a known agent in the place of its own; model, system and limits stay.

        Raises InputError where the scenario has what only the built-in pipeline can be put to.
        """
        try:
            self._demand_for_others()
        except ValueError as error:
            raise InputError(str(error), where=str(self.path)) from error
        kept = {key: getattr(self.agent, key) for key in self.agent.model_fields_set & _KEYS["preset"]}
        return self.model_copy(update={"agent": AgentSpec(**{**kept, "preset": name})})

    def _demand_for_others(self) -> None:
        """What only the built-in pipeline can be put to."""
        turns = self.user_turns
        if len(turns) > 1 or turns[0].before:
            raise ValueError("prompts: only the built-in pipeline holds a conversation; give this agent one prompt")
        events = [*self.events, *(event for turn in self.player.script or () for event in turn.before)]
        if any(event.failures for event in events):
            raise ValueError(
                "fail: the tools of this agent are its own; only the built-in pipeline's can be made to fail"
            )

    @property
    def user_turns(self) -> tuple[UserTurnSpec, ...]:
        """What the user says, one after the other."""
        given = [self.prompt] if self.prompt is not None else self.prompts or []
        return tuple(turn if isinstance(turn, UserTurnSpec) else UserTurnSpec(text=turn or "") for turn in given)

    @property
    def only_prompt(self) -> str:
        """What the user says to an agent that can be told one thing only; for the pipeline, what comes first."""
        return self.user_turns[0].text

    @property
    def cassette(self) -> Path | None:
        """The cassette of the agent's model, if there is any; raises InputError where only other models have one."""
        named = self.player.cassette
        if isinstance(named, dict):
            if self.agent.model not in named:
                known = ", ".join(sorted(named)) or "none"
                raise InputError(
                    f"player.cassette: none for the model {self.agent.model!r} (there is one for: {known})",
                    where=str(self.path),
                )
            named = named[self.agent.model]
        return None if named is None else self.beside(named)

    @property
    def cassettes(self) -> list[Path]:
        """All cassettes that the file names, those of its variants included."""
        named = self.player.cassette
        own = [named] if isinstance(named, str) else list((named or {}).values())
        found = [self.beside(name) for name in own]
        return list(dict.fromkeys([*found, *(path for variant in self.variants for path in variant.cassettes)]))

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
    for key in ("path", "variants"):
        if key in source.data:
            raise InputError(f"{key}: unknown key", where=source.where((key,)))
    if source.has_halves:
        demand_whole(source)
    if "matrix" in source.data:
        return _with_variants(source)
    scenario = _validated(source, source.data)
    return scenario if scenario.name else scenario.model_copy(update={"name": source.path.stem})


def _validated(source: Source, document: Mapping[str, Any], overrides: Location = ()) -> Scenario:
    """``overrides`` is where the variant stands whose document it is."""
    try:
        return Scenario.model_validate({**document, "path": source.path})
    except ValidationError as error:
        raise _input_error(source, document, error, overrides) from error


def _with_variants(source: Source) -> Scenario:
    """The first variant, under the file's own name, with all variants in it."""
    entries = source.data["matrix"]
    if not isinstance(entries, list) or not entries:
        raise InputError("matrix: a list of named variants", where=source.where(("matrix",)))
    specs: list[VariantSpec] = []
    for number, entry in enumerate(entries):
        try:
            specs.append(VariantSpec.model_validate(entry))
        except ValidationError as error:
            raise _input_error(source, source.data, error, (), ("matrix", number)) from error
        if specs[-1].name in {spec.name for spec in specs[:-1]}:
            raise InputError(
                f"matrix: two variants are named {specs[-1].name!r}", where=source.where(("matrix", number))
            )
    variants: list[Scenario] = []
    for number, document in enumerate(merged_documents(source.data, entries)):
        variant = _validated(source, document, ("matrix", number))
        stem = str(source.data.get("name") or source.path.stem)
        variants.append(variant.model_copy(update={"name": f"{stem}[{specs[number].name}]"}))
    whole = {"name": stem, "matrix": specs, "variants": tuple(variants)}
    return variants[0].model_copy(update=whole)


def _input_error(
    source: Source,
    document: Mapping[str, Any],
    error: ValidationError,
    overrides: Location = (),
    within: Location = (),
) -> InputError:
    """The first error, most specific place first; pydantic lists one for each alternative of a union.

    ``within`` is where in the document what was validated stands. A place that a variant overrides is shown there.
    """
    first = max(error.errors(), key=_weight)
    location = _in_document(document, (*within, *first["loc"]))
    in_variant = _in_document(source.data, (*overrides, *location)) if overrides else ()
    key = ".".join(str(step) for step in location) or "scenario"
    hint = ""
    if first["type"] == "extra_forbidden":
        what = f"{key}: unknown key"
        close = difflib.get_close_matches(str(location[-1]), _known_keys(), n=1)
        hint = f"did you mean {close[0]}?" if close else ""
    elif first["type"] == "missing":
        what = f"{'.'.join(str(step) for step in (*within, *first['loc']))}: missing"
    else:
        said = first["msg"].removeprefix("Value error, ")
        what = said if key == "scenario" else f"{key}: {said}"
    if overrides:
        what = f"{what} (in the variant {source.data['matrix'][overrides[1]]['name']!r})"
    shown = in_variant if len(in_variant) == len(overrides) + len(location) else location
    return InputError(what, where=source.where(shown), hint=hint)


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
    """The keys of the scenario and of all parts in it."""
    schema = Scenario.model_json_schema()
    parts = [schema, *schema.get("$defs", {}).values()]
    return sorted({key for part in parts for key in part.get("properties", {})} - {"path", "variants"})
