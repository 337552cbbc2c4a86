"""Whether every request that went out is one that a strict server takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.judge.verdict import Check, Verdict
from harness.wire.rules import CODES, check_request


def protocol(requests: Sequence[Mapping[str, Any]], off: frozenset[str]) -> list[Check]:
    """A check for each breach, or one that passes; none where all rules are ``off``.

    A history is sent again with each request, so a breach is told where it comes first.
    """
    if off == CODES:
        return []
    breaches: dict[tuple[str, str, str], Check] = {}
    for number, request in enumerate(requests):
        for breach in check_request(request):
            key = (breach.code, breach.path, breach.why)
            if breach.code not in off and key not in breaches:
                where, because = f"request {number + 1} {breach.path}", f"{breach.code}: {breach.why}"
                breaches[key] = Check(f"protocol: {breach.code}", Verdict.FAIL, because, where=where)
    return list(breaches.values()) or [Check("protocol", Verdict.PASS, actual=f"{len(requests)} requests")]


def protocol_mark(off: frozenset[str]) -> str:
    """What every output says of a run whose requests were not held to all rules; empty where they were."""
    if not off:
        return ""
    return f"protocol rules off: {'all' if off == CODES else ', '.join(sorted(off))}"
