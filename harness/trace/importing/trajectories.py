"""The formats of trajectories by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from harness.errors import InputError
from harness.trace.importing.messages import read_messages
from harness.trace.importing.openhands import read_openhands
from harness.trace.importing.swe_agent import read_swe_agent
from harness.trace.importing.tau2_bench import read_tau2_bench
from harness.trace.importing.tau_bench import read_tau_bench
from harness.trace.run import Run

_READERS: dict[str, Callable[[Path, str | None], Iterator[Run]]] = {
    "tau-bench": read_tau_bench,
    "tau2-bench": read_tau2_bench,
    "swe-agent": read_swe_agent,
    "openhands": read_openhands,
    "messages": read_messages,
}

KINDS = tuple(_READERS)


def read_trajectories(kind: str, source: Path, model: str | None = None) -> Iterator[Run]:
    """The runs of a file or folder, one a trial, each with its `Trial`.

    ``model`` names the model where the source does not, and renames it where the format's reader says so. Raises
    InputError for an unknown kind, and for a source that cannot be read or is something else.
    """
    if kind not in _READERS:
        raise InputError(f"{kind!r} is no kind of trajectory", where="--from", hint=f"one of {', '.join(KINDS)}")
    return _READERS[kind](source, model)
