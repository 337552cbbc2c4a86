"""What the fuzzer plays: a few steps of calls among things that happen outside, made from a seed and a number.

An example is plain data, so that it can be made simpler piece by piece and written down as a scenario.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from harness.fuzz.calls import Due, FuzzedCall, ToolSchema, call_list
from harness.fuzz.choices import Choices, RandomChoices, attempt, several
from harness.fuzz.histories import Action, FileHistory, FileStep, Outcome, file_history
from harness.fuzz.texts import FAMILIES, raw_text, read_strictly
from harness.fuzz.texts.writing import compact
from harness.scenario.world import EventSpec, file_spec

FILES: Mapping[str, str] = {"a.txt": "alpha beta\ngamma\n", "b.txt": "delta\n", "dir/c.txt": "epsilon\n"}
"""The workspace of every example."""

MOST_TURNS = 6
MOST_CALLS = 6
MOST_TEXTS = 40
"""Calls of a step where only texts are fuzzed; the more there are, the less each costs."""

_MOST_EVENTS = 2000
"""Of one call's arguments in a stream."""

_PATHS = (
    "a.txt", "b.txt", "dir/c.txt", "./a.txt", "dir/../a.txt", "/workspace/a.txt", "none.txt", "../outside.txt",
    "../workspace-old/outside.txt", "/etc/hostname", "..", ".", "dir", "a.txt/x", "~/a.txt", "a\0b",
)  # fmt: skip
_WORDS = ("alpha", "beta", "gamma", "delta", "epsilon", "a", "b", "", "x}{y", '{"a": 1}', "[]", "null", "é日😀")
_COMMANDS = (
    "ls",
    "cat a.txt",
    "wc -l b.txt",
    "rm -rf .",
    "git status && rm a.txt",
    "sudo ls",
    "echo $(rm a.txt)",
    "timeout 5 rm a.txt",
)
_NUMBERS = (0, 1, -1, 1000, 9007199254740993, 1234567890123456789)
_WRITTEN = ("compact", "usual", "escaped", "slashes", "pretty")
_PATH_NAMES = re.compile(r"path|file|folder|dir", re.IGNORECASE)
_COMMAND_NAMES = re.compile(r"command|cmd|script", re.IGNORECASE)
_LETTERS = re.compile(r"[^a-z0-9]")


