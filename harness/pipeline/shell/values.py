"""What words can become when the shell expands them, as far as the text itself says it.

Assignments, positional parameters, expansions with operators and the output of a few text commands are computed without
regard to order: a name has every value that any place of the text gives it. What is not said counts as empty, as an
unset variable does. The values are guesses that only ever add denials, so few of them are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from harness.pipeline.shell.marks import BREAK, marked, matched, plain, unbraced, unmarked
from harness.pipeline.shell.operators import operate
from harness.pipeline.shell.output import output_of
from harness.pipeline.shell.script import Parameter, Piece, Script, Simple, Spelling, Substitution, Text

MAX_VALUES = 8
"""Values kept of one name, one word or one output."""

MAX_VALUE_LENGTH = 4096
"""Characters kept of a value."""

MAX_WORK = 20_000
"""Pieces that are expanded for one text; the rest of it is not looked at."""

_PRESET = {
    "HOME": "~", "SHELL": "/bin/bash", "BASH": "/bin/bash", "0": "bash", "PWD": ".", "OLDPWD": "..", "IFS": " ",
    "#": "0", "?": "0", "$": "1", "!": "1", "-": "h",
}  # fmt: skip
_PLAIN = re.compile(r"[\w/.:=+-]+")
_DECLARES = frozenset({"declare", "typeset", "local", "export", "readonly"})


def nested_scripts(spelled: Iterable[Piece]) -> Iterator[Script]:
    """The scripts in the substitutions of a word, wherever they stand in it."""
    for piece in spelled:
        if isinstance(piece, Substitution):
            yield piece.script
        elif isinstance(piece, Parameter):
            yield from nested_scripts((*(piece.index or ()), *piece.argument))


def spellings(command: Simple) -> Iterator[Spelling]:
    """All words of a command, those that run nothing included."""
    yield from command.words
    yield from command.inputs
    yield from command.reads
    yield from command.mentions
    for _, values in command.assignments:
        yield from values


def all_commands(script: Script) -> Iterator[tuple[Simple, Script]]:
    """Each command of a script and of the scripts nested in it, with the script that it stands in."""
    stack = [script]
    while stack:
        now = stack.pop()
        for command in now:
            yield command, now
            for spelled in spellings(command):
                stack.extend(nested_scripts(spelled))


class TooMuchWorkError(Exception):
    """More than MAX_WORK pieces would have to be expanded."""


class Values:
    """The values of names in one script. Raises TooMuchWorkError, from the constructor on."""

    def __init__(self, script: Script) -> None:
        self._names: dict[str, list[str]] = {}
        self._arrays: dict[str, list[str]] = {}
        self._references: dict[str, str] = {}
        self._arguments: list[list[str]] = []
        self._shifts = False
        self._work = 0
        self._within = 0
        commands = list(all_commands(script))
        self.functions = frozenset(_text(command.words[0]) for command, _ in commands if command.defines)
        self._learn_all(commands)

    def _learn_all(self, commands: list[tuple[Simple, Script]]) -> None:
        """A value may be made of another that is set later in the text, so until nothing new is found."""
        for _ in range(4):
            before = self._size()
            for command, script in commands:
                self._learn(command, script)
            if self._size() == before:
                return

    def _size(self) -> int:
        held = (*self._names.values(), *self._arrays.values(), *self._arguments)
        return sum(map(len, held)) + len(held) + len(self._references)

    # What a command says about names.

    def _learn(self, command: Simple, script: Script) -> None:
        for name, values in command.assignments:
            if len(values) > 1 or any(_text(value).startswith("[") for value in values):
                elements = [field for value in values for field in self.fields(value)[0]][:64]
                self._arrays[name] = [re.sub(r"\A\[[^\]]*\]=", "", element) for element in elements]
            for text in (text for value in values for text in self.expand(value)):
                self._add(name, re.sub(r"\A\[[^\]]*\]=", "", plain(text)))
        if not command.words:
            return
        for words in self.lines(command):
            self._learn_words(words, script)

    def _learn_words(self, words: list[str], script: Script) -> None:
        if not words:
            return
        name, arguments = words[0], words[1:]
        if name in _DECLARES:
            refers = any(re.fullmatch(r"-\w*n\w*", word) for word in arguments)
            for word in arguments:
                variable, equals, value = word.partition("=")
                if equals:
                    self._add(variable.rstrip("+"), value)
                    if refers:
                        self._references[variable] = value
        elif name == "set" and arguments and (arguments[0] == "--" or arguments[0][:1] not in "-+"):
            self._add_arguments(arguments[arguments[0] == "--" :])
        elif name in self.functions:
            self._add_arguments(arguments)
        elif name == "shift":
            self._shifts = True
        elif name == "printf" and arguments[:1] == ["-v"] and len(arguments) > 2:
            self._add(arguments[1], output_of(["printf", *arguments[2:]], ""))
        elif name in {"read", "mapfile", "readarray"}:
            targets = [word for word in arguments if re.fullmatch(r"[A-Za-z_]\w*", word)] or ["REPLY"]
            for text in self.inputs(script):
                self._read(targets, text, whole=name != "read")

    def _read(self, targets: list[str], text: str, *, whole: bool) -> None:
        if whole:
            self._arrays.setdefault(targets[-1], text.splitlines()[:64])
            return
        for line in text.splitlines()[:MAX_VALUES]:
            words = [word for word in self._split(line).split(BREAK) if word]
            parts = [*words[: len(targets) - 1], " ".join(words[len(targets) - 1 :])]
            for target, part in zip(targets, parts, strict=False):
                self._add(target, part.strip())

    def _add(self, name: str, value: str) -> None:
        held = self._names.setdefault(name, [])
        if value not in held and len(held) < MAX_VALUES and len(value) <= MAX_VALUE_LENGTH:
            held.append(value)

    def _add_arguments(self, arguments: list[str]) -> None:
        if arguments not in self._arguments and len(self._arguments) < MAX_VALUES:
            self._arguments.append(arguments[:64])

    # What is computed from them.

    def lines(self, command: Simple) -> Iterator[list[str]]:
        """What the words of a command can become, each time the whole command."""
        choices = [self.fields(spelled, first=at == 0) for at, spelled in enumerate(command.words)]
        seen: list[list[str]] = []
        for picks in _combinations([len(choice) for choice in choices]):
            words = [field for choice, pick in zip(choices, picks, strict=True) for field in choice[pick]]
            if words not in seen:
                seen.append(words)
                yield words

    def fields(self, spelled: Spelling, *, first: bool = False) -> list[list[str]]:
        """What one word can become: each time no word, one or several. ``first``: it stands where a command does."""
        if len(spelled) == 1 and isinstance(spelled[0], Text) and _PLAIN.fullmatch(spelled[0].text):
            return [[spelled[0].text]]
        quoted = any(piece.quoted for piece in spelled)
        found: list[list[str]] = []
        for expanded in self.expand(spelled):
            parts = [part for text in unbraced(expanded) for part in text.split(BREAK)]
            kept = [part for part in parts if part] or ([""] if quoted else [])
            fields = [plain(part) for part in kept]
            if first and kept and (name := matched(kept[0])):
                found.append([name, *fields[1:]])
            elif fields not in found:
                found.append(fields)
        return found or [[]]

    def texts(self, spelled: Spelling) -> list[str]:
        """What one word can become where nothing is split, as in a here-string."""
        return list(dict.fromkeys(plain(text) for text in self.expand(spelled)))

    def inputs(self, script: Script) -> list[str]:
        """The texts that commands of a script can read: here-documents, here-strings, pipes, substituted files."""
        found = [text for command in script for spelled in command.inputs for text in self.texts(spelled)]
        for command in script:
            for piece in (piece for spelled in command.reads for piece in spelled):
                if isinstance(piece, Substitution):
                    found += self.outputs(piece.script)
        found += self._flow(script)[1]
        return list(dict.fromkeys(found))[: 4 * MAX_VALUES]

    def outputs(self, script: Script) -> list[str]:
        """What a script can print, as far as it is made of known text."""
        return self._flow(script)[0]

    def _flow(self, script: Script) -> tuple[list[str], list[str]]:
        """What a script can print, and what goes through its pipes."""
        if self._within > 12:
            return [""], []
        self._within += 1
        done, piped, through = [""], [""], []
        for command in script:
            if command.joint in {"|", "|&"}:
                through += piped
            else:
                done = [(a + b)[:MAX_VALUE_LENGTH] for a, b in product(done, piped)][:MAX_VALUES]
                piped = [""]
            given = [text for spelled in command.inputs for text in self.texts(spelled)] or piped
            if command.words:
                piped = [output_of(words, text) for words in self.lines(command) for text in given][:MAX_VALUES]
            else:
                piped = given
        self._within -= 1
        printed = [(a + b)[:MAX_VALUE_LENGTH] for a, b in product(done, piped)]
        return list(dict.fromkeys(printed))[:MAX_VALUES], through[: 4 * MAX_VALUES]

    def expand(self, spelled: Spelling) -> list[str]:
        """What a word can become, with active characters and places of splitting marked."""
        found = [""]
        for piece in spelled:
            self._work += 1
            if self._work > MAX_WORK:
                raise TooMuchWorkError
            found = [head + tail for head, tail in product(found, self._piece(piece))]
            found = [text[:MAX_VALUE_LENGTH] for text in dict.fromkeys(found)][:MAX_VALUES]
        return found

    def _piece(self, piece: Piece) -> list[str]:
        if isinstance(piece, Text):
            return [piece.text if piece.quoted else marked(piece.text)]
        if isinstance(piece, Substitution):
            if piece.process:
                return ["/dev/fd/63"]
            values = [unmarked(text.rstrip("\n")) for text in self.outputs(piece.script)]
        else:
            values = self._parameter(piece)
        return values if piece.quoted else [self._split(value) for value in values]

    def _split(self, value: str) -> str:
        separators = {" ", "\t", "\n", *"".join(self._names.get("IFS", []))}
        return "".join(BREAK if char in separators else char for char in value)

    def _parameter(self, piece: Parameter) -> list[str]:
        self._within += 1
        try:
            if self._within > 12:
                return [""]
            values = self._named(piece.name, piece.index)
            if piece.indirect:
                values = [value for name in values for value in self._named(name, None)] or [""]
            if piece.length:
                return [str(len(value)) for value in values or [""]]
            return self._operated(piece, values)[:MAX_VALUES] or [""]
        finally:
            self._within -= 1

    def _named(self, name: str, index: Spelling | None) -> list[str]:
        if name in {"@", "*"}:
            return [BREAK.join(arguments) for arguments in self._passed()]
        if name.isdigit() and name != "0":
            return [arguments[int(name[:3]) - 1] for arguments in self._passed() if int(name[:3]) <= len(arguments)]
        elements = self._arrays.get(name)
        if elements is not None and (index is None or _text(index) not in {"@", "*"}):
            number = _text(index or ())
            picked = elements[int(number[:3])] if number.isdigit() and int(number[:3]) < len(elements) else None
            if index is None:
                return [*elements[:1], *self._names.get(name, ())]
            return [picked] if picked is not None else elements
        if elements is not None:
            return [BREAK.join(elements)]
        values = list(self._names.get(name, ()))
        if name in self._references:
            values += self._names.get(self._references[name], ())
        return values or ([_PRESET[name]] if name in _PRESET else [])

    def _passed(self) -> list[list[str]]:
        """The lists of arguments, and where ``shift`` is used what is left of them."""
        if not self._shifts:
            return self._arguments
        return [arguments[at:] for arguments in self._arguments for at in range(min(len(arguments), MAX_VALUES))]

    def _operated(self, piece: Parameter, values: list[str]) -> list[str]:
        operation = piece.operation
        if operation.lstrip(":") in {"-", "=", "?"} and operation:
            default = [plain(text) for text in self.expand(piece.argument)]
            if operation.endswith("="):
                for text in default:
                    self._add(piece.name, text)
            return [*values, *default]
        if operation.lstrip(":") == "+":
            return [*(plain(text) for text in self.expand(piece.argument)), ""]
        known = values or [""]
        if not operation:
            return known
        arguments = [plain(text) for text in self.expand(piece.argument)]
        self._work += 20
        if piece.name in {"@", "*"} and operation == ":":
            known = [BREAK.join(("bash", value)) for value in known]
        return [operate(operation, value, argument) for value, argument in product(known, arguments)]


def _combinations(sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Which value of each word to take: each value once at least, equal places together, and not every product."""
    for at in range(max(sizes, default=1)):
        yield tuple(min(at, size - 1) for size in sizes)
    for place, size in enumerate(sizes):
        for at in range(1, size):
            yield tuple(at if other == place else 0 for other in range(len(sizes)))


def _text(spelled: Spelling) -> str:
    return "".join(piece.text for piece in spelled if isinstance(piece, Text))
