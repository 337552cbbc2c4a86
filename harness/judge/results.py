"""Judged cases on disk: ``results.jsonl`` beside the saved runs, a line a case, so that reports can be made again."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from harness.errors import InputError
from harness.files import write_atomically
from harness.judge.comparison import Comparison
from harness.judge.trials import TrialResult
from harness.judge.verdict import Attribution, Case, Check, Verdict
from harness.trace.collection import MANIFEST, load_entries
from harness.trace.folder import load_run
from harness.trace.run import Run, Trial

FORMAT = "harness-case"
VERSION = 1
RESULTS = "results.jsonl"
RUN = "run.json"
TRIAL = "trial"
"""The kind of a case that is a recorded trial of a task: its verdict is about a model, not about what is tested."""


def save_results(cases: Iterable[Case], folder: Path) -> Path:
    """Write the cases, with all their checks; returns the file. Raises OSError where it cannot be written.

    Folders of runs are kept relative to ``folder``, so that both can be moved together.
    """
    path = folder / RESULTS
    write_atomically(path, b"".join(case_line(case, folder) for case in cases))
    return path


def load_results(folder: Path) -> list[Case]:
    """The cases of a folder; raises InputError for a folder without them, or a line that is none.

    A last line without its end is left out: whoever wrote it was interrupted.
    """
    path = folder / RESULTS
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InputError("there are no results here", where=str(path)) from error
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(path)) from error
    whole, _, _ = content.rpartition(b"\n")
    return [
        read_case(line, folder, f"{path}:{number}") for number, line in enumerate(whole.splitlines(), 1) if line.strip()
    ]


def find_cases(path: Path) -> list[Case]:
    """The cases behind a path: results, a collection of runs, a folder of saved runs, or one saved run.

    Without results the verdict is that of the recorded reward, see `case_of_trial`. Raises InputError for any other
    path.
    """
    if not holds_cases(path):
        raise InputError(
            "there are no results and no saved runs here", where=str(path), hint="name a folder that --out made"
        )
    if (path / RESULTS).is_file():
        return load_results(path)
    if (path / MANIFEST).is_file():
        return [case_of_trial(entry.trial, path / entry.folder) for entry in load_entries(path)]
    folders = [path] if (path / RUN).is_file() else sorted(file.parent for file in path.glob(f"*/{RUN}"))
    return [_case_of_run(folder) for folder in folders]


def holds_cases(path: Path) -> bool:
    """Whether there are results, a collection or saved runs at a path."""
    return any((path / name).is_file() for name in (RESULTS, MANIFEST, RUN)) or any(path.glob(f"*/{RUN}"))


def without_trials(cases: Iterable[Case]) -> list[Case]:
    """The cases that are no recorded trials."""
    return [case for case in cases if case.kind != TRIAL]


def case_of_trial(trial: Trial, folder: Path) -> Case:
    """A recorded trial as a case: PASS for the full reward of 1, FAIL below it; without a reward INCONCLUSIVE.

    A run that the infrastructure ended is an ERROR, whatever its reward: the provider's doing, not the model's.
    """
    name = f"{trial.task} #{trial.number} ({trial.model})"
    facts: dict[str, object] = {"model": trial.model, "task": trial.task, "trial": trial.number}
    if trial.reward is not None:
        facts["reward"] = trial.reward
    whose: Attribution | None
    if trial.infrastructure_error is not None:
        verdict, why, whose = Verdict.ERROR, trial.infrastructure_error, Attribution.PROVIDER
    elif trial.reward is None:
        verdict, why, whose = Verdict.INCONCLUSIVE, "no reward was recorded", Attribution.SCENARIO
    elif trial.reward >= 1:
        verdict, why, whose = Verdict.PASS, "", None
    else:
        verdict, why, whose = Verdict.FAIL, f"the recorded reward is {trial.reward:g}, not 1", Attribution.MODEL
    return Case(name, TRIAL, "", (), verdict, why, facts=facts, run_folder=str(folder), attribution=whose, evidence=why)


def cases_of_comparison(comparison: Comparison) -> list[Case]:
    """The trials that were compared, each with the verdict that counted for it."""
    return [_case_of_result(result) for result in comparison.results]


def _case_of_result(result: TrialResult) -> Case:
    trial = Trial(result.task, result.number, result.model, infrastructure_error=result.infrastructure)
    case = case_of_trial(trial, result.folder)
    if not result.usable or result.passed is None:
        why = result.infrastructure or result.why
        return replace(case, first_line=why, evidence=why)
    if result.passed:
        return replace(case, verdict=Verdict.PASS, first_line=result.why, attribution=None, evidence="")
    return replace(
        case, verdict=Verdict.FAIL, first_line=result.why, attribution=Attribution.MODEL, evidence=result.why
    )


def _case_of_run(folder: Path) -> Case:
    run = load_run(folder)
    if run.trial is not None:
        return case_of_trial(run.trial, folder)
    return Case(
        run.name,
        run.kind,
        run.source,
        (),
        Verdict.INCONCLUSIVE,
        "a saved run alone has no verdict",
        facts=_counts(run),
        run_folder=str(folder),
    )


def _counts(run: Run) -> dict[str, object]:
    steps = [step for lane in run.lanes for step in lane.steps]
    return {"steps": len(steps), "tool_calls": sum(len(step.calls) for step in steps)}


def case_line(case: Case, folder: Path, more: Mapping[str, object] | None = None) -> bytes:
    """The line of a case; ``more`` are further keys, which `read_case` leaves out of account."""
    document = {
        "format": FORMAT,
        "version": VERSION,
        "name": case.name,
        "kind": case.kind,
        "path": case.path,
        "verdict": case.verdict,
        "first_line": case.first_line,
        "description": case.description,
        "tags": list(case.tags),
        "facts": case.facts,
        "run": _relative(case.run_folder, folder),
        "checks": [_check(check) for check in case.checks],
        **_blame(case),
        **(more or {}),
    }
    # Escapes, because texts of models hold lone surrogates, which no encoder writes.
    return json.dumps(document, default=str, skipkeys=True).encode("ascii") + b"\n"


def _blame(case: Case) -> dict[str, object]:
    """What only a case that did not pass has."""
    found = {"attribution": case.attribution, "evidence": case.evidence, "line": case.line}
    return {key: value for key, value in found.items() if value}


def _check(check: Check) -> dict[str, str]:
    texts = {key: value for key, value in asdict(check).items() if value}
    return {"name": check.name, "verdict": check.verdict, **texts}


def _relative(run_folder: str, folder: Path) -> str:
    """A folder as seen from another; one that was named in full and lies elsewhere stays as it is."""
    path = Path(run_folder)
    if not run_folder or (path.is_absolute() and not path.is_relative_to(folder)):
        return run_folder
    return Path(os.path.relpath(path, folder)).as_posix()


def read_case(line: bytes, folder: Path, where: str) -> Case:
    """The case of a line; raises InputError, ``where`` in its text, for anything else."""
    try:
        document: dict[str, Any] = json.loads(line)
        if document["format"] != FORMAT:
            raise InputError(f"the format is {document['format']!r}, not {FORMAT!r}", where=where)
        if document["version"] > VERSION:
            raise InputError(f"the case has version {document['version']}, this harness reads {VERSION}", where=where)
        return Case(
            name=document["name"],
            kind=document["kind"],
            path=document["path"],
            checks=tuple(Check(**{**check, "verdict": Verdict(check["verdict"])}) for check in document["checks"]),
            verdict=Verdict(document["verdict"]),
            first_line=document["first_line"],
            description=document["description"],
            tags=tuple(document["tags"]),
            facts=document["facts"],
            run_folder=os.path.normpath(folder / document["run"]) if document["run"] else "",
            attribution=Attribution(document["attribution"]) if "attribution" in document else None,
            evidence=document.get("evidence", ""),
            line=document.get("line", 0),
        )
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise InputError(f"not a judged case: {type(error).__name__}: {error}", where=where) from error
