"""Reading a file as a call."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any

from harness.play.neutral.actions import ReadFile, RunCommand
from harness.play.neutral.call import Call, Offer
from harness.play.neutral.choosing import chosen, impossible
from harness.play.neutral.offered import PATH, PATHS, OfferedTool, allows, items_of, named, properties_of
from harness.play.neutral.paths import in_form, wanted_form
from harness.play.neutral.running import can_run, run_call

_KNOWN = ("read", "readfile", "readfiles", "readtextfile", "view", "viewfile", "openfile", "cat")
_WORDS = frozenset({"read", "view", "cat", "open"})

_Way = Callable[[str, str | None], dict[str, Any]]


def read_call(action: ReadFile, offer: Offer) -> Call:
    """The call that reads a file; raises CannotAnswerError where no tool does, or several unknown ones would."""
    ways = [(tool, way) for tool in offer.tools if (way := _way(tool)) is not None]
    found = chosen(ways, _KNOWN, str(action))
    if found is not None:
        tool, way = found
        return Call(tool, way(action.path, offer.folder))
    if can_run(offer):
        return run_call(RunCommand(f"cat {shlex.quote(in_form(action.path, 'any', offer.folder))}"), offer)
    raise impossible(str(action), offer.tools, "reads files")


def _way(tool: OfferedTool) -> _Way | None:
    verb = tool.verb("view", "read")
    one = tool.parameter(PATH)
    if one is not None and (verb is not None or tool.words & _WORDS):
        form = wanted_form(tool, one, tool.properties[one])
        told = {} if verb is None else dict([verb])
        return lambda path, folder: {**told, one: in_form(path, form, folder)}
    several = tool.parameter(PATHS, "array")
    return _several(tool, several) if several is not None and tool.words & _WORDS else None


def _several(tool: OfferedTool, parameter: str) -> _Way | None:
    """A list of paths, or of objects that have one."""
    items = items_of(tool.properties[parameter])
    inner = named(properties_of(items), PATH)
    if inner is not None:
        form = wanted_form(tool, inner, properties_of(items)[inner])
        return lambda path, folder: {parameter: [{inner: in_form(path, form, folder)}]}
    if allows(items, "string"):
        form = wanted_form(tool, parameter, tool.properties[parameter])
        return lambda path, folder: {parameter: [in_form(path, form, folder)]}
    return None
