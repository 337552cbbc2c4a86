"""A conjunction of schemas taken apart: for each way to fit all of them, and each JSON type, one `Branch`.

References and ``allOf`` join the conjunction; ``anyOf``, ``oneOf``, ``if`` and ``dependentSchemas`` make alternatives.
What a branch does not hold by construction makes it inexact: its values are then judged by a validator.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from harness.fuzz.schema.document import SchemaDocument, step
from harness.fuzz.schema.regexes import compiled

Conjunction = tuple[str, ...]
"""Pointers of the schemas that a value fits all at once."""

MOST_ALTERNATIVES = 256
"""How many combinations of alternatives of one place are looked at; any beyond are left out."""

KINDS = ("null", "boolean", "number", "string", "array", "object")

_JUDGED = ("not", "contains", "propertyNames", "unevaluatedItems", "unevaluatedProperties", "dependentSchemas")


@dataclass(slots=True)
class Branch:
    """One way to fit: values of one type. ``exact`` says that no validator has to look at them."""

    parts: Conjunction
    exact: bool


@dataclass(slots=True)
class Fixed(Branch):
    """``enum`` and ``const``, null and the booleans: one of the values, of which there is at least one."""

    values: tuple[Any, ...] = ()


@dataclass(slots=True)
class Numbers(Branch):
    """Numbers; bounds None where there are none, ``step`` the least number that all ``multipleOf`` divide."""

    integer: bool = False
    low: Fraction | None = None
    high: Fraction | None = None
    above: bool = False
    below: bool = False
    step: Fraction | None = None


@dataclass(slots=True)
class Strings(Branch):
    """Strings; lengths in code points."""

    shortest: int = 0
    longest: int | None = None
    patterns: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()


@dataclass(slots=True)
class Arrays(Branch):
    """Arrays; ``first`` are the places with schemas of their own, ``rest`` fits any other."""

    first: tuple[Conjunction, ...] = ()
    rest: Conjunction = ()
    least: int = 0
    most: int | None = None
    unique: bool = False
    contains: tuple[tuple[Conjunction, int], ...] = ()


@dataclass(slots=True)
class Objects(Branch):
    """Objects; ``extras`` says whether names beyond the listed ones may be made up."""

    properties: dict[str, Conjunction] = field(default_factory=dict)
    required: frozenset[str] = frozenset()
    patterns: tuple[str, ...] = ()
    names: Conjunction = ()
    least: int = 0
    most: int | None = None
    dependents: dict[str, tuple[str, ...]] = field(default_factory=dict)
    extras: bool = True


@dataclass(slots=True)
class _Flat:
    """Schemas of which every keyword holds for the value itself, and the types that are ruled out."""

    parts: list[str] = field(default_factory=list)
    ruled_out: set[str] = field(default_factory=set)
    exact: bool = True

    def copy(self) -> _Flat:
        return _Flat(list(self.parts), set(self.ruled_out), self.exact)


def branches(document: SchemaDocument, conjunction: Conjunction) -> list[Branch]:
    """All branches; none where nothing fits. Raises InputError for what cannot be read, such as a dangling ``$ref``."""
    flats = itertools.islice(_flattened(document, list(conjunction), _Flat()), MOST_ALTERNATIVES)
    return [branch for flat in flats for branch in _by_kind(document, flat)]


def child(document: SchemaDocument, parts: Conjunction, name: str, matching: Sequence[str]) -> Conjunction:
    """What a property of that name fits; ``matching`` are the ``patternProperties`` that its name matches."""
    found: list[str] = []
    for pointer in parts:
        schema = document.part(pointer)
        if not isinstance(schema, Mapping):
            continue
        here = [
            pointer + step("patternProperties") + step(pattern)
            for pattern in matching
            if pattern in schema.get("patternProperties", {})
        ]
        if name in schema.get("properties", {}):
            here.append(pointer + step("properties") + step(name))
        if not here and "additionalProperties" in schema:
            here.append(pointer + step("additionalProperties"))
        found += [_inside(document, pointer, place) for place in here]
    return tuple(dict.fromkeys(found))


def _inside(document: SchemaDocument, owner: str, pointer: str) -> str:
    """The pointer of a part of ``owner``, which for an added schema is added too."""
    if not owner.startswith("+"):
        return pointer
    place: Any = document.part(owner)
    for name in pointer[len(owner) :].split("/")[1:]:
        key = name.replace("~1", "/").replace("~0", "~")
        place = place[int(key)] if isinstance(place, list) else place[key]
    return document.added(place, pointer[1:])


def _flattened(document: SchemaDocument, waiting: list[str], flat: _Flat) -> Iterator[_Flat]:
    while waiting:
        pointer = waiting.pop(0)
        if pointer in flat.parts:
            continue
        schema = document.part(pointer)
        if schema is True:
            continue
        if schema is False:
            return
        flat.parts.append(pointer)
        if isinstance(schema.get("$ref"), str):
            waiting.append(document.target(schema["$ref"]))
        waiting += [_under(document, pointer, "allOf", at) for at in range(len(schema.get("allOf", ())))]
        _take_not(document, pointer, schema, flat, waiting)
        flat.exact = flat.exact and not any(key in schema for key in _JUDGED)
        alternatives = list(_alternatives(document, pointer, schema))
        if alternatives:
            for exact, more in _combined(alternatives):
                fork = flat.copy()
                fork.exact = flat.exact and exact
                yield from _flattened(document, [*waiting, *more], fork)
            return
    yield flat


def _under(document: SchemaDocument, pointer: str, *steps: str | int) -> str:
    return _inside(document, pointer, pointer + "".join(map(step, steps)))


def _alternatives(
    document: SchemaDocument, pointer: str, schema: Mapping[str, Any]
) -> Iterator[list[tuple[bool, list[str]]]]:
    """For each keyword that leaves a choice: its alternatives, each exact or not, with the schemas it adds."""
    if any_of := schema.get("anyOf"):
        yield [(True, [_under(document, pointer, "anyOf", at)]) for at in range(len(any_of))]
    if one_of := schema.get("oneOf"):
        yield [(False, [_under(document, pointer, "oneOf", at)]) for at in range(len(one_of))]
    if "if" in schema and ("then" in schema or "else" in schema):
        then = [_under(document, pointer, "then")] if "then" in schema else []
        otherwise = [_under(document, pointer, "else")] if "else" in schema else []
        yield [(True, [_under(document, pointer, "if"), *then]), (False, otherwise)]
    for name in schema.get("dependentSchemas", ()):
        absent = document.added({"properties": {name: False}}, f"{pointer} without {name}")
        present = document.added({"required": [name]}, f"{pointer} with {name}")
        yield [(True, [absent]), (True, [present, _under(document, pointer, "dependentSchemas", name)])]


def _combined(alternatives: list[list[tuple[bool, list[str]]]]) -> Iterator[tuple[bool, list[str]]]:
    for choice in itertools.islice(itertools.product(*alternatives), MOST_ALTERNATIVES):
        yield all(exact for exact, _ in choice), [pointer for _, added in choice for pointer in added]


def _take_not(
    document: SchemaDocument, pointer: str, schema: Mapping[str, Any], flat: _Flat, waiting: list[str]
) -> None:
    """What is plain of a ``not`` is held by construction, so that few values are made in vain."""
    refused = schema.get("not")
    if not isinstance(refused, Mapping):
        if refused is True:
            waiting.append(document.nothing)
        return
    if not refused:
        waiting.append(document.nothing)
    elif set(refused) == {"type"}:
        kinds = refused["type"] if isinstance(refused["type"], list) else [refused["type"]]
        flat.ruled_out |= set(kinds)
    elif set(refused) == {"required"} and len(refused["required"]) == 1:
        name = refused["required"][0]
        absent = {"type": "object", "properties": {name: False}}
        waiting.append(document.added(absent, f"{pointer} never with {name}"))


def _by_kind(document: SchemaDocument, flat: _Flat) -> Iterator[Branch]:
    schemas = [schema for pointer in flat.parts if isinstance(schema := document.part(pointer), Mapping)]
    kinds, integer = _kinds(schemas, flat.ruled_out)
    parts = tuple(flat.parts)
    fixed = next((values for schema in schemas if (values := _fixed(schema)) is not None), None)
    if fixed is not None:
        judge = document.judge(flat.parts)
        fitting = tuple(value for value in fixed if kind_of(value) in kinds and judge.is_valid(value))
        if fitting:
            yield Fixed(parts, exact=flat.exact, values=fitting)
        return
    for kind in KINDS:
        if kind not in kinds:
            continue
        if kind == "null":
            yield Fixed(parts, exact=flat.exact, values=(None,))
        elif kind == "boolean":
            yield Fixed(parts, exact=flat.exact, values=(False, True))
        elif kind == "number":
            yield _numbers(parts, schemas, flat, integer=integer)
        elif kind == "string":
            yield _strings(parts, schemas, flat)
        elif kind == "array":
            yield _arrays(document, parts, schemas, flat)
        else:
            yield _objects(document, parts, schemas, flat)


def _kinds(schemas: Sequence[Mapping[str, Any]], ruled_out: set[str]) -> tuple[set[str], bool]:
    """The types that all schemas allow, and whether numbers have to be integers."""
    kinds, integer = set(KINDS), False
    for schema in schemas:
        if "type" not in schema:
            continue
        named = set(schema["type"]) if isinstance(schema["type"], list) else {schema["type"]}
        integer = integer or ("integer" in named and "number" not in named)
        kinds &= {"number" if name == "integer" else name for name in named}
    return kinds - ruled_out, integer


def _fixed(schema: Mapping[str, Any]) -> Sequence[Any] | None:
    if "const" in schema:
        return (schema["const"],)
    return schema["enum"] if isinstance(schema.get("enum"), list) else None


def kind_of(value: object) -> str:
    """The JSON type of a value; integers are numbers."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def _numbers(parts: Conjunction, schemas: Sequence[Mapping[str, Any]], flat: _Flat, *, integer: bool) -> Numbers:
    made = Numbers(parts, exact=flat.exact and "integer" not in flat.ruled_out, integer=integer)
    for schema in schemas:
        for key, strict in (("minimum", False), ("exclusiveMinimum", True)):
            if key in schema:
                bound = Fraction(schema[key])
                if made.low is None or bound > made.low or (bound == made.low and strict):
                    made.low, made.above = bound, strict
        for key, strict in (("maximum", False), ("exclusiveMaximum", True)):
            if key in schema:
                bound = Fraction(schema[key])
                if made.high is None or bound < made.high or (bound == made.high and strict):
                    made.high, made.below = bound, strict
        if "multipleOf" in schema:
            given = Fraction(str(schema["multipleOf"]))
            made.step = given if made.step is None else _common_multiple(made.step, given)
    return made


