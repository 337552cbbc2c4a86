"""Every command of a shell text once more: behind variables, in arguments, in input, however they are put together.

The grammar's reading in `harness.pipeline.shell.classify` decides what is allowed. This one adds what it cannot see:
denied commands that only come about when the text runs, and paths that lead out of the workspace.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.pipeline.decision import Decision, Ruling
from harness.pipeline.shell.commands import judge
from harness.pipeline.shell.containment import Outside, outside_paths
from harness.pipeline.shell.embedded import in_input, in_variable, in_words
from harness.pipeline.shell.marks import unmarked
from harness.pipeline.shell.reading import TooDeepError, read_script
from harness.pipeline.shell.rules import Word
from harness.pipeline.shell.script import Script, Simple
from harness.pipeline.shell.values import TooMuchWorkError, Values, all_commands

MAX_TEXTS = 200
"""Embedded texts that are read for one command, so that the work stays in proportion to its length."""

MAX_LEVELS = 16
"""Texts within texts that are read: an alias in a script in an argument."""


def survey(text: str, outside: Outside | None = None) -> Iterator[Ruling]:
    """The first denial in ``text``, and what has to be asked for because of its paths. Never raises.

    ``outside`` says whether a path leads out of the workspace; without it paths are not looked at.
    """
    seen: set[str] = set()
    waiting = [(text, 0)]
    while waiting and len(seen) < MAX_TEXTS:
        now, level = waiting.pop(0)
        if now in seen or level > MAX_LEVELS:
            continue
        seen.add(now)
        try:
            for found in _look_into(now, outside):
                if isinstance(found, str):
                    waiting.append((found, level + 1))
                    continue
                yield found
                if found.decision is Decision.DENY:
                    return
        except TooMuchWorkError:
            yield _ask("the command computes too much to be followed")
        except (TooDeepError, RecursionError):
            yield _ask("the command is nested too deeply")


def _look_into(text: str, outside: Outside | None) -> Iterator[Ruling | str]:
    """Rulings on a text, and the texts embedded in it."""
    script = read_script(unmarked(text))
    values = Values(script)
    scripts: dict[int, Script] = {}
    inputs: dict[int, list[str]] = {}
    for command, around in all_commands(script):
        if id(around) not in scripts:
            scripts[id(around)] = around
            inputs[id(around)] = values.inputs(around)
        yield from _look_at(command, inputs[id(around)], values)
    if outside is not None:
        for around in scripts.values():
            for path in outside_paths(around, values, outside):
                yield _ask(f"{path} is outside the workspace")


def _look_at(command: Simple, inputs: list[str], values: Values) -> Iterator[Ruling | str]:
    for name, spelled in command.assignments:
        for value in (value for one in spelled for value in values.texts(one)):
            yield from in_variable(name, value)
    if command.defines:
        return
    for words in values.lines(command):
        ruling = judge([Word(word) for word in words])
        if ruling.decision is Decision.DENY:
            yield ruling
        elif ruling.decision is Decision.ASK:
            # What only reads runs nothing that it is given.
            yield from in_words(words)
            for given in inputs:
                yield from in_input(words, given)


def _ask(reason: str) -> Ruling:
    return Ruling(Decision.ASK, reason)
