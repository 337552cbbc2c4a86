"""What is behind each row of the page: a case's checks and its run, as much of it as the page has room for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from harness.errors import InputError
from harness.judge.verdict import Case, Check, Verdict
from harness.measure.spending import spending_of
from harness.report.html.texts import Texts
from harness.report.html.timeline import run_document
from harness.report.run_frames import RunFrames, RunOfCase
from harness.trace.folder import load_run

LIMITS = (16_000, 8_000, 4_000, 2_000, 1_000, 500, 250, 120)
"""Characters shown of a text, the most first: the first of them with which everything fits is taken."""


@dataclass(frozen=True, slots=True)
class Behind:
    """The data of all rows, in the order of the cases; ``limit`` is how much of a text is shown.

    ``left_out`` are the cases whose run had no room.
    """

    data: bytes
    limit: int
    left_out: tuple[int, ...]


def behind_rows(cases: Sequence[Case], frames: RunFrames, room: int) -> Behind:
    """The data of all cases in at most some ``room`` bytes of JSON; rows of every run go to ``frames``.

    What did not pass is taken first. Where texts cut to the smallest limit are still too much, runs are left out.
    """
    texts = Texts(LIMITS[-1])
    documents: dict[int, dict[str, Any]] = {}
    left_out: list[int] = []
    used = 0
    for number in sorted(range(len(cases)), key=lambda number: cases[number].verdict is Verdict.PASS):
        document = _checks_document(cases[number], texts)
        mark = texts.mark()
        run = _run(cases[number], number, frames, texts)
        size = len(orjson.dumps(run))
        if used + size + texts.least_size > room:
            texts.back_to(mark)
            left_out.append(number)
            run, size = {"left_out": "to keep this page small"}, 0
        used += size
        documents[number] = document | run
    ordered = [documents[number] for number in range(len(cases))]
    rest = len(orjson.dumps(ordered))
    for limit in LIMITS:
        shown = texts.document(limit)
        data = orjson.dumps(shown)
        if len(data) + rest <= room or limit == LIMITS[-1]:
            break
    return Behind(orjson.dumps({"texts": shown, "cases": ordered}), limit, tuple(sorted(left_out)))


def _run(case: Case, number: int, frames: RunFrames, texts: Texts) -> dict[str, Any]:
    if not case.run_folder:
        return {}
    try:
        run = load_run(Path(case.run_folder))
    except InputError as error:
        return {"left_out": f"it cannot be read: {error.what}"}
    spending = spending_of(run)
    frames.add(RunOfCase(number, run, spending))
    # Only the end of the path: the page is the same wherever its folder stands.
    return {"run": run_document(run, spending, texts), "folder": "/".join(Path(case.run_folder).parts[-2:])}


def _checks_document(case: Case, texts: Texts) -> dict[str, Any]:
    document: dict[str, Any] = {"checks": [_check(check, texts) for check in case.checks]}
    if case.description:
        document["about"] = texts.add(case.description)
    if case.attribution is not None:
        document["whose"] = texts.add(f"Attributed to: {case.attribution} ({case.evidence})")
    return document


def _check(check: Check, texts: Texts) -> dict[str, Any]:
    document: dict[str, Any] = {"name": texts.add(check.name), "verdict": check.verdict}
    # What a passed check expected is in the scenario already.
    keys = ("where",) if check.verdict is Verdict.PASS else ("where", "message", "expected", "actual", "details")
    return document | {key: texts.add(value) for key in keys if (value := getattr(check, key))}
