"""A call of an offered tool, ready to be sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.play.neutral.offered import OfferedTool


@dataclass(frozen=True, slots=True)
class Call:
    """A tool and its arguments, before what else the tool requires is filled in."""

    tool: OfferedTool
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Offer:
    """What a request offers: its tools, and the agent's folder where it is known (absolute, as the agent names it)."""

    tools: tuple[OfferedTool, ...]
    folder: str | None = None
