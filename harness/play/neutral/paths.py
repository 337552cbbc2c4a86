"""Paths in the form that a tool wants: absolute, relative to the agent's folder, or as the script has them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import Any, Literal

from harness.play.neutral.folder import PLACEHOLDER
from harness.play.neutral.offered import OfferedTool, plain
from harness.play.player import CannotAnswerError

Form = Literal["absolute", "relative", "any"]

_NO_RELATIVE = re.compile(
    r"not (?:a )?relative|never relative|relative paths? (?:is|are) not|must start with ['\"`]?/", re.IGNORECASE
)
_NO_ABSOLUTE = re.compile(
    r"not (?:an )?absolute|never absolute|absolute paths? (?:is|are) not|no absolute", re.IGNORECASE
)
_RELATIVE = re.compile(r"\brelative\b", re.IGNORECASE)
_ABSOLUTE = re.compile(r"\babsolute\b", re.IGNORECASE)


def wanted_form(tool: OfferedTool, parameter: str, schema: Mapping[str, Any]) -> Form:
    """The form of path that a parameter asks for: by its own description, else by its name, else by the tool's."""
    by_name = "absolute" if "absolute" in plain(parameter) else ""
    for text in (str(schema.get("description") or ""), by_name, tool.description):
        form = _form(text)
        if form is not None:
            return form
    return "any"


def in_form(path: str, form: Form, folder: str | None) -> str:
    """The path in that form; raises CannotAnswerError where the folder would have to be known, or lies elsewhere."""
    if PLACEHOLDER in path or (form == "absolute" and not path.startswith("/")):
        if folder is None:
            why = "the tool wants an absolute path" if PLACEHOLDER not in path else f"{PLACEHOLDER} stands in it"
            raise CannotAnswerError(
                f"{path} cannot be put into a call: {why}, and the agent's folder is not known; --workspace DIR says it"
            )
        path = path.replace(PLACEHOLDER, folder)
    if form == "absolute":
        return path if path.startswith("/") else posixpath.join(folder or "", path)
    if form == "relative" and path.startswith("/"):
        return relative(path, folder)
    return path


def relative(path: str, folder: str | None) -> str:
    """An absolute path relative to the folder; raises CannotAnswerError where it is not beneath it."""
    if folder is not None:
        found = posixpath.relpath(path, folder)
        if found != ".." and not found.startswith("../"):
            return found
    raise CannotAnswerError(
        f"{path} cannot be put into a call: the tool wants a path in the agent's folder ({folder or 'not known'})"
    )


def _form(text: str) -> Form | None:
    if _NO_RELATIVE.search(text):
        return "absolute"
    if _NO_ABSOLUTE.search(text):
        return "relative"
    absolute, related = bool(_ABSOLUTE.search(text)), bool(_RELATIVE.search(text))
    if absolute and related:
        return "any"
    return "absolute" if absolute else "relative" if related else None
