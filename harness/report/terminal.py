"""Cases for a person at a terminal, and for a log that a terminal's output is piped to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.judge.verdict import Case, Check, Verdict, overall
from harness.report.checks import is_told, not_passed
from harness.report.counts import counted, counts_line, total_facts, verdict_counts
from harness.report.names import folder, labels
from harness.report.printing import print_line, printable
from harness.report.text import contrast, one_line

MANY_CASES = 40
CASES_IN_FULL = 20
CHECKS_SHOWN = 5
_VALUE_CHARACTERS = 400
_VALUE_LINES = 8
_DETAIL_LINES = 16
_STYLES = {Verdict.PASS: "green", Verdict.FAIL: "bold red", Verdict.INCONCLUSIVE: "yellow", Verdict.ERROR: "magenta"}
_VERDICT_CELLS = max(map(len, Verdict))


class _Row(NamedTuple):
    verdict: Verdict
    case: str
    what: str


def print_cases(cases: Sequence[Case], console: Console, *, quiet: bool = False) -> None:
    """Print a table of the cases, what did not pass in each that did not, and a last line with verdict and counts.

    With more than 40 cases, passing replays are one row a folder. ``quiet`` leaves the table out. The first 20 cases
    that did not pass are shown with up to 5 checks, the others with their first line. Where ``console``
    is no terminal, every row is one line however long, to be searched and cut.
    """
    names = labels(cases)
    if cases and not quiet:
        rows = _rows(cases, names)
        if console.is_terminal:
            console.print(_table(rows, console))
        else:
            _print_lines(rows, console)
        console.print()
    bad = [(case, name) for case, name in zip(cases, names, strict=True) if case.verdict is not Verdict.PASS]
    for case, name in bad[:CASES_IN_FULL]:
        _print_case(case, name, console)
    for case, name in bad[CASES_IN_FULL:]:
        print_line(console, _heading(case, name, one_line(case.first_line, 1000)))
    if len(bad) > CASES_IN_FULL:
        console.print()
    verdict = overall(cases)
    line = counts_line(verdict_counts(cases)) if cases else "nothing was collected"
    print_line(console, Text.assemble((verdict, _STYLES[verdict]), "  ", line))


def _rows(cases: Sequence[Case], names: Sequence[str]) -> list[_Row]:
    folded = _folded(cases) if len(cases) > MANY_CASES else {}
    rows: dict[str | int, _Row] = {}
    for number, (case, name) in enumerate(zip(cases, names, strict=True)):
        place = folder(case.path)
        if case.verdict is Verdict.PASS and case.kind == "replay" and place in folded:
            together = folded[place]
            what = ", ".join(filter(None, [f"{len(together):,} cases", total_facts(together)]))
            rows[place] = _Row(Verdict.PASS, one_line(place or ".").removesuffix("/") + "/", what)
        else:
            rows[number] = _Row(case.verdict, name, _what(case))
    return list(rows.values())


def _folded(cases: Sequence[Case]) -> dict[str, list[Case]]:
    """The passing replays of each folder that has more than one."""
    folders: defaultdict[str, list[Case]] = defaultdict(list)
    for case in cases:
        if case.verdict is Verdict.PASS and case.kind == "replay":
            folders[folder(case.path)].append(case)
    return {place: together for place, together in folders.items() if len(together) > 1}


def _what(case: Case) -> str:
    failed = len(not_passed(case))
    checks = f"{failed} of {counted(len(case.checks), 'check')} did not pass" if failed else None
    marks = one_line(str(case.facts.get("marks") or ""))
    return ", ".join(filter(None, [total_facts([case]), checks or counted(len(case.checks), "check"), marks]))


def _table(rows: Sequence[_Row], console: Console) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("verdict", no_wrap=True)
    table.add_column("case", overflow="fold")
    table.add_column("what", overflow="fold")
    for row in rows:
        cells = Text(row.verdict, _STYLES[row.verdict]), Text(row.case), Text(row.what)
        table.add_row(*(printable(cell, console) for cell in cells))
    return table


def _print_lines(rows: Sequence[_Row], console: Console) -> None:
    # One very long name must not push the last column out of everyone's sight.
    width = min(max(cell_len(row.case) for row in rows), 60)
    for row in rows:
        case = row.case + " " * (width - cell_len(row.case))
        line = f"{row.verdict:<{_VERDICT_CELLS}}  {case}  {row.what}"
        print_line(console, Text(line))


def _print_case(case: Case, name: str, console: Console) -> None:
    place = one_line(case.path) if case.path and case.path not in name else ""
    print_line(console, _heading(case, name, f"({place})" if place else ""))
    if case.first_line:
        print_line(console, Text(f"  {one_line(case.first_line, 1000)}"))
    if case.attribution is not None:
        print_line(console, Text(f"  attributed to: {case.attribution} ({one_line(case.evidence, 1000)})"))
    checks = not_passed(case)
    for check in checks[:CHECKS_SHOWN]:
        _print_check(check, case, console)
    if len(checks) > CHECKS_SHOWN:
        print_line(console, Text(f"  … {counted(len(checks) - CHECKS_SHOWN, 'more check')} did not pass"))
    if case.run_folder:
        print_line(console, Text(f"  run: {one_line(case.run_folder, 1000)}"))
    console.print()


def _print_check(check: Check, case: Case, console: Console) -> None:
    verdict = "" if check.verdict is case.verdict else f"{check.verdict} "
    told = is_told(check, case)
    message = "" if told or check.message == check.name else one_line(check.message, 1000)
    where = "" if told else one_line(check.where)
    line = f"  - {verdict}{one_line(check.name)}{f' (at {where})' if where else ''}{f': {message}' if message else ''}"
    print_line(console, Text(line))
    for detail in check.details.splitlines()[:_DETAIL_LINES]:
        print_line(console, Text(f"    {one_line(detail, _VALUE_CHARACTERS)}"))
    if check.expected or check.actual:
        expected, actual = contrast(check.expected, check.actual, _VALUE_CHARACTERS, _VALUE_LINES)
        for label, value in (("expected", expected), ("actual", actual)):
            indented = (value or "(nothing)").replace("\n", "\n" + " " * 14)
            print_line(console, Text(f"    {label + ':':<10}{indented}"))


def _heading(case: Case, name: str, rest: str) -> Text:
    return Text.assemble((case.verdict, _STYLES[case.verdict]), f"  {name}", f"  {rest}" if rest else "")
