"""A scenario written from a live session: what was asked, the recording, and what came of it as expectations."""

from __future__ import annotations

import base64
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.cassette import own
from harness.cassette.scrubbing import Scrubber
from harness.errors import InputError
from harness.pipeline.loop import STEP_LIMIT, LoopStatus
from harness.scenario.copying import CopiedFolder, copied
from harness.scenario.recording import record_cassettes
from harness.scenario.runner import ScenarioRun
from harness.scenario.yaml_text import OneLine, to_yaml
from harness.trace.run import CallRecord

FOLDER_SUFFIX = ".workspace"
_SUFFIXES = (".yaml", ".yml")
_PATTERN_SIGNS = set("*?[")


@dataclass(frozen=True, slots=True)
class Session:
    """What a new scenario asks, of whom: the options of the built-in pipeline that a scenario's ``agent`` names."""

    prompts: Sequence[str]
    model: str
    workspace: Path | None = None
    system: str | None = None
    tools: Sequence[str] | None = None
    stream: bool = False
    mode: str = "normal"
    ask: str = "deny"
    step_limit: int = STEP_LIMIT


@dataclass(frozen=True, slots=True)
class Draft:
    """A scenario with its cassette in a folder of its own, complete, and not yet where it shall stand.

    ``notes`` say what a reader should know: what was left out or replaced.
    """

    scenario: Path
    outcome: ScenarioRun
    notes: tuple[str, ...]

    def place(self, target: Path) -> list[Path]:
        """Move everything beside each other to where ``target`` names, the scenario last; the paths, that one first."""
        target.parent.mkdir(parents=True, exist_ok=True)
        placed: list[Path] = []
        for name in _names(target)[::-1]:
            source, place = self.scenario.parent / name, target.parent / name
            if place.is_dir() and not place.is_symlink():
                shutil.rmtree(place)
            if source.exists():
                source.replace(place)
                placed.insert(0, place)
        return placed


def demand_free(target: Path, *, force: bool) -> None:
    """Raise InputError where ``target`` is no scenario's name, or something stands there already, unless ``force``."""
    if target.suffix not in _SUFFIXES:
        raise InputError("a scenario's name ends in .yaml", where=f"--scenario {target}")
    taken = [target.parent / name for name in _names(target) if (target.parent / name).exists()]
    if taken and not force:
        raise InputError(f"{taken[0]} is there already", where="--scenario", hint="--force replaces it")
    if target.is_dir():
        raise InputError("is a folder", where=f"--scenario {target}")


@contextmanager
def drafted(
    session: Session, target: Path, endpoint: str, api_key: str, secrets: Sequence[str] = ()
) -> Iterator[Draft]:
    """Hold the session with the model at ``endpoint`` and write it down; what was not placed is gone afterwards.

    Secrets in the prompt and in the workspace are replaced before the model is asked, so that the recording and the
    files say the same. Raises InputError where the model gave no usable answer.
    """
    scrubber = Scrubber(secrets)
    folder = None if session.workspace is None else copied(session.workspace, scrubber)
    with tempfile.TemporaryDirectory(prefix=f".{target.stem[:40]}.", dir=_existing(target.parent)) as temporary:
        path = Path(temporary) / target.name
        document = _document(session, target, folder, scrubber)
        if folder is not None and "folder" in document["workspace"]:
            folder.write(path.with_name(document["workspace"]["folder"]))
        path.write_text(to_yaml(document), "utf-8")
        outcomes: list[ScenarioRun] = []
        try:
            record_cassettes([path], {session.model: endpoint}, api_key, lambda run, _: outcomes.append(run), secrets)
        except InputError as error:
            # The draft's place means nothing to the user, and is gone by then.
            raise InputError(error.what, where=error.where.replace(str(path), str(target)), hint=error.hint) from error
        (outcome,) = outcomes
        path.write_text(to_yaml({**document, "expect": expectations(outcome)}), "utf-8")
        yield Draft(path, outcome, tuple(_notes(folder, scrubber)))