def _common_multiple(one: Fraction, other: Fraction) -> Fraction:
    return Fraction(math.lcm(one.numerator, other.numerator), math.gcd(one.denominator, other.denominator))


def _strings(parts: Conjunction, schemas: Sequence[Mapping[str, Any]], flat: _Flat) -> Strings:
    shortest, longest = _range(schemas, "minLength", "maxLength")
    patterns = tuple(dict.fromkeys(schema["pattern"] for schema in schemas if "pattern" in schema))
    formats = tuple(dict.fromkeys(schema["format"] for schema in schemas if isinstance(schema.get("format"), str)))
    return Strings(parts, flat.exact, shortest, longest, patterns, formats)


def _range(schemas: Sequence[Mapping[str, Any]], least: str, most: str) -> tuple[int, int | None]:
    uppers = [math.floor(schema[most]) for schema in schemas if most in schema]
    return max((math.ceil(schema[least]) for schema in schemas if least in schema), default=0), min(
        uppers, default=None
    )


def _arrays(document: SchemaDocument, parts: Conjunction, schemas: Sequence[Mapping[str, Any]], flat: _Flat) -> Arrays:
    least, most = _range(schemas, "minItems", "maxItems")
    count = max((len(schema.get("prefixItems", ())) for schema in schemas), default=0)
    first = tuple(_item(document, parts, at) for at in range(count))
    contains = []
    for pointer in parts:
        schema = document.part(pointer)
        if isinstance(schema, Mapping) and "contains" in schema:
            contains.append(((_under(document, pointer, "contains"),), int(schema.get("minContains", 1))))
    if any("unevaluatedItems" in schema for schema in schemas) and not any("items" in schema for schema in schemas):
        most = min(count, most) if most is not None else count
    return Arrays(
        parts, flat.exact, first, _item(document, parts, count), least, most,
        any(schema.get("uniqueItems") is True for schema in schemas), tuple(contains),
    )  # fmt: skip


