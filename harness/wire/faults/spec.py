"""Faults written down: ``cut:event=3``, ``status=429,times=2``, or a mapping of a scenario."""

from __future__ import annotations

import difflib
import json
import re
import types
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from harness.errors import InputError
from harness.wire.faults.cutting import Cut, Disconnect, Timeout
from harness.wire.faults.events import BrokenFrame, Duplicate, ErrorEvent, Swap
from harness.wire.faults.fault import Fault
from harness.wire.faults.fields import Drop
from harness.wire.faults.gateway import Gateway
from harness.wire.faults.status import Status
from harness.wire.faults.transfer import ContentType, Delay, Gzip, Rechunk

KINDS: Mapping[str, type[Fault]] = {
    kind.name: kind
    for kind in (
        Cut, Disconnect, Timeout, Drop, Duplicate, Swap, ErrorEvent, BrokenFrame, Rechunk, Delay, ContentType, Gzip,
        Status, Gateway,
    )
}  # fmt: skip
"""Every fault by its name."""

_HEAD = re.compile(r"(?P<name>[A-Za-z_]+)(?P<sign>[:=]?)")
_VALUE = re.compile(r'(?P<value>"(?:[^"\\]|\\.)*"|[^,"]*)(?:,|\Z)')
_KEY = re.compile(r"(?P<key>[A-Za-z_]+)=")


def parse_fault(text: str) -> Fault:
    """One fault from ``NAME``, ``NAME=VALUE``, ``NAME:KEY=VALUE,…`` or ``NAME=VALUE,KEY=VALUE,…``.

    A value with a comma stands in double quotes, as JSON has them. Raises InputError with the nearest name where a
    fault or a setting is unknown.
    """
    head = _HEAD.match(text.strip())
    if head is None:
        raise InputError(f"{text!r} is no fault", hint="such as cut:event=3 or status=429,times=2")
    kind = _kind(head["name"])
    settings: dict[str, object] = {}
    rest = text.strip()[head.end() :]
    if head["sign"] == "=":
        value, rest = _value(text, rest)
        settings[_main(kind)] = value
    while rest:
        key = _KEY.match(rest)
        if key is None:
            raise InputError(f"{text!r}: {rest!r} is not KEY=VALUE")
        value, rest = _value(text, rest[key.end() :])
        if key["key"] in settings:
            raise InputError(f"{text!r}: {key['key']} is given twice")
        settings[key["key"]] = value
    return _made(kind, settings)


def read_fault(value: object) -> Fault:
    """One fault from a scenario: its text, or a mapping with its name as a key.

    The name's value are its settings, or its main one; the other keys are settings too:
    ``{cut: {event: 3}, at: 2}``, ``{status: 429, times: 2}``, ``{gzip: null}``. Raises InputError.
    """
    if isinstance(value, Fault):
        return value
    if isinstance(value, str):
        return parse_fault(value)
    if not isinstance(value, Mapping):
        raise InputError(f"a fault is a text or a mapping, not {type(value).__name__}")
    named = [str(key) for key in value if key in KINDS]
    if len(named) != 1:
        if named:
            raise InputError(f"one fault each: {' and '.join(named)}")
        others = [str(key) for key in value if key not in {"at", "times"}]
        raise _unknown("fault", others[0] if others else "", KINDS)
    kind = KINDS[named[0]]
    settings = {str(key): given for key, given in value.items() if key != kind.name}
    inner = value[kind.name]
    if isinstance(inner, Mapping):
        twice = [str(key) for key in inner if str(key) in settings]
        if twice:
            raise InputError(f"{kind.name}: {twice[0]} is given twice")
        settings.update({str(key): given for key, given in inner.items()})
    elif inner is not None and inner is not True:
        settings[_main(kind)] = inner
    return _made(kind, settings)


def parse_faults(texts: Iterable[str]) -> tuple[Fault, ...]:
    """`parse_fault` of each."""
    return tuple(parse_fault(text) for text in texts)


def _kind(name: str) -> type[Fault]:
    if name not in KINDS:
        raise _unknown("fault", name, KINDS)
    return KINDS[name]


def _main(kind: type[Fault]) -> str:
    if kind.main is None:
        known = ", ".join(_hints(kind))
        raise InputError(f"{kind.name}: which setting has this value?", hint=f"the settings are {known}")
    return kind.main


def _unknown(what: str, name: str, known: Iterable[str]) -> InputError:
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(names)}"
    return InputError(f"no {what} {name!r}", hint=hint)


def _value(text: str, rest: str) -> tuple[str, str]:
    found = _VALUE.match(rest)
    if found is None:
        raise InputError(f"{text!r}: {rest!r} is no value", hint="a value with a comma stands in double quotes")
    value = found["value"]
    try:
        return (json.loads(value) if value.startswith('"') else value), rest[found.end() :]
    except json.JSONDecodeError as error:
        raise InputError(f"{text!r}: {value} is no text: {error.msg}") from error


def _made(kind: type[Fault], settings: Mapping[str, object]) -> Fault:
    hints = _hints(kind)
    for key in settings:
        if key not in hints:
            unknown = _unknown("setting", key, hints)
            raise InputError(f"{kind.name}: {unknown.what}", hint=unknown.hint)
    read = {key: _read(hints[key], value, f"{kind.name}: {key}") for key, value in settings.items()}
    try:
        return kind(**read)
    except ValueError as error:
        raise InputError(f"{kind.name}: {error}") from error


def _hints(kind: type[Fault]) -> dict[str, Any]:
    """The settings of a fault with their types, its own first."""
    hints = get_type_hints(kind)
    common = [setting.name for setting in fields(Fault)]
    own = [setting.name for setting in fields(kind) if setting.name not in common]
    return {name: hints[name] for name in (*own, *common)}


def _read(hint: Any, value: object, where: str) -> Any:
    """The value as its setting wants it, from a text or from YAML."""
    wanted = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    choices = [choice for part in wanted if get_origin(part) is Literal for choice in get_args(part)]
    if value is None and type(None) in wanted:
        return None
    if str(value) in choices:
        return str(value)
    for kind in (int, float):
        if kind in wanted and isinstance(value, str | int | float) and not isinstance(value, bool):
            try:
                number = kind(value)
            except ValueError:
                continue
            if number == float(value):
                return number
    if str in wanted and isinstance(value, str | int | float):
        return str(value)
    words = [*choices, *("a whole number" for kind in wanted if kind is int)]
    words += ["a number" for kind in wanted if kind is float]
    raise InputError(f"{where} is {value!r}, not {' or '.join(words) or 'a text'}")
