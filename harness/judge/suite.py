"""Many test cases: found under the paths given, run or replayed, judged, their runs saved."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from harness.cassette import own
from harness.cassette.dialects import load_cassette
from harness.errors import HarnessError, InputError
from harness.judge.checks import judge_scenario
from harness.judge.replay import judge_replay, replay_document
from harness.judge.verdict import Case, Verdict
from harness.play.player import CannotAnswerError
from harness.scenario.format import load_scenario
from harness.scenario.policy import ReplayPolicy
from harness.scenario.portable import portable
from harness.scenario.replay import replay_cassette
from harness.scenario.runner import run_scenario
from harness.trace.folder import save_run

Kind = Literal["scenario", "replay"]

_PLAIN_SUFFIXES = (".yaml", ".yml", ".json", own.SUFFIX)
_SUFFIXES = (*_PLAIN_SUFFIXES, *(f"{suffix}.gz" for suffix in _PLAIN_SUFFIXES))
_CASSETTE = re.compile(rb'^(?:interactions|http_interactions):|"(?:http_)?interactions"\s*:', re.MULTILINE)
_SCENARIO = re.compile(rb"^(?:player|prompt|expect):", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Item:
    """A file to judge; ``named`` when the user named it, not a folder around it."""

    path: Path
    kind: Kind
    named: bool

    @property
    def slug(self) -> str:
        """A folder name for its run."""
        parts = [part for part in self.path.parts if part not in (self.path.anchor, "..", ".")]
        return re.sub(r"[^A-Za-z0-9._-]+", "-", "--".join(parts))[-200:]


@dataclass(frozen=True, slots=True)
class Judged:
    """A case, and for a replayed cassette what ``--json`` says of it."""

    case: Case
    document: dict[str, object]


def collect(paths: Sequence[Path], kinds: Iterable[Kind] = ("scenario", "replay")) -> list[Item]:
    """The files to judge, folders searched in sorted order.

    In a folder, files that are neither are passed over. Raises InputError for a missing path, or a named file that is
    neither a cassette nor a scenario.
    """
    wanted = tuple(kinds)
    items: list[Item] = []
    for path in paths:
        if path.is_dir():
            found = sorted(file for file in path.rglob("*") if file.name.endswith(_SUFFIXES) and file.is_file())
            items += [Item(file, kind, named=False) for file in found if (kind := _kind(file)) in wanted]
        elif path.exists():
            kind = _kind(path)
            if kind not in wanted:
                kind = wanted[0]
            items.append(Item(path, kind, named=True))
        else:
            raise InputError("no such file or folder", where=str(path))
    return items


def judge_all(
    items: Sequence[Item],
    out: Path | None,
    policy: ReplayPolicy | None = None,
    on_case: Callable[[Case], None] = lambda _: None,
) -> list[Judged]:
    """Run or replay each item and judge it; runs are saved under ``out/runs`` where a folder is given.

    A named file that cannot be used raises InputError; one found in a folder becomes a case with verdict ERROR, and so
    does a script that cannot be put to its agent.
    """
    judged: list[Judged] = []
    for item in items:
        try:
            result = _judge(item, out, policy)
        except InputError as error:
            if item.named:
                raise
            result = _error(item, error)
        except CannotAnswerError as error:
            result = _error(item, error)
        judged.append(result)
        on_case(result.case)
    return judged


def _judge(item: Item, out: Path | None, policy: ReplayPolicy | None) -> Judged:
    name = str(item.path)
    if item.kind == "replay":
        replayed = replay_cassette(load_cassette(item.path), item.path.name.split(".")[0])
        case = judge_replay(replayed, name)
        run, rewrite, scrubber = replayed.run, None, None
        document = replay_document(replayed, case)
    else:
        outcome = run_scenario(load_scenario(item.path), policy)
        case = judge_scenario(outcome, name)
        run, rewrite, scrubber = outcome.run, portable(outcome.root), outcome.scrubber
        document = {}
    if out is not None:
        folder = save_run(run, out / "runs" / item.slug, rewrite, scrubber)
        case = replace(case, run_folder=str(folder))
    return Judged(case, document)


def _error(item: Item, error: HarnessError) -> Judged:
    case = Case(item.path.stem, item.kind, str(item.path), checks=(), verdict=Verdict.ERROR, first_line=str(error))
    return Judged(case, {"path": case.path, "verdict": case.verdict, "error": str(error)})


def _kind(path: Path) -> Kind | None:
    if path.name.endswith((".gz", own.SUFFIX)):
        return "replay"
    try:
        text = path.read_bytes()
    except OSError:
        return None
    if _CASSETTE.search(text):
        return "replay"
    return "scenario" if _SCENARIO.search(text) and not path.name.endswith(".json") else None
