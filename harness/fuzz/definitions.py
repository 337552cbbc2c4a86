"""Function definitions out of files: ``tools`` arrays, function lists, MCP snapshots, cassettes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from harness.cassette.dialects import load_cassette
from harness.errors import InputError

_CASSETTES = frozenset({".yaml", ".yml", ".jsonl", ".gz"})
_PARAMETERS = ("parameters", "inputSchema", "input_schema")


class Definition(NamedTuple):
    """A function that a model may call; ``parameters`` as they came, None where there are none."""

    where: str
    name: str
    parameters: Any


def definitions_in(path: Path) -> list[Definition]:
    """The definitions of a file, in its order.

    A JSON document holds a ``tools`` array, a request with one, or one function, flat or under ``function``. JSON lines
    (of a ``.json`` file) hold one such document each; BFCL's lines have a list under ``function``. Files named as
    cassettes are read as cassettes. Raises InputError for a file that is neither.
    """
    if path.suffix in _CASSETTES:
        return list(_of_cassette(path))
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(path)) from error
    found: list[Definition] = []
    for number, document in enumerate(_documents(data, path), 1):
        found += [Definition(f"{path.name}:{number}", name, schema) for name, schema in definitions_of(document)]
    return found


def definitions_of(document: object) -> Iterator[tuple[str, Any]]:
    """Name and parameters of each function that a document defines; nothing where it defines none."""
    if isinstance(document, list):
        for part in document:
            yield from definitions_of(part)
        return
    if not isinstance(document, Mapping):
        return
    for key in ("function", "tools", "functions"):
        if isinstance(document.get(key), list | Mapping):
            yield from definitions_of(document[key])
            return
    if isinstance(document.get("name"), str):
        yield document["name"], next((document[key] for key in _PARAMETERS if key in document), None)


def _of_cassette(path: Path) -> Iterator[Definition]:
    for number, exchange in enumerate(load_cassette(path).chat_exchanges):
        parts = exchange.request.parts()
        for name, schema in definitions_of(list((parts and parts.tools) or ())):
            yield Definition(f"{path.name}#{number}", name, schema)


def _documents(data: bytes, path: Path) -> Sequence[Any]:
    try:
        return [orjson.loads(data)]
    except orjson.JSONDecodeError as error:
        lines = [line for line in data.splitlines() if line.strip()]
        try:
            return [orjson.loads(line) for line in lines]
        except orjson.JSONDecodeError:
            raise InputError(f"no JSON: {error}", where=str(path)) from error
