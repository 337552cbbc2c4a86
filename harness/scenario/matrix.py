"""A scenario file as the test cases that it stands for: itself, or one for each entry of its ``matrix``."""

from __future__ import annotations

from harness.errors import InputError
from harness.scenario.format import Scenario


def expand(scenario: Scenario) -> list[Scenario]:
    """The variants of a scenario, named ``NAME[VARIANT]``, or the scenario itself where it has none."""
    return list(scenario.variants) if scenario.matrix else [scenario]


def demand_single(scenario: Scenario) -> None:
    """Raise InputError for a scenario with a matrix where one is needed: to take the first would hide the others."""
    if scenario.matrix:
        names = ", ".join(variant.name for variant in scenario.matrix)
        raise InputError(
            f"the scenario is several: {names}", where=f"{scenario.path}: matrix", hint="`harness run` runs each"
        )
