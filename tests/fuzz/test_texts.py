from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import Any

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from harness.fuzz import FAMILIES, RandomChoices, RawText, Reading, ValueMaker, raw_texts
from harness.fuzz.calls import Due, ToolSchema
from harness.fuzz.examples import ExampleMaker
from harness.fuzz.texts import raw_text, read_strictly
from harness.fuzz.texts.reading import reading_of
from harness.pipeline.arguments import parse_tool_input

SAME = {"compact", "usual", "pretty", "escaped", "slashes", "spaced", "flooded", "reordered"}
OTHER = {
    "inner_encoded",
    "wrapped",
    "large_number",
    "deep_nesting",
    "long_text",
    "many_keys",
    "html_in_strings",
    "mojibake",
}
CHANCE = {"lost_start", "lost_fragment", "repeated_fragment", "swapped_fragments", "one_character", "noise", "empty"}
BROKEN = set(FAMILIES) - SAME - OTHER - CHANCE


@pytest.fixture(scope="module")
def texts() -> dict[str, list[RawText]]:
    """80 texts of each family, of any objects."""
    values, choices = ValueMaker({"type": "object"}), RandomChoices.seeded(1)
    made: dict[str, list[RawText]] = defaultdict(list)
    for name in FAMILIES:
        for _ in range(80):
            made[name].append(raw_text(choices, values.value(choices), name))
    return made


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_does_what_its_name_says(family: str, texts: dict[str, list[RawText]]) -> None:
    readings = Counter(text.reading for text in texts[family])
    if family in SAME:
        assert set(readings) == {Reading.SAME}
    elif family in OTHER:
        assert set(readings) == {Reading.OTHER}
    elif family in BROKEN:
        assert set(readings) == {Reading.BROKEN}
    else:
        assert len(readings) > 1 or family in ("noise", "lost_start")


@pytest.mark.parametrize("family", FAMILIES)
def test_the_pipeline_refuses_what_is_broken_and_takes_what_is_not(
    family: str, texts: dict[str, list[RawText]]
) -> None:
    for text in texts[family]:
        parameters, problem = parse_tool_input(text.text)
        if text.reading is Reading.BROKEN:
            assert problem is not None, text
        elif text.reading is Reading.SAME:
            assert problem is None, text
        if problem is None:
            assert parameters == text.value


def test_the_strict_reader_agrees_with_python_where_python_is_strict(texts: dict[str, list[RawText]]) -> None:
    for made in texts.values():
        for text in made:
            if text.value is not None and text.text.strip() not in ("", "null"):
                assert json.loads(text.text) == text.value


@pytest.mark.parametrize(
    "text",
    ['{"a": 1, "a": 1}', '{"a": NaN}', '{"a": -Infinity}', '{"a": 1e999}', '{"a": ' + "9" * 400 + "}",
     '{"a": "\\ud800"}', '{"\\udc00": 1}', '{"a": "\ud83d"}', "[]", "1", "\ufeff{}", "{}{}", '{"a": "\n"}', "\u00a0{}",
     "[" * 500, '{"a":' * 2000],
)  # fmt: skip
def test_what_no_strict_reader_takes(text: str) -> None:
    assert read_strictly(text) == (None, False)


@pytest.mark.parametrize(
    ("text", "value", "refusable"),
    [
        ("", {}, False),
        (" \n", {}, False),
        ("null", {}, True),
        ('{"a": "\\ud83d\\ude00"}', {"a": "😀"}, False),
        ('{"a": "\\\\ud800"}', {"a": "\\ud800"}, False),
        ('{"a": ' + "9" * 30 + "}", {"a": 10**30 - 1}, False),
        ('{"a": ' + "[" * 100 + "]" * 100 + "}", None, True),
        ('{"a": "' + "[" * 300 + '"}', {"a": "[" * 300}, False),
    ],
)
def test_what_a_strict_reader_takes(text: str, value: object, refusable: bool) -> None:
    assert read_strictly(text) == (value, refusable)


def test_one_and_true_are_not_the_same_but_one_and_1_0_are() -> None:
    assert reading_of(read_strictly('{"a": true}'), {"a": 1}) is Reading.OTHER
    assert reading_of(read_strictly('{"a": 1.0}'), {"a": 1}) is Reading.SAME


objects: st.SearchStrategy[dict[str, Any]] = st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3))


@settings(max_examples=150)
@given(raw_texts(objects))
def test_hypothesis_draws_texts_of_any_objects(text: RawText) -> None:
    assert text.family in FAMILIES
    assert (text.value is None) >= (text.reading is Reading.BROKEN)
    assert read_strictly(text.text).value == text.value


def test_a_family_can_be_asked_for_and_shrinks() -> None:
    quick = settings(max_examples=500, database=None, derandomize=True)
    found = find(raw_texts(family="trailing_comma"), lambda text: text.reading is Reading.BROKEN, settings=quick)
    assert found == ("{,}", "trailing_comma", Reading.BROKEN, None)
    with pytest.raises(KeyError):
        raw_texts(family="nonsense")


def test_a_long_text_stands_mostly_in_a_text_of_the_objects_own_and_breaks_off() -> None:
    choices = RandomChoices.seeded(1)
    made = [raw_text(choices, {"word": "b", "count": 1, "path": "c"}, "long_text") for _ in range(200)]
    changed = [text.value for text in made if text.value is not None and "probe" not in text.value]
    assert 100 < len(changed) < 170
    for value in changed:
        assert value["count"] == 1
        (long,) = (part for part in (value["word"], value["path"]) if len(part) > 1)
        assert long == long[0] * (len(long) - 1) + "!"
        assert len(long) >= 10_000
    assert {value["word"] == "b" for value in changed} == {True, False}
    assert all(
        text.value and "probe" in text.value for text in [raw_text(choices, {"n": 1}, "long_text") for _ in range(20)]
    )


@pytest.mark.parametrize("seed", range(4))
def test_the_examples_of_a_run_hold_a_text_on_which_patterns_go_back(seed: int) -> None:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    maker = ExampleMaker([ToolSchema("tag", {**schema, "additionalProperties": False})], seed)
    calls = [call for number in range(300) for turn in maker.example(number).turns for call in turn.calls]
    due = [maker.due(call) for call in calls if call.family == "long_text" and call.name == "tag"]
    reached = [one for one in due if one.due is Due.ACCEPT]
    assert any(one.value is not None and one.value["text"].startswith("a" * 1000) for one in reached)
    assert {one.due for one in due} == {Due.ACCEPT, Due.REFUSE}
