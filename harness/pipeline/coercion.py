"""Values of another JSON type than the schema wants, where only one value can be meant (B20).

Only what the schema refuses is looked at, so a string in a string's place stays that string (B05). ``"5"`` becomes 5
with all its digits, ``"true"`` true; a null for a parameter that need not be there is left out. The result has to fit
the schema as a whole, else nothing is changed.
"""

from __future__ import annotations

import copy
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from harness.pipeline.arguments import ParameterValidator

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_BOOLEANS = {"true": True, "false": False, "True": True, "False": False}
_LONGEST_NUMBER = 1000
_ECHO_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class Coercion:
    """The parameters as they fit the schema, and each change in words."""

    parameters: dict[str, Any]
    changes: tuple[str, ...]


def coerce_parameters(parameters: Mapping[str, Any], validator: ParameterValidator) -> Coercion | None:
    """The parameters with the refused values as the schema wants them; None where they fit, or cannot be made to."""
    fitting = copy.deepcopy(dict(parameters))
    changes: list[str] = []
    for path, value in validator.refused(parameters):
        where = ".".join(str(step) for step in path)
        if not path:
            continue
        owner: Any = fitting
        for step in path[:-1]:
            owner = owner[step]
        if value is None and isinstance(owner, dict):
            if owner.pop(path[-1], ...) is None:
                changes.append(f"{where}: null left out")
        elif isinstance(value, str) and isinstance(owner[path[-1]], str) and (meant := _meant(value)) is not None:
            owner[path[-1]] = meant
            changes.append(f"{where}: {json.dumps(value)[:_ECHO_CHARACTERS]} read as {json.dumps(meant)}")
    if not changes or validator.problem(fitting) is not None:
        return None
    return Coercion(fitting, tuple(changes))


def _meant(text: str) -> int | float | bool | None:
    """The number or truth value that a text spells, None for every other text."""
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if len(text) > _LONGEST_NUMBER:
        return None
    if _INTEGER.fullmatch(text):
        return int(text)
    if not _NUMBER.fullmatch(text):
        return None
    number = float(text)
    # A float that stands for other digits than those written would make the tool act on another value.
    if not math.isfinite(number) or Decimal(repr(number)) != Decimal(text):
        return None
    return int(number) if number.is_integer() else number
