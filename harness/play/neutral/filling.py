"""What a tool demands beside what the action says: a description of the call, flags, a folder.

Only values that change nothing are filled in; a parameter that would need a guess is an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.play.neutral.offered import FOLDER, OfferedTool, Schema, allows, plain
from harness.play.player import CannotAnswerError

SAID = "scripted step"
"""What stands where a tool wants the call explained."""

_EXPLAINING = frozenset(
    {"description", "reason", "explanation", "purpose", "justification", "thought", "summary", "intent"}
)
_NAMED: Mapping[str, object] = {"securityrisk": "LOW", "shouldreadentirefile": True, "expectedreplacements": 1}
"""Parameters with one value that fits: OpenHands' rating of a call, Cursor's whole file, Gemini's and Qwen's count."""


def filled(tool: OfferedTool, arguments: Mapping[str, Any], folder: str | None) -> dict[str, Any]:
    """The arguments with every parameter the tool requires; raises CannotAnswerError naming one that has no value."""
    missing = [name for name in tool.required if name not in arguments]
    return {**arguments, **{name: _value(tool, name, folder) for name in missing}}


def _value(tool: OfferedTool, name: str, folder: str | None) -> object:
    schema: Schema = tool.properties.get(name, {})
    if "default" in schema:
        return schema["default"]
    if "const" in schema:
        return schema["const"]
    choices = schema.get("enum")
    known = _NAMED.get(plain(name))
    if known is not None and (choices is None or (isinstance(choices, list) and known in choices)):
        return known
    if isinstance(choices, list) and len(choices) == 1:
        return choices[0]
    if "type" in schema or "anyOf" in schema or "oneOf" in schema:
        if allows(schema, "null"):
            return None
        if choices is None and allows(schema, "boolean"):
            return False
        if choices is None and allows(schema, "string"):
            if plain(name) in _EXPLAINING:
                return SAID
            if plain(name) in FOLDER:
                return folder or "."
    raise CannotAnswerError(
        f"the tool {tool.name} requires {name!r}, and the script says nothing of it: write the call under `calls:`"
    )
