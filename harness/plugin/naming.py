"""Which file a marked test names."""

from __future__ import annotations

import re
from pathlib import Path, PurePath

import pytest

from harness.cassette import own
from harness.errors import InputError
from harness.plugin.settings import MARKER, Settings

FOLDER = "cassettes"
_PLAIN_SUFFIXES = (own.SUFFIX, ".yaml", ".yml", ".json")
SUFFIXES = (*_PLAIN_SUFFIXES, *(f"{suffix}.gz" for suffix in _PLAIN_SUFFIXES))
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._-]+")


def folder_of(node: pytest.Item, settings: Settings) -> Path:
    """The folder of the test's cassettes."""
    return settings.folder or node.path.parent / FOLDER


def cassette_path(node: pytest.Item, settings: Settings) -> Path:
    """The test's cassette, which need not exist; of several with the name but for the suffix, the first dialect's.

    Raises InputError where the test has no marker, or one that names no file.
    """
    folder, name = folder_of(node, settings), _name(node)
    if name.endswith(SUFFIXES):
        return folder / name
    found = (folder / (name + suffix) for suffix in SUFFIXES)
    return next((path for path in found if path.is_file()), folder / (name + own.SUFFIX))


def _name(node: pytest.Item) -> str:
    marker = node.get_closest_marker(MARKER)
    if marker is None:
        raise InputError(
            "the test asks for a cassette and names none", where=node.nodeid, hint=f"@pytest.mark.{MARKER}(NAME)"
        )
    if not marker.args and not marker.kwargs:
        return _own_name(node)
    name = marker.args[0] if len(marker.args) == 1 and not marker.kwargs else None
    if not isinstance(name, str) or not name or PurePath(name).is_absolute() or ".." in PurePath(name).parts:
        raise InputError(
            f"@pytest.mark.{MARKER} takes one name, a path inside of the folder of cassettes", where=node.nodeid
        )
    return name


def _own_name(node: pytest.Item) -> str:
    """A file for each test, in a folder for each test file."""
    names = node.nodeid.split("::")[1:] or [node.name]
    return f"{node.path.stem}/{_NOT_IN_A_NAME.sub('-', '.'.join(names)).strip('-')}"
