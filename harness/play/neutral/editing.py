"""Editing a file as a call: old and new text, a list of edits, a patch, a whole new content, or a shell command."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from harness.play.neutral.actions import EditFile, RunCommand
from harness.play.neutral.call import Call, Offer
from harness.play.neutral.choosing import chosen, impossible
from harness.play.neutral.contents import content_after, patch_of
from harness.play.neutral.offered import (
    CONTENT,
    EDITS,
    EVERYWHERE,
    NEW,
    OLD,
    PATCH,
    PATH,
    OfferedTool,
    Schema,
    items_of,
    named,
    plain,
    properties_of,
)
from harness.play.neutral.paths import in_form, wanted_form
from harness.play.neutral.running import can_run, run_call
from harness.play.neutral.shell_edit import edit_command
from harness.play.player import CannotAnswerError

_KNOWN = (
    "edit", "editfile", "editor", "strreplace", "replace", "searchreplace", "replaceinfile", "replacestringinfile",
    "multiedit", "applypatch", "patch", "write", "writefile",
)  # fmt: skip

_Way = Callable[[EditFile, Offer], dict[str, Any]]


def edit_call(action: EditFile, offer: Offer) -> Call:
    """The call that edits a file, by the closest kind of tool; raises CannotAnswerError where there is none."""
    for kind in (_replacing, _listing, _patching):
        found = chosen(_ways(offer, kind), _KNOWN, str(action))
        if found is not None:
            tool, way = found
            return Call(tool, way(action, offer))
    if can_run(offer):
        path = in_form(action.path, "any", offer.folder)
        return run_call(RunCommand(edit_command(action, path)), offer)
    found = chosen(_ways(offer, _writing), _KNOWN, str(action))
    if found is None:
        raise impossible(str(action), offer.tools, "edits files")
    tool, way = found
    return Call(tool, way(action, offer))


def _ways(offer: Offer, kind: Callable[[OfferedTool], _Way | None]) -> list[tuple[OfferedTool, _Way]]:
    return [(tool, way) for tool in offer.tools if (way := kind(tool)) is not None]


def _replacing(tool: OfferedTool) -> _Way | None:
    """A path, an old and a new text."""
    path, old, new = tool.parameter(PATH), tool.parameter(OLD), tool.parameter(NEW)
    if path is None or old is None or new is None:
        return None
    verb = tool.verb("str_replace", "replace", "edit")
    everywhere = tool.parameter(EVERYWHERE, "boolean")

    def way(action: EditFile, offer: Offer) -> dict[str, Any]:
        told: dict[str, Any] = {} if verb is None else dict([verb])
        where = in_form(action.path, wanted_form(tool, path, tool.properties[path]), offer.folder)
        arguments = {**told, path: where, old: action.old, new: action.new}
        if not action.everywhere:
            return arguments
        if everywhere is None:
            raise CannotAnswerError(f"{action}: the tool {tool.name} cannot replace every place")
        return {**arguments, everywhere: True}

    return way


def _listing(tool: OfferedTool) -> _Way | None:
    """A path and a list of edits."""
    path, edits = tool.parameter(PATH), tool.parameter(EDITS, "array")
    pair = None if edits is None else _pair(tool, items_of(tool.properties[edits]))
    if path is None or edits is None or pair is None:
        return None
    old, new = pair

    def way(action: EditFile, offer: Offer) -> dict[str, Any]:
        if action.everywhere:
            raise CannotAnswerError(f"{action}: the tool {tool.name} cannot replace every place")
        where = in_form(action.path, wanted_form(tool, path, tool.properties[path]), offer.folder)
        return {path: where, edits: [{old: action.old, new: action.new}]}

    return way


def _pair(tool: OfferedTool, items: Schema) -> tuple[str, str] | None:
    """What an edit calls its old and its new text.

    MyCodeAgent declares its edits as strings and describes them as objects: what the description marks as code counts.
    """
    properties = properties_of(items)
    if not properties:
        properties = {name: {} for name in re.findall(r"`(\w+)`", tool.description) if plain(name) in OLD | NEW}
    old, new = named(properties, OLD), named(properties, NEW)
    return None if old is None or new is None else (old, new)


def _patching(tool: OfferedTool) -> _Way | None:
    """A patch between ``*** Begin Patch`` and ``*** End Patch``, as Codex introduced it."""
    patch = tool.parameter(PATCH)
    if patch is None or "patch" not in tool.words:
        return None
    return lambda action, offer: {patch: patch_of(action, offer.folder)}


def _writing(tool: OfferedTool) -> _Way | None:
    """A path and the whole new content."""
    path, content = tool.parameter(PATH), tool.parameter(CONTENT)
    if path is None or content is None or not tool.words & {"write", "create", "save"}:
        return None

    def way(action: EditFile, offer: Offer) -> dict[str, Any]:
        where = in_form(action.path, wanted_form(tool, path, tool.properties[path]), offer.folder)
        return {path: where, content: content_after(action, offer.folder)}

    return way
