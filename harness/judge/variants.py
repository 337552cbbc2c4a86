"""Scenarios with a matrix: one file, several cases."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from harness.errors import InputError
from harness.judge.collecting import Item
from harness.scenario.format import Scenario, load_scenario
from harness.scenario.matrix import expand

_MATRIX = re.compile(rb"^matrix:", re.MULTILINE)


def scenario_of(item: Item) -> Scenario:
    """The scenario of an item, its variant where the item is one; raises InputError as `load_scenario` does."""
    scenario = load_scenario(item.path)
    return scenario if item.variant is None else expand(scenario)[item.variant]


def expanded(items: Iterable[Item]) -> list[Item]:
    """The items, those whose scenario has a matrix as one for each variant.

    A scenario that cannot be read stays one item: judging it says what is wrong.
    """
    found: list[Item] = []
    for item in items:
        number = _count(item)
        found += [item] if number is None else [replace(item, variant=variant) for variant in range(number)]
    return found


def _count(item: Item) -> int | None:
    if item.kind != "scenario" or item.variant is not None:
        return None
    try:
        if not _MATRIX.search(item.path.read_bytes()):
            return None
        return len(expand(load_scenario(item.path)))
    except (OSError, InputError):
        return None
