"""Findings made small where a try may hold the interpreter or end its process: each try is played in a child."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.errors import HarnessError
from harness.fuzz.examples import Example
from harness.fuzz.fuzzer import FEWER_TRIES, FuzzSpec, Session, cause_of, made_small
from harness.fuzz.hangs import smallest_hang
from harness.fuzz.parts import Finding
from harness.fuzz.shrinking import MOST_TRIES, shrunk
from harness.fuzz.targets import TargetName, load_target
from harness.judge.invariants import Breach
from harness.scenario.children import Channel, Child, Children, Ended

_GRACE_S = 0.2
_TRY_S = 5.0
_MOST_LOST = 24
"""Children that may be lost for one finding."""

_AT_HAND = 2


@dataclass(frozen=True, slots=True)
class Loaded:
    """A child has loaded its target."""


class TriesEndedError(HarnessError):
    """No more tries: somebody has interrupted, or no child can be had any more."""


def endless(ended: Ended) -> Breach:
    """The breach of an example that the end of a child left unanswered; those of one place are one cause."""
    return Breach("ends", 0, None, "" if ended.overdue_s is not None else ended.how, ended.why)


class Tries:
    """Plays what may be smaller examples of findings: in a child that stays while tries end, with a spare one ready."""

    def __init__(
        self, children: Children, name: TargetName, spec: FuzzSpec, folder: Path, stopped: Callable[[], bool]
    ) -> None:
        self._children = children
        self._work = name, spec, folder
        self._stopped = stopped
        self._waiting: list[Child] = []
        self._loaded: set[Child] = set()
        self._lost = 0

    def smallest(self, finding: Finding) -> Finding:
        """The finding with the smallest example found; where tries end early, with the smallest so far."""
        self._lost = 0
        oracle = finding.breach.invariant
        last = finding.example, finding.breach

        def fails(candidate: Example, seconds: float = _TRY_S) -> bool:
            nonlocal last
            if self._lost >= _MOST_LOST:
                return False
            breach = self._shows(finding, candidate, seconds)
            if breach is None:
                return False
            last = candidate, breach
            return True

        try:
            if oracle == "ends" and not finding.breach.place:
                # A quick try tells little of them, so what was reached when tries end is of no use.
                return made_small(finding, smallest_hang(finding.example, fails, finding.hang_s), finding.breach)
            shrunk(finding.example, fails, FEWER_TRIES.get(oracle, MOST_TRIES))
        except TriesEndedError:
            if oracle == "ends" and not finding.breach.place:
                return finding
        return made_small(finding, *last)

    def _shows(self, finding: Finding, candidate: Example, seconds: float) -> Breach | None:
        child = self._ready()
        child.send((finding, candidate, seconds))
        while True:
            if self._stopped():
                raise TriesEndedError("interrupted")
            said = self._children.next(_GRACE_S)
            if said is None or said[0] not in self._waiting:
                continue  # workers that are over end now
            sender, message = said
            if isinstance(message, Loaded):
                self._loaded.add(sender)
            elif isinstance(message, Ended):
                if sender is not child or child not in self._loaded:
                    raise TriesEndedError("a process ended while it loaded the target")
                self._waiting.remove(child)
                self._lost += 1
                breach = endless(message)
                return breach if cause_of(breach) == cause_of(finding.breach) else None
            else:
                return message if isinstance(message, Breach) else None

    def _ready(self) -> Child:
        """The child whose turn it is, and another one on its way."""
        while len(self._waiting) < _AT_HAND:
            self._waiting.append(self._children.start(_try, *self._work))
        return self._waiting[0]


def _try(channel: Channel, name: TargetName, spec: FuzzSpec, folder: Path) -> None:
    session = Session(load_target(name), spec, folder=folder, pulse=channel.pulse)
    channel.send(Loaded())
    while True:
        finding, candidate, seconds = channel.receive()
        channel.send(session.shows(finding, candidate, seconds))
