"""SWE-agent trajectories: ``.traj`` files with ``history``, ``info`` and, in later versions, ``replay_config``.

The file's name is the task. Later versions call tools; earlier ones write a shell line into the text, kept as
``action``: such a line counts as a call of its first word. Nothing is graded in them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.trace.importing.conversation import Said, fill_lane, said_of
from harness.trace.importing.documents import Record, find_files, parse_json, read_json
from harness.trace.importing.numbering import TrialNumbers
from harness.trace.run import Run, Trial

INFRASTRUCTURE = frozenset({"exit_environment_error", "exit_api", "exit_error"})
"""Ends that say nothing of the model: the container, the API, the program itself."""

_EXPERIMENT = re.compile(r"(?P<model>.+?)__.+__t-[\d.]+__p-[\d.]+__c-")
_PROTOCOL = ("role", "content", "tool_calls", "name")
_UNKNOWN = "unknown"


def read_swe_agent(source: Path, model: str | None = None) -> Iterator[Run]:
    """The runs of a ``.traj`` file, or of all in a folder; raises InputError.

    ``model`` is the model's name; by default that of the recorded configuration, or of the experiment's folder.
    """
    numbers = TrialNumbers()
    for path in find_files(source, (".traj",)):
        document = Record(read_json(path), str(path))
        name = model or _model_of(document, path)
        yield _run(document, path.stem, name, numbers.next(path.stem, name))


def _run(document: Record, task: str, model: str, number: int) -> Run:
    info = document.record("info")
    ended = info.get("exit_status", str) or ""
    statistics = info.record("model_stats")
    run = Run(f"{task} #{number}", "imported", document.where)
    run.trial = Trial(
        task,
        number,
        model,
        infrastructure_error=f"the run ended with {ended}" if ended in INFRASTRUCTURE else None,
        cost_usd=statistics.number("instance_cost"),
    )
    run.facts = {"model": model, "exit_status": ended}
    if statistics.value:
        run.facts["model_stats"] = dict(statistics.value)
    fill_lane(run.lane("main"), _conversation(document, model), ended)
    return run


def _conversation(document: Record, model: str) -> Iterator[Said]:
    asked_by_text = False
    for entry in document.records("history"):
        role = entry.demand("role", str)
        message = {key: entry.value[key] for key in _PROTOCOL if entry.value.get(key) is not None}
        message.setdefault("content", None)
        if entry.value.get("is_demo"):
            yield Said(message)
        elif role == "assistant":
            action = entry.get("action", str) or ""
            asked_by_text = bool(action.strip()) and not entry.value.get("tool_calls")
            if asked_by_text:
                yield said_of({**message, "tool_calls": [_written(action)]}, model=model, notes=(_NOTE,))
            else:
                yield said_of(message, model=model)
        elif role == "tool":
            ids = entry.get("tool_call_ids", list) or [entry.value.get("tool_call_id")]
            yield said_of({**message, "tool_call_id": ids[0]})
        elif role == "user" and asked_by_text:
            asked_by_text = False
            yield Said(message, is_result=True)
        else:
            yield Said(message)


_NOTE = "the call was written as text"


def _written(action: str) -> dict[str, Any]:
    """A shell line as a call: its first word is the tool, the whole line the argument."""
    arguments = json.dumps({"command": action}, ensure_ascii=False)
    return {"id": None, "type": "function", "function": {"name": action.split(maxsplit=1)[0], "arguments": arguments}}


def _model_of(document: Record, path: Path) -> str:
    config = document.value.get("replay_config")
    if isinstance(config, str):
        config = parse_json(config.encode("utf-8", "replace"), f"{path}: replay_config")
    for key in ("agent", "model", "name"):
        config = config.get(key) if isinstance(config, dict) else None
    if isinstance(config, str):
        return config
    experiment = _EXPERIMENT.match(path.parent.name)
    return experiment["model"] if experiment else _UNKNOWN
