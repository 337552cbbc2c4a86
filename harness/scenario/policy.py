"""What a run does where its requests and its cassette part, and what goes wrong in it on purpose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from harness.cassette.drift import DriftClass
from harness.errors import InputError
from harness.wire.faults import Fault

OnMiss = Literal["stop", "script", "live"]


@dataclass(frozen=True)
class ReplayPolicy:
    """``allow_drift`` names the classes in which requests may differ from the recorded ones; every output is marked.

    ``on_miss`` says who answers after a divergence: nobody, the scenario's script, or the live model at the endpoint
    of the agent's model. Nothing is mixed silently: such a run never passes. ``faults`` are injected after those of
    the scenario; ``seed`` chooses where they leave something open. ``agent`` is the preset that runs in the place of
    the scenario's agent, ``agent_bin`` its program where the user names it.
    """

    allow_drift: frozenset[DriftClass] = frozenset()
    on_miss: OnMiss = "stop"
    endpoints: Mapping[str, str] = field(default_factory=dict)
    api_key: str = "none"
    faults: tuple[Fault, ...] = ()
    seed: int = 0
    agent: str | None = None
    agent_bin: str | None = None

    @classmethod
    def parse(
        cls, allow_drift: str, on_miss: str, endpoints: Mapping[str, str] | None = None, api_key: str = "none"
    ) -> ReplayPolicy:
        """From the words of a command line; raises InputError for a class or a policy that there is not."""
        classes: dict[str, DriftClass] = {name: name for name in get_args(DriftClass)}
        named = [name.strip() for name in allow_drift.split(",") if name.strip()]
        for name in named:
            if name not in classes:
                raise InputError(f"no class {name!r}; the classes are {', '.join(classes)}", where="--allow-drift")
        policies: dict[str, OnMiss] = {name: name for name in get_args(OnMiss)}
        if on_miss not in policies:
            raise InputError(f"no policy {on_miss!r}; the policies are {', '.join(policies)}", where="--on-miss")
        return cls(frozenset(classes[name] for name in named), policies[on_miss], dict(endpoints or {}), api_key)
