"""Other ways of writing the same shell command, for testing whoever rules on commands (docs/shell.md).

A rewrite takes a simple command (``rm -rf x``) or what another rewrite made of one, and gives a text that runs it when
bash runs the text. Three kinds go into each other: how the name is *spelled*, what *wraps* the command, and the
*context* in which it stands. All of them can be followed without running anything, so a denied command has to stay
denied in each.
"""

from __future__ import annotations

import base64
import random
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum


class RewriteKind(StrEnum):
    """What a rewrite changes; rewrites are applied in this order."""

    SPELLING = "spelling"
    WRAPPER = "wrapper"
    CONTEXT = "context"


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One way of writing a command differently.

    ``apply`` takes the command and a source of randomness. ``needs`` is the program, besides bash, without which the
    text does not run. ``program``: only for commands that are programs, not for what the shell has built in. ``posix``:
    the command is run by sh, which need not know what bash knows.
    """

    name: str
    kind: RewriteKind
    apply: Callable[[str, random.Random], str]
    needs: str = ""
    program: bool = False
    posix: bool = False


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A text that runs ``command``, and the names of the rewrites that made it, in order."""

    command: str
    text: str
    chain: tuple[str, ...]


def _split(command: str) -> tuple[str, str]:
    name, _, rest = command.partition(" ")
    return name, f" {rest}" if rest else ""


def _named(spell: Callable[[str, random.Random], str]) -> Callable[[str, random.Random], str]:
    """A rewrite of the command's name alone."""

    def apply(command: str, rng: random.Random) -> str:
        name, rest = _split(command)
        return spell(name, rng) + rest

    return apply


def _cut(name: str, rng: random.Random) -> tuple[str, str]:
    """The name in two parts; the first is empty only if the name is one character."""
    at = rng.randint(1, len(name) - 1) if len(name) > 1 else 0
    return name[:at], name[at:]


def _between(inserted: str) -> Callable[[str, random.Random], str]:
    def spell(name: str, rng: random.Random) -> str:
        first, second = _cut(name, rng)
        return f"{first}{inserted}{second}"

    return spell


def _escaped(form: str) -> Callable[[str, random.Random], str]:
    return lambda name, _: "$'" + "".join(form.format(ord(char)) for char in name) + "'"


def _part_quoted(quote: str) -> Callable[[str, random.Random], str]:
    def spell(name: str, rng: random.Random) -> str:
        first, second = _cut(name, rng)
        return f"{quote}{first}{quote}{second}" if first else f"{quote}{second}{quote}"

    return spell


def _backslashed(name: str, _: random.Random) -> str:
    return "".join(f"\\{char}" for char in name)


def _in_folder(*folders: str) -> Callable[[str, random.Random], str]:
    return lambda name, rng: name if "/" in name else rng.choice(folders) + name


def _variable(rng: random.Random) -> str:
    return rng.choice(("X", "cmd", "_a1", "tool"))


def _assigned(command: str, rng: random.Random) -> str:
    name, rest = _split(command)
    variable = _variable(rng)
    use = rng.choice((f"${variable}", f"${{{variable}}}", f'"${variable}"'))
    return f"{rng.choice(('', 'export ', 'declare '))}{variable}={name}{rng.choice(('; ', ' && ', chr(10)))}{use}{rest}"


def _assigned_halves(command: str, rng: random.Random) -> str:
    name, rest = _split(command)
    first, second = _cut(name, rng)
    return f"a={first}; b={second}; $a${{b}}{rest}"


def _assigned_whole(command: str, rng: random.Random) -> str:
    variable = _variable(rng)
    return f"{variable}={shlex.quote(command)}; ${variable}"


def _array(command: str, _: random.Random) -> str:
    return f'words=({command}); "${{words[@]}}"'


def _indirect(command: str, _: random.Random) -> str:
    name, rest = _split(command)
    return f"real={name}; via=real; ${{!via}}{rest}"


def _trimmed(command: str, _: random.Random) -> str:
    name, rest = _split(command)
    return f"X=zz{name}; ${{X#zz}}{rest}"


def _replaced(command: str, _: random.Random) -> str:
    name, rest = _split(command)
    return f"X={name}Q; ${{X/Q/}}{rest}"


