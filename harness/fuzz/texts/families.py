"""The families of arguments texts: each a way in which texts go wrong, or go right in an unusual way.

Sources: the reports of malformed tool calls that design and seeds name (seed 000, families B and C of the bug reports),
and RFC 8259. A family's name says what was done; `RawText.reading` says what came of it, judged by a strict reader
and not by the family.
"""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from harness.fuzz.choices import Choices, several
from harness.fuzz.texts.reading import Reading, read_strictly, reading_of
from harness.fuzz.texts.writing import PROBE, bare, compact, single_quoted, strings_of, usual, written

Family = Callable[[Choices, dict[str, Any]], str]

_SPACES = (" ", "\n", "\t", "\r\n", "  ")
_NOT_SPACES = ("\u00a0", "\u3000", "\v", "\f", "\u200b", "\u2028")
_CONTROLS = "\n\t\r\0\x07\x1b\x1f"
_SURROGATES = ("\\ud83d", "\\ude00", "\\ud83d\\ud83d", "\\udc00\\ud800", "\ud83d", "\udc00")
_ESCAPES = ("\\x41", "\\'", "\\a", "\\u12", "\\uZZZZ", "\\ ", "\\$", "\\u{41}")
_NUMBERS = ("01", "+1", ".5", "5.", "0x1F", "1_000", "1e", "--1", "1,5", "٣")
_HUGE = ("1e999", "-1e999", "9" * 400, "NaN", "Infinity", "-Infinity", "1" + "0" * 5000)
_LARGE = ("9" * 30, "1e308", "-1e308", "9007199254740993", "18446744073709551616", "0." + "1" * 60, "1e-400", "-0")
_REPEATED = ("a", "a", "a", "a", "0", " ")  # letters are what most patterns repeat
_ONE_CHARACTER = ("", "{", "}", "[", "]", '"', ":", ",", "\\", "'", "0", "-")
_STARTS = ("Here is the call:\n", "Sure! ", "arguments = ", "```\n", "json\n", "Action Input: ")
_ENDS = ("\nLet me know if that helps.", ";", " # done", "\n```", "<|im_end|>", "</s>", "<|tool_call_end|>", " EOF")
_TAGS = ("tool_call", "function_call", "arguments", "tool_input", "parameter")
_WRAPPERS = ("arguments", "parameters", "input", "args", "kwargs", "properties", "tool_input")
_QUOTES = (("“", "”"), ("„", "“"), ("«", "»"), ("\u2018", "\u2019"), ("`", "`"), ("″", "″"))
_COMMENTS = ("// note\n", "/* note */", "# note\n")
_NO_OBJECTS = ("[]", "[{}]", '""', "0", "1", "true", "false", '"null"', "None", "undefined", "{}{}", "()")


class RawText(NamedTuple):
    """An arguments text: how it was made, how it stands to the object meant, and the object that it holds, if any.

    ``value`` is None for a broken text, and for one nested so deep that nobody has to read it.
    """

    text: str
    family: str
    reading: Reading
    value: dict[str, Any] | None


def raw_text(choices: Choices, meant: Mapping[str, Any], family: str | None = None) -> RawText:
    """The object as a text of the family, or of any. Raises KeyError for a family that is none."""
    value = dict(meant)
    name = choices.pick(_NAMES) if family is None else family
    text = FAMILIES[name](choices, value)
    read = read_strictly(text)
    return RawText(text, name, reading_of(read, value), read.value)


def _pretty(choices: Choices, value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, indent=choices.pick((2, 4, 1)))


def _escaped(choices: Choices, value: dict[str, Any]) -> str:
    r"""Every character as ``\uXXXX``, those beyond the first plane as a pair."""
    every = choices.flag()

    def string(text: str) -> str:
        units = text.encode("utf-16-be", "surrogatepass")
        codes = [int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2)]
        return '"' + "".join(f"\\u{code:04x}" for code in codes) + '"' if every else json.dumps(text)

    return written(value, string)


def _slashes(_: Choices, value: dict[str, Any]) -> str:
    return usual(value).replace("/", "\\/")


def _spaced(choices: Choices, value: dict[str, Any]) -> str:
    space = choices.pick(_SPACES) * several(choices, 1, 6)
    return space + usual(value) + space


def _flooded(choices: Choices, value: dict[str, Any]) -> str:
    return "{" + " " * choices.pick((100, 1000, 10_000)) + usual(value)[1:]


def _reordered(_: Choices, value: dict[str, Any]) -> str:
    return usual(dict(reversed(value.items())))


def _empty(choices: Choices, _: dict[str, Any]) -> str:
    return choices.pick(("", " ", "\n", "null", " null "))


def _truncated(choices: Choices, value: dict[str, Any]) -> str:
    text = usual(value)
    return text[: choices.integer(1, len(text) - 1)]


