"""What tokens are counted of: a recorded session, captured requests, or bare definitions of tools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from harness.cassette.dialects import load_cassette
from harness.errors import InputError
from harness.measure.task import SYSTEM_ROLES, Session, read_tasks, role_of
from harness.pipeline.registry import ToolRegistry
from harness.scenario.functions import user_object
from harness.trace.folder import load_run
from harness.wire.exchange import Exchange, Request, Response
from harness.wire.half_pairs import dumps, loads

RUN_FILE = "run.json"


@dataclass(frozen=True, slots=True)
class Definitions:
    """An array of tool definitions by itself."""

    file: str
    tools: Sequence[Any]


Source = Session | Definitions


def read_file(path: Path, name: str = "") -> Source:
    """Read a cassette, a saved run's folder, a JSON file of tool definitions, or JSON lines of captured requests.

    Raises InputError for anything else. ``name`` is what the file is called in reports.
    """
    name = name or str(path)
    if path.is_dir():
        return read_tasks(load_run(path).exchanges, name)
    if path.name.endswith(".json"):
        tools = _definitions(path)
        if tools is not None:
            return Definitions(name, tools)
    if path.name.endswith(".jsonl"):
        captured = _captured(path)
        if captured is not None:
            return read_tasks(captured, name)
    cassette = load_cassette(path)
    return read_tasks(cassette.exchanges, name, cassette.dialect)


def _made(found: Any) -> Any:
    return found() if callable(found) and not isinstance(found, ToolRegistry) else found


def read_registry(name: str) -> Definitions:
    """The definitions of the ToolRegistry that ``module:attribute`` names, or that calling it gives.

    The module is looked for in the working folder first. Raises InputError where there is none, or its import fails.
    """
    value = user_object(name, _made)
    if isinstance(value, ToolRegistry):
        return Definitions(name, value.get_openai_tools())
    raise InputError(
        f"a {type(value).__name__}, not a ToolRegistry",
        where=name,
        hint="name a registry, or a function that makes one",
    )


def is_registry_name(text: str) -> bool:
    """Whether a text reads like ``module:attribute``."""
    module, colon, attribute = text.partition(":")
    return bool(colon) and all(part.isidentifier() for part in (*module.split("."), *attribute.split(".")))


def _definitions(path: Path) -> list[Any] | None:
    """The array in a file; an object with a ``tools`` array is taken for it too; None where it is something else."""
    document = _json(path)
    if isinstance(document, dict) and isinstance(document.get("tools"), list):
        document = document["tools"]
    if not isinstance(document, list) or any(isinstance(entry, dict) and "request" in entry for entry in document):
        return None
    wrong = next((n for n, entry in enumerate(document) if not _is_tool(entry)), None)
    if wrong is not None:
        raise InputError(
            f"entry {wrong} is no tool definition", where=str(path), hint="a JSON array as a request's `tools`"
        )
    return document


def _is_tool(entry: object) -> bool:
    if not isinstance(entry, dict):
        return False
    return isinstance(entry.get("function"), dict) or "name" in entry or "type" in entry


def _json(path: Path) -> Any:
    try:
        return orjson.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(path)) from error
    except orjson.JSONDecodeError as error:
        raise InputError(f"not valid JSON: {error}", where=str(path)) from error


def _captured(path: Path) -> list[Exchange] | None:
    """Requests that were captured without answers: lines with ``path`` and ``body``; None for any other file."""
    try:
        lines = [line for line in path.read_bytes().splitlines() if line.strip()]
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(path)) from error
    entries: list[dict[str, Any]] = []
    for line in lines:
        try:
            entry = loads(line)
        except orjson.JSONDecodeError:
            return None
        if not isinstance(entry, dict) or "body" not in entry or not isinstance(entry.get("path"), str):
            return None
        entries.append(entry)
    histories = [_history(entry["body"]) for entry in entries]
    found: list[Exchange] = []
    for index, entry in enumerate(entries):
        request = Request(str(entry.get("method", "POST")), entry["path"], (), dumps(entry["body"]))
        answer = _repeated_answer(histories[index], histories[index + 1 :])
        body = dumps({"choices": [{"message": answer}]}) if answer else b""
        found.append(Exchange(request, Response(200, (), body), index))
    return found or None


def _history(body: object) -> list[Any]:
    """The messages but the system's, which some agents rewrite on the way."""
    messages = body.get("messages") if isinstance(body, dict) else None
    return [one for one in messages if role_of(one) not in SYSTEM_ROLES] if isinstance(messages, list) else []


def _repeated_answer(history: list[Any], later: Sequence[list[Any]]) -> dict[str, Any] | None:
    """What a request was answered with, as the first later request that goes on from it repeats it."""
    end = len(history)
    for other in later:
        if end and len(other) > end and role_of(other[end]) == "assistant" and other[:end] == history:
            answer: dict[str, Any] = other[end]
            return answer
    return None
