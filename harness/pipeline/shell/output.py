"""What text commands print, for names that are put together while a command runs: ``$(echo mr | rev)``.

Only commands that turn known text into other text are computed. Of any other command its input is taken for the output,
as it is for filters, so that a name on its way through one is still seen.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

from harness.pipeline.shell.words import decode_ansi

_SED_REPLACE = re.compile(r"s([^\w\s\\])((?:(?!\1).)*)\1((?:(?!\1).)*)\1([gI\d]*)", re.DOTALL)
_SAFE_PATTERN = re.compile(r"[\w \-./:,]*")


def output_of(words: Sequence[str], given: str) -> str:
    """What the command ``words`` prints when it reads ``given``. Never raises."""
    if not words:
        return given
    name, arguments = words[0].rpartition("/")[2], list(words[1:])
    if name in {"command", "builtin", "type"} and arguments and arguments[0] in {"-v", "-p", "-P", "-V"}:
        return _names(arguments[1:], given)
    if name in {"command", "builtin", "env", "nice", "nohup", "exec", "busybox", "xargs"}:
        inner = [word for word in arguments if not word.startswith("-") and "=" not in word and not word.isdigit()]
        if name == "xargs":
            return output_of([*(inner or ["echo"]), *given.split()], "")
        return output_of(inner, given)
    compute = _COMPUTED.get(name)
    return compute(arguments, given) if compute else given


def _names(arguments: Sequence[str], _: str) -> str:
    return "".join(f"{word}\n" for word in arguments if not word.startswith("-"))


def _echo(arguments: Sequence[str], _: str) -> str:
    at, escapes, newline = 0, False, True
    while at < len(arguments) and re.fullmatch(r"-[neE]+", arguments[at]):
        escapes = escapes or "e" in arguments[at]
        newline = newline and "n" not in arguments[at]
        at += 1
    text = " ".join(arguments[at:])
    return (_unescaped(text) if escapes else text) + ("\n" if newline else "")


def _unescaped(text: str) -> str:
    """``text`` as echo -e and printf %b print it: their octal numbers begin with a zero."""
    return decode_ansi(re.sub(r"\\0([0-7]{1,3})", r"\\\1", text))


_DIRECTIVE = re.compile(r"%(?:%|[-+ #0]*\d*(?:\.\d+)?([a-zA-Z]))")


def _printf(arguments: Sequence[str], _: str) -> str:
    rest = list(arguments[arguments[:1] == ["--"] :])
    if not rest:
        return ""
    pattern, values = decode_ansi(rest[0]), rest[1:65]
    takes = sum(match[1] is not None for match in _DIRECTIVE.finditer(pattern))
    rounds = -(-len(values) // takes) if takes and values else 1
    waiting = iter(values)
    return "".join(_DIRECTIVE.sub(lambda match: _filled(match, waiting), pattern) for _ in range(rounds))


def _filled(directive: re.Match[str], values: Iterator[str]) -> str:
    if directive[1] is None:
        return "%"
    value = next(values, "")
    if directive[1] in {"o", "x", "X"} and re.fullmatch(r"\d{1,9}", value):
        return format(int(value), directive[1])
    return value[:1] if directive[1] == "c" else _unescaped(value) if directive[1] == "b" else value


def _rev(_: Sequence[str], given: str) -> str:
    return "\n".join(line[::-1] for line in given.split("\n"))


def _set_of(text: str) -> str:
    text = decode_ansi(text)
    text = re.sub(
        r"(.)-(.)",
        lambda m: "".join(map(chr, range(ord(m[1]), min(ord(m[2]), ord(m[1]) + 300) + 1))),
        text.replace("[:upper:]", "A-Z").replace("[:lower:]", "a-z"),
        flags=re.DOTALL,
    )
    return text[:1024]


def _tr(arguments: Sequence[str], given: str) -> str:
    options = "".join(word[1:] for word in arguments if re.fullmatch(r"-[cCdst]+", word))
    sets = [_set_of(word) for word in arguments if not re.fullmatch(r"-[cCdst]+", word)]
    if "d" in options and sets:
        return "".join(char for char in given if (char in sets[0]) == ("c" in options.lower()))
    if len(sets) < 2 or not sets[1]:
        return given
    padded = sets[1] + sets[1][-1] * len(sets[0])
    return given.translate({ord(one): padded[at] for at, one in reversed(list(enumerate(sets[0])))})


def _decoded(
    decode: Callable[[bytes], bytes], encode: Callable[[bytes], bytes] | None = None
) -> Callable[[Sequence[str], str], str]:
    def compute(arguments: Sequence[str], given: str) -> str:
        if not any(re.fullmatch(r"-\w*[dDpr]\w*|--decode|--revert|base64", word) for word in arguments):
            return encode(given.encode("utf-8", "replace")).decode() + "\n" if encode else given
        try:
            return decode("".join(given.split()).encode("ascii", "replace")).decode("utf-8", "replace")
        except (binascii.Error, ValueError):
            return given

    return compute


def _base64(given: bytes) -> bytes:
    return base64.b64decode(given + b"=" * (-len(given) % 4))


def _sed(arguments: Sequence[str], given: str) -> str:
    for word in (word[:256] for word in arguments):
        for match in _SED_REPLACE.finditer(word):
            if _SAFE_PATTERN.fullmatch(match[2]):
                given = given.replace(match[2].replace("\\", ""), match[3], -1 if "g" in match[4] else 1)
    return given


def _cut(arguments: Sequence[str], given: str) -> str:
    text = " ".join(arguments)
    delimiter = re.search(r"-d\s?(\S)", text)
    ranged = re.search(r"-([cbf])\s?(\d*)(-?)(\d*)", text)
    if ranged is None:
        return given
    start = int(ranged[2][:4] or 1) - 1
    end = int(ranged[4][:4] or 9999) if ranged[3] else start + 1
    mark = delimiter[1] if delimiter else "\t"
    lines = given.splitlines()
    if ranged[1] == "f":
        return "".join(f"{mark.join(line.split(mark)[max(start, 0) : end])}\n" for line in lines)
    return "".join(f"{line[max(start, 0) : end]}\n" for line in lines)


def _awk(arguments: Sequence[str], given: str) -> str:
    program = next((word for word in arguments if not word.startswith("-")), "")
    if literals := _literals(program):
        return literals
    if field := re.search(r"\$(\d)", program):
        wanted = int(field[1])
        rows = (line.split() for line in given.splitlines())
        return "".join(f"{row[wanted - 1] if 0 < wanted <= len(row) else ' '.join(row)}\n" for row in rows)
    return given


def _literals(code: str) -> str:
    return "".join(a or b for a, b in re.findall(r"\"([^\"]*)\"|'([^']*)'", code))


def _program(arguments: Sequence[str], given: str) -> str:
    return next((text for text in map(_literals, arguments) if text), given)


def _path(arguments: Sequence[str], _: str) -> str:
    return "".join(f"{word.rpartition('/')[2]}\n" for word in arguments if not word.startswith("-"))


def _found(arguments: Sequence[str], _: str) -> str:
    wanted = [after for word, after in pairwise(arguments) if re.fullmatch(r"-i?(name|path)", word)]
    return "".join(f"{word}\n" for word in wanted)


def _nothing(_: Sequence[str], __: str) -> str:
    return ""


_COMPUTED: Mapping[str, Callable[[Sequence[str], str], str]] = {
    "echo": _echo,
    "printf": _printf,
    "rev": _rev,
    "tr": _tr,
    "base64": _decoded(_base64, base64.b64encode),
    "base32": _decoded(base64.b32decode, base64.b32encode),
    "openssl": _decoded(_base64),
    "xxd": _decoded(binascii.unhexlify),
    "sed": _sed,
    "cut": _cut,
    "awk": _awk,
    "gawk": _awk,
    "mawk": _awk,
    "basename": _path,
    "find": _found,
    **dict.fromkeys(("which", "realpath", "readlink", "whereis", "ls", "stat"), _names),
    **dict.fromkeys(("python", "python3", "perl", "ruby", "node", "php"), _program),
    **dict.fromkeys(("true", "false", ":", "sleep", "cd", "test", "[", "export", "set", "unset", "shift"), _nothing),
}
