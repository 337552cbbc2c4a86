"""What a tool is: a name, a description, structured parameters, and a ``run`` that returns a ToolResult."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from harness.pipeline.result import ToolResult


class ToolKind(StrEnum):
    """What a tool does to the world; gates and batches go by it, not by the tool's name."""

    READ = "read"
    EDIT = "edit"
    SHELL = "shell"
    OTHER = "other"


@dataclass(frozen=True)
class ToolParameter:
    """One parameter. ``type`` is a JSON Schema type; ``extra`` holds further schema keywords (enum, items, minimum)."""

    name: str
    type: str
    description: str = ""
    required: bool = True
    extra: Mapping[str, Any] = field(default_factory=dict)

    def to_schema(self) -> dict[str, Any]:
        """The parameter as a JSON Schema."""
        schema: dict[str, Any] = {"type": self.type}
        if self.description:
            schema["description"] = self.description
        return schema | dict(self.extra)


class Tool(ABC):
    """Base of tools with structured parameters.

    ``kind`` says what it does to the world; ``path_parameter`` names the parameter with the file that a call reads or
    changes, None where there is none. Subclasses set both in the class body.
    """

    kind: ToolKind = ToolKind.OTHER
    path_parameter: str | None = None

    def __init__(self, name: str, description: str) -> None:
        self.name = name
        self.description = description

    @property
    def read_only(self) -> bool:
        """No side effects, so safe to run beside other calls and in read-only mode."""
        return self.kind is ToolKind.READ

    @abstractmethod
    def get_parameters(self) -> Sequence[ToolParameter]:
        """The parameters, in the order in which the schema lists them."""

    @abstractmethod
    def run(self, parameters: Mapping[str, Any]) -> ToolResult:
        """Do it. ``parameters`` have passed the schema and the gates."""

    def run_call(self, parameters: Mapping[str, Any], call_id: str) -> ToolResult:  # noqa: ARG002  for overriding
        """`run`, for tools to which the call's id matters; by default it does not."""
        return self.run(parameters)

    def parameters_schema(self) -> dict[str, Any]:
        """JSON Schema of the parameters; a tool without any has ``properties`` as an empty object (seed 002)."""
        return parameters_to_schema(self.get_parameters())


def parameters_to_schema(parameters: Sequence[ToolParameter]) -> dict[str, Any]:
    """A closed object schema of the parameters, in their order; ``required`` only where something is (C02)."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {parameter.name: parameter.to_schema() for parameter in parameters},
    }
    if required := [parameter.name for parameter in parameters if parameter.required]:
        schema["required"] = required
    return schema | {"additionalProperties": False}