def _lost_start(choices: Choices, value: dict[str, Any]) -> str:
    text = usual(value)
    return text[choices.integer(1, len(text) - 1) :]


def _place(choices: Choices, text: str) -> tuple[int, int]:
    start = choices.integer(0, len(text) - 1)
    return start, min(len(text), start + choices.integer(1, 12))


def _lost_fragment(choices: Choices, value: dict[str, Any]) -> str:
    text = usual(value)
    start, end = _place(choices, text)
    return text[:start] + text[end:]


def _repeated_fragment(choices: Choices, value: dict[str, Any]) -> str:
    text = usual(value)
    start, end = _place(choices, text)
    return text[:end] + text[start:]


def _swapped_fragments(choices: Choices, value: dict[str, Any]) -> str:
    text = usual(value)
    start, middle = _place(choices, text)
    end = min(len(text), middle + middle - start)
    return text[:start] + text[middle:end] + text[start:middle] + text[end:]


def _one_character(choices: Choices, value: dict[str, Any]) -> str:
    """A character of the structure more, less, or another."""
    text = usual(value)
    at = choices.integer(0, len(text) - 1)
    return text[:at] + choices.pick(_ONE_CHARACTER) + text[at + choices.integer(0, 1) :]


def _trailing_comma(choices: Choices, value: dict[str, Any]) -> str:
    text = usual(value)
    ends = [at for at, character in enumerate(text) if character in "}]" and not _in_string(text, at)]
    at = choices.pick(ends[::-1])
    return text[:at] + "," + text[at:]


def _in_string(text: str, at: int) -> bool:
    return any(start < at < end for start, end in strings_of(text))


def _with_probe(value: dict[str, Any], probe: object) -> dict[str, Any]:
    """The object with a value in it that the family is about; where the key is taken, another is made."""
    name = PROBE
    while name in value:
        name += "_"
    return {**value, name: probe}


def _missing_comma(_: Choices, value: dict[str, Any]) -> str:
    two = value if len(value) > 1 else _with_probe(_with_probe(value, 1), 2)
    return "{" + " ".join(f"{usual(name)}: {usual(part)}" for name, part in two.items()) + "}"


def _missing_colon(_: Choices, value: dict[str, Any]) -> str:
    one = value or {PROBE: 1}
    return "{" + ", ".join(f"{usual(name)} {usual(part)}" for name, part in one.items()) + "}"


def _equals_sign(_: Choices, value: dict[str, Any]) -> str:
    one = value or {PROBE: 1}
    return "{" + ", ".join(f"{usual(name)} = {usual(part)}" for name, part in one.items()) + "}"


def _single_quotes(_: Choices, value: dict[str, Any]) -> str:
    return written(value or {PROBE: ""}, single_quoted)


def _smart_quotes(choices: Choices, value: dict[str, Any]) -> str:
    opening, closing = choices.pick(_QUOTES)
    return written(value or {PROBE: ""}, lambda text: opening + usual(text)[1:-1] + closing)


def _unquoted_keys(_: Choices, value: dict[str, Any]) -> str:
    return written(value or {PROBE: 1}, key=bare)


def _unescaped_quote(_: Choices, value: dict[str, Any]) -> str:
    return written(
        _with_probe(value, 'say "hello" now'), lambda text: f'"{text}"' if text[:4] == "say " else usual(text)
    )


def _python_literals(choices: Choices, value: dict[str, Any]) -> str:
    probed = _with_probe(value, choices.pick((True, False, None)))
    return written(probed, literals=("True", "False", "None"))


def _python_repr(choices: Choices, value: dict[str, Any]) -> str:
    return repr(_with_probe(value, choices.pick((True, None, "it's"))))


def _javascript_literals(choices: Choices, value: dict[str, Any]) -> str:
    return written(_with_probe(value, None), literals=("true", "false", choices.pick(("undefined", "void 0", "nil"))))


def _comments(choices: Choices, value: dict[str, Any]) -> str:
    text = usual(value)
    comment = choices.pick(_COMMENTS)
    return choices.pick((comment + text, text + comment, "{" + comment + text[1:]))


def _fenced(choices: Choices, value: dict[str, Any]) -> str:
    name = choices.pick(("json", "", "JSON", "tool_call"))
    return f"```{name}\n{choices.pick((usual(value), _pretty(choices, value)))}\n```{choices.pick(('', chr(10)))}"


def _prose(choices: Choices, value: dict[str, Any]) -> str:
    if choices.flag():
        return choices.pick(_STARTS) + usual(value)
    return usual(value) + choices.pick(_ENDS)


def _tags(choices: Choices, value: dict[str, Any]) -> str:
    tag = choices.pick(_TAGS)
    return f"<{tag}>{usual(value)}</{tag}>"


