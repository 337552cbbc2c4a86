"""Many runs in one folder: a saved run a trial under ``runs/``, and ``manifest.json``, which lists them.

The manifest is written last, so a folder that has one is whole.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from harness.errors import InputError
from harness.files import write_atomically
from harness.trace.folder import load_run, save_run
from harness.trace.run import Run, Trial

FORMAT = "harness-runs"
VERSION = 1
MANIFEST = "manifest.json"

_LONGEST_PART = 80


@dataclass(frozen=True, slots=True)
class RunEntry:
    """One run of a collection: its folder, relative to the manifest's, and its trial."""

    folder: str
    trial: Trial


def save_runs(runs: Iterable[Run], out: Path, *, force: bool = False) -> list[RunEntry]:
    """Save each run as it comes, then the manifest; returns its entries, in the order of the runs.

    Raises InputError for a folder that is not empty (with ``force`` the runs of an earlier collection are removed
    first), a run without a trial, and a trial that comes twice; OSError where nothing can be written.
    """
    _make_room(out, force=force)
    entries: list[RunEntry] = []
    sources: dict[tuple[str, str, int], str] = {}
    taken: set[str] = set()
    for run in runs:
        trial = run.trial
        if trial is None:
            raise InputError("the run is no trial of a task", where=run.source)
        key = (trial.model, trial.task, trial.number)
        if key in sources:
            what = f"trial {trial.number} of {trial.task} by {trial.model} is there twice, first in {sources[key]}"
            raise InputError(what, where=run.source)
        sources[key] = run.source
        folder = _free_name(trial, taken)
        save_run(run, out / "runs" / folder)
        entries.append(RunEntry(f"runs/{folder}", trial))
    document = {
        "format": FORMAT,
        "version": VERSION,
        "runs": [{"folder": entry.folder, **asdict(entry.trial)} for entry in entries],
    }
    write_atomically(out / MANIFEST, orjson.dumps(document, option=orjson.OPT_INDENT_2) + b"\n")
    return entries


def load_entries(out: Path) -> list[RunEntry]:
    """What a collection holds, without its runs; raises InputError for a folder that is none."""
    path = out / MANIFEST
    try:
        document = orjson.loads(path.read_bytes())
        if document["format"] != FORMAT:
            raise InputError(f"the format is {document['format']!r}, not {FORMAT!r}", where=str(path))
        if document["version"] > VERSION:
            what = f"the collection has version {document['version']}, this harness reads {VERSION}"
            raise InputError(what, where=str(path))
        return [_entry(entry) for entry in document["runs"]]
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InputError("there is no collection of runs here", where=str(path)) from error
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(path)) from error
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise InputError(f"no list of runs: {type(error).__name__}: {error}", where=str(path)) from error


def load_runs(paths: Sequence[Path]) -> Iterator[tuple[Path, Run]]:
    """The runs of collections and of single saved runs, one at a time, each with its folder; raises InputError."""
    for path in paths:
        if (path / "run.json").is_file():
            yield path, load_run(path)
        else:
            for entry in load_entries(path):
                yield path / entry.folder, load_run(path / entry.folder)


def _entry(document: dict[str, Any]) -> RunEntry:
    folder = document.pop("folder")
    if not isinstance(folder, str) or Path(folder).is_absolute() or ".." in Path(folder).parts:
        raise ValueError(f"the folder {folder!r} leads out of the collection")
    return RunEntry(folder, Trial(**document))


def _make_room(out: Path, *, force: bool) -> None:
    if out.exists() and not out.is_dir():
        raise InputError("this is a file; runs are written to a folder", where=str(out))
    if not out.exists() or not any(out.iterdir()):
        return
    if not force:
        raise InputError("this folder is not empty", where=str(out), hint="--force replaces the runs in it")
    entries = load_entries(out)
    (out / MANIFEST).unlink()
    for entry in entries:
        shutil.rmtree(out / entry.folder, ignore_errors=True)


def _free_name(trial: Trial, taken: set[str]) -> str:
    """A folder name that says model, task and number, and that no other run of the collection has."""
    parts = [re.sub(r"[^A-Za-z0-9._]+", "-", part)[-_LONGEST_PART:].strip("-.") for part in (trial.model, trial.task)]
    stem = "--".join([*(part or "none" for part in parts), str(trial.number)])
    name, number = stem, 1
    while name.lower() in taken:
        number += 1
        name = f"{stem}-{number}"
    taken.add(name.lower())
    return name