def _sliced(command: str, _: random.Random) -> str:
    name, rest = _split(command)
    return f"X=ab{name}cd; ${{X:2:{len(name)}}}{rest}"


def _lowered(command: str, _: random.Random) -> str:
    name, rest = _split(command)
    return f"X={name.upper()}; ${{X,,}}{rest}"


def _printed(command: str, rng: random.Random) -> str:
    name, rest = _split(command)
    return (
        rng.choice(("$(echo {})", "`echo {}`", "$(printf {})", "$(printf %s {})", '"$(echo {})"')).format(name) + rest
    )


def _reversed(command: str, _: random.Random) -> str:
    name, rest = _split(command)
    return f"$(echo {name[::-1]} | rev){rest}"


def _decoded(command: str, _: random.Random) -> str:
    name, rest = _split(command)
    return f"$(echo {base64.b64encode(name.encode()).decode()} | base64 -d){rest}"


def _translated(command: str, _: random.Random) -> str:
    name, rest = _split(command)
    shifted = name.translate({code: (code - 96) % 26 + 97 for code in range(97, 123)})
    return f"$(echo {shifted} | tr b-za a-z){rest}"


def _braced(command: str, _: random.Random) -> str:
    words = command.split()
    return f"{{{','.join(words)}}}" if len(words) > 1 else command


def _default(command: str, rng: random.Random) -> str:
    name, rest = _split(command)
    return f"${{unset_{rng.choice(('-', ':-', ':=', '='))}{name}}}{rest}"


def _positional(command: str, rng: random.Random) -> str:
    return f"set -- {command}; {rng.choice((chr(34) + '$@' + chr(34), '$*', '$@'))}"


def _function_arguments(command: str, _: random.Random) -> str:
    return f'run() {{ "$@"; }}; run {command}'


def _looped(command: str, rng: random.Random) -> str:
    name, rest = _split(command)
    return f"for c in {rng.choice(('', 'true '))}{name}; do $c{rest}; done"


def _read_in(command: str, _: random.Random) -> str:
    name, rest = _split(command)
    return f"read -r c <<< {name}; $c{rest}"


def _printed_into(command: str, _: random.Random) -> str:
    name, rest = _split(command)
    return f"printf -v c %s {name}; $c{rest}"


def _template(template: str) -> Callable[[str, random.Random], str]:
    """``@`` stands for the command, ``@Q`` for it quoted as one word, ``@G`` for it grouped if it has several lines."""

    def apply(command: str, _: random.Random) -> str:
        grouped = f"{{ {command}\n}}"
        filled = template.replace("@Q", "\0Q").replace("@G", "\0G").replace("@", "\0")
        return filled.replace("\0Q", shlex.quote(command)).replace("\0G", grouped).replace("\0", command)

    return apply


def _in_program(head: str, program: str, special: str = "") -> Callable[[str, random.Random], str]:
    """``@`` stands for the command in double quotes of a program text, in which ``special`` characters are escaped."""

    def apply(command: str, _: random.Random) -> str:
        escaped = command.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        for char in special:
            escaped = escaped.replace(char, f"\\{char}")
        return f"{head} {shlex.quote(program.replace('@', escaped))}"

    return apply


def _backquoted(command: str, _: random.Random) -> str:
    inner = command.replace("\\", "\\\\").replace("`", "\\`").replace("$", "\\$")
    return f"true `{inner}`"


def _here_document(command: str, rng: random.Random) -> str:
    end = f"END{rng.randrange(10**6)}"
    return f"{rng.choice(('bash', 'sh -s', '/bin/sh', 'env bash'))} <<'{end}'\n{command}\n{end}"


def _substituted_here_document(command: str, rng: random.Random) -> str:
    end = f"END{rng.randrange(10**6)}"
    return f"cat <<{end}\n$({command}\n)\n{end}"


def _commented(command: str, _: random.Random) -> str:
    return f"# it's only a comment\n{command}"


