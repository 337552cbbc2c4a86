"""A cassette or a scenario as the players of a server, made anew for each session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness.cassette.cassette import Cassette
from harness.cassette.dialects import load_cassette
from harness.cassette.drift import DriftClass
from harness.errors import InputError
from harness.play.cassette_player import CassettePlayer
from harness.play.faulty_player import FaultyPlayer
from harness.play.models import ModelsPlayer, models_of
from harness.play.script import ScriptPlayer
from harness.play.sessions import MakePlayer, SessionPlayer
from harness.play.strict_player import StrictPlayer
from harness.scenario.format import Scenario, load_scenario
from harness.scenario.matrix import demand_single
from harness.scenario.turns import script_turn
from harness.wire.faults import Fault


@dataclass(frozen=True)
class ServingPolicy:
    """How a file is played.

    ``present`` are the agent's folders by name, ``workspace`` and ``home``, where they are not the recorded ones, whose
    place they take.
    ``models`` is what ``/v1/models`` answers instead of the player's own list. ``faults`` are injected, with ``seed``,
    into every session, after those that a scenario names.
    """

    allow_drift: frozenset[DriftClass] = frozenset()
    present: Mapping[str, str] = field(default_factory=dict)
    models: Sequence[Mapping[str, Any]] | None = None
    faults: Sequence[Fault] = ()
    seed: int = 0


def players_of_cassette(path: Path, policy: ServingPolicy) -> MakePlayer:
    """A maker of players for a cassette; raises InputError where it cannot be read."""
    make = _from_cassette(load_cassette(path), policy)
    return lambda session_id: _disturbed(make(session_id), policy.faults, policy.seed)


def players_of_scenario(path: Path, policy: ServingPolicy) -> MakePlayer:
    """A maker of players for a scenario's cassette, or else its script.

    A script is played without the scenario's workspace: raises InputError for a turn before which something shall
    happen to it.
    """
    scenario = load_scenario(path)
    demand_single(scenario)
    if scenario.player.live:
        raise InputError("player.live: a live model is not served", where=str(path), hint="name its URL to the agent")
    if scenario.events:
        raise InputError("events: a served scenario has no workspace to change", where=str(path))
    if (cassette := scenario.cassette) is not None:
        make = _from_cassette(load_cassette(cassette), policy)
    else:
        make = _from_script(scenario, policy)
    faults = (*scenario.player.faults, *policy.faults)
    return lambda session_id: _disturbed(make(session_id), faults, policy.seed, strict=scenario.player.strict)


def _from_cassette(cassette: Cassette, policy: ServingPolicy) -> MakePlayer:
    return lambda _: played(cassette, policy)[1]


def played(cassette: Cassette, policy: ServingPolicy) -> tuple[CassettePlayer, SessionPlayer]:
    """A cassette's player, and the same for a session, where it also lists models and says what became of it."""
    listed = policy.models if policy.models is not None else models_of(cassette)
    name = cassette.path.name
    # Without them the recorded folders would be known in the recording and be mere text in the requests.
    recorded = {"workspace": cassette.workspace, "home": cassette.home}
    present = {key: folder for key, folder in recorded.items() if folder} | dict(policy.present)

    player = CassettePlayer(cassette, present, allow_drift=policy.allow_drift)

    def unused() -> list[str]:
        return [f"exchange {exchange.index} of {name}" for exchange in player.unused]

    def marks() -> list[str]:
        classes = sorted({drift.kind for _, drift in player.drifted})
        drifted = [f"drift allowed in {', '.join(classes)}: the model was not asked again"] if classes else []
        count = len(player.rewritten)
        return drifted + ([f"{count} answers rewritten for the session's folders"] if count else [])

    inner = player if listed is None else ModelsPlayer(player, listed)
    return player, SessionPlayer(inner, unused, marks, lambda: list(cassette.notes))


def _from_script(scenario: Scenario, policy: ServingPolicy) -> MakePlayer:
    script = scenario.player.script or []
    for number, turn in enumerate(script):
        if turn.before:
            raise InputError(
                f"player.script[{number}].before: a served script has no workspace to change", where=str(scenario.path)
            )
    repeated = [turn for turn in script for _ in range(turn.repeat)]
    turns = [script_turn(turn, number, policy.present.get("workspace")) for number, turn in enumerate(repeated)]
    listed = policy.models if policy.models is not None else scenario.player.models

    def make(_: str) -> SessionPlayer:
        player = ScriptPlayer(turns, side=scenario.player.side)

        def unused() -> list[str]:
            return [f"turn {number + 1} of the script" for number in range(player.played, len(turns))]

        def marks() -> list[str]:
            count = player.asked_beside
            return [f"answered beside the script, requests without tools: {count}"] if count else []

        return SessionPlayer(ModelsPlayer(player, listed), unused, marks, cannot=lambda: player.cannot)

    return make


def _disturbed(made: SessionPlayer, faults: Sequence[Fault], seed: int, *, strict: bool = False) -> SessionPlayer:
    """The player behind what stands in front of it: a strict server's rules, then faults."""
    upstream = StrictPlayer(made.player) if strict else made.player
    if not faults:
        return replace(made, player=upstream)
    faulty = FaultyPlayer(upstream, faults, seed)

    def marks() -> list[str]:
        return made.marks() + [incident.text for incident in list(faulty.incidents)]

    def notes() -> list[str]:
        return made.notes() + [f"the fault {fault.text} never took effect" for fault in faulty.idle]

    return replace(made, player=faulty, marks=marks, notes=notes)