class MadeCall(NamedTuple):
    """A call as it is sent, how it was made, and for calls on files (`file_histories`) what has to come of it.

    ``tool`` is the name of the tool that was meant, where the call has another name.
    """

    name: str | None
    arguments: str | None
    id: str | None
    family: str = "valid"
    name_family: str = "known"
    id_family: str = "fresh"
    outcome: Outcome | None = None
    tool: str = ""

    def sent(self) -> dict[str, Any]:
        """As the API sends it."""
        return {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": self.arguments}}


class Turn(NamedTuple):
    """The calls of one step, and what happens outside before; ``cut`` breaks the answer off while it is streamed.

    ``fault`` is one on the way to an agent (`harness.wire.faults`, as text, without the answer that it happens to).
    """

    calls: tuple[MadeCall, ...]
    before: tuple[EventSpec, ...] = ()
    cut: bool = False
    fault: str = ""


class Example(NamedTuple):
    """A conversation: its turns, and whether the model's answers come as streams over the wire."""

    turns: tuple[Turn, ...]
    kind: str = "calls"
    fragment: int = 8

    @property
    def streamed(self) -> bool:
        """Whether it has to go through the loop and a client."""
        return self.kind == "stream"


class DueCall(NamedTuple):
    """What has to become of a call: of which tool, and with which parameters where it runs."""

    due: Due
    tool: str | None
    value: dict[str, Any] | None


class ExampleMaker:
    """Makes the examples of a target. ``texts`` makes every call one with a raw text."""

    def __init__(self, tools: Sequence[ToolSchema], seed: int, *, texts: bool = False) -> None:
        self._tools = list(tools)
        self._by_name = {tool.name: tool for tool in tools}
        self._seed = seed
        self._texts = texts
        self._on_files = {"Read", "Edit"} <= self._by_name.keys() and not texts
        self._known: dict[str, DueCall] = {}

    def example(self, number: int) -> Example:
        """The example with that number, whatever was made before."""
        choices = RandomChoices(random.Random(f"{self._seed}/{number}"))  # noqa: S311  to be repeatable is its purpose
        if self._on_files and choices.flag(8):
            return on_files(file_history(choices))
        kind = "calls" if self._texts else "stream" if choices.flag(40) else "twice" if choices.flag(10) else "calls"
        # Much of what is kept from call to call shows only where one tool is called again and again.
        tools = [choices.pick(self._tools)] if choices.flag(4) else self._tools
        count = choices.integer(1, MOST_TURNS) if choices.flag(4) else several(choices, 1, MOST_TURNS)
        turns = tuple(self._turn(choices, tools) for _ in range(count))
        if kind == "stream" and choices.flag():
            turns = (*turns[:-1], turns[-1]._replace(cut=True))
        # The longest text would be sixty thousand events, which only take time.
        longest = max(len(call.arguments or "") for turn in turns for call in turn.calls)
        return Example(turns, kind, max(choices.integer(1, 9), longest // _MOST_EVENTS))

    def due(self, call: MadeCall) -> DueCall:
        """What has to become of a call, from its name and text alone."""
        key = f"{call.name}\0{call.arguments}"
        if key not in self._known:
            if len(self._known) > 5000:
                self._known.clear()
            self._known[key] = self._due(call)
        return self._known[key]

    def _turn(self, choices: Choices, tools: Sequence[ToolSchema]) -> Turn:
        if self._texts:
            calls = [self._text_call(choices, tools, number) for number in range(1, choices.integer(1, MOST_TEXTS) + 1)]
        else:
            calls = [self._made(choices, call) for call in call_list(choices, tools, MOST_CALLS)]
        if not self._texts and len(calls) < MOST_CALLS and choices.flag(6):
            again = choices.pick(calls)
            calls += [again._replace(id=f"call_{len(calls) + 1 + at}") for at in range(several(choices, 1, 3))]
        return Turn(tuple(calls), (_event(choices),) if choices.flag(8) else ())

    @staticmethod
    def _text_call(choices: Choices, tools: Sequence[ToolSchema], number: int) -> MadeCall:
        tool = choices.pick(tools)
        made = raw_text(choices, attempt(tool.values.value, choices))
        return MadeCall(tool.name, made.text, f"call_{number}", made.family)

    def _made(self, choices: Choices, made: FuzzedCall) -> MadeCall:
        name, arguments, call_id = made.call.name, made.call.arguments, made.call.id
        if made.family == "valid" and made.value and choices.flag():
            family = choices.pick(_WRITTEN)
            arguments = FAMILIES[family](choices, self._hinted(choices, self._by_name[made.tool], made.value))
            return MadeCall(name, arguments, call_id, family, made.name_family, made.id_family, tool=made.tool)
        return MadeCall(name, arguments, call_id, made.family, made.name_family, made.id_family, tool=made.tool)

    def _hinted(self, choices: Choices, tool: ToolSchema, value: dict[str, Any]) -> dict[str, Any]:
        """The arguments with values in them that mean something in the workspace, where they fit."""
        hinted = dict(value)
        for key, part in value.items():
            if isinstance(part, str) and (choices.flag() or _COMMAND_NAMES.search(key)):
                pool = _PATHS if _PATH_NAMES.search(key) else _COMMANDS if _COMMAND_NAMES.search(key) else _WORDS
                tried = {**hinted, key: choices.pick(pool)}
            elif isinstance(part, int) and not isinstance(part, bool) and choices.flag(3):
                tried = {**hinted, key: choices.pick(_NUMBERS)}
            else:
                continue
            if tool.values.document.validator.is_valid(tried):
                hinted = tried
        return hinted

    def _due(self, call: MadeCall) -> DueCall:
        tool = self._by_name.get(call.name or "")
        if tool is None:
            meant = [other for other in self._tools if _alike(other.name, call.name or "")]
            if not meant:
                return DueCall(Due.REFUSE, None, None)
            found = [self._due(call._replace(name=other.name)) for other in meant]
            due = Due.EITHER if any(one.due is not Due.REFUSE for one in found) else Due.REFUSE
            return DueCall(due, meant[0].name if len(meant) == 1 else None, found[0].value)
        read = read_strictly(call.arguments or "")
        if read.value is None:
            return DueCall(Due.EITHER if read.refusable else Due.REFUSE, tool.name, None)
        if not tool.values.document.validator.is_valid(read.value):
            return DueCall(Due.REFUSE, tool.name, read.value)
        return DueCall(Due.EITHER if read.refusable else Due.ACCEPT, tool.name, read.value)


def on_files(history: FileHistory) -> Example:
    """A file history as an example: its steps outside become events before the next call."""
    turns: list[Turn] = []
    present = set(FILES)
    waiting = [EventSpec(write=dict(history.files), delete=sorted(present - history.files.keys()))]
    contents = dict(history.files)
    for step in history.steps:
        if step.outcome is None:
            waiting.append(_outside(step, contents))
            continue
        number = len(turns) + 1
        value = {"path": step.path}
        if step.action is Action.EDIT:
            value |= {"old_string": step.old, "new_string": step.new}
            if step.outcome is Outcome.SUCCESS:
                contents[step.path] = contents[step.path].replace(step.old, step.new)
        call = MadeCall(
            "Read" if step.action is Action.READ else "Edit", compact(value), f"call_{number}", outcome=step.outcome
        )
        turns.append(Turn((call,), tuple(waiting)))
        waiting = []
    return Example(tuple(turns), "files") if turns else Example((Turn((), tuple(waiting)),), "files")


def outcomes(example: Example) -> list[list[Outcome | None]]:
    """What has to come of each call on files, as the example stands; None where that is not known.

    A conflict is due exactly if the content is not what was last read or written under that path.
    """
    contents, seen = dict(FILES), dict[str, str]()
    found: list[list[Outcome | None]] = []
    for turn in example.turns:
        for event in turn.before:
            contents.update({path: file_spec(spec).content().decode() for path, spec in event.write.items()})
            for path in event.touch:
                contents.setdefault(path, "")
            for path in event.delete:
                contents.pop(path, None)
        found.append([_outcome(call, contents, seen) for call in turn.calls])
    return found


def _outcome(call: MadeCall, contents: dict[str, str], seen: dict[str, str]) -> Outcome | None:
    if call.outcome is None:
        return None
    value = json.loads(call.arguments or "{}")
    path, current = value["path"], contents.get(value["path"])
    if current is None:
        return Outcome.NOT_FOUND
    if call.name == "Edit":
        if path in seen and seen[path] != current:
            return Outcome.CONFLICT
        if current.count(value["old_string"]) != 1:
            return None
        contents[path] = current.replace(value["old_string"], value["new_string"])
    seen[path] = contents[path]
    return Outcome.SUCCESS


def _outside(step: FileStep, contents: dict[str, str]) -> EventSpec:
    if step.action in (Action.WRITE, Action.REPLACE):
        contents[step.path] = step.new
        return EventSpec(write={step.path: step.new}, keep_times=step.same_time)
    if step.action is Action.TOUCH:
        return EventSpec(touch=[step.path])
    content = contents.pop(step.path)
    if step.action is Action.DELETE:
        return EventSpec(delete=[step.path])
    contents[step.target] = content
    return EventSpec(write={step.target: content}, delete=[step.path])


def _event(choices: Choices) -> EventSpec:
    kind = choices.pick(("advance", "write", "touch"))
    if kind == "advance":
        return EventSpec(advance_s=float(choices.pick((1, 301, 1000))))
    path = choices.pick(tuple(FILES))
    if kind == "write":
        return EventSpec(write={path: choices.pick(_WORDS) + "\n"})
    return EventSpec(touch=[path])


def _alike(name: str, received: str) -> bool:
    """Whether a reader may see a tool's name in what was received: case, prefix and suffix aside."""
    bare = _LETTERS.sub("", name.lower())
    return bool(bare) and bare in _LETTERS.sub("", received.lower())
