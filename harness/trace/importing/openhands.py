"""OpenHands logs: one JSON file for each model call, with its messages, its response, cost and latency.

The calls of one conversation are those whose messages continue each other. Where the model was prompted to write its
calls as text, ``raw_messages`` holds the conversation in the protocol's form. Nothing is graded in them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from harness.errors import InputError
from harness.trace.importing.conversation import Said, fill_lane, said_of
from harness.trace.importing.documents import Record, find_files, read_json
from harness.trace.importing.numbering import TrialNumbers
from harness.trace.run import Run, Trial


@dataclass(slots=True)
class _Call:
    """One log: the messages sent, and the answer."""

    where: str
    folder: str
    timestamp: float
    messages: list[dict[str, Any]]
    answer: Said
    model: str
    prompted: bool


@dataclass(slots=True)
class _Chain:
    """The logs of one conversation; ``end`` is the key under which its messages are known."""

    calls: list[_Call] = field(default_factory=list)
    end: tuple[str, str, bytes] = ("", "", b"")


def read_openhands(source: Path, model: str | None = None) -> Iterator[Run]:
    """A run for each conversation among the logs of a folder, or that of one file; raises InputError.

    The folder's name is the task. ``model`` renames the model.
    """
    numbers = TrialNumbers()
    calls = [_call(Record(read_json(path), str(path)), path.resolve().parent.name, model) for path in _logs(source)]
    for chain in _chains(sorted(calls, key=lambda call: (call.folder, call.timestamp, len(call.messages)))):
        first = chain.calls[0]
        yield _run(chain.calls, first.folder, numbers.next(first.folder, first.model))


def _logs(source: Path) -> Iterator[Path]:
    """Files that are logs; a folder may hold other JSON."""
    named = source.is_file()
    found = False
    for path in find_files(source, (".json",)):
        document = read_json(path)
        if isinstance(document, dict) and {"messages", "response"} <= document.keys():
            found = True
            yield path
        elif named:
            raise InputError("not a log of a model call: there are no messages with a response", where=str(path))
    if not found:
        raise InputError("the folder holds no log of a model call", where=str(source))


def _call(record: Record, folder: str, model: str | None) -> _Call:
    prompted = isinstance(record.value.get("raw_messages"), list)
    response = record.record("response")
    choices = list(response.records("choices"))
    if not choices:
        raise InputError("the response has no choice", where=record.where)
    message = {
        key: value
        for key, value in choices[0].record("message").value.items()
        if value is not None or key in ("role", "content")
    }
    name = model or response.get("model", str) or "unknown"
    tools = (
        [tool.record("function").get("name", str) for tool in record.records("tools")]
        if record.value.get("tools")
        else []
    )
    answer = said_of(
        {"role": "assistant", **message},
        model=name,
        finish_reason=choices[0].get("finish_reason", str),
        usage=response.get("usage", dict),
        cost_usd=record.number("cost"),
        duration_s=record.number("latency_sec"),
        tools=tuple(tool for tool in tools if tool),
        notes=("the call was written as text",) if prompted and message.get("tool_calls") else (),
    )
    messages = [dict(entry.value) for entry in record.records("raw_messages" if prompted else "messages")]
    return _Call(record.where, folder, record.number("timestamp") or 0.0, messages, answer, name, prompted)


def _chains(calls: Sequence[_Call]) -> Iterator[_Chain]:
    """The conversations, in the order of their first calls. Each message is hashed once for each log that holds it."""
    open_ends: dict[tuple[str, str, bytes], _Chain] = {}
    chains: list[_Chain] = []
    for call in calls:
        digest = hashlib.blake2b(digest_size=16)
        chain: _Chain | None = None
        for message in call.messages:
            chain = open_ends.get((call.folder, call.model, digest.digest()), chain)
            digest.update(orjson.dumps(message, option=orjson.OPT_SORT_KEYS) + b"\n")
        if chain is None:
            chain = _Chain()
            chains.append(chain)
        else:
            del open_ends[chain.end]
        chain.calls.append(call)
        if (end := (call.folder, call.model, digest.digest())) in open_ends:
            continue  # the same request once more; what follows continues the first
        chain.end = end
        open_ends[end] = chain
    yield from chains


def _run(calls: Sequence[_Call], task: str, number: int) -> Run:
    first = calls[0]
    costs = [call.answer.cost_usd for call in calls if call.answer.cost_usd is not None]
    times = [call.answer.duration_s for call in calls if call.answer.duration_s is not None]
    run = Run(f"{task} #{number}", "imported", str(Path(first.where).parent))
    run.trial = Trial(
        task, number, first.model, cost_usd=sum(costs) if costs else None, duration_s=sum(times) if times else None
    )
    run.facts = {"model": first.model, "logs": len(calls)}
    fill_lane(run.lane("main"), _conversation(calls))
    return run


def _conversation(calls: Sequence[_Call]) -> Iterator[Said]:
    taken = 0
    for position, call in enumerate(calls):
        fresh = call.messages[taken:]
        if position and fresh and fresh[0].get("role") == "assistant":
            fresh = fresh[1:]  # the answer before, which has been taken with its usage
        yield from (said_of(message, model=call.model) if message.get("role") == "assistant" else said_of(message)
                    for message in fresh)  # fmt: skip
        yield call.answer
        taken = len(call.messages)
