"""A player behind which things go wrong: the same faults for a transport, a server and a scenario."""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.play.player import Player
from harness.wire.exchange import Ending, Exchange, Request, Response
from harness.wire.faults import Fault, rng_of


@dataclass(frozen=True, slots=True)
class Incident:
    """A fault that took effect: at which answer, counted from 1, which fault, and what it did."""

    answer: int
    fault: Fault
    what: str

    @property
    def text(self) -> str:
        """The incident on one line."""
        return f"fault {self.fault.text} at answer {self.answer}: {self.what}"


class FaultyPlayer:
    """Answers as ``player`` does, with ``faults`` applied in order to what it gets and gives; safe under threads.

    Only chat requests are counted and touched. Where a fault kept an answer from arriving whole, the same request is
    answered from what ``player`` said the first time: to ask again is not to go on, and a recording holds each answer
    once. ``incidents`` lists what took effect, `idle` the faults that never did: a run in which nothing went wrong
    says nothing about faults.
    """

    def __init__(self, player: Player, faults: Sequence[Fault], seed: int = 0) -> None:
        self._player = player
        self.faults = tuple(faults)
        self._seed = seed
        self._lock = threading.Lock()
        self._asked = 0
        self._owed: dict[bytes, Response] = {}
        self.incidents: list[Incident] = []

    @property
    def idle(self) -> tuple[Fault, ...]:
        """The faults that have changed nothing."""
        with self._lock:
            seen = {id(incident.fault) for incident in self.incidents}
        return tuple(fault for fault in self.faults if id(fault) not in seen)

    def add(self, fault: Fault) -> None:
        """Have a further fault, whose ``at`` counts from the next answer; without ``at`` it is that one's."""
        with self._lock:
            if fault.at == "all":
                times = fault.times if fault.times is not None else sys.maxsize
                due = replace(fault, at=self._asked + 1, times=times)
            else:
                due = replace(fault, at=self._asked + (fault.at or 1))
            self.faults = (*self.faults, due)

    def answer(self, request: Request) -> Response:
        """The player's answer after the faults due; raises what the player raises."""
        if not request.is_chat:
            return self._player.answer(request)
        with self._lock:
            self._asked += 1
            number = self._asked
        due = [(position, fault) for position, fault in enumerate(self.faults) if fault.happens_at(number)]
        for place, (_, fault) in enumerate(due):
            if (instead := fault.instead()) is not None:
                self._note(number, fault, instead.what)
                return self._after(instead.response, number, due[place + 1 :])
        if not due and not self._owed:
            return self._player.answer(request)
        passed = request
        for _, fault in due:
            passed, what = fault.mangle(passed)
            self._note(number, fault, what)
        key = hashlib.sha256(request.path.encode() + b"\0" + request.body).digest()
        with self._lock:
            owed = self._owed.pop(key, None)
        given = owed if owed is not None else self._player.answer(passed)
        answer = self._after(given, number, due)
        if answer is not given and _arrives(Exchange(request, given)) and not _arrives(Exchange(request, answer)):
            with self._lock:
                self._owed[key] = given
        return answer

    def _after(self, response: Response, number: int, due: Sequence[tuple[int, Fault]]) -> Response:
        for position, fault in due:
            response, what = fault.apply(response, rng_of(self._seed, number, position))
            self._note(number, fault, what)
        return response

    def _note(self, number: int, fault: Fault, what: str) -> None:
        if what:
            with self._lock:
                self.incidents.append(Incident(number, fault, what))


def _arrives(exchange: Exchange) -> bool:
    """Whether a reader gets a turn out of the answer that it can take."""
    if exchange.response.ending is not Ending.WHOLE:
        return False
    try:
        return exchange.turn().status in ("complete", "truncated")
    except ValueError:
        return False
