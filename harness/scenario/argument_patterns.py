"""What a call's arguments must be: values as they are, and patterns in the place of values (see docs/checks.md).

A pattern is a mapping whose keys begin with ``$``. Values are compared as JSON: 1, 1.0 and true are three things.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from harness.cassette.differences import ABSENT, SHOWN, Difference, first_difference, json_step

_SIGN = "$"


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The first value that is not as expected: its JSON path and both sides.

    ``literal`` is for an expected value that only looks like a pattern.
    """

    path: str
    wanted: Any
    found: Any
    literal: bool = False

    @property
    def expected(self) -> str:
        """The expected value or pattern in words, shortened."""
        return _in_words(self.wanted) if self._by_pattern else _texts(self.wanted, self.found)[0]

    @property
    def actual(self) -> str:
        """The actual value, shortened around the place where two texts part."""
        return _texts(None if self._by_pattern else self.wanted, self.found)[1]

    @property
    def _by_pattern(self) -> bool:
        return not self.literal and _is_pattern(self.wanted)


def check_patterns(value: object) -> None:
    """Raise ValueError for the first pattern in ``value``, at any depth, that is not one."""
    if isinstance(value, Mapping):
        if _is_pattern(value):
            _check_pattern(value)
            return
        for part in value.values():
            check_patterns(part)
    elif isinstance(value, list):
        for part in value:
            check_patterns(part)


def mismatch(expected: Any, actual: Any, *, part: bool = False, path: str = _SIGN) -> Mismatch | None:
    """The first value of ``actual`` that is not as expected, None where all are.

    With ``part`` an object may have keys that are not expected, at any depth. ``expected`` has passed `check_patterns`.
    """
    if _is_pattern(expected):
        return _pattern_mismatch(expected, actual, path)
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        for key, wanted in expected.items():
            found = mismatch(wanted, actual.get(key, ABSENT), part=part, path=path + json_step(key))
            if found is not None:
                return found
        surplus = [] if part else [key for key in actual if key not in expected]
        return Mismatch(path + json_step(surplus[0]), ABSENT, actual[surplus[0]]) if surplus else None
    if isinstance(expected, list) and isinstance(actual, list):
        for index in range(max(len(expected), len(actual))):
            wanted = expected[index] if index < len(expected) else ABSENT
            value = actual[index] if index < len(actual) else ABSENT
            found = mismatch(wanted, value, part=part, path=f"{path}[{index}]")
            if found is not None:
                return found
        return None
    return _literal_mismatch(expected, actual, path)


def has_pattern(value: object) -> bool:
    """Whether there is a pattern in the value, at any depth."""
    if isinstance(value, Mapping):
        return _is_pattern(value) or any(map(has_pattern, value.values()))
    return isinstance(value, list) and any(map(has_pattern, value))


def shown(expected: object) -> str:
    """An expected value in words, for a person; not shortened."""
    if _is_pattern(expected):
        return _in_words(expected)
    if isinstance(expected, Mapping):
        return "{" + ", ".join(f"{key}: {shown(value)}" for key, value in expected.items()) + "}"
    if isinstance(expected, list):
        return "[" + ", ".join(map(shown, expected)) + "]"
    return _texts(expected, None)[0]


def _is_pattern(value: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, Mapping) and any(isinstance(key, str) and key.startswith(_SIGN) for key in value)


def _literal_mismatch(expected: Any, actual: Any, path: str) -> Mismatch | None:
    found = first_difference(expected, actual, path)
    return None if found is None else Mismatch(found.path, found.old, found.new, literal=True)


def _texts(expected: Any, actual: Any) -> tuple[str, str]:
    try:
        return Difference("", expected, actual).shown()
    except TypeError:  # what only Python and YAML know: integers of any size, keys that are no text
        return _python_text(expected), _python_text(actual)


def _python_text(value: Any) -> str:
    return repr(ABSENT) if value is ABSENT else json.dumps(value, ensure_ascii=False, default=str)[:SHOWN]


