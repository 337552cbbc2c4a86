"""Commands that stand in the arguments, the input or the variables of other commands, given as shell texts.

An editor's ``-c '!rm f'``, a pager in a variable, ``system("rm f")`` in a program text, a git alias: what is found here
is read as a shell text again. It only ever adds denials, so where a text could be taken in several ways each is given.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

from harness.pipeline.shell.commands import replaced_mark, unwrap
from harness.pipeline.shell.programs import OPENERS, PROGRAMS, RUNNERS, RUNS_INPUT, TAKES_NAMES
from harness.pipeline.shell.rules import ASKS, READS, READS_WITH_ANY_ARGUMENTS, WRAPPERS, Word, names
from harness.pipeline.shell.words import decode_ansi

_CORE = re.compile(
    r"(?:[\w.~$/-]*/)?(?:sudo|sudoedit|doas|su|pkexec|rm|unlink|shred|bash|sh|zsh|dash|ksh|csh|tcsh|ash|rbash|pwsh)"
)
"""Names that are a command even where they stand alone in an argument; common words are not taken for one."""

_CALLS = re.compile(
    r"system|exec|popen|spawn|subprocess|run|call|check_|`|getline|\||qx|open|child_process|shell|\bos\.|pty|%x|"
    r"Process|import|\bterm\b|getattr|passthru|(?<![A-Za-z])e\b"
)
_LITERAL = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'|`([^`]*)`|(?:qx|q|qq|%x)\s*[({/\[|]([^)}/\]|]*)")
_LEADS = re.compile(
    r"\s*(?:[+:]*(?:sil\w*!?\s+|exe\w*\s+|call\s+)?:?!+|\+:?|:|\\!|\|+|\.(?:shell|system)\s|"
    r"(?:shell|spawn|exec|eval|do shell script)\s|(?:exec|system|cmd)[=:]|ext::|"
    r"(?:[^\s:]*:)?(?:EXEC|SYSTEM|SHELL):|(?:\S+\s+){5}(?=\S))",
    re.IGNORECASE,
)
"""What stands before a command in an editor's, a pager's, a debugger's or a table's own language."""

_RUNNING_VARIABLE = re.compile(
    r".*(PAGER|EDITOR|BROWSER|_COMMAND|PROXYCOMMAND|ASKPASS)|VISUAL|LESSOPEN|LESSCLOSE|PS\d|PROMPT_COMMAND|BASH_ENV|ENV|"
    r"GIT_(SSH|PROXY_COMMAND|EXTERNAL_DIFF|CONFIG_VALUE_\d+|CONFIG_PARAMETERS)|RSYNC_RSH|CVS_RSH|MANROFFOPT|BASH_FUNC_.*"
)
_COMPUTES_INDEXES = names("test [ let printf unset read declare typeset local export readonly mapfile readarray wait")
"""They take the index of a name for arithmetic, in which substitutions are expanded once more."""

_GIT_MESSAGES = names(
    "commit tag notes merge add mv rm restore checkout switch branch cherry-pick revert am format-patch"
)

_TEXT_LIMIT = 4096


def holds_substitution(text: str) -> bool:
    """Whether a text would run something if it were expanded once more."""
    return bool(re.search(r"\$\(|`", text))


def in_variable(name: str, value: str) -> Iterator[str]:
    """What a variable makes the shell or other programs run."""
    if holds_substitution(value):
        yield value
    if _RUNNING_VARIABLE.fullmatch(name) and value:
        yield from _openings(value)


def in_words(words: Sequence[str]) -> Iterator[str]:
    """Shell texts in the arguments of a command. Never raises."""
    if not words:
        return
    base = words[0].rpartition("/")[2]
    stem = re.sub(r"(?<![\d.])[\d.]++$", "", base)
    arguments = [word[:_TEXT_LIMIT] for word in words[1:]]
    yield from _in_assignments(base, arguments)
    if base == "git":
        yield from _in_git(arguments)
    elif base in RUNNERS:
        yield from _in_runner(base, arguments)
    elif {base, stem} & PROGRAMS:
        yield from _in_program_arguments(arguments)
    elif base in TAKES_NAMES:
        yield from _beside_names(arguments)
    elif {base, stem} & OPENERS or (base in WRAPPERS and WRAPPERS[base].asks) or "ld-linux" in base:
        yield from _in_opener(arguments)
    elif base in WRAPPERS:
        yield from _in_wrapper(base, arguments)
    elif base == "find":
        runs = [at for at, word in enumerate(arguments) if word in {"-exec", "-execdir", "-ok", "-okdir"}]
        yield from (shlex.join(arguments[at + 1 :]) for at in runs)
    elif not (base in READS or base in READS_WITH_ANY_ARGUMENTS or {base, stem} & ASKS.keys()):
        yield from _suffixes(arguments)


def _in_assignments(base: str, arguments: Sequence[str]) -> Iterator[str]:
    for word in arguments:
        name, equals, value = word.partition("=")
        if equals and re.fullmatch(r"\w+", name):
            yield from in_variable(name, value)
        if base in _COMPUTES_INDEXES and holds_substitution(word):
            yield word


def _in_program_arguments(arguments: Sequence[str]) -> Iterator[str]:
    for word in arguments:
        yield from _in_program(word)
        if re.fullmatch(r"\w+=[^;()]*", word):
            yield from _openings(word.partition("=")[2])


def _in_opener(arguments: Sequence[str]) -> Iterator[str]:
    for word in arguments:
        yield from _openings(word)
        if re.search(r"\w\(", word):
            yield from _in_program(word)
    yield from _suffixes(arguments)


def _in_wrapper(base: str, arguments: Sequence[str]) -> Iterator[str]:
    inner, _ = unwrap(WRAPPERS[base], [Word(word) for word in arguments])
    yield shlex.join(word.text for word in inner)
    if base == "env" and any(word.startswith(("-S", "--split")) for word in arguments):
        yield from (word for word in arguments if re.search(r"\s", word))


def in_input(words: Sequence[str], text: str) -> Iterator[str]:
    """Shell texts in what a command reads from its input."""
    base = words[0].rpartition("/")[2] if words else ""
    stem = re.sub(r"(?<![\d.])[\d.]++$", "", base)
    if base == "xargs":
        inner, _ = unwrap(WRAPPERS[base], [Word(word) for word in words[1:]])
        own = [Word(word) for word in words[1 : len(words) - len(inner)]]
        mark = replaced_mark(own)
        if mark is None:
            yield shlex.join([*(word.text for word in inner), *text.split()])
        else:
            for line in text.splitlines()[:16]:
                yield shlex.join(word.text.replace(mark, line.strip()) for word in inner)
    elif base in PROGRAMS or stem in PROGRAMS:
        yield from _in_program(text[:_TEXT_LIMIT])
        for line in text[:_TEXT_LIMIT].splitlines():
            yield from (part for part in _openings(line) if part != line)
    elif base in RUNS_INPUT:
        yield text
        for line in text[:_TEXT_LIMIT].splitlines():
            yield from _openings(line)


def _openings(word: str) -> Iterator[str]:
    """The ways in which an argument can hold a command."""
    ways = [word]
    if match := re.match(r"-\w(?=.)", word):
        ways.append(word[match.end() :])
    ways += [word.partition("=")[2], word.rpartition("=")[2], word.replace(",", " ")]
    for way in dict.fromkeys(ways):
        if lead := _LEADS.match(way):
            yield from _commands(way[lead.end() :])
        yield from _commands(way)


def _commands(text: str) -> Iterator[str]:
    text = text.strip()
    if re.search(r"[\s;&|(<>`$'\"\\{]", text) or _CORE.fullmatch(text):
        yield text


def _beside_names(arguments: Sequence[str]) -> Iterator[str]:
    for at, word in enumerate(arguments):
        is_value = at > 0 and arguments[at - 1] in {"-P", "--pager", "-o", "--eval", "-I"}
        if is_value or word.startswith("-") or "=" in word:
            yield from _openings(word)


def _suffixes(arguments: Sequence[str]) -> Iterator[str]:
    """What begins at an argument that is a well-known denied command."""
    for at, word in enumerate(arguments):
        if _CORE.fullmatch(word) or word.rpartition("/")[2] == "git":
            yield shlex.join(arguments[at : at + 16])


def _in_runner(base: str, arguments: Sequence[str]) -> Iterator[str]:
    wanted = RUNNERS[base]
    start = next((at + 1 for at, word in enumerate(arguments) if word in wanted), None if wanted else 0)
    if start is not None:
        yield from _suffixes(arguments[start:])
        for word in arguments[start:]:
            if re.search(r"\s", word):
                yield from _openings(word)


def _in_program(code: str) -> Iterator[str]:
    """The literals of a program text that calls other programs, and lists of them put together."""
    if not _CALLS.search(code):
        return
    literals = ["".join(match) for match in _LITERAL.findall(code)][:64]
    for at, literal in enumerate(literals):
        plain = decode_ansi(literal)
        yield from _commands(plain)
        if plain != literal:
            yield from _commands(literal)
        if at + 1 < len(literals) and (_CORE.fullmatch(plain) or plain == "git"):
            yield shlex.join(literals[at : at + 8])
    for match in re.finditer(r"(?:^|[\s;{}/0-9$])e\s+([^;}\n]+)", code):
        yield from _commands(match[1])
    if replaced := re.fullmatch(r"s(\W)(.*?)\1(.*?)\1[gI\d]*e[gI\d]*", code, re.DOTALL):
        yield from _commands(replaced[3])


def _in_git(arguments: Sequence[str]) -> Iterator[str]:
    at = 0
    settings: list[tuple[str, str]] = []
    while at < len(arguments) and arguments[at].startswith("-"):
        word = arguments[at]
        if word in {"-c", "--config-env"} and at + 1 < len(arguments):
            name, _, value = arguments[at + 1].partition("=")
            settings.append((name, value))
        at += 2 if word in {"-c", "-C", "--git-dir", "--work-tree", "--namespace", "--config-env"} else 1
    subcommand, rest = (arguments[at], arguments[at + 1 :]) if at < len(arguments) else ("", [])
    if subcommand == "config":
        plain = [word for word in rest if not word.startswith("-")]
        plain = plain[1:] if plain[:1] == ["set"] else plain
        settings += [(plain[0], value) for value in plain[1:]]
    for name, value in settings:
        if name.lower().startswith("alias.") and not value.startswith("!"):
            yield f"git {value}"
        yield from _openings(value)
    if subcommand in {"bisect", "submodule", "difftool", "mergetool", "filter-branch", "rebase"}:
        yield from _suffixes(rest)
    if subcommand not in _GIT_MESSAGES:
        for at, word in enumerate(rest):
            if word.startswith("-") or re.search(r"\s|::", word):
                yield from _openings(word)
            if re.fullmatch(r"-[xuO]|--[\w-]+", word) and at + 1 < len(rest):
                yield from _openings(rest[at + 1])
