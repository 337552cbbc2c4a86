"""What came of a scenario."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.cassette.drift import Drift
from harness.cassette.scrubbing import Scrubber
from harness.pipeline.loop import LoopResult
from harness.scenario.agents.agent import AgentEnd
from harness.scenario.format import Scenario
from harness.scenario.tool_watch import Facts, SeenStep
from harness.trace.run import Run


@dataclass(frozen=True, slots=True)
class Served:
    """What is known of an agent that asked over the server, beside its run.

    ``end`` is how it ended, None where it could not be started: ``unavailable`` says why. ``asked`` counts its
    requests, ``refused`` those beyond ``max_requests``. ``failure`` says why the player could not answer,
    ``unreadable`` what chat requests are that are no JSON object. ``timeout_s`` is how long the agent might take.
    """

    end: AgentEnd | None
    asked: int = 0
    refused: int = 0
    max_requests: int = 0
    timeout_s: float = 0.0
    failure: str = ""
    unavailable: str = ""
    unreadable: tuple[str, ...] = ()


@dataclass(slots=True)
class ScenarioRun:
    """What came of a scenario.

    ``files_before`` and ``files_after`` are the workspace's bytes by path. ``miss`` explains a request that nothing
    answered. ``unused`` says what the player was not asked for, ``drift`` by exchange what was allowed to differ,
    ``diverged`` who answered after a miss (empty where nobody did). ``root`` is the folder, gone by now; ``aliases``
    are the names by which other things of this machine are saved. ``scrubber`` has scrubbed the exchanges and gives the
    rest of the run the same placeholders. ``faults`` are those injected, ``idle_faults`` those of them that changed
    nothing. ``result`` is the built-in pipeline's, ``served`` any other agent's. ``seen`` is what was seen of a
    pipeline under test from outside, ``pipeline_facts`` what it says of itself; without one they are empty and None.
    """

    scenario: Scenario
    run: Run
    result: LoopResult | None
    requests: list[dict[str, object]]
    files_before: dict[str, bytes]
    files_after: dict[str, bytes]
    root: str
    miss: str | None = None
    unused: list[str] = field(default_factory=list)
    drift: list[tuple[int, Drift]] = field(default_factory=list)
    diverged: str = ""
    scrubber: Scrubber = field(default_factory=Scrubber)
    faults: list[str] = field(default_factory=list)
    idle_faults: list[str] = field(default_factory=list)
    served: Served | None = None
    aliases: Mapping[str, str] = field(default_factory=dict)
    seen: list[SeenStep] = field(default_factory=list)
    pipeline_facts: Facts | None = None
