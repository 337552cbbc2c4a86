"""Texts of the formats that JSON Schema defines (RFC 3339, 3986, 5321, 1123, 4122, 6901)."""

from __future__ import annotations

import datetime as dt
import ipaddress
import uuid
from collections.abc import Callable, Mapping

from harness.fuzz.choices import Choices, several

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_HOSTS = ("example.com", "a.example.org", "localhost", "xn--bcher-kva.example", "sub-1.example.net")


def _date(choices: Choices) -> str:
    return dt.date.fromordinal(choices.integer(1, dt.date.max.toordinal())).isoformat()


def _time(choices: Choices) -> str:
    hour, minute, second = choices.integer(0, 23), choices.integer(0, 59), choices.integer(0, 59)
    fraction = f".{choices.integer(0, 999):03d}" if choices.flag(4) else ""
    zone = choices.pick(("Z", "+00:00", "-05:30", "+14:00"))
    return f"{hour:02d}:{minute:02d}:{second:02d}{fraction}{zone}"


def _date_time(choices: Choices) -> str:
    return f"{_date(choices)}T{_time(choices)}"


def _duration(choices: Choices) -> str:
    if choices.flag(4):
        return f"P{choices.integer(0, 99)}W"
    return f"P{choices.integer(0, 99)}DT{choices.integer(0, 23)}H{choices.integer(0, 59)}M"


def _word(choices: Choices) -> str:
    return "".join(choices.pick(_LETTERS) for _ in range(several(choices, 1, 8)))


def _email(choices: Choices) -> str:
    return f"{_word(choices)}{choices.pick(('', '.b', '+tag', '_1'))}@{choices.pick(_HOSTS[:2])}"


def _path(choices: Choices) -> str:
    return "".join(f"/{_word(choices)}" for _ in range(several(choices, 0, 3)))


def _uri(choices: Choices) -> str:
    query = choices.pick(("", "?q=1", "?a=b&c=%20d"))
    fragment = choices.pick(("", "#part"))
    scheme = choices.pick(("https", "http", "ftp"))
    return f"{scheme}://{choices.pick(_HOSTS)}{_path(choices)}{query}{fragment}"


def _uri_reference(choices: Choices) -> str:
    return _uri(choices) if choices.flag() else _path(choices) or "/"


def _uuid(choices: Choices) -> str:
    return str(uuid.UUID(int=choices.integer(0, 2**128 - 1)))


def _ipv4(choices: Choices) -> str:
    return str(ipaddress.IPv4Address(choices.integer(0, 2**32 - 1)))


def _ipv6(choices: Choices) -> str:
    return str(ipaddress.IPv6Address(choices.integer(0, 2**128 - 1)))


def _pointer(choices: Choices) -> str:
    return "".join(f"/{choices.pick(('a', 'b~0c', '0', 'x~1y', ''))}" for _ in range(several(choices, 0, 4)))


FORMATS: Mapping[str, Callable[[Choices], str]] = {
    "date": _date,
    "time": _time,
    "date-time": _date_time,
    "duration": _duration,
    "email": _email,
    "idn-email": _email,
    "hostname": lambda choices: choices.pick(_HOSTS),
    "idn-hostname": lambda choices: choices.pick(_HOSTS),
    "ipv4": _ipv4,
    "ipv6": _ipv6,
    "uri": _uri,
    "iri": _uri,
    "uri-reference": _uri_reference,
    "iri-reference": _uri_reference,
    "uri-template": lambda choices: f"{_uri(choices).split('?')[0].split('#')[0]}/{{id}}",
    "uuid": _uuid,
    "json-pointer": _pointer,
    "relative-json-pointer": lambda choices: f"{choices.integer(0, 9)}{_pointer(choices)}",
    "regex": lambda choices: choices.pick((".*", "^a+$", "[0-9]{2}", "(a|b)c?", "\\d+")),
}
"""What makes a text of each format; other formats are remarks, which no text breaks."""
