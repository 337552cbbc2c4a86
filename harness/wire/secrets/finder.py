"""Where secrets stand in a text: by their shape, by the name they stand under, or because they are known.

JSON is read as JSON, also JSON inside the strings of JSON (arguments, results of tools), so that a secret is found
however it is escaped; the places given are always those in the outermost text. Work is linear in the text.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import orjson

from harness.errors import InputError
from harness.wire.secrets import shapes
from harness.wire.secrets.json_text import LITERAL, raw_offsets, unescaped

_JSON_START = re.compile(r"[\s\ufeff]*[{\[]")
_NO_JSON_INSIDE = 8  # levels of strings in strings
_SHORTEST = 10  # no secret with what gives it away is shorter
_CAPITALS = re.compile(r"[A-Z]+")
_KEY_END = re.compile(r"\s*:")
_FIRST_VALUE = re.compile(r"\s*:\s*(\[\s*)?")
_NEXT_VALUE = re.compile(r"\s*,\s*")
# Letters, digits and the signs of keys written as escapes: somebody's encoder hides what a look for hints would find.
_HIDING_ESCAPE = re.compile(r"\\u00(?:2[bdef]|3[0-9ad]|4[0-9a-f]|5[0-9af]|6[0-9a-f]|7[0-9a])|\\/", re.IGNORECASE)
_SCHEME = re.compile(r"\s*(?:bearer|basic|token|digest)\s+", re.IGNORECASE)
_ONLY_SCHEME = re.compile(r"\W*(?:bearer|basic|token|digest)?\W*", re.IGNORECASE)


class Secret(NamedTuple):
    """A secret and its place; ``value`` is what it says, without the escapes of the text it stands in."""

    start: int
    end: int
    kind: str
    value: str


class SecretFinder:
    """Finds secrets. ``patterns`` are the user's own regular expressions; of one with a group only the group counts."""

    def __init__(self, patterns: Sequence[str] = ()) -> None:
        self._patterns = [_compiled(pattern) for pattern in patterns]
        self._known: dict[str, str] = {}

    def learn(self, value: str) -> None:
        """Take a text for a secret wherever it stands: what a header has shown to be one."""
        found = self.find(value)
        kind = found[0].kind if found else "secret"
        self._known.setdefault(value, kind)

    def find(self, text: str) -> list[Secret]:
        """The secrets in their order; none overlaps another, none is a placeholder."""
        return self._find(text, 0, shapes.HINTS)

    def _find(self, text: str, depth: int, hints: tuple[str, ...]) -> list[Secret]:
        """``hints`` are those that the text around holds: others need not be looked for."""
        if len(text) < _SHORTEST and not self._patterns and not self._known:
            return []
        if "\\" not in text or not _HIDING_ESCAPE.search(text):
            lowered = _lowered(text)
            hints = tuple([hint for hint in hints if hint in lowered])
            if not hints and not self._patterns and not any(value in text for value in self._known):
                return []
        if depth < _NO_JSON_INSIDE and _JSON_START.match(text):
            found = list(self._in_json(text, depth, hints))
            if not _is_json(text):
                # What only begins like JSON is read as text as well, but no secret goes across the end of a string.
                found += [secret for secret in self._in_text(text, hints) if '"' not in text[secret.start : secret.end]]
        else:
            found = list(self._in_text(text, hints))
        return _apart(text, found)

    def _in_json(self, text: str, depth: int, hints: tuple[str, ...]) -> Iterator[Secret]:
        """Look into each string; the one under a secret's name is a secret, and so are those of a list under it."""
        name: str | None = None
        in_list = False
        last_end = 0
        for literal in LITERAL.finditer(text):
            start = literal.start(1)
            inside = unescaped(literal[1])
            is_key = _KEY_END.match(text, literal.end()) is not None
            if is_key:
                name, in_list = (inside if shapes.key_strength(inside) else None), False
            elif name is not None:
                gap = text[last_end : literal.start()]
                first = _FIRST_VALUE.fullmatch(gap)
                in_list = in_list or (first is not None and first[1] is not None)
                if first is None and not (in_list and _NEXT_VALUE.fullmatch(gap)):
                    name = None
            last_end = literal.end()
            found = self._find(inside, depth + 1, hints)
            if name is not None and not is_key:
                found = _under_name(name, inside, found)
            if found:
                places = raw_offsets(literal[1], [place for secret in found for place in secret[:2]])
                for secret, first_at, end_at in zip(found, places[::2], places[1::2], strict=True):
                    yield Secret(start + first_at, start + end_at, secret.kind, secret.value)

    def _in_text(self, text: str, hints: tuple[str, ...]) -> Iterator[Secret]:
        for pattern in self._patterns:
            group = 1 if pattern.groups else 0
            yield from (_secret(found, group, "secret") for found in pattern.finditer(text) if found[group])
        for value, kind in self._known.items():
            yield from (Secret(at, at + len(value), kind, value) for at in _places(text, value))
        for shape in shapes.SHAPES:
            if shape.hint.lower() not in hints:
                continue
            for at in _places(text, shape.hint):
                if found := shape.regex.match(text, at):
                    yield _secret(found, 0, shape.kind)
        if "key" in hints:
            yield from _private_keys(text)
        yield from _named(text, hints)


