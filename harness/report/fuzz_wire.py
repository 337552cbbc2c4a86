"""What fuzzing an agent on the wire came to: for a person at a terminal, as Markdown, and as one JSON document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from harness.files import write_text_atomically
from harness.fuzz.examples import Example
from harness.fuzz.wire import WireFinding, WireReport
from harness.judge.verdict import Verdict
from harness.report.fuzz_coverage import coverage_document, coverage_markdown, coverage_table
from harness.report.fuzz_summary import last_line, summary_line, verdict_of
from harness.report.printing import print_line
from harness.report.text import one_line, visible

_LONGEST = 160


@dataclass(frozen=True)
class WireResult:
    """A run against an agent, and the scenarios in which its findings were saved."""

    agent: str
    seed: int
    report: WireReport
    saved: Sequence[Path]

    @property
    def verdict(self) -> Verdict:
        """See `verdict_of`."""
        return verdict_of(self.report)

    def document(self) -> dict[str, Any]:
        """As ``harness fuzz --json`` prints it."""
        coverage = self.report.coverage
        return {
            "agent": self.agent,
            "seed": self.seed,
            "examples": coverage.examples,
            "calls": coverage.calls,
            "interrupted": self.report.interrupted,
            "findings": [
                {
                    "cause": finding.cause,
                    "what": visible(finding.why),
                    "checks": [{"name": check.name, "message": visible(check.message)} for check in finding.checks],
                    "first_example": finding.number,
                    "again": finding.again,
                    "families": list(finding.families),
                    "turns": [
                        {
                            "calls": [
                                {
                                    "tool": call.name,
                                    "id": call.id,
                                    "arguments": None if call.arguments is None else visible(call.arguments),
                                }
                                for call in turn.calls
                            ],
                            **({"fault": turn.fault} if turn.fault else {}),
                        }
                        for turn in finding.example.turns
                    ],
                    "scenario": path.as_posix(),
                }
                for finding, path in zip(self.report.findings, self.saved, strict=True)
            ],
            "coverage": coverage_document(coverage.rows()),
            "verdict": self.verdict,
        }


def print_wire(result: WireResult, console: Console, *, quiet: bool = False) -> None:
    """Print coverage and findings, and a last line with verdict and counts."""
    if not quiet:
        console.print(coverage_table([row for row in result.report.coverage.rows() if row.tried]))
    for finding, path in zip(result.report.findings, result.saved, strict=True):
        print_line(console, Text(f"{finding.cause}: {one_line(finding.why)}", "bold red"))
        for line in _calls(finding.example):
            print_line(console, Text(f"  {line}"))
        print_line(console, Text(f"  {_seen(finding)}: {path}", "dim"))
    print_line(console, last_line(result.report, f"{result.agent}: "))


def wire_markdown(result: WireResult) -> str:
    """The report as Markdown."""
    lines = [f"# harness fuzz --agent {result.agent}", "", summary_line(result.report, result.seed), ""]
    for finding, path in zip(result.report.findings, result.saved, strict=True):
        lines += [f"## {finding.cause}", "", one_line(finding.why), ""]
        lines += ["```text", *_calls(finding.example), "```", "", f"{_seen(finding)}: `{path.as_posix()}`.", ""]
    return "\n".join([*lines, *coverage_markdown(result.report.coverage.rows())]) + "\n"


def write_wire(result: WireResult, folder: Path) -> Path:
    """Write ``report.md`` into the folder; its path."""
    path = folder / "report.md"
    write_text_atomically(path, wire_markdown(result))
    return path


def _seen(finding: WireFinding) -> str:
    seen = f"first in example {finding.number}, by {', '.join(finding.families)}"
    return seen if finding.again else f"{seen}; not when it was played again"


def _calls(example: Example) -> Iterator[str]:
    """The calls of an example, a line each, faults behind those of their answer."""
    for turn in example.turns:
        for call in turn.calls:
            call_id = "" if call.id_family == "fresh" else f" [id {call.id!r}]"
            yield f"{one_line(str(call.name))}({one_line(call.arguments or '', _LONGEST)}){one_line(call_id)}"
        if turn.fault:
            yield f"[fault {turn.fault}]"
