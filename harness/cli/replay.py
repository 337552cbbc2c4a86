"""``harness replay``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.options import DEFAULT_OUT, Json, Out, Quiet
from harness.cli.output import judge_items

if TYPE_CHECKING:
    from harness.judge.suite import Judged


def replay(
    paths: Annotated[list[Path], typer.Argument(help="Cassettes or folders of cassettes.", metavar="CASSETTE...")],
    *,
    out: Out = DEFAULT_OUT,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Replay each recorded conversation step by step and compare what the pipeline sends with what was recorded."""
    from harness.judge.suite import collect  # noqa: PLC0415

    judge_items(collect(paths, ["replay"]), out, _replay_document, None, json=json, quiet=quiet, title="harness replay")


def _replay_document(judged: Sequence[Judged], verdict: str) -> dict[str, object]:
    documents = [entry.document for entry in judged]
    totals: dict[str, int] = {"files": len(documents)}
    for key in ("exchanges", "chat_exchanges", "played_as_bytes", "tool_calls", "steps"):
        totals[key] = sum(value for document in documents if isinstance(value := document.get(key), int))
    for key in ("drift", "faults"):
        totals[key] = sum(len(value) for document in documents if isinstance(value := document.get(key), list))
    return {"files": documents, "totals": totals, "verdict": verdict}