def _item(document: SchemaDocument, parts: Conjunction, at: int) -> Conjunction:
    found: list[str] = []
    for pointer in parts:
        schema = document.part(pointer)
        if not isinstance(schema, Mapping):
            continue
        if at < len(schema.get("prefixItems", ())):
            found.append(_under(document, pointer, "prefixItems", at))
        elif "items" in schema:
            found.append(_under(document, pointer, "items"))
    return tuple(dict.fromkeys(found))


def _objects(
    document: SchemaDocument, parts: Conjunction, schemas: Sequence[Mapping[str, Any]], flat: _Flat
) -> Objects:
    least, most = _range(schemas, "minProperties", "maxProperties")
    required = frozenset(name for schema in schemas for name in schema.get("required", ()))
    patterns = tuple(dict.fromkeys(pattern for schema in schemas for pattern in schema.get("patternProperties", ())))
    listed = dict.fromkeys(name for schema in schemas for name in schema.get("properties", ()))
    dependents: dict[str, tuple[str, ...]] = {}
    for schema in schemas:
        for name, others in schema.get("dependentRequired", {}).items():
            dependents[name] = (*dependents.get(name, ()), *others)
    names = dict.fromkeys([*listed, *sorted(required), *dependents, *itertools.chain(*dependents.values())])
    properties = {name: child(document, parts, name, matching(patterns, name)) for name in names}
    named = tuple(
        _under(document, pointer, "propertyNames")
        for pointer in parts
        if isinstance(own := document.part(pointer), Mapping) and "propertyNames" in own
    )
    extras = not any(
        schema.get("additionalProperties") is False or "unevaluatedProperties" in schema for schema in schemas
    )
    return Objects(parts, flat.exact, properties, required, patterns, named, least, most, dependents, extras)


def matching(patterns: Sequence[str], name: str) -> list[str]:
    """The ``patternProperties`` that a name matches, which it does anywhere in it unless they are anchored."""
    return [pattern for pattern in patterns if compiled(pattern).search(name)]