def expectations(outcome: ScenarioRun) -> dict[str, Any]:
    """What a run shows, as a scenario's ``expect`` says it: its end, its calls in order, and every changed file."""
    lane = outcome.run.lanes[0]
    expect: dict[str, Any] = {}
    if lane.outcome != LoopStatus.ANSWERED.value:
        expect["outcome"] = lane.outcome
    if lane.final_text is not None:
        expect["final_text"] = outcome.scrubber.text(lane.final_text)
    expect["steps"] = len(lane.steps)
    expect["calls"] = [_call(call, outcome.scrubber) for step in lane.steps for call in step.calls]
    files = _changed(outcome.files_before, outcome.files_after, outcome.scrubber)
    if files:
        expect["files"] = files
    if not any(set(name) & _PATTERN_SIGNS for name in files):
        expect["changed"] = list(files)
    return expect


def _names(target: Path) -> list[str]:
    """The scenario and what stands beside it."""
    return [target.name, f"{target.stem}{own.SUFFIX}", f"{target.stem}{FOLDER_SUFFIX}"]


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one around it that is there: a draft is moved within one file system."""
    while not folder.is_dir():
        if folder.exists():
            raise InputError("is no folder", where=str(folder))
        folder = folder.parent
    return folder


def _document(session: Session, target: Path, folder: CopiedFolder | None, scrubber: Scrubber) -> dict[str, Any]:
    _, cassette, beside = _names(target)
    document: dict[str, Any] = {"description": f"Recorded from {session.model}.", "tags": ["recorded"]}
    if folder is not None:
        document["workspace"] = {"files": folder.inline()} if folder.is_small else {"folder": beside}
    given = {
        "model": session.model,
        "system": None if session.system is None else scrubber.text(session.system),
        "tools": None if session.tools is None else list(session.tools),
        "stream": session.stream or None,
        "mode": session.mode if session.mode != "normal" else None,
        "ask": session.ask if session.ask != "deny" else None,
        "step_limit": session.step_limit if session.step_limit != STEP_LIMIT else None,
    }
    document["agent"] = {key: value for key, value in given.items() if value is not None}
    prompts = [scrubber.text(prompt) for prompt in session.prompts]
    document |= {"prompt": prompts[0]} if len(prompts) == 1 else {"prompts": prompts}
    return {**document, "player": {"cassette": cassette}}


def _call(call: CallRecord, scrubber: Scrubber) -> OneLine:
    entry = OneLine(tool=call.name, arguments=_arguments(call, scrubber))
    if call.status is not None:
        entry["status"] = call.status
    if call.error_code is not None:
        entry["error_code"] = call.error_code
    return entry


def _arguments(call: CallRecord, scrubber: Scrubber) -> Any:
    """The arguments as an object, or as the text that was received where it is none."""
    given = call.arguments
    if isinstance(given, str) and call.parse_error is None:
        try:
            given = json.loads(scrubber.text(given) or "{}")
        except ValueError:
            return scrubber.text(call.arguments)
    if isinstance(given, Mapping) and not _looks_like_pattern(given):
        return dict(given)
    if isinstance(call.arguments, str):
        return scrubber.text(call.arguments)
    return None if given is None else json.dumps(given, ensure_ascii=False)


def _looks_like_pattern(value: object) -> bool:
    """Whether an expectation would read some part of it as a pattern."""
    if isinstance(value, Mapping):
        return any(str(key).startswith("$") or _looks_like_pattern(inner) for key, inner in value.items())
    return isinstance(value, list) and any(map(_looks_like_pattern, value))


def _changed(before: Mapping[str, bytes], after: Mapping[str, bytes], scrubber: Scrubber) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    for name in sorted({*before, *after}):
        if before.get(name) == after.get(name):
            continue
        if name not in after:
            changed[name] = {"absent": True}
            continue
        try:
            changed[name] = scrubber.text(after[name].decode())
        except UnicodeDecodeError:
            changed[name] = {"base64": base64.b64encode(after[name]).decode()}
    return changed


def _notes(folder: CopiedFolder | None, scrubber: Scrubber) -> Iterator[str]:
    if folder is not None and folder.had_git:
        yield "the workspace's .git is left out: workspace.git writes a git state down"
    if replaced := sum(scrubber.replaced.values()):
        yield f"{replaced} secrets in the prompt and the workspace are replaced by placeholders"
