"""Tool calls as a model may send them: ids, names and arguments right and wrong, and what has to become of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from harness.errors import InputError
from harness.fuzz.choices import Choices, RejectedError, attempt, several
from harness.fuzz.near_miss import Broken, NearMissMaker
from harness.fuzz.schema import ValueMaker, repaired_schema
from harness.fuzz.texts import Reading, raw_text, read_strictly
from harness.fuzz.texts.writing import compact
from harness.play.script import ScriptedCall

_ONE_IN_BAD_NAMES = 12
_ONE_IN_BAD_IDS = 8
_UNKNOWN = ("Unknown", "read_file2", "", " ", "functions", "a" * 65, "näme", "rm -rf", "../Read", "None")
_PREFIXES = ("functions.", "default_api.", "tool_", "mcp__", "multi_tool_use.")
_TOLERABLE_NAMES = frozenset({"case", "prefix", "suffix"})
_SUFFIXES = (" ", "\n", "()", "<|channel|>commentary", ":0")


class Due(StrEnum):
    """What has to become of a call.

    *accept*: its name is known and its arguments fit, so it has to reach the tool's gates. *refuse*: it must not reach
    the tool. *either*: a reader may take it or not; what the tool gets must then be what the text says.
    """

    ACCEPT = "accept"
    REFUSE = "refuse"
    EITHER = "either"


class FuzzedCall(NamedTuple):
    """A call, what has to become of it, and how it was made.

    ``tool`` is the name of the tool that was meant. ``family`` is ``valid``, ``near_miss``, or that of the text (see
    `harness.fuzz.texts`); ``name_family`` and ``id_family`` are ``known`` and ``fresh`` for what is right. ``value``
    is the object that the text holds, if it holds one, and ``broken`` the rule that it breaks, where it is one alone.
    """

    call: ScriptedCall
    tool: str
    due: Due
    family: str
    name_family: str = "known"
    id_family: str = "fresh"
    value: dict[str, Any] | None = None
    broken: Broken | None = None


class ToolSchema:
    """What calls of one tool are made from; schema faults are said in ``faults``, and what was meant is used.

    Raises InputError where no arguments fit the parameters.
    """

    def __init__(self, name: str, parameters: object = None) -> None:
        self.name = name
        repaired = repaired_schema(parameters, f"{name}.parameters")
        schema = repaired.schema if isinstance(repaired.schema, dict) else {}
        self.schema: dict[str, Any] = {"type": "object", **schema}
        self.faults = repaired.faults
        self.values = ValueMaker(self.schema)
        self.near_misses = NearMissMaker(self.schema)

    @classmethod
    def of(cls, definition: Mapping[str, Any]) -> ToolSchema:
        """From an entry of ``tools``, or from the function in it; raises InputError where it has no name."""
        function = definition.get("function", definition)
        if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
            raise InputError("a tool has a function with a name")
        parameters = function.get("parameters", function.get("inputSchema", function.get("input_schema")))
        return cls(function["name"], parameters)


def tool_schemas(tools: Iterable[Mapping[str, Any]]) -> list[ToolSchema]:
    """The schemas of a ``tools`` array; raises InputError where it is empty, or a tool is none."""
    found = [ToolSchema.of(tool) for tool in tools]
    if not found:
        raise InputError("there are no tools, so there is nothing to call")
    return found


def valid_call(choices: Choices, tools: Sequence[ToolSchema], number: int = 1) -> FuzzedCall:
    """A call that has to be accepted; ``number`` makes its id."""
    tool = choices.pick(tools)
    value = attempt(tool.values.value, choices)
    return FuzzedCall(
        ScriptedCall(tool.name, compact(value), f"call_{number}"), tool.name, Due.ACCEPT, "valid", value=value
    )


def fuzzed_call(choices: Choices, tools: Sequence[ToolSchema], number: int = 1) -> FuzzedCall:
    """A call of any kind; ``number`` makes its id. About a third is valid, a third a near-miss, a third a raw text."""
    tool = choices.pick(tools)
    made = choices.pick((_valid, _near_miss, _raw))(choices, tool)
    if choices.flag(_ONE_IN_BAD_NAMES):
        family, name = bad_name(choices, tool.name, {each.name for each in tools})
        tolerable = family in _TOLERABLE_NAMES and made.due is not Due.REFUSE
        return made._replace(
            call=ScriptedCall(name, made.call.arguments, f"call_{number}"),
            due=Due.EITHER if tolerable else Due.REFUSE,
            name_family=family,
        )
    return made._replace(call=ScriptedCall(tool.name, made.call.arguments, f"call_{number}"))


def call_list(
    choices: Choices,
    tools: Sequence[ToolSchema],
    most: int = 6,
    make: Callable[[Choices, Sequence[ToolSchema], int], FuzzedCall] = fuzzed_call,
) -> list[FuzzedCall]:
    """The calls of one step, from 1 to ``most``; of fuzzed ones some ids are missing, empty or used twice."""
    calls = [make(choices, tools, number) for number in range(1, several(choices, 1, most) + 1)]
    if make is not fuzzed_call:
        return calls
    return [_with_bad_id(choices, made, calls) if choices.flag(_ONE_IN_BAD_IDS) else made for made in calls]


def flat(made: FuzzedCall) -> dict[str, Any]:
    """The call in the pipeline's own form: id, name, arguments."""
    return {"id": made.call.id, "name": made.call.name, "arguments": made.call.arguments}


