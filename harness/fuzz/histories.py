"""Histories of files: an agent reads and edits while somebody else writes, and what the optimistic lock has to say.

The rules (seed 000, gate 2; bug reports E01, E03, E14): an edit is a conflict exactly if the content is not what the
agent last read or wrote under that path. A touched but unchanged file is none, a change of the same size in the same
tick is one, an edit of one's own is seen, and a file never read may be edited.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from harness.fuzz.choices import Choices, several

PATHS = ("a.txt", "b.txt", "dir/c.txt")
"""The files of a history; few, so that steps meet."""

_MOST_LINES = 4
_SECOND_NS = 1_000_000_000


class Action(StrEnum):
    """What a step does. The first two are calls of the agent, all others happen outside."""

    READ = "read"
    EDIT = "edit"
    WRITE = "write"
    REPLACE = "replace"
    TOUCH = "touch"
    RENAME = "rename"
    DELETE = "delete"


class Outcome(StrEnum):
    """What has to come of a call of the agent."""

    SUCCESS = "success"
    CONFLICT = "CONFLICT"
    NOT_FOUND = "NOT_FOUND"


class FileStep(NamedTuple):
    """One step. ``old`` and ``new`` are the texts of an edit; ``new`` alone is the content that is written.

    ``target`` is where a rename leads. With ``same_time`` the modification time stays as it was. ``outcome`` is None
    for what happens outside.
    """

    action: Action
    path: str
    old: str = ""
    new: str = ""
    target: str = ""
    same_time: bool = False
    outcome: Outcome | None = None


class FileHistory(NamedTuple):
    """Files at the start, steps in order, and the contents that the files must have at the end."""

    files: Mapping[str, str]
    steps: tuple[FileStep, ...]
    end: Mapping[str, str]


@dataclass(slots=True)
class _World:
    files: dict[str, str]
    seen: dict[str, str] = field(default_factory=dict)
    words: int = 0

    def word(self) -> str:
        """A word that occurs nowhere else; all have one length, so that sizes can stay."""
        self.words += 1
        return f"w{self.words:04d}"


def file_history(choices: Choices, most: int = 12) -> FileHistory:
    """A history of 1 to ``most`` steps."""
    world = _World({})
    for path in PATHS:
        if choices.flag():
            world.files[path] = _content(choices, world)
    start = dict(world.files)
    steps: list[FileStep] = []
    wanted = several(choices, min(2, most), most)
    while len(steps) < wanted:
        steps.append(_step(choices, world))
        if steps[-1].action is not Action.EDIT and choices.flag() and len(steps) < most:
            steps.append(_edit(choices, world, steps[-1].target or steps[-1].path))
    return FileHistory(start, tuple(steps), dict(world.files))


def happen_outside(step: FileStep, root: Path) -> None:
    """Do what a step does that is no call of the agent. Raises ValueError for one that is, and OSError."""
    path = root / step.path
    if step.action in (Action.WRITE, Action.REPLACE):
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.stat().st_mtime_ns if path.exists() else None
        target = path.with_name(path.name + ".new") if step.action is Action.REPLACE else path
        target.write_bytes(step.new.encode())
        if target is not path:
            target.replace(path)
        if before is not None:
            time = before if step.same_time else before + _SECOND_NS
            os.utime(path, ns=(time, time))
    elif step.action is Action.TOUCH:
        time = path.stat().st_mtime_ns + _SECOND_NS
        os.utime(path, ns=(time, time))
    elif step.action is Action.RENAME:
        (root / step.target).parent.mkdir(parents=True, exist_ok=True)
        path.replace(root / step.target)
    elif step.action is Action.DELETE:
        path.unlink()
    else:
        raise ValueError(f"{step.action} is a call of the agent")


def _content(choices: Choices, world: _World) -> str:
    return "".join(world.word() + "\n" for _ in range(several(choices, 1, _MOST_LINES)))


def _step(choices: Choices, world: _World) -> FileStep:
    action = choices.pick(tuple(Action))
    path = choices.pick(PATHS)
    if action in (Action.TOUCH, Action.RENAME, Action.DELETE) and path not in world.files:
        action = Action.WRITE
    if action is Action.READ:
        return _read(world, path)
    if action is Action.EDIT:
        return _edit(choices, world, path)
    if action in (Action.WRITE, Action.REPLACE):
        return _write(choices, world, action, path)
    if action is Action.TOUCH:
        return FileStep(action, path)
    content = world.files.pop(path)
    if action is Action.DELETE:
        return FileStep(action, path)
    target = choices.pick([other for other in PATHS if other != path])
    world.files[target] = content
    return FileStep(action, path, target=target)


def _read(world: _World, path: str) -> FileStep:
    if path not in world.files:
        return FileStep(Action.READ, path, outcome=Outcome.NOT_FOUND)
    world.seen[path] = world.files[path]
    return FileStep(Action.READ, path, outcome=Outcome.SUCCESS)


def _edit(choices: Choices, world: _World, path: str) -> FileStep:
    """An edit of a word that stands in the file, or of one that stood there when it was last seen."""
    current, seen = world.files.get(path), world.seen.get(path)
    words = (seen if seen is not None else current or "none").split()
    old, new = choices.pick(words), world.word()
    if current is None:
        return FileStep(Action.EDIT, path, old, new, outcome=Outcome.NOT_FOUND)
    if seen is not None and seen != current:
        return FileStep(Action.EDIT, path, old, new, outcome=Outcome.CONFLICT)
    world.files[path] = world.seen[path] = current.replace(old, new)
    return FileStep(Action.EDIT, path, old, new, outcome=Outcome.SUCCESS)


def _write(choices: Choices, world: _World, action: Action, path: str) -> FileStep:
    """Something else, something of the same size, or the same again; all of it maybe without a new time."""
    current = world.files.get(path)
    content = _content(choices, world)
    if current is not None and not choices.flag():
        same = choices.flag()
        content = current if same else "".join(world.word() + "\n" for _ in current.splitlines())
    world.files[path] = content
    return FileStep(action, path, new=content, same_time=choices.flag())
