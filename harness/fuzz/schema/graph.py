"""The places of a schema as a graph: what fits there, and how deep the shallowest value is.

A place is a conjunction of schemas, so a recursive ``$ref`` comes back to a place already known, and the graph is
finite. A place whose depth is infinite takes no value at all.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import jsonschema_rs

from harness.errors import InputError
from harness.fuzz.schema.branches import Arrays, Branch, Conjunction, Fixed, Numbers, Objects, Strings, branches
from harness.fuzz.schema.document import SchemaDocument

MOST_PLACES = 20_000
"""Places of one schema; one with more, which combinations of alternatives can make, is refused."""


@dataclass(slots=True)
class Place:
    """What fits at one place. ``depth`` is how many levels of arrays and objects the shallowest value has."""

    conjunction: Conjunction
    branches: list[Branch] = field(default_factory=list)
    depths: list[float] = field(default_factory=list)
    depth: float = math.inf
    judge: jsonschema_rs.Draft202012Validator | None = None


class Graph:
    """Places by their conjunctions, looked at when first asked for. Safe under threads."""

    def __init__(self, document: SchemaDocument) -> None:
        self.document = document
        self._places: dict[Conjunction, Place] = {}
        self._guard = threading.RLock()

    def place(self, conjunction: Conjunction) -> Place:
        """The place; raises InputError where its schemas, or those below, cannot be read."""
        found = self._places.get(conjunction)
        if found is not None:
            return found
        with self._guard:
            new = list(self._explored(conjunction))
            _settle_depths(new, self._places)
            return self._places[conjunction]

    def judge(self, place: Place) -> jsonschema_rs.Draft202012Validator:
        """What accepts the values of a place, compiled when first asked for."""
        if place.judge is None:
            place.judge = self.document.judge(place.conjunction)
        return place.judge

    def empty_place(self, conjunction: Conjunction) -> str:
        """The pointer of the schema that keeps a place without values from having any."""
        seen: set[Conjunction] = set()
        while conjunction not in seen:
            seen.add(conjunction)
            place = self.place(conjunction)
            below = (inner for branch in place.branches for inner in _needed(branch))
            conjunction = next((inner for inner in below if math.isinf(self.place(inner).depth)), conjunction)
        return " and ".join(f"#{pointer}" for pointer in conjunction) or "#"

    def _explored(self, start: Conjunction) -> Iterator[Place]:
        waiting = [start]
        while waiting:
            conjunction = waiting.pop()
            if conjunction in self._places:
                continue
            if len(self._places) >= MOST_PLACES:
                raise InputError(f"the schema has more than {MOST_PLACES} places")
            place = self._places[conjunction] = Place(conjunction, branches(self.document, conjunction))
            waiting += [inner for branch in place.branches for inner in _below(branch)]
            yield place


def _below(branch: Branch) -> Iterator[Conjunction]:
    """All places that a branch may lead to."""
    if isinstance(branch, Arrays):
        yield from branch.first
        yield branch.rest
        yield from ((*conjunction, *branch.rest) for conjunction, _ in branch.contains)
    elif isinstance(branch, Objects):
        yield from branch.properties.values()
        if branch.names:
            yield branch.names


def _needed(branch: Branch) -> Iterator[Conjunction]:
    """The places of which a branch needs a value."""
    if isinstance(branch, Arrays):
        yield from branch.first[: branch.least]
        if branch.least > len(branch.first):
            yield branch.rest
        yield from ((*conjunction, *branch.rest) for conjunction, count in branch.contains if count)
    elif isinstance(branch, Objects):
        for name in _always(branch):
            yield branch.properties[name]


def _always(branch: Objects) -> set[str]:
    """The required names, and those that they make required."""
    names: set[str] = set()
    waiting = list(branch.required)
    while waiting:
        name = waiting.pop()
        if name not in names:
            names.add(name)
            waiting += branch.dependents.get(name, ())
    return names


def _settle_depths(new: list[Place], known: dict[Conjunction, Place]) -> None:
    """Depths fall from infinity to what they are; a round without a change is the last."""
    for place in new:
        place.depths = [math.inf] * len(place.branches)
    changed = True
    while changed:
        changed = False
        for place in reversed(new):
            for at, branch in enumerate(place.branches):
                depth = _depth(branch, known)
                if depth < place.depths[at]:
                    place.depths[at] = depth
                    changed = True
            place.depth = min(place.depths, default=math.inf)


def _depth(branch: Branch, known: dict[Conjunction, Place]) -> float:
    if isinstance(branch, Fixed):
        return 0
    if isinstance(branch, Numbers):
        return 0 if _has_numbers(branch) else math.inf
    if isinstance(branch, Arrays | Objects):
        if branch.most is not None and branch.least > branch.most:
            return math.inf
        if isinstance(branch, Objects) and branch.most is not None and len(_always(branch)) > branch.most:
            return math.inf
        return max((1 + known[inner].depth for inner in _needed(branch)), default=0)
    if isinstance(branch, Strings) and branch.longest is not None and branch.shortest > branch.longest:
        return math.inf
    return 0


def _has_numbers(branch: Numbers) -> bool:
    if branch.low is None or branch.high is None:
        return True
    if branch.low > branch.high or (branch.low == branch.high and (branch.above or branch.below)):
        return False
    unit = number_unit(branch)
    if unit is None:
        return True
    first, last = multiples(branch, unit)
    return first is not None and last is not None and first <= last


def number_unit(branch: Numbers) -> Fraction | None:
    """What all numbers of the branch are multiples of, or None."""
    if not branch.integer:
        return branch.step
    step = branch.step or Fraction(1)
    return Fraction(step.numerator)


def multiples(branch: Numbers, unit: Fraction) -> tuple[int | None, int | None]:
    """The first and last multiple of ``unit`` within the bounds, as factors; None where there is no bound."""
    first = last = None
    if branch.low is not None:
        first = math.ceil(branch.low / unit)
        if branch.above and first * unit == branch.low:
            first += 1
    if branch.high is not None:
        last = math.floor(branch.high / unit)
        if branch.below and last * unit == branch.high:
            last -= 1
    return first, last
