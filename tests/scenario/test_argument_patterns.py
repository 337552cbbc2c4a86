"""What values and patterns fit, where the first that does not is said to be, and which patterns are none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import InputError
from harness.scenario.argument_patterns import check_patterns, mismatch, shown
from tests.scenario.scenarios import scenario

FITS = [
    ({"a": 1}, {"a": 1}),
    ({"a": {"$any": True}}, {"a": None}),
    ({"a": {"$absent": True}}, {}),
    ({"a": {"$matches": "^src/.*py$"}}, {"a": "src/x.py"}),
    ({"a": {"$contains": "rm"}}, {"a": "rm -r"}),
    ({"a": {"$contains": {"n": 1}}}, {"a": [{"n": 2}, {"n": 1}]}),
    ({"a": {"$one_of": [1, {"$min": 5}]}}, {"a": 7}),
    ({"a": {"$min": 1, "$max": 2}}, {"a": 1.5}),
    ({"a": {"$near": 3, "$within": 0.5}}, {"a": 3.5}),
    ({"a": {"$exact": {"$matches": "x"}}}, {"a": {"$matches": "x"}}),
    ({"a": {"$include": {"b": 1}}}, {"a": {"b": 1, "c": 2}}),
    ({"a": [1, {"$any": True}]}, {"a": [1, 2]}),
]

DIFFERS = [
    ({"a": 1}, {"a": True}, "$.a", "1", "true"),
    ({"a": 1}, {"a": 1.0}, "$.a", "1", "1.0"),
    ({"a": "x"}, {}, "$.a", '"x"', "(absent)"),
    ({}, {"a": 1}, "$.a", "(absent)", "1"),
    ({"a": {"b": [1, 2]}}, {"a": {"b": [1]}}, "$.a.b[1]", "2", "(absent)"),
    ({"a": {"$any": True}}, {}, "$.a", "anything", "(absent)"),
    ({"a": {"$absent": True}}, {"a": None}, "$.a", "(absent)", "null"),
    ({"a": {"$matches": "y"}}, {"a": "x"}, "$.a", "/y/", '"x"'),
    ({"a": {"$matches": "1"}}, {"a": 1}, "$.a", "/1/", "1"),
    ({"a": {"$contains": "y"}}, {"a": ["x"]}, "$.a", 'what contains "y"', '["x"]'),
    ({"a": {"$one_of": ["x", {"$matches": "y"}]}}, {"a": "z"}, "$.a", '"x" or /y/', '"z"'),
    ({"a": {"$min": 1, "$max": 2}}, {"a": 3}, "$.a", "at least 1 and at most 2", "3"),
    ({"a": {"$min": 0}}, {"a": True}, "$.a", "at least 0", "true"),
    ({"a": {"$near": 3, "$within": 0.5}}, {"a": 4}, "$.a", "3 ± 0.5", "4"),
    ({"a": {"$exact": {"$x": 1}}}, {"a": {"$x": 2}}, '$.a["$x"]', "1", "2"),
    ({"a": {"$include": {"b": 1}}}, {"a": {"b": 2, "c": 2}}, "$.a.b", "1", "2"),
    ({"a": 10**30}, {"a": 1}, "$.a", str(10**30), "1"),
]


@pytest.mark.parametrize(("expected", "actual"), FITS)
def test_what_fits(expected: object, actual: object) -> None:
    check_patterns(expected)
    assert mismatch(expected, actual) is None


@pytest.mark.parametrize(("expected", "actual", "path", "old", "new"), DIFFERS)
def test_where_the_first_difference_is(expected: object, actual: object, path: str, old: str, new: str) -> None:
    check_patterns(expected)
    found = mismatch(expected, actual)
    assert found is not None
    assert (found.path, found.expected, found.actual) == (path, old, new)


def test_by_part_only_what_is_named_is_looked_at() -> None:
    actual = {"path": "a", "options": {"depth": 2, "all": True}}
    assert mismatch({"options": {"depth": 2}}, actual, part=True) is None
    assert mismatch({"options": {"depth": 2}}, actual) is not None
    assert mismatch({"options": {"depth": 3}}, actual, part=True) is not None
    assert mismatch({}, actual, part=True) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("ab", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=8,
)


@given(JSON, JSON)
def test_a_value_fits_itself_and_nothing_else(one: object, other: object) -> None:
    assert mismatch(one, one) is None
    assert mismatch(one, one, part=True) is None
    assert (mismatch(one, other) is None) == (repr(_sorted(one)) == repr(_sorted(other)))


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ({"$like": "x"}, "$like is no pattern"),
        ({"$any": True, "$min": 1}, "$any stands alone"),
        ({"$any": False}, "$any is true"),
        ({"$matches": "("}, "is no regular expression"),
        ({"$matches": 1}, "$matches is a regular expression"),
        ({"$one_of": []}, "$one_of is a list"),
        ({"$min": "1"}, "$min is a number"),
        ({"$near": 1}, "$near and $within go together"),
        ({"$one_of": [{"$like": "x"}]}, "$like is no pattern"),
        ([{"deep": {"$like": "x"}}], "$like is no pattern"),
    ],
)
def test_a_pattern_that_is_none_is_refused(pattern: object, why: str) -> None:
    with pytest.raises(ValueError, match=why.replace("$", r"\$")):
        check_patterns(pattern)


def test_a_scenario_with_such_a_pattern_is_refused_with_line_and_key() -> None:
    text = """\
    prompt: a
    player: {script: [{text: b}]}
    expect:
      calls:
        - {tool: Read, arguments: {path: {$like: x}}}
    """
    with pytest.raises(InputError) as caught:
        scenario(text)
    assert str(caught.value).startswith("test.yaml:5: expect.calls.0.arguments: $like is no pattern")


def test_an_expected_value_in_words() -> None:
    assert shown({"a": [1, {"$min": 2}], "b": {"$include": {"c": "x"}}}) == '{a: [1, at least 2], b: at least {c: "x"}}'


def _sorted(value: object) -> object:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(part) for part in value] if isinstance(value, list) else value
