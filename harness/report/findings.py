"""What ``harness check`` found, for a person at a terminal and for a log."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.cassette.linting import Finding, Severity
from harness.judge.lint import Checked
from harness.judge.verdict import Verdict
from harness.report.counts import counted
from harness.report.printing import print_line
from harness.report.text import one_line

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow"}
_VERDICT_STYLES = {Verdict.PASS: "green", Verdict.FAIL: "bold red"}


def print_findings(checked: Checked, console: Console, *, quiet: bool = False) -> None:
    """Print the findings of each file, errors first, and a last line with verdict and counts.

    ``quiet`` leaves the warnings out. Where ``console`` is no terminal every finding is one line, to be searched and
    cut.
    """
    shown = [finding for finding in checked.findings if not quiet or finding.severity is Severity.ERROR]
    files: dict[str, list[Finding]] = {}
    for finding in sorted(shown, key=lambda one: one.severity is not Severity.ERROR):
        files.setdefault(finding.file, []).append(finding)
    for file, findings in sorted(files.items()):
        if console.is_terminal:
            _print_table(file, findings, console)
        else:
            for finding in findings:
                line = (
                    f"{finding.severity:<7}  {one_line(file)}  {_place(finding)}  {_what(finding)}  ({_todo(finding)})"
                )
                print_line(console, Text(line))
    looked = [counted(checked.cassettes, "cassette"), counted(checked.exchanges, "exchange")]
    if checked.scenarios:
        looked.insert(0, counted(checked.scenarios, "scenario"))
    found = ", ".join([counted(checked.count(severity), severity.value) for severity in Severity])
    verdict = checked.verdict
    line = f"{', '.join(looked)}: {found}" if verdict is not Verdict.INCONCLUSIVE else "nothing was collected"
    print_line(console, Text.assemble((verdict, _VERDICT_STYLES.get(verdict, "yellow")), "  ", line))


def _print_table(file: str, findings: list[Finding], console: Console) -> None:
    print_line(console, Text(one_line(file), "bold"))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold", max_width=max(console.width // 3, 20))
    table.add_column(overflow="fold")
    for finding in findings:
        what = Text.assemble(_what(finding), "\n", (_todo(finding), "dim"))
        table.add_row(Text(finding.severity, _STYLES[finding.severity]), Text(_place(finding)), what)
    console.print(table)
    console.print()


def _place(finding: Finding) -> str:
    exchange = "" if finding.exchange is None else f"exchange {finding.exchange}"
    return " ".join(filter(None, [exchange, one_line(finding.path)])) or "file"


def _what(finding: Finding) -> str:
    return f"{finding.code}: {one_line(finding.what, 500)}"


def _todo(finding: Finding) -> str:
    return one_line(finding.todo, 500)