_SPELLINGS: tuple[tuple[str, Callable[[str, random.Random], str], bool], ...] = (
    ("as it is", lambda command, _: command, False),
    ("single quotes", _named(lambda name, _: f"'{name}'"), False),
    ("double quotes", _named(lambda name, _: f'"{name}"'), False),
    ("single quotes around a part", _named(_part_quoted("'")), False),
    ("double quotes around a part", _named(_part_quoted('"')), False),
    ("backslashes", _named(_backslashed), False),
    ("empty quotes", _named(_between("''")), False),
    ("empty double quotes", _named(_between('""')), False),
    ("hexadecimal", _named(_escaped("\\x{:02x}")), False),
    ("octal", _named(_escaped("\\{:03o}")), False),
    ("unicode escapes", _named(_escaped("\\u{:04x}")), False),
    ("line break", _named(_between("\\\n")), False),
    ("unset variable inside", _named(_between("${unset_}")), False),
    ("no arguments inside", _named(_between("$@")), False),
    ("empty substitution inside", _named(_between("$(true)")), False),
    ("full path", _named(_in_folder("/bin/", "/usr/bin/", "/usr/bin/../bin/", "//bin//", "/bin/./")), True),
    ("variable", _assigned, False),
    ("two variables", _assigned_halves, False),
    ("command in a variable", _assigned_whole, False),
    ("array", _array, False),
    ("indirection", _indirect, False),
    ("prefix removed", _trimmed, False),
    ("replaced in a variable", _replaced, False),
    ("slice", _sliced, False),
    ("lower case", _lowered, False),
    ("substitution", _printed, False),
    ("reversed", _reversed, False),
    ("base64", _decoded, False),
    ("translated", _translated, False),
    ("braces", _braced, False),
    ("default value", _default, False),
    ("positional parameters", _positional, False),
    ("function's arguments", _function_arguments, False),
    ("loop variable", _looped, False),
    ("read", _read_in, False),
    ("printf -v", _printed_into, False),
)
_WRAPPERS = (
    "env @", "env A=1 @", "env -u A -- @", "/usr/bin/env @", "nice @", "nice -n 5 @", "nohup @", "timeout 5 @",
    "timeout -k 1 -s KILL 5 @", "setsid -w @", "stdbuf -oL @", "xargs -n 9 @ </dev/null", "ionice -c 2 -n 4 @",
    "busybox env @", "find . -maxdepth 0 -exec @ \\;", "chrt -o 0 @", "taskset -c 0 @", "unshare @", "prlimit @",
)  # fmt: skip
_SHELL_WRAPPERS = (
    "command @",
    "time @",
    "A=1 @",
    "</dev/null @",
    "2>/dev/null @",
    "! @",
    "time -p @",
    "builtin command @",
)
_CONTEXTS = (
    "ls; @", "true && @", "false || @", "ls | @G", "true & @", "@G & wait", "(@\n)", "{ @\n}", "true\n@", "@G | cat",
    "@G 2>&1", "if true; then @\nfi", "if @\nthen true; fi", "if false; then ls; else @\nfi",
    "while @\nbreak; do true; done", "while true; do @\nbreak; done", "until @\ntrue; do true; done",
    "for i in 1; do @\ndone", "case a in a) @\n;; esac", "f() { @\n}; f", "f() ( @\n); f", "function f { @\n}; f",
    "echo $(@\n)", 'echo "a $(@\n) b"', "cat <(@\n)", "x=$(@\n)", "echo ${y:-$(@\n)}", '[[ -n "$(@\n)" ]]',
    '[ -n "$(@\n)" ]', "export y=$(@\n)", "y=(1 $(@\n))", "cat <<< $(@\n)", "true > >(@\n); wait",
    "echo $((1 + $(@\n)))", "case $(@\n) in a) true;; esac", "for i in $(@\n); do true; done", "eval @Q",
    "bash -c @Q", "sh -c @Q", "bash <<< @Q", "printf %s @Q | sh", "echo @Q | bash -s", "trap @Q EXIT",
    ". <(printf %s @Q)", "source /dev/stdin <<< @Q", 'X=@Q; eval "$X"', 'X=@Q; bash -c "$X"', "env bash -c @Q",
    "timeout 5 sh -c @Q", "find . -maxdepth 0 -exec sh -c @Q \\;", "echo x | xargs -I{} sh -c @Q",
    "coproc { @\n}; wait", "time { @\n}", "! { @\n}", "a[$(@\n)0]=1", "echo x | while read -r l; do @\nbreak; done",
)  # fmt: skip
_PROGRAMS = (
    ("python3 -c", 'import os; os.system("@")', ""),
    ("perl -e", 'system("@")', "$@"),
    ("awk", 'BEGIN { system("@") }', ""),
)


