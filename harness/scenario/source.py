"""YAML as data with the line of every key, so that an error can say where."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from harness.errors import InputError

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NO_CHARACTER = "found invalid Unicode character escape code"
"""What libyaml says of half a surrogate pair, and of what is beyond Unicode."""
_HALF = re.compile(r"\\(?:u|U0000)[dD][89a-fA-F]")

_PLAIN_TAGS = ("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")

Location = tuple[str | int, ...]


class Source:
    """A YAML document: ``data`` as plain values, and `line` for the place of any of them.

    ``has_halves`` says that a text or key in it may hold half a surrogate pair.
    """

    def __init__(self, path: Path, data: Any, lines: dict[Location, int], *, has_halves: bool = False) -> None:
        self.path = path
        self.data = data
        self.has_halves = has_halves
        self._lines = lines

    def line(self, location: Location) -> int:
        """The line, from 1, of the value at ``location`` or of the nearest one around it."""
        while location not in self._lines and location:
            location = location[:-1]
        return self._lines.get(location, 1)

    def where(self, location: Location) -> str:
        """``file:line`` of a place."""
        return f"{self.path}:{self.line(location)}"


def read_source(path: Path) -> Source:
    """Read one YAML document; raises InputError for a missing file, broken YAML, or a key given twice."""
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError as error:
        raise InputError("no such file", where=str(path)) from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", where=str(path)) from error
    return parse_source(path, text)


def parse_source(path: Path, text: str) -> Source:
    """`read_source` of a text that is at hand already; ``path`` is for the messages.

    Half a surrogate pair is written as an escape, as in JSON: what a model sends may hold one.
    """
    try:
        try:
            return _parsed(path, text, _LOADER)
        except yaml.MarkedYAMLError as error:
            if error.problem != _NO_CHARACTER or not _HALF.search(text):
                raise
            try:
                return _parsed(path, text, yaml.SafeLoader)  # ten times slower, and takes halves
            except (ValueError, OverflowError):  # an escape beyond Unicode
                raise error from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        raise InputError(f"not valid YAML: {error.problem or error.context}", where=where) from error
    except yaml.YAMLError as error:
        raise InputError(f"not valid YAML: {error}", where=str(path)) from error


def _parsed(path: Path, text: str, loader_type: Any) -> Source:
    """The document; raises YAMLError, and InputError for what is YAML and no scenario's."""
    lines: dict[Location, int] = {}
    loader = loader_type(text)
    try:
        node = loader.get_single_node()
        data = None if node is None else _value(loader, node, (), lines, path)
    finally:
        loader.dispose()
    return Source(path, data, lines, has_halves=loader_type is yaml.SafeLoader)


def _value(loader: Any, node: yaml.Node, location: Location, lines: dict[Location, int], path: Path) -> Any:
    lines.setdefault(location, node.start_mark.line + 1)
    if not isinstance(node, yaml.ScalarNode) and node.tag not in _PLAIN_TAGS:
        raise InputError(f"not valid YAML here: the tag {node.tag}", where=f"{path}:{node.start_mark.line + 1}")
    if isinstance(node, yaml.MappingNode):
        found: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            key = loader.construct_object(key_node, deep=True)
            line = key_node.start_mark.line + 1
            if not isinstance(key, str | int | float | bool) and key is not None:
                raise InputError("a key is a plain text", where=f"{path}:{line}")
            if key in found:
                raise InputError(f"the key {key!r} is given twice", where=f"{path}:{line}")
            inner = (*location, str(key))
            lines[inner] = line
            found[key] = _value(loader, value_node, inner, lines, path)
        return found
    if isinstance(node, yaml.SequenceNode):
        return [_value(loader, item, (*location, number), lines, path) for number, item in enumerate(node.value)]
    return loader.construct_object(node, deep=True)
