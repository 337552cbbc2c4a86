"""Saved trials read, judged and measured, one process or several: the rows that a comparison is made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import chain
from multiprocessing import get_context
from pathlib import Path

from harness.errors import InputError
from harness.judge.tasks import Judge, JudgeSpec
from harness.measure.trial import TrialFigures, measure_trial
from harness.trace.collection import load_entries
from harness.trace.folder import load_run

_CHUNK = 16


@dataclass(frozen=True, slots=True)
class TrialResult:
    """One attempt of a model at a task, ``folder`` its saved run.

    ``infrastructure`` says why it tells nothing of the model; then it is neither judged nor counted. ``passed`` is None
    where it was not judged, ``why`` says the reason for anything but a pass.
    """

    model: str
    task: str
    number: int
    folder: Path
    passed: bool | None
    why: str
    infrastructure: str | None
    figures: TrialFigures

    @property
    def usable(self) -> bool:
        """Whether it tells something of the model."""
        return self.infrastructure is None


def judge_trials(
    paths: Sequence[Path], spec: JudgeSpec | None = None, *, tasks: str | None = None, workers: int = 1
) -> list[TrialResult]:
    """The trials of collections and saved runs, in their order, whatever the number of ``workers``.

    ``tasks`` is a pattern with ``*`` and ``?`` of the tasks that count. Raises InputError for what is no saved run, a
    run that is no trial of a task, and a trial that is there twice.
    """
    spec = spec or JudgeSpec()
    folders = list(_folders(paths, tasks))
    if workers > 1 and len(folders) > 1:
        chunks = [folders[start : start + _CHUNK] for start in range(0, len(folders), _CHUNK)]
        # Not forked: a copy of a process with threads may hang.
        with ProcessPoolExecutor(min(workers, len(chunks)), mp_context=get_context("spawn")) as pool:
            found = list(chain.from_iterable(pool.map(_judge_chunk, chunks, [spec] * len(chunks))))
    else:
        found = _judge_chunk(folders, spec)
    found = [result for result in found if tasks is None or fnmatchcase(result.task, tasks)]
    _demand_once(found)
    return found


def _folders(paths: Sequence[Path], tasks: str | None) -> Iterator[Path]:
    """The folders of saved runs; those of a collection whose task does not count are not even read."""
    for path in paths:
        if (path / "run.json").is_file():
            yield path
        else:
            for entry in load_entries(path):
                if tasks is None or fnmatchcase(entry.trial.task, tasks):
                    yield path / entry.folder


def _judge_chunk(folders: Sequence[Path], spec: JudgeSpec) -> list[TrialResult]:
    judge = spec.make()
    return [_judged(folder, judge) for folder in folders]


def _judged(folder: Path, judge: Judge) -> TrialResult:
    run = load_run(folder)
    trial = run.trial
    if trial is None:
        raise InputError("the run is no trial of a task", where=str(folder), hint="harness convert SRC DST --from KIND")
    figures = measure_trial(run)
    if trial.infrastructure_error is not None:
        return TrialResult(
            trial.model, trial.task, trial.number, folder, None, trial.infrastructure_error,
            trial.infrastructure_error, figures,
        )  # fmt: skip
    judgement = judge(run)
    return TrialResult(
        trial.model, trial.task, trial.number, folder, judgement.passed, judgement.why, None, figures
    )  # fmt: skip


def _demand_once(results: Sequence[TrialResult]) -> None:
    seen: dict[tuple[str, str, int], Path] = {}
    for result in results:
        key = (result.model, result.task, result.number)
        if key in seen:
            what = f"trial {result.number} of {result.task} by {result.model} is in {seen[key]} too"
            raise InputError(what, where=str(result.folder))
        seen[key] = result.folder