def _in_alias(command: str, _: random.Random) -> str:
    return "git -c " + shlex.quote(f"alias.z=!{command}\n#") + " z"


def _runs_sh(template: str) -> bool:
    return bool(re.search(r"(?<!\w)sh\b", template))


REWRITES: tuple[Rewrite, ...] = (
    *(Rewrite(name, RewriteKind.SPELLING, apply, program=program) for name, apply, program in _SPELLINGS),
    *(
        Rewrite(text.split(" @")[0].strip(), RewriteKind.WRAPPER, _template(text), text.split()[0], program=True)
        for text in _WRAPPERS
    ),
    *(Rewrite(text.split(" @")[0].strip(), RewriteKind.WRAPPER, _template(text)) for text in _SHELL_WRAPPERS),
    *(
        Rewrite(text.replace("\n", " "), RewriteKind.CONTEXT, _template(text), posix=_runs_sh(text))
        for text in _CONTEXTS
    ),
    *(
        Rewrite(head, RewriteKind.CONTEXT, _in_program(head, *rest), head.split()[0], posix=True)
        for head, *rest in _PROGRAMS
    ),
    Rewrite("backquotes", RewriteKind.CONTEXT, _backquoted),
    Rewrite("here-document", RewriteKind.CONTEXT, _here_document, posix=True),
    Rewrite("substitution in a here-document", RewriteKind.CONTEXT, _substituted_here_document),
    Rewrite("behind a comment", RewriteKind.CONTEXT, _commented),
    Rewrite("git alias", RewriteKind.CONTEXT, _in_alias, "git", posix=True),
    Rewrite("script", RewriteKind.CONTEXT, _template("script -qc @Q /dev/null"), "script", posix=True),
)
"""All rewrites, each of one kind."""


def rewrite(command: str, rng: random.Random, *, program: bool = True, contexts: int = 2) -> Rewritten:
    """One random rewrite of a simple command: a spelling, up to two wrappers, up to ``contexts`` contexts.

    ``program`` is false for what only the shell knows (``eval``), which no other program can run. The same state of
    ``rng`` gives the same text.
    """
    usable = [one for one in REWRITES if program or not one.program]
    of = {kind: [one for one in usable if one.kind is kind] for kind in RewriteKind}
    spelling = rng.choice(of[RewriteKind.SPELLING])
    chain = [spelling.name]
    text = spelling.apply(command, rng)
    wrappers = rng.sample(of[RewriteKind.WRAPPER], rng.randint(0, 2))
    for wrapper in sorted(wrappers, key=lambda one: not one.program):
        if _is_one_command(text):
            text = wrapper.apply(text, rng)
            chain.append(wrapper.name)
    for context in rng.sample(
        of[RewriteKind.CONTEXT], rng.randint(min(1, contexts) if len(chain) == 1 else 0, contexts)
    ):
        if not (context.posix and _NEEDS_BASH.search(text)):
            text = context.apply(text, rng)
            chain.append(context.name)
    return Rewritten(command, text, tuple(chain))


def rewrites(commands: list[str], count: int, rng: random.Random) -> Iterator[Rewritten]:
    """``count`` rewrites of commands taken in turn. What the shell alone knows is recognized by its name."""
    for at in range(count):
        command = commands[at % len(commands)]
        yield rewrite(command, rng, program=_split(command)[0] not in SHELL_ONLY)


_NEEDS_BASH = re.compile(
    r"\$['\"\\]|<<<|\$\{!|\$\{\w+[,/:^][^-=]|=\(|\{[^\s}]+,|function |\[\[|[<>]\(|coproc|builtin|"
    r"-v c|declare|a\[|source|trap"
)

SHELL_ONLY = frozenset({"eval", "source", "."})
"""Denied names that are no programs."""


def _is_one_command(text: str) -> bool:
    """Whether a wrapper in front of ``text`` wraps all of it."""
    return not any(mark in text.replace("\\\n", "") for mark in (";", "\n", "&", "!", "|"))
