"""Cassettes of the same tasks by several models as runs, one a cassette, each a trial."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.cassette import own
from harness.cassette.dialects import load_cassette
from harness.cassette.dialects.looks import looks_like_cassette
from harness.errors import InputError
from harness.scenario.replay import replay_cassette
from harness.trace.importing.numbering import TrialNumbers
from harness.trace.run import Run, Trial

KIND = "cassettes"

_PLAIN_SUFFIXES = (".yaml", ".yml", ".json", own.SUFFIX)
_SUFFIXES = (*_PLAIN_SUFFIXES, *(f"{suffix}.gz" for suffix in _PLAIN_SUFFIXES))


class TrialSpec(BaseModel):
    """A line of a manifest: a cassette, and what it does not say itself."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cassette: str
    task: str | None = None
    model: str | None = None
    trial: int | None = Field(default=None, ge=0)
    reward: float | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class _Found:
    path: Path
    spec: TrialSpec


def read_cassettes(source: Path, model: str | None = None) -> Iterator[Run]:
    """A run for each cassette of a folder, or of a manifest (a YAML or JSON list of `TrialSpec`).

    Other files in a folder are passed over. The task is the cassette's name without its endings, or what the manifest
    says; the model, where neither the manifest nor ``model`` says it, the one that the cassette's requests name most
    often, and among equals the one of the largest requests: agents ask smaller models for titles. Attempts of a model
    at a task are counted in the order of the paths. Raises InputError for a cassette that cannot be read, and for one
    without a chat exchange.
    """
    numbers = TrialNumbers()
    for found in _manifest(source) if source.is_file() else _folder(source):
        spec = found.spec
        cassette = load_cassette(found.path)
        task = spec.task or found.path.name.split(".")[0]
        replayed = replay_cassette(cassette, f"{task} by {spec.model or model or 'its model'}")
        run = replayed.run
        name = spec.model or model or _model_of(run, found.path)
        number = numbers.next(task, name) if spec.trial is None else spec.trial
        run.name = f"{task} #{number}"
        run.trial = Trial(task, number, name, spec.reward, spec.error)
        run.facts = {**run.facts, "model": name, "faults": len(replayed.faults), "drift": len(replayed.drift)}
        yield run


def _folder(source: Path) -> Iterator[_Found]:
    if not source.is_dir():
        raise InputError("no such file or folder", where=str(source))
    files = (path for path in source.rglob("*") if path.name.endswith(_SUFFIXES) and path.is_file())
    paths = sorted(path for path in files if looks_like_cassette(path))
    if not paths:
        raise InputError("the folder holds no cassette", where=str(source))
    for path in paths:
        yield _Found(path, TrialSpec(cassette=path.name))


def _manifest(source: Path) -> Iterator[_Found]:
    try:
        entries = yaml.load(source.read_bytes(), yaml.CSafeLoader)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(source)) from error
    except yaml.YAMLError as error:
        raise InputError(f"not YAML: {' '.join(str(error).split())}", where=str(source)) from error
    if not isinstance(entries, list) or not entries:
        raise InputError("a manifest is a list of {cassette, task, model, trial, reward, error}", where=str(source))
    for number, entry in enumerate(entries, 1):
        try:
            spec = TrialSpec.model_validate(entry)
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(str(step) for step in first["loc"])
            raise InputError(
                f"entry {number}: {key}: {first['msg']}".replace(": : ", ": "), where=str(source)
            ) from error
        yield _Found(source.parent / spec.cassette, spec)


def _model_of(run: Run, path: Path) -> str:
    asked: Counter[str] = Counter()
    largest: dict[str, int] = {}
    for exchange in run.exchanges:
        body: Any = exchange.request.json() if exchange.is_chat else None
        name = body.get("model") if isinstance(body, Mapping) else None
        if isinstance(name, str):
            asked[name] += 1
            largest[name] = max(largest.get(name, 0), len(exchange.request.body))
    if not asked:
        raise InputError("no request of the cassette names a model", where=str(path), hint="--model NAME")
    return max(asked, key=lambda name: (asked[name], largest[name]))
