"""How the arguments of a call are read: strictly, or with repair and coercion, always with an account of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from harness.pipeline.arguments import ParameterValidator, parse_tool_input
from harness.pipeline.coercion import coerce_parameters
from harness.pipeline.repair import repair_arguments


@dataclass(frozen=True, slots=True)
class ArgumentPolicy:
    """What may be done to arguments that do not fit; by default nothing.

    ``repair`` reads texts that are no JSON but mean one object (`harness.pipeline.repair`), ``coerce`` values of
    another type (`harness.pipeline.coercion`). Neither ever adds anything that is missing.
    """

    repair: bool = False
    coerce: bool = False


STRICT = ArgumentPolicy()


@dataclass(frozen=True, slots=True)
class ArgumentReading:
    """What a call's arguments are: its parameters, or ``problem``, why there are none.

    ``repairs`` and ``coercions`` say in words what was done to get them.
    """

    parameters: dict[str, Any]
    problem: str | None
    repairs: tuple[str, ...] = ()
    coercions: tuple[str, ...] = ()

    def context(self) -> dict[str, Any]:
        """What a result's context says of it: nothing for arguments that were taken as they came."""
        told = {"repaired": self.repairs, "coerced": self.coercions}
        return {key: list(steps) for key, steps in told.items() if steps}


def read_arguments(
    raw: object, validator: ParameterValidator | None, policy: ArgumentPolicy = STRICT
) -> ArgumentReading:
    """Read ``raw`` (a text, or already an object) for the tool of the ``validator``; None is an unknown tool.

    Whether the parameters fit the schema is not judged here. A repair counts only if its result fits (B03).
    Raises nothing.
    """
    parameters, problem = parse_tool_input(raw)
    if validator is None:
        return ArgumentReading(parameters, problem)
    if problem is None:
        return _coerced(parameters, validator, policy)
    repair = repair_arguments(raw) if policy.repair and isinstance(raw, str) else None
    if repair is None:
        return ArgumentReading({}, problem)
    reading = _coerced(repair.parameters, validator, policy)
    if misfit := validator.problem(reading.parameters):
        return ArgumentReading({}, f"{problem}; {', '.join(repair.steps)} they do not fit either: {misfit}")
    return ArgumentReading(reading.parameters, None, repair.steps, reading.coercions)


def _coerced(parameters: dict[str, Any], validator: ParameterValidator, policy: ArgumentPolicy) -> ArgumentReading:
    coercion = coerce_parameters(parameters, validator) if policy.coerce else None
    if coercion is None:
        return ArgumentReading(parameters, None)
    return ArgumentReading(coercion.parameters, None, (), coercion.changes)