def _xml(_: Choices, value: dict[str, Any]) -> str:
    return "".join(f"<{bare(name)}>{part}</{bare(name)}>" for name, part in (value or {PROBE: 1}).items())


def _yaml(_: Choices, value: dict[str, Any]) -> str:
    return "\n".join(f"{name}: {part}" for name, part in (value or {PROBE: 1}).items())


def _keyword_arguments(_: Choices, value: dict[str, Any]) -> str:
    return ", ".join(f"{bare(name)}={part!r}" for name, part in (value or {PROBE: 1}).items())


def _double_encoded(choices: Choices, value: dict[str, Any]) -> str:
    text = usual(value)
    for _ in range(several(choices, 1, 3)):
        text = usual(text)
    return text


def _escaped_quotes(_: Choices, value: dict[str, Any]) -> str:
    """Encoded twice, the outer quotes lost on the way."""
    return usual(usual(value or {PROBE: ""}))[1:-1]


def _inner_encoded(choices: Choices, value: dict[str, Any]) -> str:
    """One parameter, an object or a list as a rule, in a text."""
    some = value or {PROBE: {}}
    nested = [name for name, part in some.items() if isinstance(part, dict | list)] or list(some)
    name = choices.pick(nested)
    return usual({**some, name: usual(some[name])})


def _two_objects(choices: Choices, value: dict[str, Any]) -> str:
    between = choices.pick(("", "\n", " ", ","))
    return usual(value) + between + choices.pick((usual(value), "{}", usual(_with_probe(value, 1))))


def _sent_cumulatively(choices: Choices, value: dict[str, Any]) -> str:
    """The text so far and the whole text, as a reader gets that appends what was meant to replace."""
    text = usual(value)
    return text[: choices.integer(1, len(text))] + text


def _in_array(choices: Choices, value: dict[str, Any]) -> str:
    return choices.pick((f"[{usual(value)}]", usual(list(value.values())), f"[{usual(value)}, {usual(value)}]"))


def _no_object(choices: Choices, _: dict[str, Any]) -> str:
    return choices.pick(_NO_OBJECTS)


def _wrapped(choices: Choices, value: dict[str, Any]) -> str:
    return usual({choices.pick(_WRAPPERS): choices.pick((value, usual(value)))})


def _extra_bracket(choices: Choices, value: dict[str, Any]) -> str:
    text = usual(value)
    return choices.pick((text + "}", "{" + text, text + "]", text + '"', "{" + text + "}", text + "}" * 20))


def _wrong_bracket(choices: Choices, value: dict[str, Any]) -> str:
    text = usual(value)
    return choices.pick((text[:-1] + "]", text[:-1] + ")", "[" + text[1:], "(" + text[1:-1] + ")"))


def _duplicate_key(choices: Choices, value: dict[str, Any]) -> str:
    some = value or {PROBE: 1}
    name = choices.pick(list(some))
    again = choices.pick((usual(some[name]), "null", '"other"'))
    return compact(some)[:-1] + f",{usual(name)}:{again}}}"


def _probed(value: dict[str, Any], text: str) -> str:
    """The object with a value in it that is written as given."""
    mark = "\ue000harness\ue000"
    return usual(_with_probe(value, mark)).replace(f'"{mark}"', text, 1)


def _control_character(choices: Choices, value: dict[str, Any]) -> str:
    return _probed(value, f'"a{choices.pick(_CONTROLS)}b"')


def _foreign_space(choices: Choices, value: dict[str, Any]) -> str:
    space = choices.pick(_NOT_SPACES)
    text = usual(value)
    return choices.pick((space + text, text + space, "{" + space + text[1:]))


def _surrogate(choices: Choices, value: dict[str, Any]) -> str:
    half = choices.pick(_SURROGATES)
    if choices.flag(4):
        return usual(value)[:-1] + (", " if value else "") + f'"{half}": 1}}'
    return _probed(value, f'"a{half}"')


def _bad_escape(choices: Choices, value: dict[str, Any]) -> str:
    return _probed(value, f'"a{choices.pick(_ESCAPES)}"')


def _windows_path(_: Choices, value: dict[str, Any]) -> str:
    return _probed(value, r'"C:\Users\me\new"')


def _number_form(choices: Choices, value: dict[str, Any]) -> str:
    return _probed(value, choices.pick(_NUMBERS))


def _huge_number(choices: Choices, value: dict[str, Any]) -> str:
    return _probed(value, choices.pick(_HUGE))


def _large_number(choices: Choices, value: dict[str, Any]) -> str:
    return _probed(value, choices.pick(_LARGE))


def _deep_nesting(choices: Choices, value: dict[str, Any]) -> str:
    depth = choices.pick((101, 200, 1100))
    opening, closing = choices.pick((("[", "]"), ('{"a":', "}")))
    return _probed(value, opening * depth + ("1" if closing == "}" else "") + closing * depth)


