"""A cassette file as one YAML or JSON document, before anybody asks which dialect it is."""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import yaml

from harness.errors import InputError

try:
    from yaml import CSafeLoader as _SafeLoader
except ImportError:  # PyYAML built without libyaml reads the same files, some ten times slower
    from yaml import SafeLoader as _SafeLoader  # type: ignore[assignment]

_NULL_TAG = "tag:yaml.org,2002:null"


class _Loader(_SafeLoader):
    """Plain scalars stay the text that stands in the file, except null.

    YAML 1.1 would turn an unquoted header value such as ``2024-10-01``, ``1.10`` or ``on`` into something else.
    """

    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML's own class attribute
        first: [(tag, pattern) for tag, pattern in resolvers if tag == _NULL_TAG]
        for first, resolvers in _SafeLoader.yaml_implicit_resolvers.items()
    }


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
    """The parsed content of a file. In YAML all scalars but null and ``!!binary`` are str."""

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
            if key.value == "interactions":
                return int(value.value[interaction].start_mark.line) + 1
        return None


def read_document(path: Path) -> Document:
    """Read a YAML or JSON file, packed with gzip or not.

    Raises InputError, naming the file and where possible the line, for everything that keeps it from being read.
    """
    data = _unpacked(path, _bytes_of(path))
    if not data.strip():
        raise InputError("the file is empty", where=str(path), hint="record the session again")
    if data.lstrip().startswith((b"{", b"[")):
        try:
            return Document(path, orjson.loads(data), data)
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


def _unpacked(path: Path, data: bytes) -> bytes:
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
