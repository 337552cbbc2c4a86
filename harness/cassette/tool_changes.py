"""How one tools array differs from another: tools added, removed, reordered, or which field of which tool changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.cassette.differences import Difference, first_difference


@dataclass(frozen=True, slots=True)
class ToolChange(Difference):
    """A `Difference` within the tools, with its cause in words."""

    why: str = ""


def tool_change(old: object, new: object, key: str) -> ToolChange | None:
    """The first change between two arrays of definitions, None where one of the two is no array.

    ``key`` is the array's name in the body (``tools``, or the older ``functions``).
    """
    if not isinstance(old, Sequence) or not isinstance(new, Sequence) or isinstance(old, str) or isinstance(new, str):
        return None
    before, after = [_name(tool) for tool in old], [_name(tool) for tool in new]
    gone = [name for name in before if name not in after]
    added = [name for name in after if name not in before]
    if gone or added:
        said = [*(f"the tool {name} is gone" for name in gone), *(f"the tool {name} is new" for name in added)]
        place = before.index(gone[0]) if gone else after.index(added[0])
        return ToolChange(f"$.{key}[{place}]", ", ".join(before), ", ".join(after), "; ".join(said[:4]))
    if before != after:
        place = next((n for n, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]), 0)
        return ToolChange(f"$.{key}[{place}]", ", ".join(before), ", ".join(after), "the order of the tools changed")
    for number, (one, other) in enumerate(zip(old, new, strict=True)):
        difference = first_difference(one, other, f"$.{key}[{number}]")
        if difference is not None:
            why = f"the {_field(difference.path)} of the tool {before[number]} changed"
            return ToolChange(difference.path, difference.old, difference.new, why)
    return None


def _field(path: str) -> str:
    """The changed field as a person names it: ``description``, ``parameter city``, ``parameters``."""
    inner = path.partition("]")[2].removeprefix(".function").removeprefix(".")
    steps = inner.split(".")
    if steps[:2] == ["parameters", "properties"] and len(steps) > 2:
        about = " ".join(steps[3:4])
        return f"{about} of the parameter {steps[2]}".removeprefix(" of the ")
    return steps[0] or "definition"


def _name(tool: Any) -> str:
    function = tool.get("function") if isinstance(tool, Mapping) else None
    holder = function if isinstance(function, Mapping) else tool
    return str(holder.get("name")) if isinstance(holder, Mapping) else repr(tool)
