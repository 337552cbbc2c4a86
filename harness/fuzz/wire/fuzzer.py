"""The fuzzer of an agent: example after example, each cause of a failure kept once and made small."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count

from harness.fuzz.examples import Example, MadeCall
from harness.fuzz.interrupts import Interrupts
from harness.fuzz.oracles import user_oracles
from harness.fuzz.shrinking import shrunk
from harness.fuzz.wire.agent import WireAgent, WireOutcome, cause_of
from harness.fuzz.wire.coverage import WireCoverage, fault_kind
from harness.fuzz.wire.examples import WireMaker
from harness.fuzz.wire.scenarios import TIMEOUT_S, WireRules
from harness.judge.verdict import Check
from harness.scenario.expectations import CHANGES
from harness.wire.rules import CODES

DEFAULT_EXAMPLES = 20
MOST_TRIES = 40
"""How often an agent is started to make one finding small."""

ENDS = (
    "outcome", "exit_code", "timeout_s", "max_requests", "every request answered", "nothing unused", "the agent's end",
    "an agent asked", "the player",
)  # fmt: skip
"""The checks of how a run came to its end; one bad end fails several of them."""

WIRE_ORACLES = (*ENDS, *sorted(CODES | CHANGES))
"""What can be left out by name: the checks of an agent's end, and the rules of the protocol."""

_PROTOCOL = "protocol: "
_LONGEST_WHY = 300


@dataclass(frozen=True)
class WireSpec:
    """What to do: how many ``examples``, or for how many ``seconds``; so many ``workers`` play side by side.

    ``own`` are functions of the user that are given the whole run (``ScenarioRun``), as under ``expect.python``;
    ``without`` are the protocol's rules and the checks that do not count. ``texts`` makes every call one with a raw
    text. An agent that takes longer than ``timeout_s`` seconds has not ended.
    """

    seed: int = 0
    examples: int | None = DEFAULT_EXAMPLES
    seconds: float | None = None
    own: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    texts: bool = False
    timeout_s: float = TIMEOUT_S
    workers: int = 1

    @property
    def rules(self) -> WireRules:
        """What is asked of every example."""
        return WireRules(self.timeout_s, self.own, [name for name in self.without if name in CODES | CHANGES])


@dataclass(frozen=True)
class WireFinding:
    """What an agent did wrong, by the smallest example that shows it; ``number`` is the example that did so first.

    ``checks`` are all its failures there, those of ``cause`` first. ``again`` says whether the example failed in the
    same way when it was played once more; else it may be a matter of timing.
    """

    number: int
    cause: str
    checks: tuple[Check, ...]
    example: Example
    again: bool = True

    @property
    def why(self) -> str:
        """What went wrong, in a line."""
        told = (check.message for check in self.checks if cause_of(check) == self.cause)
        return next((message.splitlines()[0] for message in told if message), self.cause)[:_LONGEST_WHY]

    @property
    def families(self) -> tuple[str, ...]:
        """The kinds of input that are left."""
        calls = [call for turn in self.example.turns for call in turn.calls]
        faults = [f"fault {turn.fault}" for turn in self.example.turns if turn.fault]
        return tuple(dict.fromkeys([*map(_family, calls), *faults]))


@dataclass
class WireReport:
    """What came of a run; ``interrupted`` where it did not come to its end."""

    findings: list[WireFinding] = field(default_factory=list)
    coverage: WireCoverage = field(default_factory=WireCoverage)
    interrupted: bool = False


