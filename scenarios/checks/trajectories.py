"""Functions that trajectories.yaml names as checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.scenario.outcome import ScenarioRun


def only_python(arguments: Mapping[str, Any]) -> bool:
    """Whether a call stays with Python files."""
    return str(arguments["path"]).endswith(".py")


def reads_before_it_edits(outcome: ScenarioRun) -> str | None:
    """Why the run is wrong: a file was edited that had not been read; None where all is well."""
    read = set()
    for step in outcome.run.lanes[0].steps:
        for call in step.calls:
            if call.name == "Edit" and "app.py" not in read:
                return f"step {step.index + 1} edits before it reads"
            if call.name == "Read":
                read.add("app.py")
    return None
