"""Settings of a project: ``[tool.harness]`` in its ``pyproject.toml``, for the command line and the pytest plugin."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from harness.errors import InputError

FILE = "pyproject.toml"
TABLE = "tool.harness"


@dataclass(frozen=True)
class Configuration:
    """The settings; None is a setting that is not there, for which each command has its own default.

    ``file`` is where they stand, None where there is no such file or table. Paths are as seen from the working folder.
    ``token_tolerance`` is in percent.
    """

    file: Path | None = None
    paths: tuple[Path, ...] | None = None
    out: Path | None = None
    workers: int | None = None
    seed: int | None = None
    allow_drift: tuple[str, ...] | None = None
    on_miss: str | None = None
    secrets: tuple[str, ...] | None = None
    baseline: Path | None = None
    token_tolerance: float | None = None
    tags: tuple[str, ...] | None = None
    exclude_tags: tuple[str, ...] | None = None
    endpoints: Mapping[str, str] | None = None
    api_key_env: str | None = None


def load_configuration(folder: Path | None = None) -> Configuration:
    """The settings that hold in ``folder``, by default the working folder: those of the nearest ``pyproject.toml``.

    Without such a file, or such a table in it, all settings are missing. Raises InputError with file and key for a key
    that there is not, a value of the wrong kind, and a file that is no TOML.
    """
    start = (folder or Path()).resolve()
    file = next((place / FILE for place in (start, *start.parents) if (place / FILE).is_file()), None)
    if file is None:
        return Configuration()
    shown = _from_here(file.parent, file.name)
    try:
        document = tomllib.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", where=str(shown)) from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"not valid TOML: {error}", where=str(shown)) from error
    tool = document.get("tool")
    table = tool.get("harness") if isinstance(tool, dict) else None
    if table is None:
        return Configuration()
    if not isinstance(table, dict):
        raise InputError(f"{TABLE}: this is no table", where=str(shown))
    return Configuration(shown, **{key: _setting(key, value, file.parent, shown) for key, value in table.items()})


def _setting(key: str, value: object, folder: Path, file: Path) -> Any:
    reader = _READERS.get(key)
    if reader is None:
        close = get_close_matches(key, _READERS, n=1)
        hint = f"did you mean {close[0]}?" if close else f"the keys are {', '.join(_READERS)}"
        raise InputError(f"{TABLE}.{key}: unknown key", where=str(file), hint=hint)
    try:
        return reader(value, folder)
    except ValueError as error:
        raise InputError(f"{TABLE}.{key}: {error}", where=str(file)) from error


def _from_here(folder: Path, name: str) -> Path:
    """A file of ``folder`` as seen from the working folder, so that what is reported is as short as it can be."""
    path = folder / name
    return path if Path(name).is_absolute() else Path(os.path.relpath(path))


def _text(value: object, _: Path) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("this is no text")
    return value


def _texts(value: object, folder: Path) -> tuple[str, ...]:
    if isinstance(value, str):
        return (_text(value, folder),)
    if not isinstance(value, list):
        raise ValueError("this is no list of texts")  # noqa: TRY004  told as the others are
    return tuple(_text(entry, folder) for entry in value)


def _classes(value: object, folder: Path) -> tuple[str, ...]:
    """Drift classes, as a list or as the command line has them."""
    return tuple(part.strip() for text in _texts(value, folder) for part in text.split(",") if part.strip())


def _path(value: object, folder: Path) -> Path:
    return _from_here(folder, _text(value, folder))


def _paths(value: object, folder: Path) -> tuple[Path, ...]:
    return tuple(_from_here(folder, text) for text in _texts(value, folder))


def _whole(least: int) -> Callable[[object, Path], int]:
    def read(value: object, _: Path) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise ValueError(f"this is no whole number from {least} on")
        return value

    return read


def _percent(value: object, _: Path) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < float("inf"):
        raise ValueError("this is no percentage from 0 on")
    return float(value)


def _table(value: object, folder: Path) -> dict[str, str]:
    if not isinstance(value, dict):
        raise ValueError("this is no table of model = URL")  # noqa: TRY004
    return {name: _text(url, folder) for name, url in value.items()}


_READERS: Mapping[str, Callable[[object, Path], Any]] = {
    "paths": _paths,
    "out": _path,
    "workers": _whole(1),
    "seed": _whole(0),
    "allow_drift": _classes,
    "on_miss": _text,
    "secrets": _texts,
    "baseline": _path,
    "token_tolerance": _percent,
    "tags": _texts,
    "exclude_tags": _texts,
    "endpoints": _table,
    "api_key_env": _text,
}
