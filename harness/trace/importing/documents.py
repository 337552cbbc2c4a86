"""Files of trajectories found and read, and values taken out of them with errors that name the place."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from harness.errors import InputError


def find_files(source: Path, suffixes: tuple[str, ...]) -> list[Path]:
    """``source`` itself, or the files with one of the suffixes in a folder, sorted; raises InputError for none."""
    if source.is_file():
        return [source]
    if not source.is_dir():
        raise InputError("no such file or folder", where=str(source))
    found = sorted(path for path in source.rglob("*") if path.name.endswith(suffixes) and path.is_file())
    if not found:
        raise InputError(f"the folder holds no file of {' or '.join(suffixes)}", where=str(source))
    return found


def read_json(path: Path) -> Any:
    """The document in a file; half surrogates become U+FFFD. Raises InputError."""
    return parse_json(_content(path), str(path))


def read_json_lines(path: Path) -> list[tuple[str, Any]]:
    """The documents of a file with one a line, each with its place; raises InputError."""
    numbered = ((f"{path}:{number}", line) for number, line in enumerate(_content(path).splitlines(), 1))
    return [(where, parse_json(line, where)) for where, line in numbered if line.strip()]


def parse_json(content: bytes, where: str) -> Any:
    """A JSON text, NaN and half surrogates included, which Python programs write; raises InputError."""
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        pass
    try:
        return _storable(json.loads(content))
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}", where=where) from error


class Record:
    """A JSON object with its place, for reading with checks. Every method raises InputError naming place and key."""

    def __init__(self, value: Any, where: str) -> None:
        if not isinstance(value, Mapping):
            raise InputError(f"an object was expected, not {_kind(value)}", where=where)
        self.value = value
        self.where = where

    def get(self, key: str, kind: type | tuple[type, ...]) -> Any:
        """The value under ``key``, of this type; None where there is none or it is null."""
        value = self.value.get(key)
        if value is None:
            return None
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise InputError(f"{key} is {_kind(value)}, which no trajectory of this kind has", where=self.where)
        return value

    def demand(self, key: str, kind: type | tuple[type, ...]) -> Any:
        """`get` of what has to be there."""
        value = self.get(key, kind)
        if value is None:
            raise InputError(f"there is no {key}", where=self.where)
        return value

    def record(self, key: str) -> Record:
        """The object under ``key``; an empty one where there is none."""
        return Record(self.get(key, dict) or {}, f"{self.where}: {key}")

    def records(self, key: str) -> Iterator[Record]:
        """The objects of the list under ``key``, which has to be there."""
        return records(self.demand(key, list), f"{self.where}: {key}")

    def number(self, key: str) -> float | None:
        """A finite number as a float, None where there is none."""
        value = self.get(key, (int, float))
        return float(value) if value is not None and math.isfinite(value) else None


def records(values: Any, where: str) -> Iterator[Record]:
    """The objects of a list, each with its place; raises InputError for what is no list of objects."""
    if not isinstance(values, list):
        raise InputError(f"a list was expected, not {_kind(values)}", where=where)
    for number, value in enumerate(values):
        yield Record(value, f"{where}[{number}]")


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(path)) from error


def _storable(value: Any) -> Any:
    """The value in what can be saved: no half surrogates, no NaN, no integers beyond 64 bits."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_storable(key): _storable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_storable(item) for item in value]
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
