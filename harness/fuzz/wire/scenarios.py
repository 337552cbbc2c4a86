"""Examples for an agent as scenarios: played to find what is wrong, saved to keep it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.files import write_text_atomically
from harness.fuzz.examples import Example, MadeCall, Turn
from harness.fuzz.wire.examples import arrives_whole
from harness.scenario.functions import named_from, path_from
from harness.scenario.yaml_text import OneLine, to_yaml

if TYPE_CHECKING:
    from harness.fuzz.wire.fuzzer import WireFinding

TIMEOUT_S = 60.0
MOST_REQUESTS = 30
_FILES = {"a.txt": "alpha\n", "b.txt": "beta\n"}
_LARGEST_EXIT_CODE = 127
"""Codes above are those of signals: the process has crashed."""


@dataclass(frozen=True)
class WireRules:
    """What is asked of every example: how long it may take, the user's ``own`` oracles, the rules that do not count."""

    timeout_s: float = TIMEOUT_S
    own: Sequence[str] = ()
    without: Sequence[str] = ()


def agent_part(agent: str, folder: Path) -> dict[str, Any]:
    """The agent as a scenario in ``folder`` names it: a preset, a preset's file, or a Python function."""
    if ":" in agent:
        return {"python": named_from(agent, folder)}
    if agent.endswith(".toml"):
        return {"preset": path_from(agent, folder)}
    return {"preset": agent}


def document_of(agent: str, example: Example, rules: WireRules, folder: Path) -> dict[str, Any]:
    """The example as the document of a scenario that stands in ``folder``.

    After an answer that did not arrive an agent may ask again, or give up with an error, which is an end as well; but
    it may not crash.
    """
    player: dict[str, Any] = {"script": [*map(_turn, example.turns), {"finish": "done"}]}
    expect: dict[str, Any] = {"exit_code": 0}
    faults = [_fault(turn.fault, number) for number, turn in enumerate(example.turns, 1) if turn.fault]
    if faults:
        player = {"faults": faults, **player}
    if not arrives_whole(example):
        expect = {
            "outcome": ["answered", "error"],
            "partial": True,
            "exit_code": OneLine(min=0, max=_LARGEST_EXIT_CODE),
        }
    if rules.without:
        expect["protocol"] = {"without": list(rules.without)}
    if rules.own:
        expect["python"] = [named_from(name, folder) for name in rules.own]
    return {
        "tags": ["regression", "fuzz"],
        "workspace": {"files": dict(_FILES)},
        "agent": {**agent_part(agent, folder), "timeout_s": rules.timeout_s, "max_requests": MOST_REQUESTS},
        "prompt": "Go on.",
        "player": player,
        "expect": expect,
    }


def save_wire(finding: WireFinding, agent: str, rules: WireRules, folder: Path) -> Path:
    """Save the finding as a scenario; what is there already stays."""
    signature = repr((finding.cause, finding.example.turns))
    digest = hashlib.blake2b(signature.encode("utf-8", "replace"), digest_size=4).hexdigest()
    path = folder / f"{_slug(Path(agent).stem if agent.endswith('.toml') else agent)}-{digest}.yaml"
    if not path.exists():
        description = {"description": f"Found by the fuzzer: {finding.why}"}
        write_text_atomically(path, to_yaml(description | document_of(agent, finding.example, rules, folder)))
    return path


def _turn(turn: Turn) -> dict[str, Any]:
    ids_matter = any(call.id_family == "twice" for call in turn.calls)
    return {"calls": [_call(call, with_id=ids_matter or call.id_family != "fresh") for call in turn.calls]}


def _call(call: MadeCall, *, with_id: bool) -> dict[str, Any]:
    """The call; an id that is as good as any other is left to the script."""
    entry: dict[str, Any] = {"tool": call.name, "arguments": call.arguments}
    return OneLine(entry | {"id": call.id} if with_id else entry)


def _fault(fault: str, number: int) -> str:
    return f"{fault}{',' if '=' in fault else ':'}at={number}"


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower()[-60:]
