"""What fuzzing an agent on the wire came to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from harness.files import write_text_atomically
from harness.fuzz.wire import WireFinding
from harness.judge.verdict import Verdict
from harness.report.counts import counted
from harness.report.text import one_line, visible

_LONGEST = 160


@dataclass(frozen=True)
class WireResult:
    """A run against an agent, and the scenarios in which its findings were saved; ``examples`` were played."""

    agent: str
    seed: int
    examples: int
    findings: Sequence[WireFinding]
    saved: Sequence[Path]
    interrupted: bool = False

    @property
    def verdict(self) -> Verdict:
        """FAIL with findings; INCONCLUSIVE where nothing was played; else PASS."""
        if self.findings:
            return Verdict.FAIL
        return Verdict.PASS if self.examples else Verdict.INCONCLUSIVE

    def document(self) -> dict[str, Any]:
        """As ``harness fuzz --json`` prints it."""
        return {
            "agent": self.agent,
            "seed": self.seed,
            "examples": self.examples,
            "interrupted": self.interrupted,
            "findings": [
                {
                    "checks": [{"name": check.name, "message": visible(check.message)} for check in finding.checks],
                    "first_example": finding.number,
                    "families": list(finding.families),
                    "calls": [
                        {"tool": call.tool, "arguments": visible(call.arguments)}
                        for turn in finding.example
                        for call in turn
                    ],
                    "scenario": path.as_posix(),
                }
                for finding, path in zip(self.findings, self.saved, strict=True)
            ],
            "verdict": self.verdict,
        }


def print_wire(result: WireResult, console: Console) -> None:
    """Print the findings, and a last line with verdict and counts."""
    for finding, path in zip(result.findings, result.saved, strict=True):
        console.print(Text(finding.cause, "bold red"), soft_wrap=True)
        for line in _lines(finding):
            console.print(Text(f"  {line}"), soft_wrap=True)
        console.print(Text(f"  first in example {finding.number}: {path}", "dim"), soft_wrap=True)
    style = {Verdict.PASS: "green", Verdict.FAIL: "bold red"}.get(result.verdict, "yellow")
    line = f"  {result.agent}: {counted(result.examples, 'example')}, {counted(len(result.findings), 'finding')}"
    console.print(Text.assemble((result.verdict, style), line), soft_wrap=True)


def write_wire(result: WireResult, folder: Path) -> Path:
    """Write ``report.md`` into the folder; its path."""
    lines = [f"# harness fuzz --agent {result.agent}", "", "| finding | by | scenario |", "|---|---|---|"]
    for finding, path in zip(result.findings, result.saved, strict=True):
        cells = [one_line(finding.cause), ", ".join(finding.families), f"`{path.as_posix()}`"]
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    path = folder / "report.md"
    write_text_atomically(path, "\n".join(lines) + "\n")
    return path


def _lines(finding: WireFinding) -> list[str]:
    told = [one_line(check.message) for check in finding.checks if check.message]
    return [*told, *(f"{call.tool}({one_line(call.arguments, _LONGEST)})" for turn in finding.example for call in turn)]