def _pattern_mismatch(pattern: Mapping[str, Any], actual: Any, path: str) -> Mismatch | None:
    if "$exact" in pattern:
        return _literal_mismatch(pattern["$exact"], actual, path)
    if "$include" in pattern:
        return mismatch(pattern["$include"], actual, part=True, path=path)
    if pattern.get("$absent"):
        fits = actual is ABSENT
    elif actual is ABSENT:
        fits = False
    else:
        fits = all(_FITS[key](value, actual) for key, value in pattern.items() if key in _FITS)
        if "$near" in pattern:
            fits = fits and _near(pattern["$near"], pattern["$within"], actual)
    return None if fits else Mismatch(path, pattern, actual)


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _at_least(bound: float, actual: object) -> bool:
    number = _number(actual)
    return number is not None and number >= bound


def _at_most(bound: float, actual: object) -> bool:
    number = _number(actual)
    return number is not None and number <= bound


def _near(middle: float, within: float, actual: object) -> bool:
    number = _number(actual)
    return number is not None and abs(number - middle) <= within


def _contains(wanted: Any, actual: object) -> bool:
    if isinstance(actual, str):
        return isinstance(wanted, str) and wanted in actual
    return isinstance(actual, list) and any(mismatch(wanted, item) is None for item in actual)


def _matches(expression: str, actual: object) -> bool:
    return isinstance(actual, str) and re.search(expression, actual) is not None


def _one_of(options: list[Any], actual: object) -> bool:
    return any(mismatch(option, actual) is None for option in options)


_FITS: dict[str, Callable[[Any, Any], bool]] = {
    "$any": lambda _, __: True,
    "$contains": _contains,
    "$matches": _matches,
    "$max": _at_most,
    "$min": _at_least,
    "$one_of": _one_of,
}
_ALONE = ("$absent", "$any", "$exact", "$include")
_KEYS = (*_ALONE, "$contains", "$matches", "$max", "$min", "$near", "$one_of", "$within")


def _check_pattern(pattern: Mapping[str, Any]) -> None:
    unknown = [key for key in pattern if key not in _KEYS]
    if unknown:
        known = ", ".join(_KEYS)
        raise ValueError(f"{unknown[0]} is no pattern ({known}); for an object with such a key write $exact: {{…}}")
    alone = [key for key in pattern if key in _ALONE]
    if alone and len(pattern) > 1:
        raise ValueError(f"{alone[0]} stands alone in its pattern")
    for key, value in pattern.items():
        _check_value(key, value)
    if ("$near" in pattern) != ("$within" in pattern):
        raise ValueError("$near and $within go together")


def _check_value(key: str, value: Any) -> None:
    if key in {"$absent", "$any"} and value is not True:
        raise ValueError(f"{key} is true, or left out")
    if key in {"$max", "$min", "$near", "$within"} and _number(value) is None:
        raise ValueError(f"{key} is a number")
    if key == "$matches":
        check_regex(value, key)
    if key == "$one_of" and (not isinstance(value, list) or not value):
        raise ValueError("$one_of is a list of values and patterns")
    if key in {"$contains", "$include", "$one_of"}:
        check_patterns(value)


def check_regex(expression: object, key: str) -> None:
    """Raise ValueError where ``expression`` is no regular expression; ``key`` is where it stands."""
    if not isinstance(expression, str):
        raise ValueError(f"{key} is a regular expression")  # noqa: TRY004  pydantic takes ValueError
    try:
        re.compile(expression)
    except re.error as error:
        raise ValueError(f"{key}: {expression!r} is no regular expression: {error}") from error


def _in_words(pattern: Mapping[str, Any]) -> str:
    return " and ".join(_WORDS[key](value, pattern) for key, value in pattern.items() if key in _WORDS)


_WORDS: dict[str, Callable[[Any, Mapping[str, Any]], str]] = {
    "$absent": lambda _, __: repr(ABSENT),
    "$any": lambda _, __: "anything",
    "$contains": lambda value, _: f"what contains {shown(value)}",
    "$exact": lambda value, _: _texts(value, None)[0],
    "$include": lambda value, _: f"at least {shown(value)}",
    "$matches": lambda value, _: f"/{value}/",
    "$max": lambda value, _: f"at most {value}",
    "$min": lambda value, _: f"at least {value}",
    "$near": lambda value, pattern: f"{value} ± {pattern['$within']}",
    "$one_of": lambda value, _: " or ".join(map(shown, value)),
}
