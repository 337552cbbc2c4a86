"""The calls that a task's author expects, and whether a run made them.

The form is that of the Berkeley Function Calling Leaderboard: a list of ``{tool: {argument: [allowed values]}}``, in
which any of the allowed values will do and ``""`` among them lets an argument be left out. Values are compared as JSON
(5 and 5.0 are equal), texts character by character.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from harness.errors import InputError
from harness.judge.matching import maximum_matching
from harness.pipeline.arguments import parse_tool_input
from harness.trace.run import CallRecord

_LEFT_OUT = ""
_FORM = "task: [{tool: {argument: [allowed values]}}]"


@dataclass(frozen=True, slots=True)
class ReferenceCall:
    """One expected call; ``allowed`` are the values that will do, by argument."""

    name: str
    allowed: Mapping[str, Sequence[Any]]

    def accepts(self, call: CallRecord) -> bool:
        """Whether ``call`` is this one: the tool, no argument that is not expected, each value an allowed one."""
        if call.name != self.name:
            return False
        arguments, problem = parse_tool_input(call.arguments)
        if problem is not None or arguments.keys() - self.allowed.keys():
            return False
        return all(
            any(_equal(option, arguments[name]) for option in options) if name in arguments else _LEFT_OUT in options
            for name, options in self.allowed.items()
        )

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{name}={_shown(options)}' for name, options in self.allowed.items())})"


def load_references(path: Path) -> dict[str, list[ReferenceCall]]:
    """The expected calls by task: a mapping in YAML or JSON, or JSON lines of ``{id, ground_truth}`` as in BFCL.

    Raises InputError with the task for what has another form.
    """
    try:
        text = path.read_text("utf-8")
        found = (
            [yaml.load(line, yaml.CSafeLoader) for line in text.splitlines() if line.strip()]
            if _is_lines(text)
            else (yaml.load(text, yaml.CSafeLoader))
        )
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(path)) from error
    except (ValueError, yaml.YAMLError) as error:
        raise InputError(f"not YAML: {' '.join(str(error).split())}", where=str(path)) from error
    if isinstance(found, list):
        if not all(isinstance(line, dict) and {"id", "ground_truth"} <= line.keys() for line in found):
            raise InputError("each line has id and ground_truth", where=str(path), hint=_FORM)
        found = {str(line["id"]): line["ground_truth"] for line in found}
    if not isinstance(found, dict) or not found:
        raise InputError("expected calls are a mapping of tasks", where=str(path), hint=_FORM)
    return {str(task): _calls(calls, f"{path}: {task}") for task, calls in found.items()}


def recorded_references(calls: Iterable[Mapping[str, Any]]) -> list[ReferenceCall]:
    """The ``facts.reference_calls`` of an imported run: one value for each argument."""
    found = []
    for call in calls:
        arguments = call.get("arguments")
        exact = {name: (value,) for name, value in arguments.items()} if isinstance(arguments, Mapping) else {}
        found.append(ReferenceCall(str(call.get("name")), exact))
    return found


def unmatched(expected: Sequence[ReferenceCall], made: Sequence[CallRecord]) -> tuple[list[int], list[int]]:
    """The positions of expected calls that were not made, and of made calls that were not expected.

    In any order, each call standing for one expected call; as many as possible are matched.
    """
    accepted = [[at for at, call in enumerate(made) if one.accepts(call)] for one in expected]
    pairs = maximum_matching(accepted)
    taken = set(pairs.values())
    missing = [position for position in range(len(expected)) if position not in pairs]
    return missing, [at for at in range(len(made)) if at not in taken]


def _is_lines(text: str) -> bool:
    return text.lstrip().startswith("{") and '"ground_truth"' in text.partition("\n")[0]


def _calls(calls: object, where: str) -> list[ReferenceCall]:
    if not isinstance(calls, list):
        raise InputError("a task has a list of calls", where=where, hint=_FORM)
    found = []
    for call in calls:
        if not isinstance(call, dict) or len(call) != 1:
            raise InputError("a call is {tool: {argument: [allowed values]}}", where=where)
        ((name, allowed),) = call.items()
        allowed = {} if allowed is None else allowed
        if not isinstance(allowed, dict) or not all(isinstance(options, list) for options in allowed.values()):
            raise InputError(f"{name}: each argument has a list of the values that will do", where=where)
        found.append(ReferenceCall(str(name), {str(key): tuple(options) for key, options in allowed.items()}))
    return found


def _equal(option: Any, value: Any) -> bool:
    """Equal as JSON; an object may have a list of allowed values for each of its keys, as in BFCL."""
    if isinstance(option, bool) or isinstance(value, bool):
        return option is value
    if isinstance(option, Mapping) and isinstance(value, Mapping):
        if option.keys() == value.keys() and all(_equal(option[key], value[key]) for key in option):
            return True
        if not all(isinstance(options, list) for options in option.values()) or value.keys() - option.keys():
            return False
        return all(
            any(_equal(one, value[key]) for one in options) if key in value else _LEFT_OUT in options
            for key, options in option.items()
        )
    if isinstance(option, list) and isinstance(value, list):
        return len(option) == len(value) and all(map(_equal, option, value))
    return bool(option == value)


def _shown(options: Sequence[Any]) -> str:
    return " or ".join(json.dumps(option, ensure_ascii=False, default=str) for option in options)
