"""A summary in GitHub-flavoured Markdown: for a job summary, a pull request, or a reader of files."""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness.judge.verdict import Case, Check, Verdict, overall
from harness.report.checks import is_told, not_passed
from harness.report.counts import (
    CALLS,
    STEPS,
    count_fact,
    counted,
    counts_line,
    total_facts,
    verdict_counts,
)
from harness.report.frames import cases_frame
from harness.report.names import labels
from harness.report.text import contrast, one_line, shortened, visible

_VALUE_CHARACTERS = 2_000
_VALUE_LINES = 60
_CHECKS = 20
# GitHub refuses a job summary above 1 MiB as a whole, so the details end before that.
_DETAIL_BYTES = 600_000
_ORDER = (Verdict.FAIL, Verdict.ERROR, Verdict.INCONCLUSIVE, Verdict.PASS)
_ACTIVE = re.compile(r"[\\`*\[\]|~$]|#(?=#*$)|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_BLOCK_START = re.compile(r"^(\d*)([-#+=:.)])")
_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def summary(cases: Sequence[Case], title: str, more: Sequence[str] = ()) -> str:
    """A headline with the verdict and the counts, a table of all cases, and a section for each that did not pass.

    The table puts what did not pass first. Texts are escaped, so that none of them can end a table cell, open a
    code block or become HTML; long ones are shortened and say by how much. ``more`` are parts in Markdown between the
    table and the sections. Ends with a newline.
    """
    names = labels(cases)
    parts = [f"# {inline(title) or 'Report'}", _headline(cases)]
    if cases:
        parts.append(_table(cases, names))
    parts += more
    parts += _details(cases, names)
    return "\n\n".join(parts) + "\n"


def _headline(cases: Sequence[Case]) -> str:
    verdict = overall(cases)
    if not cases:
        return f"**{verdict}** nothing was collected"
    counts = verdict_counts(cases)
    passed, rest = counts_line(counts).split(" ", 1)
    line = f"**{verdict}** {passed} of {len(cases)} {rest}"
    totals = total_facts(cases)
    return f"{line} ({totals})" if totals else line


def _table(cases: Sequence[Case], names: Sequence[str]) -> str:
    frame = cases_frame(cases)
    shown = frame[["verdict", "kind", "first_line"]].assign(
        case=[_escaped(name) for name in names],
        steps=[_number(case, STEPS) for case in cases],
        calls=[_number(case, CALLS) for case in cases],
        note=[inline(case.first_line or str(case.facts.get("marks") or "")) for case in cases],
        kind=frame["kind"].map(inline),
    )
    rank = {str(verdict): position for position, verdict in enumerate(_ORDER)}
    shown = shown.sort_values("verdict", key=lambda column: column.map(rank), kind="stable")
    rows = shown[["verdict", "kind", "case", "steps", "calls", "note"]].itertuples(index=False, name=None)
    head = ["| verdict | kind | case | steps | calls | note |", "|---|---|---|--:|--:|---|"]
    return "\n".join([*head, *(f"| {' | '.join(row)} |" for row in rows)])


def _details(cases: Sequence[Case], names: Sequence[str]) -> list[str]:
    bad = [(case, name) for case, name in zip(cases, names, strict=True) if case.verdict is not Verdict.PASS]
    sections: list[str] = []
    size = 0
    for case, name in bad:
        section = _section(case, name)
        size += len(section.encode())
        if size > _DETAIL_BYTES:
            left_out = counted(len(bad) - len(sections), "more case")
            return [*sections, f"The details of {left_out} that did not pass are left out here."]
        sections.append(section)
    return sections


def _section(case: Case, name: str) -> str:
    parts = [f"## {case.verdict}: {_escaped(name)}"]
    if one_line(case.path):
        parts.append(f"File: {code(case.path)}")
    if one_line(case.description):
        parts.append(_block(shortened(case.description, _VALUE_CHARACTERS)))
    if one_line(case.first_line):
        parts.append(f"**{inline(case.first_line)}**")
    if case.attribution is not None:
        parts.append(f"Attributed to: {case.attribution} ({inline(case.evidence, 500)})")
    checks = not_passed(case)
    for check in checks[:_CHECKS]:
        parts += _check(check, case)
    if len(checks) > _CHECKS:
        parts.append(f"{counted(len(checks) - _CHECKS, 'more check')} did not pass.")
    if one_line(case.run_folder):
        parts.append(f"Run: {code(case.run_folder)}")
    return "\n\n".join(parts)


def _check(check: Check, case: Case) -> list[str]:
    where = f", at {code(check.where)}" if one_line(check.where) else ""
    parts = [f"{check.verdict} {inline(check.name)}{where}"]
    if one_line(check.message) and check.message != check.name and not is_told(check, case):
        parts.append(_block(shortened(check.message, _VALUE_CHARACTERS)))
    if check.details:
        parts.append(_fenced("Details", contrast(check.details, "", _VALUE_CHARACTERS, _VALUE_LINES)[0]))
    if check.expected or check.actual:
        expected, actual = contrast(check.expected, check.actual, _VALUE_CHARACTERS, _VALUE_LINES)
        parts += [_fenced("Expected", expected), _fenced("Actual", actual)]
    return parts


def _number(case: Case, keys: tuple[str, ...]) -> str:
    number = count_fact(case, keys)
    return "" if number is None else f"{number:,}"


def inline(text: str, limit: int = 200) -> str:
    """Text for a table cell, a heading or a line, shortened to ``limit`` characters."""
    return _escaped(one_line(text, limit))


def _block(text: str) -> str:
    """Text as one paragraph, its lines kept; blank lines would begin another, and indented ones code."""
    lines = [line.strip() for line in visible(text).split("\n") if line.strip()]
    return "<br>\n".join(_BLOCK_START.sub(r"\1\\\2", _escaped(line)) for line in lines)


def _escaped(text: str) -> str:
    return _ACTIVE.sub(r"\\\g<0>", text).translate(_HTML)


def code(text: str) -> str:
    """Text as a code span, whatever backticks it holds."""
    content = one_line(text)
    ticks = _fence_for(content, 1)
    # The spaces keep a backtick at either end off the fence; Markdown takes one away on each side.
    return f"{ticks} {content} {ticks}" if "`" in content else f"{ticks}{content}{ticks}"


def _fenced(label: str, content: str) -> str:
    if not content:
        return f"{label}: (nothing)"
    fence = _fence_for(content, 3)
    return f"{label}:\n\n{fence}text\n{content}\n{fence}"


def _fence_for(content: str, least: int) -> str:
    return "`" * max([least, *(len(run) + 1 for run in re.findall("`+", content))])
