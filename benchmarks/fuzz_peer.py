"""Values per second of hypothesis-jsonschema, for ``benchmarks/fuzz.py``, which runs this with another interpreter.

Schemas come as a JSON list on stdin; rates leave as one on stdout, 0 for a schema that it cannot do. ``import``
of this module needs Hypothesis only.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st


def values_per_second(make: Callable[[], st.SearchStrategy[Any]], count: int) -> float:
    """How many values of a strategy Hypothesis draws in a second, the time to make the strategy included."""
    drawn = 0

    def draw() -> None:
        @settings(
            max_examples=count,
            database=None,
            deadline=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(make())
        def count_one(_: Any) -> None:
            nonlocal drawn
            drawn += 1

        count_one()

    start = time.perf_counter()
    draw()
    return drawn / (time.perf_counter() - start)


def main() -> None:
    # Only the other interpreter has it.
    from_schema = importlib.import_module("hypothesis_jsonschema").from_schema

    rates = []
    for schema in json.load(sys.stdin):
        try:
            rates.append(values_per_second(partial(from_schema, schema), 100))
        except Exception:  # noqa: BLE001  whatever it cannot do counts as 0
            rates.append(0)
    json.dump(rates, sys.stdout)


if __name__ == "__main__":
    main()
