"""A preset: how an agent is configured and started so that it talks to the harness alone, in folders of its own."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.errors import InputError

_NAMES = frozenset({"BASE_URL", "CWD", "HOME", "PROMPT", "MODEL", "API_KEY", "PROGRAM"})
_PLACEHOLDER = re.compile(r"\$\{([A-Z_]+)\}")


class Preset(BaseModel):
    """One agent.

    ``program`` is what is looked for in the folders of programs; where ``module`` is named, it is a Python that can
    import that. ``before`` are commands that configure the agent, each run to its end before ``argv``. ``files`` are
    written first: a mapping as JSON, a text as it is. ``git`` asks for a workspace that is a repository. In all of
    them ``${BASE_URL}``, ``${CWD}``, ``${HOME}``, ``${PROMPT}``, ``${MODEL}``, ``${API_KEY}`` and ``${PROGRAM}`` stand
    for what the run has. ``tested`` is the version that the preset was tried with, ``install`` the command that brings
    it. ``notes`` say what a user has to know.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    title: str
    tested: str
    install: str
    program: str
    module: str | None = None
    argv: list[str] = Field(min_length=1)
    before: list[list[str]] = Field(default_factory=list)
    env: dict[str, str] = Field(default_factory=dict)
    files: dict[str, str | dict[str, Any]] = Field(default_factory=dict)
    git: bool = False
    notes: list[str] = Field(default_factory=list)

    def prepared(self, run: Situation) -> Prepared:
        """The preset for one run."""
        values = run.values()
        return Prepared(
            files={Path(_put(path, values)): _content(content, values) for path, content in self.files.items()},
            env={name: _put(text, values) for name, text in self.env.items()},
            before=tuple(tuple(_put(word, values) for word in command) for command in self.before),
            argv=tuple(_put(word, values) for word in self.argv),
        )


@dataclass(frozen=True, slots=True)
class Situation:
    """What a run has: where the model answers (a base URL with its version), the folders, what is asked of whom."""

    base_url: str
    workspace: str
    home: str
    prompt: str
    model: str
    program: str
    api_key: str = "dummy"

    def values(self) -> dict[str, str]:
        """What stands for the placeholders."""
        return {
            "BASE_URL": self.base_url,
            "CWD": self.workspace,
            "HOME": self.home,
            "PROMPT": self.prompt,
            "MODEL": self.model,
            "API_KEY": self.api_key,
            "PROGRAM": self.program,
        }


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is written, set and run, in this order: ``files``, the commands ``before``, then ``argv``."""

    files: Mapping[Path, bytes]
    env: Mapping[str, str]
    before: tuple[tuple[str, ...], ...]
    argv: tuple[str, ...]

    def write_files(self) -> None:
        """Write the files; raises OSError where that cannot be done."""
        for path, content in self.files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def preset_names() -> tuple[str, ...]:
    """The names of the shipped presets, sorted."""
    return tuple(
        sorted(entry.name.removesuffix(".toml") for entry in _data().iterdir() if entry.name.endswith(".toml"))
    )


def load_preset(name: str, folder: Path | None = None) -> Preset:
    """The preset of that name, or of a file in ``folder`` where it ends in ``.toml``; raises InputError for another."""
    path = Path(name) if folder is None else folder / name
    if path.suffix == ".toml":
        try:
            return parse_preset(path.stem, path.read_text(encoding="utf-8"), where=name)
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"cannot be read: {error}", where=name) from error
    if name not in preset_names():
        known = ", ".join(preset_names())
        raise InputError(f"there is no preset {name!r}", hint=f"one of {known}, or a file NAME.toml")
    return parse_preset(name, (_data() / f"{name}.toml").read_text(encoding="utf-8"), where=f"preset {name}")


def parse_preset(name: str, text: str, *, where: str) -> Preset:
    """A preset from its TOML; raises InputError for an unknown key, a missing one, or an unknown placeholder."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"is not TOML: {error}", where=where) from error
    try:
        preset = Preset.model_validate({"name": name, **document})
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(step) for step in first["loc"])
        raise InputError(f"{key}: {first['msg']}", where=where) from error
    for found in sorted(set(_PLACEHOLDER.findall(_templates(preset))) - _NAMES):
        known = ", ".join(f"${{{each}}}" for each in sorted(_NAMES))
        raise InputError(f"${{{found}}} stands for nothing", where=where, hint=f"known are {known}")
    return preset


def _data() -> Any:
    return package_files(__package__) / "data"


def _templates(preset: Preset) -> str:
    """All texts with placeholders, in one."""
    return json.dumps([preset.argv, preset.before, preset.env, preset.files])


def _put(text: str, values: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda found: values[found.group(1)], text)


def _content(content: str | Mapping[str, Any], values: Mapping[str, str]) -> bytes:
    if isinstance(content, str):
        return _put(content, values).encode()
    return (json.dumps(_filled(content, values), indent=2, ensure_ascii=False) + "\n").encode()


def _filled(value: Any, values: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return _put(value, values)
    if isinstance(value, Mapping):
        return {_put(name, values): _filled(inner, values) for name, inner in value.items()}
    return [_filled(inner, values) for inner in value] if isinstance(value, list) else value
