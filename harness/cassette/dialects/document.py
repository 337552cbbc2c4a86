"""A cassette file as one YAML or JSON document, before anybody asks which dialect it is."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

import orjson
import yaml

from harness.errors import InputError
from harness.wire.half_pairs import loads

try:
    from yaml import CSafeLoader as _SafeLoader
except ImportError:  # PyYAML built without libyaml reads the same files, some ten times slower
    from yaml import SafeLoader as _SafeLoader  # type: ignore[assignment]

INTERACTION_KEYS = ("interactions", "http_interactions")

_NULL_TAG = "tag:yaml.org,2002:null"
_TEXT_TAG = "tag:yaml.org,2002:str"
_JSON_TAGS = frozenset({_NULL_TAG, *(f"tag:yaml.org,2002:{name}" for name in ("bool", "int", "float"))})


class _Loader(_SafeLoader):
    """Plain scalars stay the text that stands in the file, except null, and except in bodies kept as data.

    YAML 1.1 would turn an unquoted header value such as ``2024-10-01``, ``1.10`` or ``on`` into something else. In a
    body kept as data ``1.10`` is a number and ``on`` is true: PyYAML wrote it, and put texts like these in quotes.
    """

    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML's own class attribute
        first: [(tag, pattern) for tag, pattern in resolvers if tag == _NULL_TAG]
        for first, resolvers in _SafeLoader.yaml_implicit_resolvers.items()
    }

    def get_single_data(self) -> Any:
        """The document as Python values."""
        root = self.get_single_node()
        if root is None:
            return None
        for body in _bodies_kept_as_data(root):
            _resolve_as_json(body)
        return self.construct_document(root)


_RECORDER = yaml.resolver.Resolver()  # as in PyYAML's own loaders


def _bodies_kept_as_data(root: yaml.Node) -> Iterator[yaml.Node]:
    """The nodes under ``parsed_body``, and request bodies that are neither text nor a wrapping of it."""
    for interactions_key in INTERACTION_KEYS:
        interactions = _child(root, interactions_key)
        for interaction in interactions.value if isinstance(interactions, yaml.SequenceNode) else ():
            for side in ("request", "response"):
                section = _child(interaction, side)
                if (parsed := _child(section, "parsed_body")) is not None:
                    yield parsed
                if side == "request" and _is_data(body := _child(section, "body")):
                    yield body


def _is_data(body: yaml.Node | None) -> TypeGuard[yaml.Node]:
    wrapped = (_child(body, key) is not None for key in ("string", "base64_string"))
    return isinstance(body, yaml.CollectionNode) and not any(wrapped)


def _child(node: yaml.Node | None, key: str) -> yaml.Node | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value for name, value in node.value if name.value == key), None)


def _resolve_as_json(body: yaml.Node) -> None:
    """Give the plain scalars the types that JSON has; keys stay text, and so do dates."""
    waiting, seen = [body], set[int]()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:  # an alias
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            waiting.extend(value for _, value in node.value)
        elif isinstance(node, yaml.SequenceNode):
            waiting.extend(node.value)
        elif node.tag == _TEXT_TAG and not node.style:  # type: ignore[attr-defined] # a scalar
            tag = _RECORDER.resolve(yaml.ScalarNode, node.value, (True, False))  # type: ignore[no-untyped-call]
            node.tag = tag if tag in _JSON_TAGS else _TEXT_TAG


def _binary(loader: _Loader, node: yaml.Node) -> Any:
    return loader.construct_yaml_binary(node)  # type: ignore[arg-type] # a scalar, or it raises


def _text(loader: _Loader, node: yaml.Node) -> Any:
    return loader.construct_yaml_str(node)


# Ruby's tag for bytes, and the tags that vcrpy wrote for text under Python 2.
yaml.add_constructor("!binary", _binary, Loader=_Loader)
yaml.add_constructor("tag:yaml.org,2002:python/str", _text, Loader=_Loader)
yaml.add_constructor("tag:yaml.org,2002:python/unicode", _text, Loader=_Loader)


@dataclass(frozen=True, slots=True)
class Document:
    """The parsed content of a file. In YAML all scalars but null and ``!!binary`` are str, see `_Loader`."""

    path: Path
    value: Any
    data: bytes

    def place(self, interaction: int) -> str:
        """Where an interaction stands, for error messages: counted from 1, with its line where one is known.

        Reads the document a second time, so it is for the way out only.
        """
        line = self._line_of(interaction)
        return f"{self.path}, interaction {interaction + 1}" + (f" (line {line})" if line else "")

    def _line_of(self, interaction: int) -> int | None:
        try:
            root = yaml.compose(self.data, Loader=_Loader)
        except (yaml.YAMLError, RecursionError):
            return None
        for key, value in getattr(root, "value", ()):
            if key.value in INTERACTION_KEYS:
                return int(value.value[interaction].start_mark.line) + 1
        return None


def read_bytes(path: Path) -> bytes:
    """The content of a file, unpacked where it is packed with gzip; raises InputError."""
    return unpacked(path, _bytes_of(path))


def document_of(path: Path, data: bytes) -> Document:
    """The YAML or JSON document in the unpacked content of a file.

    Raises InputError, naming the file and where possible the line, for everything that keeps it from being read.
    """
    if not data.strip():
        raise InputError("the file is empty", where=str(path), hint="record the session again")
    if data.lstrip().startswith((b"{", b"[")):
        try:
            return Document(path, loads(data), data)
        except orjson.JSONDecodeError as error:
            if ".json" in path.suffixes:
                raise InputError(f"broken JSON: {error.msg}", where=f"{path}:{error.lineno}") from error
    return Document(path, _yaml_of(path, data), data)


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise InputError("there is no such file", where=str(path)) from error
    except IsADirectoryError as error:
        raise InputError("this is a folder, not a cassette", where=str(path), hint="name a file in it") from error
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(path)) from error


def unpacked(path: Path, data: bytes) -> bytes:
    """``data`` without its gzip packing, if it has one; raises InputError."""
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"damaged gzip file: {error}", where=str(path)) from error


def _yaml_of(path: Path, data: bytes) -> Any:
    try:
        return yaml.load(data, Loader=_Loader)  # noqa: S506 - a safe loader with fewer resolvers
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        raise InputError(f"broken YAML: {error.problem or error.context}", where=where) from error
    except yaml.YAMLError as error:
        raise InputError(f"broken YAML: {' '.join(str(error).split())}", where=str(path)) from error
    except (RecursionError, ValueError) as error:
        what = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InputError(f"cannot be read as YAML: {what}", where=str(path)) from error
