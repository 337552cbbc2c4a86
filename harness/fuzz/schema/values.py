"""Values that fit a schema, out of choices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from harness.errors import InputError
from harness.fuzz.choices import Choices, RejectedError
from harness.fuzz.schema.branches import (
    Arrays,
    Branch,
    Fixed,
    Numbers,
    Objects,
    Strings,
    child,
    matching,
)
from harness.fuzz.schema.document import Schema, SchemaDocument
from harness.fuzz.schema.formats import FORMATS
from harness.fuzz.schema.graph import Graph, Place, multiples, number_unit
from harness.fuzz.schema.regexes import compiled, matching_text

MORE_LEVELS = 3
"""How many levels deeper than the shallowest one a value may be."""

_MOST_MORE_ITEMS = 8
_MOST_EXTRAS = 2
_LOCAL_TRIES = 25
_WIDEST_INTEGER = 2**53
_LARGEST_FLOAT = 1.7976931348623157e308
_ONE_IN_FLOATS = 16
_ONE_IN_EXTRAS = 16


class ValueMaker:
    """Makes values of one schema, which is read once.

    With ``formats`` a ``format`` is demanded of the values too. ``extras`` allows names that the schema does not list,
    where it leaves them open. Raises InputError for a schema that is none, that leads out of itself, or that no value
    fits; the error names the place.
    """

    def __init__(self, schema: Schema, *, formats: bool = False, extras: bool = True) -> None:
        self.document = SchemaDocument(schema, formats=formats)
        self.graph = Graph(self.document)
        self.root = self.graph.place(("",))
        self._extras = extras
        if math.isinf(self.root.depth):
            raise InputError("no value fits the schema", where=self.graph.empty_place(("",)))

    def value(self, choices: Choices) -> Any:
        """A value that fits; raises RejectedError where the choices lead to none."""
        made = self.at(choices, self.root)
        if not self.document.validator.is_valid(made):
            raise RejectedError("the value does not fit")
        return made

    def at(self, choices: Choices, place: Place, levels: float | None = None) -> Any:
        """A value that fits at a place, as a rule with no more than so many levels."""
        levels = place.depth + MORE_LEVELS if levels is None else levels
        options = [at for at, depth in enumerate(place.depths) if depth <= levels]
        if not options:
            if math.isinf(place.depth):
                raise RejectedError("nothing fits here")
            options = [at for at, depth in enumerate(place.depths) if depth == place.depth]
        branch = place.branches[options[0] if len(options) == 1 else choices.pick(options)]
        if branch.exact or isinstance(branch, Fixed):
            return self._made(choices, branch, levels)
        judge = self.graph.judge(place)
        for _ in range(_LOCAL_TRIES):
            made = self._made(choices, branch, levels)
            if judge.is_valid(made):
                return made
        raise RejectedError("what a validator has to judge is rarely fulfilled")

    def _made(self, choices: Choices, branch: Branch, levels: float) -> Any:
        if isinstance(branch, Fixed):
            return choices.pick(branch.values)
        if isinstance(branch, Strings):
            return _string(choices, branch, demanded=self.document.formats)
        if isinstance(branch, Numbers):
            return _number(choices, branch)
        if isinstance(branch, Arrays):
            return self._array(choices, branch, levels)
        if isinstance(branch, Objects):
            return self._object(choices, branch, levels)
        raise AssertionError(branch)

    def _array(self, choices: Choices, branch: Arrays, levels: float) -> list[Any]:
        most = branch.least + _MOST_MORE_ITEMS if branch.most is None else branch.most
        made: list[Any] = []
        taken: set[str] = set()
        wanted = self._contained(choices, branch, levels)
        least = max(branch.least, len(branch.first) + len(wanted) if wanted else 0)
        while len(made) < most and (len(made) < least or choices.flag()):
            at = len(made)
            place = self.graph.place(branch.first[at] if at < len(branch.first) else branch.rest)
            if place.depth > levels - 1 and at >= least:
                break
            if wanted and at >= len(branch.first):
                made.append(wanted.pop())
                continue
            found, item = self._item(choices, place, levels - 1, taken if branch.unique else None)
            if not found:
                break
            made.append(item)
        if len(made) < branch.least:
            raise RejectedError("too few different items")
        return made

    def _contained(self, choices: Choices, branch: Arrays, levels: float) -> list[Any]:
        return [
            self.at(choices, self.graph.place((*conjunction, *branch.rest)), levels - 1)
            for conjunction, count in branch.contains
            for _ in range(count)
        ]

    def _item(self, choices: Choices, place: Place, levels: float, taken: set[str] | None) -> tuple[bool, Any]:
        """Whether there is an item, and the item; with ``taken``, one that is not in it yet."""
        if math.isinf(place.depth):
            return False, None
        if taken is None:
            return True, self.at(choices, place, levels)
        if len(place.branches) == 1 and isinstance(fixed := place.branches[0], Fixed):
            left = [value for value in fixed.values if identity(value) not in taken]
            if not left:
                return False, None
            made = choices.pick(left)
            taken.add(identity(made))
            return True, made
        for _ in range(_LOCAL_TRIES):
            made = self.at(choices, place, levels)
            if (key := identity(made)) not in taken:
                taken.add(key)
                return True, made
        return False, None

    def _object(self, choices: Choices, branch: Objects, levels: float) -> dict[str, Any]:
        chosen = self._chosen_names(choices, branch, levels)
        made = {
            name: self.at(choices, self.graph.place(conjunction), levels - 1)
            for name, conjunction in branch.properties.items()
            if name in chosen
        }
        self._add_more(choices, branch, made, levels)
        if len(made) < branch.least:
            raise RejectedError("too few properties")
        return made

    def _chosen_names(self, choices: Choices, branch: Objects, levels: float) -> set[str]:
        most = math.inf if branch.most is None else branch.most
        chosen = _with_dependents(branch, branch.required)
        optional = [
            name
            for name, conjunction in branch.properties.items()
            if name not in chosen and self.graph.place(conjunction).depth <= max(levels - 1, 0)
        ]
        for at, name in enumerate(optional):
            needed = len(chosen) + len(optional) - at <= branch.least
            if len(chosen) < most and (needed or choices.flag()):
                grown = _with_dependents(branch, [*chosen, name])
                if len(grown) <= most and all(
                    not math.isinf(self.graph.place(branch.properties[other]).depth) for other in grown
                ):
                    chosen = grown
        return chosen

    def _add_more(self, choices: Choices, branch: Objects, made: dict[str, Any], levels: float) -> None:
        """Names that match ``patternProperties``, and names nobody listed."""
        most = math.inf if branch.most is None else branch.most
        limit = max(branch.least - len(made), _MOST_EXTRAS)
        for _ in range(max(branch.least - len(made), 0) + _MOST_EXTRAS):
            needed = len(made) < branch.least
            if len(made) >= most or limit <= 0:
                return
            name = self._name(choices, branch, needed=needed)
            if name is None:
                return
            limit -= 1
            conjunction = child(self.document, branch.parts, name, matching(branch.patterns, name))
            place = self.graph.place(conjunction)
            if name in branch.properties or name in made or math.isinf(place.depth):
                continue
            if place.depth <= levels - 1 or needed:
                made[name] = self.at(choices, place, min(levels - 1, place.depth + 1))

    def _name(self, choices: Choices, branch: Objects, *, needed: bool) -> str | None:
        """A further name, or None where the object is to have no more."""
        free = branch.extras and (self._extras or needed or not branch.properties)
        if branch.patterns and (needed or choices.flag()):
            pattern = choices.pick(branch.patterns)
            if not (free and choices.flag(4)):
                return matching_text(choices, pattern)
        elif not (needed or choices.flag(_ONE_IN_EXTRAS if branch.properties else 2)):
            return None
        if not free:
            return None
        if branch.names:
            return str(self.at(choices, self.graph.place(branch.names)))
        return choices.text(1, 8)


def _with_dependents(branch: Objects, names: Sequence[str] | frozenset[str]) -> set[str]:
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += branch.dependents.get(name, ())
    return found


def identity(value: Any) -> str:
    """Equal for values that are equal in JSON, where 1 is 1.0 and true is not 1."""
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, int | float):
        return str(Fraction(value))
    if isinstance(value, str):
        return repr(value)
    if isinstance(value, list):
        return "[" + ",".join(map(identity, value)) + "]"
    return "{" + ",".join(sorted(f"{key!r}:{identity(part)}" for key, part in value.items())) + "}"


def _number(choices: Choices, branch: Numbers) -> int | float:
    unit = number_unit(branch)
    if unit is None and not choices.flag():
        return _float(choices, branch)
    if unit is None and not _holds_integers(branch):
        return _float(choices, branch)
    unit = unit or Fraction(1)
    first, last = multiples(branch, unit)
    span = max(1, int(_WIDEST_INTEGER / unit))
    if first is None:
        first = -span if last is None or last >= -span else last - span
    if last is None:
        last = max(span, first + span) if first > span else span
    found = choices.integer(first, last) * unit
    if found.denominator != 1:
        return float(found)
    whole = int(found)
    # 1.0 is an integer to JSON Schema; it is what some models write.
    if branch.integer and abs(whole) <= _WIDEST_INTEGER and choices.flag(_ONE_IN_FLOATS):
        return float(whole)
    return whole


def _holds_integers(branch: Numbers) -> bool:
    first, last = multiples(branch, Fraction(1))
    return first is None or last is None or first <= last


def _float(choices: Choices, branch: Numbers) -> float:
    low = -_LARGEST_FLOAT if branch.low is None else float(branch.low)
    high = _LARGEST_FLOAT if branch.high is None else float(branch.high)
    if branch.low is not None and (Fraction(low) < branch.low or (branch.above and Fraction(low) == branch.low)):
        low = math.nextafter(low, math.inf)
    if branch.high is not None and (Fraction(high) > branch.high or (branch.below and Fraction(high) == branch.high)):
        high = math.nextafter(high, -math.inf)
    if low > high:
        raise RejectedError("no float between the bounds")
    return choices.number(low, high)


def _string(choices: Choices, branch: Strings, *, demanded: bool) -> str:
    known = [name for name in branch.formats if name in FORMATS]
    if not branch.patterns and not known:
        return choices.text(branch.shortest, branch.longest)
    for attempt in range(_LOCAL_TRIES):
        plain = known and not demanded and attempt >= _LOCAL_TRIES // 2
        if known and not plain:
            made = FORMATS[choices.pick(known)](choices)
        elif branch.patterns:
            made = matching_text(choices, choices.pick(branch.patterns), branch.shortest)
        else:
            made = choices.text(branch.shortest, branch.longest)
        if (
            branch.shortest <= len(made)
            and (branch.longest is None or len(made) <= branch.longest)
            and all(compiled(pattern).search(made) for pattern in branch.patterns)
        ):
            return made
    raise RejectedError("no text of that form")
