"""The parts of a scenario file that say how the agent's folder begins, and what happens to it on the way."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated

from pydantic import Field, PlainValidator, model_validator

from harness.errors import InputError
from harness.pipeline.result import ErrorCode
from harness.scenario.part import Part
from harness.wire.faults import Fault, read_fault


class FileSpec(Part):
    """A file of the workspace: ``text`` or ``base64`` bytes, ``times`` over; or a symlink to ``link``.

    ``executable`` sets the permission to run it. A link's target is written as it is, also where it leads nowhere.
    """

    text: str | None = None
    base64: str | None = None
    link: Annotated[str, Field(min_length=1)] | None = None
    times: int = Field(default=1, ge=1)
    executable: bool = False

    @model_validator(mode="after")
    def _one_content(self) -> FileSpec:
        if [self.text, self.base64, self.link].count(None) != 2:
            raise ValueError("a file has either text or base64, or is a link")
        if self.link is not None and (self.executable or self.times != 1):
            raise ValueError("a link has neither executable nor times")
        try:
            base64.b64decode(self.base64 or "", validate=True)
        except binascii.Error as error:
            raise ValueError(f"base64: {error}") from error
        return self

    def content(self) -> bytes:
        """The bytes of the file; those of a link are its target, as git has them."""
        if self.link is not None:
            return self.link.encode()
        once = self.text.encode() if self.text is not None else base64.b64decode(self.base64 or "")
        return once * self.times


Files = dict[str, str | FileSpec]
"""Files by their path in the workspace."""


def file_spec(content: str | FileSpec) -> FileSpec:
    """A file as it is written down, a plain text included."""
    return content if isinstance(content, FileSpec) else FileSpec(text=content)


class CommitSpec(Part):
    """A commit: ``files`` are added or replaced, ``delete`` is removed, a copied ``folder`` comes first.

    ``branch`` is where it goes, the last commit's where it does not say; a new one begins at the last commit.
    """

    message: Annotated[str, Field(min_length=1)]
    folder: str | None = None
    files: Files = Field(default_factory=dict)
    delete: list[str] = Field(default_factory=list)
    branch: Annotated[str, Field(min_length=1)] | None = None
    tag: Annotated[str, Field(min_length=1)] | None = None


class GitSpec(Part):
    """The workspace as a git repository: a ``bundle`` beside the scenario, ``commits``, and ``branch`` checked out.

    What the workspace's own files say comes on top and is not committed; the paths in ``stage`` are added to the index.
    """

    bundle: str | None = None
    commits: list[CommitSpec] = Field(default_factory=list)
    branch: Annotated[str, Field(min_length=1)] | None = None
    stage: list[str] = Field(default_factory=list)


class WorkspaceSpec(Part):
    """The folder the agent starts with: a ``git`` state, a copied ``folder``, ``files``, and without ``delete``."""

    git: GitSpec | None = None
    folder: str | None = None
    files: Files = Field(default_factory=dict)
    delete: list[str] = Field(default_factory=list)


class FailureSpec(Part):
    """The next ``times`` runs of a tool return this error; nothing of the tool itself runs."""

    tool: Annotated[str, Field(min_length=1)]
    error_code: ErrorCode = ErrorCode.EXECUTION_ERROR
    message: str = "failed on purpose"
    times: int = Field(default=1, ge=1)


class EventSpec(Part):
    """Something that happens to the world.

    Files are written, touched or deleted by somebody else, time passes (``advance_s``, in seconds), a tool will fail.
    With ``keep_times`` what is written keeps the file's time of modification.
    """

    write: Files = Field(default_factory=dict)
    keep_times: bool = False
    touch: list[str] = Field(default_factory=list)
    delete: list[str] = Field(default_factory=list)
    advance_s: float = Field(default=0.0, ge=0)
    fail: list[FailureSpec] | FailureSpec = Field(default_factory=list)

    @property
    def failures(self) -> list[FailureSpec]:
        """The tools that will fail, one or several."""
        return self.fail if isinstance(self.fail, list) else [self.fail]

    @property
    def faults_due(self) -> list[Fault]:
        """What goes wrong with the next answers: nothing, where a script says the answer itself."""
        return []


def _fault(value: object) -> Fault:
    try:
        return read_fault(value)
    except InputError as error:
        raise ValueError(f"{error.what} ({error.hint})" if error.hint else error.what) from error


FaultSpec = Annotated[Fault, PlainValidator(_fault, json_schema_input_type=str | dict[str, object])]
"""A fault as `read_fault` reads it."""


class BetweenSpec(EventSpec):
    """What happens between two answers of the model: to the world, and to the next answers.

    ``faults`` count answers from the next one on.
    """

    faults: list[FaultSpec] = Field(default_factory=list)

    @property
    def faults_due(self) -> list[Fault]:
        """What goes wrong with the next answers."""
        return self.faults


class RequestEventSpec(BetweenSpec):
    """What happens just before the model is asked for the ``before_request``-th time in the run, counted from 1."""

    before_request: int = Field(ge=1)


class UserTurnSpec(Part):
    """What the user says next, and what happens before."""

    text: Annotated[str, Field(min_length=1)]
    before: list[BetweenSpec] = Field(default_factory=list)


class LimitsSpec(Part):
    """What a run may use; where it needs more it fails.

    ``steps`` of the agent's own conversation, ``requests`` of all of them, ``wall_s`` seconds of real time, and
    ``tokens`` as the answers' usage reports them.
    """

    steps: int | None = Field(default=None, ge=1)
    requests: int | None = Field(default=None, ge=1)
    wall_s: float | None = Field(default=None, gt=0)
    tokens: int | None = Field(default=None, ge=1)