def fuzz_agent(
    agent: WireAgent,
    spec: WireSpec,
    *,
    keep: Callable[[WireFinding], None] = lambda _: None,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> WireReport:
    """Fuzz an agent; ``keep`` is given each finding as soon as it is small.

    Interrupted once, it ends what agents have begun and comes back with what it has; twice, at once. Raises InputError
    for an agent that cannot be fuzzed, see `WireAgent.offered`, and for an oracle that is not there.
    """
    user_oracles(spec.own)
    report = WireReport()
    with Interrupts() as interrupts:
        try:
            tools, streamed = agent.offered(spec.rules)
            maker = WireMaker(tools, spec.seed, streamed=streamed, texts=spec.texts)
            search = _Search(agent, spec, maker, interrupts)
            for number, example, outcome in _played(agent, spec, maker, interrupts):
                report.coverage.note(example, outcome)
                for finding in search.found(number, example, outcome):
                    report.findings.append(finding)
                    keep(finding)
                on_progress(number + 1, len(report.findings))
        except KeyboardInterrupt:
            report.interrupted = True
        report.interrupted = report.interrupted or bool(interrupts)
    return report


class _Search:
    """Tells new causes from those that are known, and makes their examples small."""

    def __init__(self, agent: WireAgent, spec: WireSpec, maker: WireMaker, interrupts: Interrupts) -> None:
        self._agent = agent
        self._interrupts = interrupts
        self._rules = spec.rules
        self._without = frozenset(spec.without)
        self._maker = maker
        self._guilty: dict[str, set[str]] = {}
        """By fault the kinds of input that are known to lead to it."""

    def found(self, number: int, example: Example, outcome: WireOutcome) -> Iterator[WireFinding]:
        for cause in outcome.causes:
            if self._is_off(cause):
                continue
            rest = self._unexplained(example, cause)
            if rest is None:
                continue
            finding = self._smallest(number, rest, cause, outcome)
            self._guilty.setdefault(_fault_of(cause), set()).update(self._kinds(finding.example))
            yield finding

    def _unexplained(self, example: Example, cause: str) -> Example | None:
        """What of the example fails without all that is known to; None where that explains it."""
        known = self._guilty.get(_fault_of(cause), set())
        if not known & set(self._kinds(example)):
            return example
        rest = self._without_kinds(example, known)
        if not rest.turns or cause not in self._play(rest).causes:
            return None
        return rest

    def _smallest(self, number: int, example: Example, cause: str, outcome: WireOutcome) -> WireFinding:
        last = outcome
        known = frozenset(self._guilty.get(_fault_of(cause), ()))

        def fails(candidate: Example) -> bool:
            nonlocal last
            # What is known to fail in the same way would take the place of what is not.
            if self._interrupts or known.intersection(self._kinds(candidate)):
                return False
            seen = self._play(candidate)
            if cause not in seen.causes:
                return False
            last = seen
            return True

        again = fails(example) or bool(self._interrupts)
        small = shrunk(example, fails, MOST_TRIES) if again else example
        first = last.failures(cause)
        rest = tuple(check for check in last.failed if check not in first and not self._is_off(cause_of(check)))
        return WireFinding(number, cause, first + rest, self._named(small), again)

    def _named(self, example: Example) -> Example:
        """With the families that are left: what was valid may be so no longer."""
        turns = tuple(
            turn._replace(
                calls=tuple(
                    call._replace(family="near_miss")
                    if call.family == "valid" and not self._maker.is_readable(call)
                    else call
                    for call in turn.calls
                )
            )
            for turn in example.turns
        )
        return example._replace(turns=turns)

    def _is_off(self, cause: str) -> bool:
        return cause.removeprefix(_PROTOCOL) in self._without

    def _play(self, example: Example) -> WireOutcome:
        return self._agent.play(example, self._rules)

    def _kinds(self, example: Example) -> Iterator[str]:
        """What may be to blame: for what fits the tool, for what does not the way in which it does not."""
        for turn in example.turns:
            for call in turn.calls:
                yield from self._kinds_of(call)
            if turn.fault:
                yield f"fault {fault_kind(turn.fault)}"

    def _kinds_of(self, call: MadeCall) -> list[str]:
        kinds = ["another name"] if call.name_family != "known" else []
        kinds += ["another id"] if call.id_family != "fresh" else []
        kinds += ["another text"] if not self._maker.is_readable(call) else []
        return kinds or [f"a call of {call.name}"]

    def _without_kinds(self, example: Example, kinds: set[str]) -> Example:
        turns = []
        for turn in example.turns:
            calls = tuple(call for call in turn.calls if kinds.isdisjoint(self._kinds_of(call)))
            if calls:
                turns.append(
                    turn._replace(calls=calls, fault="" if f"fault {fault_kind(turn.fault)}" in kinds else turn.fault)
                )
        return example._replace(turns=tuple(turns))


def _fault_of(cause: str) -> str:
    """Rules of the protocol are a fault each, and so are the user's oracles; the ways to end badly are one."""
    return "a bad end" if cause in ENDS else cause


def _family(call: MadeCall) -> str:
    if call.name_family != "known":
        return f"name {call.name_family}"
    return f"id {call.id_family}" if call.id_family != "fresh" else call.family


def _played(
    agent: WireAgent, spec: WireSpec, maker: WireMaker, interrupts: Interrupts
) -> Iterator[tuple[int, Example, WireOutcome]]:
    """The examples in their order, with what was seen of each; as many as workers at a time."""
    rules = spec.rules
    until = None if spec.seconds is None else time.monotonic() + spec.seconds
    numbers = iter(range(spec.examples)) if spec.examples is not None else count()

    def due() -> Iterator[tuple[int, Example]]:
        for number in numbers:
            if interrupts or (until is not None and time.monotonic() > until):
                return
            yield number, maker.example(number)

    if spec.workers <= 1:
        for number, example in due():
            yield number, example, agent.play(example, rules)
        return
    waiting: deque[tuple[int, Example, Future[WireOutcome]]] = deque()
    with ThreadPoolExecutor(spec.workers, "harness-wire") as pool:
        try:
            for number, example in due():
                waiting.append((number, example, pool.submit(agent.play, example, rules)))
                if len(waiting) > spec.workers:
                    first, played, future = waiting.popleft()
                    yield first, played, future.result()
            while waiting:
                first, played, future = waiting.popleft()
                yield first, played, future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
