"""What a case was made from, as a short text: from an interrupted run only cases made from the same are taken over."""

from __future__ import annotations

import hashlib
import json

from harness import __version__
from harness.judge.collecting import Item
from harness.scenario.format import Scenario
from harness.scenario.policy import ReplayPolicy


def fingerprint(item: Item, policy: ReplayPolicy, scenario: Scenario | None = None) -> str:
    """A digest of the item's file, the cassettes that its scenario names, the options, and this program's version.

    The code of an agent and files that it reads are not part of it. A file that cannot be read counts as missing.
    """
    options = [
        __version__,
        item.kind,
        item.variant,
        sorted(policy.allow_drift),
        policy.on_miss,
        sorted(policy.endpoints.items()),
        [fault.text for fault in policy.faults],
        policy.seed,
        policy.agent,
    ]
    digest = hashlib.sha256(json.dumps(options).encode())
    for path in (item.path, *(() if scenario is None else scenario.cassettes)):
        try:
            content = path.read_bytes()
        except OSError:
            content = b""
        digest.update(hashlib.sha256(content).digest())
    return digest.hexdigest()[:16]