def _open_nesting(choices: Choices, value: dict[str, Any]) -> str:
    return (
        usual(value)[:-1] + (", " if value else "") + '"a": ' + choices.pick(("[", '{"a":')) * choices.pick((20, 1100))
    )


def _long_text(choices: Choices, value: dict[str, Any]) -> str:
    """Mostly in a text of the object's own: a run that breaks off, on which some patterns never end (ReDoS)."""
    size = choices.pick((10_000, 60_000))
    own = [key for key, part in value.items() if isinstance(part, str)]
    if not own or choices.flag(3):
        return usual(_with_probe(value, "x" * size))
    return usual({**value, choices.pick(own): choices.pick(_REPEATED) * size + "!"})


def _many_keys(choices: Choices, value: dict[str, Any]) -> str:
    return usual({**value, **{f"{PROBE}_{number}": number for number in range(choices.pick((100, 300)))}})


def _byte_order_mark(choices: Choices, value: dict[str, Any]) -> str:
    return choices.pick(("\ufeff", "\ufffe", "ï»¿")) + usual(value)


def _html_escapes(_: Choices, value: dict[str, Any]) -> str:
    return html.escape(usual(value or {PROBE: ""}))


def _html_in_strings(choices: Choices, value: dict[str, Any]) -> str:
    """Escapes in the texts alone: valid JSON that says something else."""
    probed = _with_probe(value, choices.pick(("a < b && c > d", 'say "x"', "it's")))
    return written(probed, lambda text: usual(html.escape(text)), key=usual)


def _url_encoded(choices: Choices, value: dict[str, Any]) -> str:
    text = usual(value or {PROBE: ""}).replace('"', "%22").replace("{", "%7B").replace(" ", choices.pick(("+", "%20")))
    return text.replace("}", "%7D")


def _mojibake(_: Choices, value: dict[str, Any]) -> str:
    """UTF-8 read as Latin-1: valid JSON that says something else."""
    return usual(_with_probe(value, "é日😀")).encode("utf-8", "replace").decode("latin-1")


def _noise(choices: Choices, _: dict[str, Any]) -> str:
    return choices.text(1, 40)


FAMILIES: Mapping[str, Family] = {
    "compact": lambda _, value: compact(value),
    "usual": lambda _, value: usual(value),
    "pretty": _pretty,
    "escaped": _escaped,
    "slashes": _slashes,
    "spaced": _spaced,
    "flooded": _flooded,
    "reordered": _reordered,
    "empty": _empty,
    "truncated": _truncated,
    "lost_start": _lost_start,
    "lost_fragment": _lost_fragment,
    "repeated_fragment": _repeated_fragment,
    "swapped_fragments": _swapped_fragments,
    "one_character": _one_character,
    "trailing_comma": _trailing_comma,
    "missing_comma": _missing_comma,
    "missing_colon": _missing_colon,
    "equals_sign": _equals_sign,
    "single_quotes": _single_quotes,
    "smart_quotes": _smart_quotes,
    "unquoted_keys": _unquoted_keys,
    "unescaped_quote": _unescaped_quote,
    "python_literals": _python_literals,
    "python_repr": _python_repr,
    "javascript_literals": _javascript_literals,
    "comments": _comments,
    "fenced": _fenced,
    "prose": _prose,
    "tags": _tags,
    "xml": _xml,
    "yaml": _yaml,
    "keyword_arguments": _keyword_arguments,
    "double_encoded": _double_encoded,
    "escaped_quotes": _escaped_quotes,
    "inner_encoded": _inner_encoded,
    "two_objects": _two_objects,
    "sent_cumulatively": _sent_cumulatively,
    "in_array": _in_array,
    "no_object": _no_object,
    "wrapped": _wrapped,
    "extra_bracket": _extra_bracket,
    "wrong_bracket": _wrong_bracket,
    "duplicate_key": _duplicate_key,
    "control_character": _control_character,
    "foreign_space": _foreign_space,
    "surrogate": _surrogate,
    "bad_escape": _bad_escape,
    "windows_path": _windows_path,
    "number_form": _number_form,
    "huge_number": _huge_number,
    "large_number": _large_number,
    "deep_nesting": _deep_nesting,
    "open_nesting": _open_nesting,
    "long_text": _long_text,
    "many_keys": _many_keys,
    "byte_order_mark": _byte_order_mark,
    "html_escapes": _html_escapes,
    "html_in_strings": _html_in_strings,
    "url_encoded": _url_encoded,
    "mojibake": _mojibake,
    "noise": _noise,
}
"""Each family by its name, the simplest first."""

_NAMES = tuple(FAMILIES)
