"""One simple command, given as words: wrappers are seen through, then the tables are asked (bug reports G10, G12)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from harness.pipeline.decision import Decision, Ruling, strictest
from harness.pipeline.shell.git import rule_git
from harness.pipeline.shell.rules import (
    ASKS,
    HARMFUL_VARIABLE,
    READS,
    READS_WITH_ANY_ARGUMENTS,
    WRAPPERS,
    Word,
    Wrapper,
    denied,
)

_TRUSTED_FOLDERS = frozenset({"/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/opt/homebrew/bin"})
_MAX_WRAPPERS = 40
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=")


def judge(words: Sequence[Word], depth: int = 0) -> Ruling:
    """The ruling on one simple command given as words, wrappers seen through. Never raises."""
    if not words:
        return Ruling(Decision.ALLOW, "nothing more is run")
    name, arguments = words[0].text, words[1:]
    if why := denied(name):
        return Ruling(Decision.DENY, f"{_shown(words)}: {name} {why}")
    if not words[0].exact:
        unknown = _ask(f"{_shown(words)}: which command runs is only known when it runs")
        return strictest([unknown, *_loosely(arguments)])
    if name in {"{", "!", "("}:
        return strictest([_ask(f"{name} stands where a command is expected"), *_loosely(arguments)])
    folder, _, base = name.rpartition("/")
    trusted = "/" not in name or folder in _TRUSTED_FOLDERS
    notes = [] if trusted else [_ask(f"{name} is a local program")]
    if base in WRAPPERS and not (base in READS and READS[base](arguments) is None):
        notes.extend(_rule_wrapper(base, WRAPPERS[base], arguments, depth))
    elif base.lower() == "git":
        notes.append(rule_git(arguments))
    elif base.lower().startswith("git-"):
        notes.extend([_rule_plain(base, words), *_only_denied([rule_git([Word(base[4:]), *arguments])])])
    elif base == "find":
        notes.extend(_rule_find(arguments, depth))
    else:
        notes.append(_rule_plain(base, words))
    return strictest(notes)


def _rule_plain(base: str, words: Sequence[Word]) -> Ruling:
    if base in READS_WITH_ANY_ARGUMENTS:
        return Ruling(Decision.ALLOW, f"{base} only reads")
    if base in READS:
        objection = READS[base](words[1:])
        if objection is None:
            return Ruling(Decision.ALLOW, f"{base} only reads")
        return _ask(f"{_shown(words)}: {objection}")
    stem = re.sub(r"(?<![\d.])[\d.]++$", "", base)
    return _ask(f"{_shown(words)}: {base} {ASKS.get(base) or ASKS.get(stem) or 'is not known to only read'}")


def _rule_wrapper(base: str, wrapper: Wrapper, arguments: Sequence[Word], depth: int) -> Iterator[Ruling]:
    if wrapper.asks or depth > _MAX_WRAPPERS:
        yield _ask(f"{base} {wrapper.asks or 'is nested too deeply'}")
        yield from _loosely(arguments)
        return
    if base == "command" and arguments and arguments[0].text in {"-v", "-V"}:
        yield Ruling(Decision.ALLOW, "command -v only looks a name up")
        return
    inner, doubt = unwrap(wrapper, arguments)
    if doubt:
        yield _ask(f"{base}: {doubt}")
        yield from _loosely(arguments)
    for word in arguments[: len(arguments) - len(inner)]:
        assignment = _ASSIGNMENT.match(word.text) if wrapper.assignments else None
        if assignment and HARMFUL_VARIABLE.fullmatch(assignment[1]):
            yield _ask(f"sets {assignment[1]}, which can change what runs")
    if base == "xargs" and inner:
        # What is read from the input is put in or appended, and can be an option.
        mark = replaced_mark(arguments[: len(arguments) - len(inner)])
        inner = [word if mark is None or mark not in word.text else _filled(word, mark) for word in inner]
        inner.append(Word("(input)", exact=False))
    yield judge(inner, depth + 1)


def replaced_mark(own: Sequence[Word]) -> str | None:
    """The mark that xargs -I replaces, or None."""
    for at, word in enumerate(own):
        if option := re.fullmatch(r"-[0rtx]*I(.*)", word.text, re.DOTALL):
            return option[1] or (own[at + 1].text if at + 1 < len(own) else "{}")
    return None


def _filled(word: Word, mark: str) -> Word:
    return Word(word.text, exact=False, operand=not word.text.startswith((mark, "-")))


def unwrap(wrapper: Wrapper, arguments: Sequence[Word]) -> tuple[list[Word], str | None]:
    """The inner command of a wrapper, and what is not certain about where it begins."""
    at, positionals = 0, wrapper.positionals
    while at < len(arguments):
        word = arguments[at]
        assigns = wrapper.assignments and bool(_ASSIGNMENT.match(word.text))
        if not word.exact and not (assigns and word.operand):
            return list(arguments[at:]), f"{word.text} may become other words"
        if word.text == "--":
            return list(arguments[at + 1 + positionals :]), None
        if word.text.startswith("-") and len(word.text) > 1:
            length = _option_length(wrapper, word.text)
            if not length or not all(value.exact for value in arguments[at : at + length]):
                return list(arguments[at + 1 :]), f"the option {word.text} is not known, or its value"
            at += length
        elif assigns:
            at += 1
        elif positionals:
            positionals -= 1
            at += 1
        else:
            break
    return list(arguments[at:]), None


def _option_length(wrapper: Wrapper, text: str) -> int:
    """How many words an option of a wrapper takes, its value included; 0 for an option that is not known."""
    if text.startswith("--"):
        name, _, value = text.partition("=")
        if name in wrapper.valued_long:
            return 1 if value else 2
        return int(name in wrapper.flags_long)
    cluster = text[1:].lstrip(wrapper.flags) if wrapper.flags else text[1:]
    if not cluster:
        return 1
    return (2 if len(cluster) == 1 else 1) if cluster[0] in wrapper.valued else 0


def _rule_find(arguments: Sequence[Word], depth: int) -> Iterator[Ruling]:
    yield Ruling(Decision.ALLOW, "find only reads")
    for at, word in enumerate(arguments):
        if word.text == "-delete":
            yield Ruling(Decision.DENY, "find -delete removes files for good")
        elif word.text.startswith(("-fprint", "-fls")):
            yield _ask(f"find {word.text} writes a file")
        elif word.text in {"-exec", "-execdir", "-ok", "-okdir"}:
            tail = [w if "{}" not in w.text else _filled(w, "{}") for w in arguments[at + 1 :]]
            ends = [i for i, w in enumerate(tail) if w.text == ";" or (w.text == "+" and tail[i - 1].text == "{}")]
            yield judge(tail[: ends[0]] if ends else tail, depth + 1)
        elif not word.exact and not word.operand:
            yield _ask(f"find: {word.text} may expand to any action")


def _loosely(words: Sequence[Word]) -> Iterator[Ruling]:
    """Denied commands anywhere among words whose roles are not known."""
    for at, word in enumerate(words):
        base = word.text.rpartition("/")[2]
        if why := denied(word.text):
            yield Ruling(Decision.DENY, f"{_shown(words)}: {word.text} {why}")
        elif base == "git":
            yield from _only_denied([rule_git(words[at + 1 :])])
        elif re.search(r"\s", word.text):
            yield from search_denied(re.sub(r"^-\w", "", word.text))


_BREAKS = re.compile(r"[;&|\n(){}`!<>,]+|--[\w-]+=|\b(?:then|do|else|elif|if|while|until|time|coproc)\b")


def search_denied(text: str) -> Iterator[Ruling]:
    """Denied commands in a text whose syntax is not certain: quotes are dropped, each part is read by itself."""
    bare = re.sub(r"\\\n|[\"'\\]", "", text)
    redirected = re.sub(r"(?:(?<!\d)\d++)?(?<![<>])[<>]++[&|]?\s*+[^\s;&|<>()]+", " ", bare)
    for part in (*_BREAKS.split(bare), *_BREAKS.split(redirected)):
        words = part.split(None, 64)[:64]
        while words and (_ASSIGNMENT.match(words[0]) or words[0].startswith("$")):
            del words[0]
        if words and (denied(words[0]) or words[0].rpartition("/")[2] in {*WRAPPERS, "git", "find"}):
            yield from _only_denied([judge([Word(word) for word in words], _MAX_WRAPPERS - 8)])


def _only_denied(rulings: Iterable[Ruling]) -> Iterator[Ruling]:
    return (ruling for ruling in rulings if ruling.decision is Decision.DENY)


def _shown(words: Sequence[Word]) -> str:
    text = " ".join(word.text for word in words[:12])
    return text if len(text) <= 80 else f"{text[:77]}..."


def _ask(reason: str) -> Ruling:
    return Ruling(Decision.ASK, reason)
