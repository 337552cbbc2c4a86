"""How a suite of cases is judged, reported and turned to an exit code: what ``run`` and ``replay`` share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from harness.cli.output import print_json
from harness.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from harness.judge.baseline import Compared
    from harness.judge.collecting import Item
    from harness.judge.selection import Selection
    from harness.judge.suite import Judged, Outcome
    from harness.judge.verdict import Case
    from harness.report.sections import Section
    from harness.scenario.policy import ReplayPolicy

Document = Callable[[Sequence["Judged"], str], dict[str, object]]

INTERRUPTED = 130
"""The exit code of a run that the user interrupted, as a shell has it for a signal."""


@dataclass(frozen=True, kw_only=True)
class Judging:
    """How a command was asked to judge; see the options of the same names in `harness.cli.options`.

    ``document`` makes what ``--json`` prints, ``title`` heads the reports, ``paths`` are those that were searched.
    """

    title: str
    document: Document
    out: Path
    paths: Sequence[Path]
    policy: ReplayPolicy | None = None
    workers: int = 1
    resume: bool = False
    baseline: Path | None = None
    update_baseline: bool = False
    token_tolerance: float | None = None
    json: bool = False
    quiet: bool = False


def judge_items(items: Sequence[Item], selection: Selection, how: Judging) -> None:
    """Judge those of ``items`` that are selected, report them, and exit with the verdict's code.

    An interrupted run reports what there is, and exits with 130.
    """
    from rich.console import Console  # noqa: PLC0415

    from harness.judge.baseline import Baseline, Scope  # noqa: PLC0415
    from harness.judge.selection import selected  # noqa: PLC0415
    from harness.judge.verdict import exit_code, overall  # noqa: PLC0415

    if how.update_baseline and how.baseline is None:
        raise InputError("missing: where the baseline is", where="--update-baseline", hint="--baseline FILE")
    baseline = None if how.baseline is None else Baseline.load(how.baseline, new=how.update_baseline)
    console = Console(stderr=True)
    outcome = _judge(selected(items, selection), how, console)
    cases = outcome.cases
    if outcome.interrupted:
        from harness.judge.partial import unfinished_case  # noqa: PLC0415

        cases = [unfinished_case(outcome.collected), *cases]
    verdict = decisive = overall(cases)
    compared = None
    if baseline is not None and not outcome.interrupted:
        scope = Scope(how.paths, bool(selection))
        compared = baseline.compare(outcome.judged, scope, how.token_tolerance)
        decisive = compared.verdict
        if how.update_baseline:
            updated = baseline.updated(outcome.judged, scope)
            updated.save()
            decisive = updated.compare(outcome.judged, scope, how.token_tolerance).verdict
            _say(console, _accepted(len(baseline.entries), len(updated.entries), updated.path))
    _report(cases, compared, how, console, whole=not outcome.interrupted)
    if how.json:
        more = {} if compared is None else {"baseline": compared.document()}
        print_json(how.document(outcome.judged, verdict) | more)
    if outcome.interrupted:
        _say(console, f"harness: interrupted after {len(outcome.judged)} of {outcome.collected}; --resume goes on")
        raise typer.Exit(INTERRUPTED)
    raise typer.Exit(exit_code(decisive))


def list_items(items: Sequence[Item], selection: Selection, *, json: bool) -> None:
    """Say which cases are selected, and exit: with 125 where there are none."""
    from harness.judge.selection import listed  # noqa: PLC0415

    cases = [entry for entry in listed(items) if selection.takes(entry)]
    if json:
        print_json({"cases": [entry.document() for entry in cases]})
    else:
        from harness.report.text import one_line  # noqa: PLC0415

        for entry in cases:
            tags = f"  [{', '.join(entry.tags)}]" if entry.tags else ""
            problem = f"  ({entry.problem})" if entry.problem else ""
            typer.echo(f"{entry.item.kind:<8}  {one_line(f'{entry.item.path}  {entry.name}{tags}{problem}', 1000)}")
    raise typer.Exit(0 if cases else 125)


def _judge(items: Sequence[Item], how: Judging, console: Console) -> Outcome:
    from harness.judge.suite import judge_suite  # noqa: PLC0415
    from harness.report.progress import CaseProgress  # noqa: PLC0415

    with CaseProgress(console, len(items), quiet=how.quiet) as progress:
        outcome = judge_suite(
            items, how.out, how.policy, workers=how.workers, resume=how.resume, on_case=progress.advance
        )
    if outcome.resumed and not how.quiet:
        _say(console, f"{outcome.resumed} of {outcome.collected} cases are from the interrupted run")
    return outcome


def _report(cases: Sequence[Case], compared: Compared | None, how: Judging, console: Console, *, whole: bool) -> None:
    """Write the reports, print the cases, and tell GitHub where this is a step of a workflow."""
    from harness.report.baseline import baseline_section  # noqa: PLC0415
    from harness.report.files import write_reports  # noqa: PLC0415
    from harness.report.github import append_step_summary, case_annotations, checkout, in_github_actions, silenced  # noqa: PLC0415
    from harness.report.sections import print_section  # noqa: PLC0415
    from harness.report.terminal import print_cases  # noqa: PLC0415

    sections: list[Section] = [] if compared is None else [baseline_section(compared)]
    reports = write_reports(cases, how.out, how.title, sections, whole=whole)
    with silenced(_write_line, os.environ):
        for section in sections:
            print_section(section, console)
        print_cases(cases, console, quiet=how.quiet)
        _say(console, f"report: {reports['summary.md']}")
    if in_github_actions(os.environ):
        accepted = frozenset() if compared is None else compared.accepted
        for line in case_annotations(cases, checkout(os.environ), accepted):
            _write_line(line)
    append_step_summary(reports["summary.md"].read_text("utf-8"), os.environ)


def _accepted(before: int, after: int, path: Path) -> str:
    return f"baseline: {after} {'case' if after == 1 else 'cases'} written to {path} ({before} before)"


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def _write_line(line: str) -> None:
    sys.stderr.write(line.encode(sys.stderr.encoding, "backslashreplace").decode(sys.stderr.encoding) + "\n")
    sys.stderr.flush()
