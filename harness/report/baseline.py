"""A run against its baseline, for people."""

from __future__ import annotations

from collections import Counter

from harness.judge.baseline import Change, Compared
from harness.report.sections import Section

_ROWS = 200


def baseline_section(compared: Compared) -> Section:
    """What has changed, the gravest first; without changes only a line that says so."""
    section = Section("Against the baseline", ("change", "case", "was", "now"), left=4)
    section.rows = [(changed.change, changed.case, changed.was, changed.now) for changed in compared.changes]
    section.notes = [baseline_line(compared)]
    return section.first(_ROWS)


def baseline_line(compared: Compared) -> str:
    """Such as ``PASS: 1 fixed, 2 still failing (against baseline.json)``."""
    counts = Counter(changed.change for changed in compared.changes)
    told = ", ".join(f"{counts[change]} {change}" for change in Change if counts[change]) or "nothing has changed"
    return f"{compared.verdict}: {told} (against {compared.path})"