def _named(text: str, hints: tuple[str, ...]) -> Iterator[Secret]:
    """Secrets that what stands before them gives away: ``Bearer``, an assignment, a parameter of a URL."""
    if "bearer" in hints:
        for found in shapes.BEARER.finditer(text):
            if not shapes.is_dummy(found[1]):
                yield _secret(found, 1, "token")
    lowered = _lowered(text)
    for name in shapes.NAMES:
        if name in hints:
            yield from _assigned(text, lowered, name)
    if "://" not in hints:
        return
    for found in shapes.USERINFO.finditer(text):
        if not shapes.is_dummy(found[2]):
            yield _secret(found, 2, "password")
    for found in shapes.URL_PARAMETER.finditer(text):
        value = found["value"]
        if len(value) >= 8 and shapes.is_secret_parameter(found["name"]) and shapes.is_telling(value, strong=True):
            yield _secret(found, "value", shapes.key_kind(found["name"]))


def _assigned(text: str, lowered: str, name: str) -> Iterator[Secret]:
    """``API_KEY=…``, ``"password": "…"`` in running text: after the end of a name."""
    done = 0
    for at in _places(lowered, name):
        end = at + len(name)
        found = shapes.ASSIGNED.match(text, end) if at >= done else None
        if found is None:
            continue
        done = found.end()
        strong = shapes.STRONG_NAME.search(text[max(at - 20, 0) : end])
        if (strong or name != "key") and shapes.is_telling(found[1], strong=strong is not None):
            yield _secret(found, 1, shapes.key_kind(strong[0] if strong else name))


def _private_keys(text: str) -> Iterator[Secret]:
    position = 0
    while found := shapes.PEM_START.search(text, position):
        position = found.end()
        if rest := shapes.PEM_REST.match(text, position):
            end = rest.end()
        else:  # cut off: the lines that there are, also with a file viewer's numbers before them
            end = position
            while line := shapes.PEM_LINE.match(text, end):
                end = line.end()
        if shapes.PEM_BODY.search(text, position, end):
            yield Secret(found.start(), end, "private-key", text[found.start() : end])
            position = end


def _under_name(name: str, value: str, found: list[Secret]) -> list[Secret]:
    """The secrets of a value under a secret's name: what was found in it where that is all, or the whole value."""
    rest = list(value)
    for secret in found:
        rest[secret.start : secret.end] = [""] * (secret.end - secret.start)
    left = shapes.PLACEHOLDER.sub("", "".join(rest))
    if _ONLY_SCHEME.fullmatch(left) or shapes.is_dummy(left) or shapes.is_file_or_address(value):
        return found
    scheme = _SCHEME.match(value)
    start = scheme.end() if scheme else 0
    secret_part = value[start:]
    if shapes.key_strength(name) == "weak" and not shapes.is_telling(secret_part, strong=False):
        return found
    kind = shapes.key_kind(name)
    sentence = re.search(r"\s", secret_part.strip()) and kind not in {"cookie", "private-key"}
    if sentence and "phrase" not in name.lower():
        return found
    return [Secret(start, len(value), kind, secret_part)]


def _apart(text: str, found: list[Secret]) -> list[Secret]:
    """In order, overlapping ones joined, and none that lies in a placeholder or cuts one."""
    if not found:
        return []
    taken = [placeholder.span() for placeholder in shapes.PLACEHOLDER.finditer(text)]
    kept: list[Secret] = []
    for secret in sorted(found, key=lambda one: (one.start, -one.end)):
        if _touches(secret, taken):
            continue
        if kept and secret.start < kept[-1].end:
            before = kept[-1]
            if secret.end > before.end:
                kept[-1] = Secret(before.start, secret.end, before.kind, text[before.start : secret.end])
            continue
        kept.append(secret)
    return kept


def _touches(secret: Secret, taken: list[tuple[int, int]]) -> bool:
    """Whether a secret cuts one of the placeholders, or is made of nothing else."""
    first = bisect.bisect_right(taken, secret.start, key=lambda place: place[1])
    last = bisect.bisect_left(taken, secret.end, key=lambda place: place[0])
    inside = taken[first:last]
    if not inside:
        return False
    cut = inside[0][0] < secret.start or inside[-1][1] > secret.end
    return cut or sum(end - start for start, end in inside) == secret.end - secret.start


def _lowered(text: str) -> str:
    """In lower case, every character at its place: some get longer when they are lowered."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else _CAPITALS.sub(lambda found: found[0].lower(), text)


def _places(text: str, part: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + len(part))


def _secret(found: re.Match[str], group: int | str, kind: str) -> Secret:
    return Secret(found.start(group), found.end(group), kind, found[group])


def _is_json(text: str) -> bool:
    try:
        orjson.loads(text)
    except ValueError:  # also for a lone surrogate, which is not UTF-8
        return False
    return True


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise InputError(f"{pattern!r} is not a regular expression: {error}", where="patterns of secrets") from error
