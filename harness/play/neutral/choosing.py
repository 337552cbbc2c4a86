"""The one tool that fits: by a known name, else because no other does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from harness.play.neutral.offered import OfferedTool
from harness.play.player import CannotAnswerError

Way = TypeVar("Way")


def chosen(ways: Sequence[tuple[OfferedTool, Way]], known: Sequence[str], what: str) -> tuple[OfferedTool, Way] | None:
    """The way of the tool whose plain name comes first in ``known``, else the only one, else None.

    Raises CannotAnswerError where several tools of other names would do: to take one would be a guess.
    """
    for name in known:
        for tool, way in ways:
            if tool.plain_name == name:
                return tool, way
    if len(ways) > 1:
        names = ", ".join(tool.name for tool, _ in ways)
        raise CannotAnswerError(f"{what}: several tools would do ({names}); write the call under `calls:`")
    return ways[0] if ways else None


def impossible(what: str, tools: Sequence[OfferedTool], wanted: str) -> CannotAnswerError:
    """The error for an action that no offered tool can do."""
    names = ", ".join(tool.name for tool in tools) or "none"
    return CannotAnswerError(f"{what}: no tool of the request {wanted} (it offers {names})")
