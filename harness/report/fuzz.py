"""What a fuzz run came to: for a person at a terminal, as Markdown, and as one JSON document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from harness.files import write_text_atomically
from harness.fuzz.examples import Example
from harness.fuzz.findings import title_of
from harness.fuzz.parts import Finding, FuzzReport
from harness.judge.verdict import Verdict
from harness.report.counts import counted
from harness.report.fuzz_coverage import coverage_document, coverage_markdown, coverage_table
from harness.report.fuzz_summary import last_line, summary_line, verdict_of
from harness.report.printing import print_line
from harness.report.text import one_line, visible

_LONGEST = 160


@dataclass(frozen=True)
class FuzzResult:
    """A run of the fuzzer on a target, and the scenarios in which its findings were saved."""

    target: str
    seed: int
    report: FuzzReport
    saved: Sequence[Path]

    @property
    def verdict(self) -> Verdict:
        """See `verdict_of`."""
        return verdict_of(self.report)

    def document(self) -> dict[str, Any]:
        """As ``harness fuzz --json`` prints it; the same for the same seed and number of examples."""
        coverage = self.report.coverage
        return {
            "target": self.target,
            "seed": self.seed,
            "examples": coverage.examples,
            "calls": coverage.calls,
            "interrupted": self.report.interrupted,
            "findings": [
                self._finding(finding, path) for finding, path in zip(self.report.findings, self.saved, strict=True)
            ],
            "coverage": coverage_document(coverage.rows()),
            "programs_refused": dict(sorted(coverage.started.items())),
            "verdict": self.verdict,
        }

    @staticmethod
    def _finding(finding: Finding, path: Path) -> dict[str, Any]:
        return {
            "oracle": finding.breach.invariant,
            "what": visible(finding.breach.text),
            "rule": title_of(finding),
            "place": finding.breach.place,
            "first_example": finding.number,
            "times": finding.times,
            "families": list(finding.families),
            "calls": [
                {"tool": call.name, "arguments": None if call.arguments is None else visible(call.arguments)}
                for turn in finding.example.turns
                for call in turn.calls
            ],
            "scenario": path.as_posix(),
        }


def print_fuzz(result: FuzzResult, console: Console, *, quiet: bool = False) -> None:
    """Print coverage and findings, and a last line with verdict and counts."""
    if not quiet:
        console.print(coverage_table(result.report.coverage.rows()))
    for finding, path in zip(result.report.findings, result.saved, strict=True):
        print_line(console, Text(f"{finding.breach.invariant}: {one_line(finding.breach.text)}", "bold red"))
        for line in calls_of(finding.example):
            print_line(console, Text(f"  {line}"))
        seen = f"seen {finding.times} times, first in example {finding.number}"
        print_line(console, Text(f"  {seen}, by {', '.join(finding.families)}: {path}", "dim"))
    for program, times in sorted(result.report.coverage.started.items()):
        print_line(console, Text(f"not started: {one_line(program)} ({counted(times, 'time')})", "yellow"))
    print_line(console, last_line(result.report))


def calls_of(example: Example) -> list[str]:
    """The calls of an example, a line each."""
    return [
        f"{one_line(str(call.name))}({one_line(call.arguments or '', _LONGEST)})" + (" [cut]" if turn.cut else "")
        for turn in example.turns
        for call in turn.calls
    ]


def fuzz_markdown(result: FuzzResult) -> str:
    """The report as Markdown."""
    lines = [f"# harness fuzz {result.target}", "", summary_line(result.report, result.seed), ""]
    for finding, path in zip(result.report.findings, result.saved, strict=True):
        lines += [f"## {finding.breach.invariant}", "", f"{title_of(finding)} {_code(finding.breach.text)}", ""]
        lines += ["```text", *calls_of(finding.example), "```", ""]
        lines += [f"Seen {finding.times} times, by {', '.join(finding.families)}: `{path.as_posix()}`.", ""]
    lines += coverage_markdown(result.report.coverage.rows())
    return "\n".join(lines) + "\n"


def write_fuzz(result: FuzzResult, folder: Path) -> Path:
    """Write ``report.md`` into the folder; its path."""
    path = folder / "report.md"
    write_text_atomically(path, fuzz_markdown(result))
    return path


def _code(text: str) -> str:
    return "`" + one_line(text).replace("`", "'") + "`"
