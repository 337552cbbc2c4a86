from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.fuzz.calls import ToolSchema
from harness.fuzz.choices import RandomChoices
from harness.fuzz.wire.harmless import HarmlessMaker

TOOL = ToolSchema(
    "do",
    {
        "type": "object",
        "properties": {
            "command": {"type": "string", "minLength": 1},
            "file_path": {"type": "string"},
            "url": {"type": "string", "format": "uri"},
            "note": {"type": "string", "minLength": 1, "maxLength": 20},
            "mode": {"enum": ["fast", "slow", 3]},
            "timeout": {"type": "integer", "minimum": 0},
            "ratio": {"type": "number"},
            "loud": {"type": "boolean"},
            "edits": {"type": "array", "items": {"type": "object", "properties": {"path": {"type": "string"}}}},
        },
        "required": ["command"],
    },
)
MAKER = HarmlessMaker(TOOL)
HARMLESS = {
    "echo a", "true", "ls", "a.txt", "b.txt", "none.txt", ".", "http://127.0.0.1:9/", "alpha", "a", "beta gamma",
    "fast", "slow",
}  # fmt: skip


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from texts(part)


def numbers(value: Any) -> Iterator[float]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from numbers(part)


@given(st.integers(0, 10**6), st.booleans())
@settings(max_examples=300)
def test_whatever_is_made_says_and_counts_nothing_of_its_own(seed: int, broken: bool) -> None:
    choices = RandomChoices.seeded(seed)
    value = MAKER.near_miss(choices) if broken else MAKER.value(choices)
    assert set(texts(value)) <= HARMLESS
    assert all(1 <= number <= 5 for number in numbers(value))


def test_commands_paths_and_addresses_are_what_their_names_say() -> None:
    made = [MAKER.value(RandomChoices.seeded(seed)) for seed in range(300)]
    assert {value["command"] for value in made} == {"echo a", "true", "ls"}
    assert {value["url"] for value in made if "url" in value} == {"http://127.0.0.1:9/"}
    assert {value["file_path"] for value in made if "file_path" in value} == {"a.txt", "b.txt", "none.txt", "."}
    assert {value["mode"] for value in made if "mode" in value} >= {"fast", "slow"}
    assert all(MAKER.fits(value) for value in made)


def test_most_near_misses_still_break_a_rule() -> None:
    made = [MAKER.near_miss(RandomChoices.seeded(seed)) for seed in range(200)]
    assert sum(not MAKER.fits(value) for value in made) > 150


@pytest.mark.parametrize("parameters", [None, {"type": "object", "properties": {}}])
def test_a_tool_without_parameters_gets_none(parameters: Any) -> None:
    maker = HarmlessMaker(ToolSchema("stop", parameters))
    assert all(maker.value(RandomChoices.seeded(seed)) == {} for seed in range(50))
