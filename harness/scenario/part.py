"""What every part of a scenario file is: known keys only, never changed once read."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Part(BaseModel):
    """A mapping of the scenario file, with its keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)
