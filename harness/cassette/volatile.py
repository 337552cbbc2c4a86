"""Values that differ from run to run without meaning: found in texts, taken out, and kept for comparison.

Two kinds. *Volatile values* (UUIDs, long hexadecimal strings, dates, times, call ids) are replaced by their kind and
listed, so that a request can number them by first appearance: equal stays equal and different stays different.
*Volatile numbers* (durations, modification times, process ids) are replaced without a trace, and only under named keys
or labels: a number anywhere else counts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from harness.errors import InputError

MARK = "\ue001"
"""Around what stands for a volatile value; where a text has the character itself, it is doubled."""

NUMBER = f"{MARK}number{MARK}"

_DAY = r"(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?,?"
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)"
)
_KINDS = {
    "uuid": r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}",
    "time": (
        r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?(?:Z\b|UTC\b|[+-]\d\d:?\d\d))?"
        r"|\d\d:\d\d:\d\d(?:[.,]\d+)?(?: ?[AaPp][Mm]\b)?"
    ),
    "date": (
        rf"\d{{4}}-\d\d-\d\d|\d{{1,2}}/\d{{1,2}}/\d{{4}}|(?:{_DAY} )?{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}"
        rf"|(?:{_DAY} )?\d{{1,2}} {_MONTH},? \d{{4}}"
    ),
    "id": r"(?:call|toolu|chatcmpl|msg|resp|fc|gen)[_-](?=[A-Za-z]*\d)[A-Za-z0-9]{16,}",
    "hex": r"(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{16,}|(?=[0-9]*[A-F])(?=[A-F]*[0-9])[0-9A-F]{16,}",
}
_PATTERNS = {kind: re.compile(rf"(?<![0-9A-Za-z])(?:{pattern})(?![0-9A-Za-z])") for kind, pattern in _KINDS.items()}
# A regular expression costs some 20 ns a character, and most texts hold nothing volatile. So a text is first looked at
# with its digits turned to 0, or its hexadecimal digits turned to h, for what every value of a kind contains.
_DIGITS = bytes(48 if 48 <= byte <= 57 else byte for byte in range(256))
_HEX_DIGITS = bytes(104 if chr(byte) in "0123456789abcdefABCDEF" else byte for byte in range(256))
_IN_DIGITS = {"time": (b"0000-00-00", b"00:00:00"), "date": (b"0000-00-00", b"/0000", b" 0000")}
_IN_HEX_DIGITS = {"uuid": (b"hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh",), "hex": (b"h" * 16,)}
_ID_STARTS = ("call_", "toolu_", "chatcmpl-", "msg_", "resp_", "fc_", "gen-", "call-", "msg-", "resp-", "gen_", "fc-")


class Value(NamedTuple):
    """A volatile value as it stood in the text."""

    kind: str
    text: str


@dataclass(frozen=True)
class VolatileRules:
    """What counts as volatile.

    ``keys`` are JSON keys with volatile numbers, ``*`` standing for any beginning; ``labels`` are words before a colon
    and a number. ``patterns`` are regular expressions of the user's own, for whole values: their matches become
    volatile values of kind ``user``. Raises InputError for a pattern that is none.
    """

    keys: Sequence[str] = ("*_ms",)
    labels: Sequence[str] = ("PGID", "PID")
    patterns: Sequence[str] = ()
    _number: re.Pattern[str] = field(init=False, repr=False, compare=False)
    _key: re.Pattern[str] = field(init=False, repr=False, compare=False)
    _user: re.Pattern[str] | None = field(init=False, repr=False, compare=False)
    _words: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        keys = "|".join(re.escape(key).replace(r"\*", r"\w*") for key in self.keys) or r"(?!)"
        labels = "|".join(map(re.escape, self.labels)) or r"(?!)"
        number = r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
        try:
            user = re.compile("|".join(f"(?:{pattern})" for pattern in self.patterns)) if self.patterns else None
        except re.error as error:
            raise InputError(f"not a regular expression: {error}", where="volatile pattern") from error
        object.__setattr__(self, "_key", re.compile(keys))
        object.__setattr__(
            self, "_number", re.compile(rf'(\\*"(?:{keys})\\*"\s*:\s*|\b(?:{labels}):\s*){number}(?![\w.])')
        )
        object.__setattr__(self, "_user", user)
        object.__setattr__(self, "_words", tuple(key.strip("*") for key in self.keys) + tuple(self.labels))

    def is_number_key(self, key: str) -> bool:
        """Whether numbers under this JSON key are volatile."""
        return self._key.fullmatch(key) is not None

    def take_out(self, text: str, values: list[Value]) -> str:
        """The text with stand-ins for what is volatile; the values taken out are appended to ``values``."""
        if MARK in text:
            text = text.replace(MARK, MARK + MARK)
        if self._user is not None:
            text = self._taken(self._user, text, values, "user")
        for kind in _kinds_in(text):
            text = self._taken(_PATTERNS[kind], text, values, kind)
        return text

    def without_numbers(self, text: str) -> str:
        """The text with one stand-in for each volatile number."""
        if not any(word in text for word in self._words):
            return text
        return self._number.sub(rf"\g<1>{NUMBER}", text)

    @staticmethod
    def _taken(pattern: re.Pattern[str], text: str, values: list[Value], kind: str) -> str:
        def stand_in(found: re.Match[str]) -> str:
            if not found.group():
                return ""
            values.append(Value(kind, found.group()))
            return f"{MARK}{kind}{MARK}"

        return pattern.sub(stand_in, text)


def _kinds_in(text: str) -> list[str]:
    """The kinds of which the text may hold values, in the order in which they are taken out."""
    raw = text.encode("utf-8", "surrogatepass")
    kinds = set()
    digits = raw.translate(_DIGITS)
    if b"0" in digits:
        kinds |= {kind for kind, signs in _IN_DIGITS.items() if any(sign in digits for sign in signs)}
        hexes = raw.translate(_HEX_DIGITS)
        kinds |= {kind for kind, signs in _IN_HEX_DIGITS.items() if any(sign in hexes for sign in signs)}
        if any(start in text for start in _ID_STARTS):
            kinds.add("id")
    return [kind for kind in _KINDS if kind in kinds]
