"""Whether the agent left the conversation as it was from one request to the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from harness.judge.conversation_rules import Finding, conversation_findings
from harness.judge.verdict import Check, Verdict
from harness.trace.run import Run
from harness.wire.rules import CODES


def conversation(run: Run, off: frozenset[str], strict: frozenset[str]) -> list[Check]:
    """A check for each finding: violations fail, and so do the notes that are ``strict``; other notes pass.

    There is none where all rules of the protocol are ``off``.
    """
    if off >= CODES:
        return []
    return [_check(found, strict) for found in conversation_findings(run) if found.kind not in off]


def noted(checks: Iterable[Check]) -> str:
    """What every output says of a run with notes: how many there are of each kind; empty where there are none."""
    kinds = Counter(check.name.removeprefix(_NOTE) for check in checks if check.name.startswith(_NOTE))
    return ", ".join(f"{kind} ({count})" if count > 1 else kind for kind, count in sorted(kinds.items()))


_NOTE = "note: "


def _check(found: Finding, strict: frozenset[str]) -> Check:
    if found.violation or found.kind in strict:
        return Check(f"protocol: {found.kind}", Verdict.FAIL, f"{found.kind}: {found.message}", where=found.where)
    return Check(f"{_NOTE}{found.kind}", Verdict.PASS, found.message, where=found.where)
