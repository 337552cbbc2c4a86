"""Values that break one rule of their schema, and which.

A valid value is made and changed at one place. The validator then has to name exactly one fault; what it names is what
is said to be broken, so that ``anyOf`` is said where a change leaves no alternative.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

from harness.errors import InputError
from harness.fuzz.choices import Choices, RejectedError
from harness.fuzz.schema.branches import (
    KINDS,
    Arrays,
    Branch,
    Fixed,
    Numbers,
    Objects,
    Strings,
    child,
    kind_of,
    matching,
)
from harness.fuzz.schema.document import Schema, step
from harness.fuzz.schema.formats import FORMATS
from harness.fuzz.schema.graph import Place
from harness.fuzz.schema.regexes import compiled
from harness.fuzz.schema.values import ValueMaker

_MOST_CHANGES = 40
_FARTHEST = 3
_LONGEST_GROWTH = 20_000

Path = tuple[str | int, ...]


class Broken(NamedTuple):
    """The rule that a value breaks: its keyword in the schema, and the JSON path in the value (``$.items[2]``).

    A missing or surplus property is a fault of the object. ``false`` is the keyword where the schema allows no value.
    """

    keyword: str
    path: str


class NearMiss(NamedTuple):
    """A value that a validator refuses, and for what alone."""

    value: Any
    broken: Broken


class _Change(NamedTuple):
    keyword: str
    path: Path
    make: Callable[[Choices, Any], Any]
    """From the value at the path to the one that breaks the rule."""


class NearMissMaker:
    """Makes near-misses of one schema.

    With ``formats`` a ``format`` is among the rules that are broken; without, no validator would notice. Raises
    InputError as `ValueMaker` does, and for a schema that has no rule to break.
    """

    def __init__(self, schema: Schema, *, formats: bool = False) -> None:
        self._values = ValueMaker(schema, formats=formats)
        self._validator = self._values.document.validator
        self._graph = self._values.graph
        if schema is True or (isinstance(schema, Mapping) and not set(schema) - _REMARKS):
            raise InputError("the schema allows every value, so there is no rule to break")

    def near_miss(self, choices: Choices) -> NearMiss:
        """A near-miss; raises RejectedError where the choices lead to none."""
        value = self._values.value(choices)
        changes: dict[str, list[_Change]] = {}
        for change in self._changes(value, self._values.root, ()):
            changes.setdefault(change.keyword, []).append(change)
        for _ in range(_MOST_CHANGES):
            if not changes:
                break
            keyword = choices.pick(list(changes))
            at = choices.integer(0, len(changes[keyword]) - 1)
            change = changes[keyword].pop(at)
            if not changes[keyword]:
                del changes[keyword]
            try:
                changed = _changed(value, change.path, partial(change.make, choices))
            except RejectedError:
                continue
            broken = self.broken(changed)
            if broken is not None:
                return NearMiss(changed, broken)
        raise RejectedError("no change of this value breaks one rule alone")

    def broken(self, value: Any) -> Broken | None:
        """The one rule that a value breaks; None for a value that breaks none, or several."""
        errors = iter(self._validator.iter_errors(value))
        first = next(errors, None)
        if first is None or next(errors, None) is not None:
            return None
        keyword = "false" if first.kind.name == "falseSchema" else str(first.schema_path[-1])
        return Broken(_COUNTED.get(keyword, keyword), json_path(first.instance_path))

    def _changes(self, value: Any, place: Place, path: Path) -> Iterator[_Change]:
        kinds = {kind for branch in place.branches for kind in _kinds_of(branch)}
        refused = [kind for kind in KINDS if kind not in kinds]
        for kind in refused:
            yield _Change("type", path, partial(_of_kind, kind=kind))
        if "number" in kinds and all(branch.integer for branch in place.branches if isinstance(branch, Numbers)):
            yield _Change("type", path, lambda _, part: _fraction(part))
        yield from self._not_changes(place, path)
        here = [branch for branch in place.branches if kind_of(value) in _kinds_of(branch)]
        for branch in here[:_FARTHEST]:
            yield from _own_changes(branch, path, demanded=self._values.document.formats)
            if isinstance(branch, Arrays) and isinstance(value, list):
                for at, item in enumerate(value):
                    conjunction = branch.first[at] if at < len(branch.first) else branch.rest
                    yield from self._changes(item, self._graph.place(conjunction), (*path, at))
            elif isinstance(branch, Objects) and isinstance(value, dict):
                yield from self._property_changes(branch, value, path)

    def _property_changes(self, branch: Objects, value: Mapping[str, Any], path: Path) -> Iterator[_Change]:
        for name, part in value.items():
            conjunction = child(self._values.document, branch.parts, name, matching(branch.patterns, name))
            yield from self._changes(part, self._graph.place(conjunction), (*path, name))
        for name, conjunction in branch.properties.items():
            if name not in value and not self._graph.place(conjunction).branches:
                yield _Change("false", path, partial(_with_null, name=name))

    def _other_value(self, choices: Choices, _: Any, place: Place) -> Any:
        return self._values.at(choices, place)

    def _not_changes(self, place: Place, path: Path) -> Iterator[_Change]:
        """Values that fit what a ``not`` refuses."""
        for pointer in dict.fromkeys(pointer for branch in place.branches for pointer in branch.parts):
            schema = self._values.document.part(pointer)
            if isinstance(schema, Mapping) and isinstance(schema.get("not"), Mapping) and not pointer.startswith("+"):
                inside = self._graph.place((pointer + step("not"),))
                yield _Change("not", path, partial(self._other_value, place=inside))


_COUNTED = {"minContains": "contains", "maxContains": "contains"}
"""Keywords that only count what another one is about; validators name either."""

_REMARKS = frozenset(
    {
        "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$schema", "$id",
        "$comment", "$defs", "definitions", "$anchor",
    }
)  # fmt: skip


def json_path(steps: Iterator[str | int] | list[str | int]) -> str:
    """The path in words of JSONPath: ``$.a[0]``."""
    return "$" + "".join(f"[{name}]" if isinstance(name, int) else f".{name}" for name in steps)


def _changed(value: Any, path: Path, make: Callable[[Any], Any]) -> Any:
    """A copy of the value with what stands at the path replaced."""
    if not path:
        return make(copy.deepcopy(value))
    made = copy.copy(value)
    made[path[0]] = _changed(value[path[0]], path[1:], make)
    return made


def _kinds_of(branch: Branch) -> set[str]:
    if isinstance(branch, Fixed):
        return {kind_of(value) for value in branch.values}
    names = {Numbers: "number", Strings: "string", Arrays: "array", Objects: "object"}
    return {names[type(branch)]}


def _own_changes(branch: Branch, path: Path, *, demanded: bool) -> Iterator[_Change]:
    if isinstance(branch, Fixed):
        yield _Change("enum", path, lambda choices, part: _unlike(choices, part, branch))
    elif isinstance(branch, Numbers):
        yield from _number_changes(branch, path)
    elif isinstance(branch, Strings):
        yield from _string_changes(branch, path, demanded=demanded)
    elif isinstance(branch, Arrays):
        yield from _array_changes(branch, path)
    elif isinstance(branch, Objects):
        yield from _object_changes(branch, path)


def _number_changes(branch: Numbers, path: Path) -> Iterator[_Change]:
    unit = branch.step or Fraction(1)

    def beyond(bound: Fraction, sign: int, *, strict: bool) -> Callable[[Choices, Any], Any]:
        def make(choices: Choices, _: Any) -> Any:
            away = choices.integer(0 if strict else 1, 3) * unit * sign
            found = (bound // unit) * unit + away
            while (found - bound) * sign < 0 or (found == bound and not strict):
                found += unit * sign
            return _plain(found)

        return make

    if branch.low is not None:
        yield _Change("minimum", path, beyond(branch.low, -1, strict=branch.above))
    if branch.high is not None:
        yield _Change("maximum", path, beyond(branch.high, 1, strict=branch.below))
    if branch.step is not None:
        half = branch.step / 2 if branch.step.numerator % 2 or not branch.integer else Fraction(1)
        yield _Change("multipleOf", path, lambda _, part: _plain(Fraction(part) + half))
        yield _Change("multipleOf", path, lambda _, part: _plain(Fraction(part) + 1))


def _string_changes(branch: Strings, path: Path, *, demanded: bool) -> Iterator[_Change]:
    if branch.shortest:
        yield _Change("minLength", path, lambda choices, part: part[: choices.integer(0, branch.shortest - 1)])
    if branch.longest is not None and branch.longest < _LONGEST_GROWTH:
        longest = branch.longest
        yield _Change("maxLength", path, lambda _, part: part + (part[-1:] or "x") * (longest + 1 - len(part)))
    if branch.patterns:
        yield _Change("pattern", path, lambda choices, part: _unmatched(choices, part, branch))
    if demanded and any(name in FORMATS for name in branch.formats):
        yield _Change("format", path, _malformed)


def _array_changes(branch: Arrays, path: Path) -> Iterator[_Change]:
    if branch.least:
        yield _Change("minItems", path, lambda choices, part: part[: choices.integer(0, branch.least - 1)])
    if branch.most is not None and branch.most < _LONGEST_GROWTH:
        most = branch.most
        yield _Change("maxItems", path, lambda _, part: part + part[-1:] * (most + 1 - len(part)))
    if branch.unique:
        yield _Change("uniqueItems", path, lambda choices, part: _repeated(choices, part, branch))
    for _, count in branch.contains[:1]:
        if count:
            yield _Change("contains", path, lambda _, part: part[:0])


def _object_changes(branch: Objects, path: Path) -> Iterator[_Change]:
    for name in sorted(branch.required):
        yield _Change("required", path, partial(_without, name=name))
    for name, others in branch.dependents.items():
        for other in others:
            yield _Change("dependentRequired", path, partial(_alone, name=name, other=other))
    if not branch.extras:
        yield _Change("additionalProperties", path, lambda choices, part: _with_extra(choices, part, branch))
    if branch.least:
        yield _Change("minProperties", path, lambda choices, part: _fewer(choices, part, branch))
    if branch.most is not None and branch.most < _LONGEST_GROWTH:
        most = branch.most
        yield _Change("maxProperties", path, lambda _, part: part | _more(part, most + 1 - len(part)))
    if branch.names and branch.extras:
        yield _Change("propertyNames", path, lambda choices, part: {**part, choices.text(0, 12): None})


def _of_kind(choices: Choices, part: Any, kind: str) -> Any:
    """A value of another type that says the same, as models write it: ``"5"``, ``["a"]`` in a text, null."""
    if kind == "null":
        return None
    if kind == "boolean":
        return bool(part)
    if kind == "number":
        return len(part) if isinstance(part, str | list | dict) else int(bool(part))
    if kind == "string":
        return json.dumps(part, ensure_ascii=False) if not isinstance(part, str) else part
    if kind == "array":
        return list(part.values()) if isinstance(part, dict) and choices.flag() else [part]
    return dict(_by_position(part)) if isinstance(part, list) and choices.flag() else {"value": part}


def _by_position(items: list[Any]) -> Iterator[tuple[str, Any]]:
    """A list as an object whose keys are the positions, which some gateways make of it."""
    for at, item in enumerate(items):
        yield str(at), item


def _with_null(_: Choices, part: dict[str, Any], name: str) -> dict[str, Any]:
    return {**part, name: None}


def _fraction(part: Any) -> float:
    if isinstance(part, bool) or not isinstance(part, int | float) or abs(part) > 2**50:
        return 0.5
    return part + 0.5


def _unlike(choices: Choices, part: Any, branch: Fixed) -> Any:
    """A value of the same type that is not among the fixed ones."""
    if isinstance(part, str):
        near = [part.upper(), part.lower(), part + " ", part[:-1], part + "s", f'"{part}"', part.replace("_", "-"), ""]
        fresh = [text for text in near if text not in branch.values]
        return choices.pick(fresh) if fresh else choices.text(1, 12)
    if isinstance(part, bool):
        return not part
    if isinstance(part, int | float):
        return part + choices.pick((1, -1, 1000))
    if isinstance(part, list):
        return [*part, *part[-1:]] or [None]
    if isinstance(part, dict):
        return {**part, "unlisted": None}
    raise RejectedError("null has no like")


def _plain(found: Fraction) -> int | float:
    try:
        return int(found) if found.denominator == 1 else float(found)
    except OverflowError as error:
        raise RejectedError("beyond the largest float") from error


def _unmatched(choices: Choices, part: str, branch: Strings) -> str:
    tries = [part + choices.pick("! \n-/"), choices.pick("!? ") + part, part[::-1], part.swapcase(), "!", ""]
    tries += [choices.text(branch.shortest, branch.longest)]
    for text in tries:
        if not all(compiled(pattern).search(text) for pattern in branch.patterns):
            return text
    raise RejectedError("the pattern matches nearly everything")


def _malformed(choices: Choices, part: str) -> str:
    return choices.pick((part + "x", part[:-1], part.replace("-", "/"), "not a value", "", part.replace(".", "..")))


def _repeated(choices: Choices, part: list[Any], branch: Arrays) -> list[Any]:
    if not part:
        raise RejectedError("nothing to repeat")
    if branch.most is None or len(part) < branch.most:
        return [*part, choices.pick(part)]
    return [*part[:-1], part[0]]


def _without(_: Choices, part: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in part.items() if key != name}


def _alone(choices: Choices, part: dict[str, Any], name: str, other: str) -> dict[str, Any]:
    if name not in part:
        raise RejectedError("what demands the other is not there")
    return _without(choices, part, other)


def _with_extra(choices: Choices, part: dict[str, Any], branch: Objects) -> dict[str, Any]:
    known = list(branch.properties)
    near = [known[0].upper(), known[-1] + "_", known[0].replace("_", "-")] if known else []
    names = [name for name in [*near, "extra", "unlisted"] if name not in branch.properties]
    return {**part, choices.pick(names): choices.pick((None, "", 0, {}))}


def _fewer(choices: Choices, part: dict[str, Any], branch: Objects) -> dict[str, Any]:
    names = [*sorted(branch.required & part.keys()), *sorted(part.keys() - branch.required)]
    kept = set(names[: choices.integer(0, branch.least - 1)])
    return {name: value for name, value in part.items() if name in kept}


def _more(part: dict[str, Any], count: int) -> dict[str, Any]:
    filler = next(iter(part.values()), None)
    return {f"more_{number}": filler for number in range(max(count, 0))}
