"""Plain lists of chat messages, as the API takes them.

A file is one list, one object with ``messages``, a JSON list of such objects, or JSON lines of either. An object may
say more: ``task`` (or ``id``), ``trial``, ``model``, ``reward``, ``error`` (infrastructure), ``cost_usd``,
``duration_s``, ``tools``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.trace.importing.conversation import Said, fill_lane, said_of
from harness.trace.importing.documents import Record, find_files, read_json, read_json_lines, records
from harness.trace.importing.numbering import TrialNumbers
from harness.trace.run import Run, Trial

UNKNOWN_MODEL = "unknown"


def read_messages(source: Path, model: str | None = None) -> Iterator[Run]:
    """A run for each list of messages in a file, or in the ``.json`` and ``.jsonl`` files of a folder.

    ``model`` is the model where an object does not say it. A list that does not say its task has the file's name for
    it. Raises InputError.
    """
    numbers = TrialNumbers()
    for path in find_files(source, (".json", ".jsonl")):
        for where, document in _documents(path):
            yield _run(_as_record(document, where), path.name.split(".")[0], model, numbers)


def _documents(path: Path) -> Iterator[tuple[str, Any]]:
    if path.suffix == ".jsonl":
        yield from read_json_lines(path)
        return
    document = read_json(path)
    if isinstance(document, list) and any(isinstance(item, dict) and "messages" in item for item in document):
        for number, item in enumerate(document):
            yield f"{path}[{number}]", item
    else:
        yield str(path), document


def _as_record(document: Any, where: str) -> Record:
    return Record({"messages": document} if isinstance(document, list) else document, where)


def _run(record: Record, stem: str, model: str | None, numbers: TrialNumbers) -> Run:
    name = record.get("model", str) or model or UNKNOWN_MODEL
    task = record.get("task", (str, int))
    task = (
        str(record.get("id", (str, int)) if task is None else task)
        if task is not None or "id" in record.value
        else stem
    )
    number = record.get("trial", int)
    if number is None:
        number = numbers.next(task, name)
    run = Run(f"{task} #{number}", "imported", record.where)
    run.trial = Trial(
        task,
        number,
        name,
        record.number("reward"),
        record.get("error", str),
        record.number("cost_usd"),
        record.number("duration_s"),
    )
    run.facts = {"model": name}
    fill_lane(run.lane("main"), _conversation(record, name))
    return run


def _conversation(record: Record, model: str) -> Iterator[Said]:
    tools: tuple[str, ...] = ()
    if record.get("tools", list):
        names = (tool.record("function").get("name", str) for tool in record.records("tools"))
        tools = tuple(name for name in names if name)
    for message in records(record.demand("messages", list), f"{record.where}: messages"):
        if message.demand("role", str) == "assistant":
            yield said_of(message.value, model=model, tools=tools)
        else:
            yield said_of(message.value)
