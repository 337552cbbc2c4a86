"""What a fuzz run came to in a word and in counts, whether tools were fuzzed or an agent."""

from __future__ import annotations

from rich.text import Text

from harness.fuzz.parts import FuzzReport
from harness.fuzz.wire import WireReport
from harness.judge.verdict import Verdict
from harness.report.counts import counted

AnyReport = FuzzReport | WireReport


def verdict_of(report: AnyReport) -> Verdict:
    """FAIL with findings; INCONCLUSIVE where nothing was called; else PASS."""
    if report.findings:
        return Verdict.FAIL
    return Verdict.PASS if report.coverage.calls else Verdict.INCONCLUSIVE


def last_line(report: AnyReport, whose: str = "") -> Text:
    """The verdict and the counts for a terminal; ``whose`` they are stands in front of the counts."""
    verdict, coverage = verdict_of(report), report.coverage
    style = {Verdict.PASS: "green", Verdict.FAIL: "bold red"}.get(verdict, "yellow")
    found = counted(len(report.findings), "finding")
    line = f"  {whose}{counted(coverage.examples, 'example')}, {counted(coverage.calls, 'call')}: {found}"
    return Text.assemble((verdict, style), line + (" before it was interrupted" if report.interrupted else ""))


def summary_line(report: AnyReport, seed: int) -> str:
    """The verdict and the counts for Markdown."""
    coverage = report.coverage
    counts = (coverage.examples, "example"), (coverage.calls, "call"), (len(report.findings), "finding")
    return f"**{verdict_of(report)}**: {', '.join(counted(count, what) for count, what in counts)} (seed {seed})."
