"""``harness replay``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.judging import Judging, judge_items, list_items
from harness.cli.options import (
    DEFAULT_OUT,
    BaselineFile,
    Bisect,
    Json,
    List,
    Names,
    Out,
    Quiet,
    Resume,
    Seed,
    UpdateBaseline,
    Workers,
)

if TYPE_CHECKING:
    from harness.judge.suite import Judged


def replay(
    paths: Annotated[list[Path], typer.Argument(help="Cassettes or folders of cassettes.", metavar="CASSETTE...")],
    *,
    name: Names = None,
    list_only: List = False,
    baseline: BaselineFile = None,
    update_baseline: UpdateBaseline = False,
    workers: Workers = 1,
    seed: Seed = 0,  # noqa: ARG001  a replay leaves nothing to chance; the option means the same everywhere
    resume: Resume = False,
    bisect: Bisect = False,  # noqa: ARG001  read by main, which turns what has no verdict to 125
    out: Out = DEFAULT_OUT,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Replay each recorded conversation step by step and compare what the pipeline sends with what was recorded."""
    from harness.judge.collecting import collect  # noqa: PLC0415
    from harness.judge.selection import Selection  # noqa: PLC0415

    items, selection = collect(paths, ["replay"]), Selection(names=tuple(name or ()))
    if list_only:
        list_items(items, selection, json=json)
    how = Judging(
        title="harness replay",
        document=_replay_document,
        out=out,
        paths=paths,
        workers=workers,
        resume=resume,
        baseline=baseline,
        update_baseline=update_baseline,
        json=json,
        quiet=quiet,
    )
    judge_items(items, selection, how)


def _replay_document(judged: Sequence[Judged], verdict: str) -> dict[str, object]:
    documents = [entry.document for entry in judged]
    totals: dict[str, int] = {"files": len(documents)}
    for key in ("exchanges", "chat_exchanges", "played_as_bytes", "tool_calls", "steps"):
        totals[key] = sum(value for document in documents if isinstance(value := document.get(key), int))
    for key in ("drift", "faults"):
        totals[key] = sum(len(value) for document in documents if isinstance(value := document.get(key), list))
    return {"files": documents, "totals": totals, "verdict": verdict}
