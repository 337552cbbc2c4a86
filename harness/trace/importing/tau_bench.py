"""tau-bench results: a list of ``{task_id, trial, reward, info, traj}``, one file for a model and a domain.

The file says neither model nor domain; its name does, as in ``gpt-4o-airline.json``. A run that the benchmark could
not finish has ``info.error`` and a reward of 0 that says nothing of the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from harness.trace.importing.conversation import fill_lane, said_of
from harness.trace.importing.documents import Record, find_files, read_json, records
from harness.trace.run import Run, Trial

DOMAINS = ("airline", "retail")


def read_tau_bench(source: Path, model: str | None = None) -> Iterator[Run]:
    """The runs of a results file, or of every ``.json`` in a folder; raises InputError.

    ``model`` is the model's name where the file's name does not say it.
    """
    for path in find_files(source, (".json",)):
        named, domain = _from_name(path.stem)
        for record in records(read_json(path), str(path)):
            yield _run(record, model or named, domain)


def _from_name(stem: str) -> tuple[str, str]:
    for domain in DOMAINS:
        if stem.endswith(f"-{domain}"):
            return stem.removesuffix(f"-{domain}"), domain
    return stem, "tau-bench"


def _run(record: Record, model: str, domain: str) -> Run:
    info, number = record.record("info"), record.demand("trial", int)
    task = f"{domain}/{record.demand('task_id', (int, str))}"
    error = info.get("error", str)
    run = Run(f"{task} #{number}", "imported", record.where)
    run.trial = Trial(task, number, model, record.number("reward"), infrastructure_error=error)
    run.facts = {"model": model, "reference_calls": _reference_calls(info.record("task"))}
    for name in ("reward_info", "user_cost"):
        if name in info.value:
            run.facts[name] = info.value[name]
    conversation = (said_of(said.value, _failed, model=_model_of(said, model)) for said in record.records("traj"))
    fill_lane(run.lane("main"), conversation, error or "")
    return run


def _model_of(said: Record, model: str) -> str | None:
    return model if said.value.get("role") == "assistant" else None


def _failed(text: str) -> bool:
    """The benchmark's tools return what went wrong as a text with this start."""
    return text.startswith(("Error:", "Unknown action"))


def _reference_calls(task: Record) -> list[dict[str, object]]:
    """What the task's author expects to be called."""
    actions = task.get("actions", list) or []
    return [
        {"name": action.value.get("name"), "arguments": action.value.get("kwargs")}
        for action in records(actions, task.where)
    ]
