"""Which files a reading command names, and whether they lie outside the workspace (bug report G13, for commands).

A look at the words, not a sandbox: a path is what stands where the command takes one. The tools for files refuse such a
path; for a command it has to be asked for.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence

from harness.pipeline.shell.commands import unwrap
from harness.pipeline.shell.rules import WRAPPERS, Word, names
from harness.pipeline.shell.script import Script
from harness.pipeline.shell.values import Values

Outside = Callable[[str], bool]
"""Whether a path, relative to the workspace or absolute, leads out of it."""

_NO_PATHS = names(
    "echo printf true false : which type whereis printenv id whoami groups users logname who uname arch nproc uptime "
    "free ps "
    "pgrep tty locale getconf seq expr factor sleep basename dirname tr test [ exit return break continue shift wait "
    "jobs "
    "export set unset declare local readonly typeset read hash command alias trap hostname lscpu cal pathchk kill man"
)
_PATTERN_FIRST = names("grep egrep fgrep zgrep rg sed awk gawk mawk nawk jq")
_GIVES_PATTERN = re.compile(r"-\w*[ef]|--(regexp|file|expression|from-file)(=.*)?|--files")
_TAKES_SEPARATOR = re.compile(r"-\w*[tdFsEn]|--(delimiter|field-separator|output-delimiter)")
_DEVICES = re.compile(r"/dev/(null|zero|stdin|stdout|stderr|tty|fd/\d+)")


def outside_paths(script: Script, values: Values, outside: Outside) -> Iterator[str]:
    """The paths outside that the commands of one script read. After ``cd x &&`` paths begin at ``x``."""
    folder = ""
    for at, command in enumerate(script):
        if command.joint not in {"&&", "|", "|&"}:
            folder = ""
        entered = None
        for spelled in command.reads:
            for path in values.texts(spelled):
                if _leads_out(path, folder, outside):
                    yield path
        for words in values.lines(command):
            for path in _paths(words):
                if _leads_out(path, folder, outside):
                    yield path
            if words[:1] in (["cd"], ["pushd"]) and len(words) == 2:
                entered = words[1]
        follows = at + 1 < len(script) and script[at + 1].joint == "&&"
        if entered is not None and follows:
            folder = posixpath.join(folder, entered)


def _leads_out(path: str, folder: str, outside: Outside) -> bool:
    if not path or path == "-" or _DEVICES.fullmatch(path):
        return False
    return path.startswith("~") or outside(posixpath.join(folder, path))


def _paths(words: Sequence[str]) -> Iterator[str]:
    base = words[0].rpartition("/")[2] if words else ""
    arguments = list(words[1:])
    if base in {"cd", "pushd"}:
        yield arguments[0] if arguments else "~"
    elif base == "git":
        yield from _git_paths(arguments)
    elif base == "find":
        yield from _find_paths(arguments)
    elif base in WRAPPERS:
        if base == "command" and arguments[:1] in (["-v"], ["-V"]):
            return
        inner, _ = unwrap(WRAPPERS[base], [Word(word) for word in arguments])
        yield from _paths([word.text for word in inner]) if inner else ()
    elif base not in _NO_PATHS:
        if base in _PATTERN_FIRST and not any(_GIVES_PATTERN.fullmatch(word) for word in arguments):
            pattern = next((at for at, word in enumerate(arguments) if not word.startswith("-")), None)
            if pattern is not None:
                del arguments[pattern]
        yield from _operands(arguments)


def _operands(arguments: Sequence[str]) -> Iterator[str]:
    for at, word in enumerate(arguments):
        if not word.startswith("-"):
            if not (word == "/" and at and _TAKES_SEPARATOR.fullmatch(arguments[at - 1])):
                yield word
        elif match := re.match(r"(?:--[\w-]+=|-\w+?)(?=/.|~/|\.\.(?:/|$))", word):
            yield word[match.end() :]


def _find_paths(arguments: Sequence[str]) -> Iterator[str]:
    for word in arguments:
        if word.startswith(("-", "(", "!")):
            break
        yield word
    for at, word in enumerate(arguments):
        if word in {"-exec", "-execdir", "-ok", "-okdir"}:
            tail = arguments[at + 1 :]
            end = next((i for i, later in enumerate(tail) if later in {";", "+"}), len(tail))
            yield from _paths(tail[:end])


def _git_paths(arguments: Sequence[str]) -> Iterator[str]:
    at = 0
    while at < len(arguments) and arguments[at].startswith("-"):
        if arguments[at] in {"-C", "--git-dir", "--work-tree"}:
            yield from arguments[at + 1 : at + 2]
        takes_value = arguments[at] in {"-C", "-c", "--git-dir", "--work-tree", "--namespace"}
        at += 2 if takes_value else 1
    for word in arguments[at + 1 :]:
        # A revision range or a pattern is no path, and git itself refuses paths outside a repository but for
        # --no-index.
        if word.startswith(("/", "~/", "../")) or word == "..":
            yield word
