"""Faulty executors and tool sets, each with the bug report it imitates and a sound twin."""

from __future__ import annotations

from typing import NamedTuple

_SOUND = "tools:sound"


class Fault(NamedTuple):
    """A fault: the name of its factory, what it is, the oracles that may see it, its twin.

    ``kept`` marks faults that need state, order or concurrency to show; ``without`` names oracles that are of no
    concern, because the tools themselves are odd on purpose.
    """

    factory: str
    what: str
    oracles: tuple[str, ...]
    twin: str = _SOUND
    kept: bool = False
    without: tuple[str, ...] = ()

    @property
    def report(self) -> str:
        """The bug report, or the statement of a seed."""
        return self.factory.partition(":")[2][:3].upper()

    @property
    def target(self) -> str:
        return f"tests.fuzz.faulty.{self.factory}"

    @property
    def sound(self) -> str:
        return f"tests.fuzz.faulty.{self.twin}"


_FILES = "worlds:files_sound"
_CIRCUITS = "worlds:circuits_sound"

FAULTS = (
    Fault("arguments:b01", "no arguments are no JSON", ("accepts_valid",)),
    Fault("arguments:b02", "what is no object crashes", ("no_exception",)),
    Fault("arguments:b03", "decoded twice", ("refuses_broken",)),
    Fault("arguments:b05", "contents that are JSON are decoded", ("accepts_valid", "same_arguments")),
    Fault("arguments:b08", "}{ is mended first", ("same_arguments", "refuses_broken", "accepts_valid")),
    Fault("arguments:b09", "a parse failure becomes {}", ("refuses_broken",)),
    Fault("arguments:b11", "Python literals are taken", ("refuses_broken",)),
    Fault("arguments:b13", "pairs become halves", ("same_arguments",)),
    Fault("arguments:b14", "cut texts are closed", ("refuses_broken",)),
    Fault("arguments:b18", "Infinity and NaN are taken", ("refuses_broken", "no_exception")),
    Fault("arguments:b20", "integers are rounded", ("same_arguments",)),
    Fault("arguments:b24", "an unknown name stops the program", ("no_exception",)),
    Fault("arguments:b27", "another case goes past the gates", ("refuses_broken", "permission")),
    Fault("arguments:x02", "the last of two keys wins", ("refuses_broken",)),
    Fault("steps:a13", "results are kept by id", ("one_answer", "accepts_valid", "own_answer"), kept=True),
    Fault("steps:a39", "ids come from names", ("one_answer",), kept=True),
    Fault("steps:d05", "errors are answered without an id", ("one_answer",)),
    Fault(
        "steps:d06", "a cancelled tool ends the step", ("no_exception",), "steps:d06_sound", without=("tool_returns",)
    ),
    Fault("steps:d06_lock", "a failure keeps its lock", ("ends",), kept=True),
    Fault("steps:d10", "what failed runs again", ("runs_once",)),
    Fault("steps:d11", "results are paired as they come", ("own_answer",), kept=True),
    Fault("steps:d11_defaults", "a call inherits parameters", ("same_arguments",), kept=True),
    Fault("steps:d12", "a failure cancels its siblings", ("accepts_valid",), kept=True),
    Fault("steps:p05", "everything runs side by side", ("apart",), kept=True),
    Fault("worlds:e01", "a touched file is a conflict", ("file_versions",), _FILES, kept=True),
    Fault("worlds:e03", "an own edit is a conflict", ("file_versions",), _FILES, kept=True),
    Fault("worlds:e14", "a change of the same size is none", ("file_versions",), _FILES, kept=True),
    Fault("worlds:f07", "results without a budget", ("budget",)),
    Fault("worlds:f09", "cut inside a character", ("tool_returns",), "worlds:f09_sound"),
    Fault("worlds:g04", "bad arguments open the circuit", ("circuit",), _CIRCUITS, kept=True),
    Fault("worlds:g05", "denials open the circuit", ("circuit",), _CIRCUITS, kept=True),
    Fault("worlds:g05_scope", "one circuit for all tools", ("circuit",), _CIRCUITS, kept=True),
    Fault("worlds:g13", "a path is inside by its prefix", ("contained",), "worlds:g13_sound"),
)