def as_sent(made: FuzzedCall) -> dict[str, Any]:
    """The call as the API sends it."""
    function = {"name": made.call.name, "arguments": made.call.arguments}
    return {"id": made.call.id, "type": "function", "function": function}


def _valid(choices: Choices, tool: ToolSchema) -> FuzzedCall:
    return valid_call(choices, [tool])


def _near_miss(choices: Choices, tool: ToolSchema) -> FuzzedCall:
    try:
        value, broken = attempt(tool.near_misses.near_miss, choices)
    except RejectedError:
        return _raw(choices, tool)
    call = ScriptedCall(tool.name, compact(value), None)
    return FuzzedCall(
        call, tool.name, Due.REFUSE, "near_miss", value=read_strictly(compact(value)).value, broken=broken
    )


def _raw(choices: Choices, tool: ToolSchema) -> FuzzedCall:
    """A text of the families; one that holds an object is judged by the schema, as that object."""
    meant = attempt(tool.values.value, choices)
    text, family, reading, value = raw_text(choices, meant)
    due = {Reading.SAME: Due.ACCEPT, Reading.OTHER: Due.EITHER, Reading.BROKEN: Due.REFUSE}[reading]
    if reading is Reading.OTHER and value is not None:
        fits = tool.values.document.validator.is_valid(value)
        due = (Due.EITHER if read_strictly(text).refusable else Due.ACCEPT) if fits else Due.REFUSE
    return FuzzedCall(ScriptedCall(tool.name, text, None), tool.name, due, family, value=value)


def bad_name(choices: Choices, name: str, known: set[str]) -> tuple[str, str | None]:
    """How a name is wrong, and the name; never one of the known ones.

    Case, prefix and suffix are what a reader may see through; it is then the tool that was meant and no other.
    """
    tries: list[tuple[str, str | None]] = [
        ("unknown", choices.pick(_UNKNOWN)),
        ("case", name.swapcase()),
        ("prefix", choices.pick(_PREFIXES) + name),
        ("suffix", name + choices.pick(_SUFFIXES)),
        ("repeated", name + name),
        ("cut", name[:-1]),
        ("missing", None),
    ]
    family, wrong = choices.pick(tries)
    return ("unknown", "no_such_tool_" + name) if wrong in known else (family, wrong)


def bad_id(choices: Choices, first: str | None) -> tuple[str, str | None]:
    """How an id is wrong, and the id; ``first`` is that of the first call of the step, None for that call itself."""
    tries: list[tuple[str, str | None]] = [
        ("missing", None), ("empty", ""), ("long", "call_" + "x" * 200), ("odd", "a b\n"),
    ]  # fmt: skip
    return choices.pick(tries if first is None else [*tries[:2], ("twice", first), *tries[2:]])


def _with_bad_id(choices: Choices, made: FuzzedCall, calls: Sequence[FuzzedCall]) -> FuzzedCall:
    family, call_id = bad_id(choices, None if made is calls[0] else calls[0].call.id)
    return made._replace(call=made.call.__class__(made.call.name, made.call.arguments, call_id), id_family=family)
