from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.fuzz.in_tests import demand_sound
from harness.fuzz.parts import FuzzReport
from harness.pipeline.registry import ToolRegistry
from tests.fuzz.faulty.tools import Find, Save
from tests.fuzz.test_fuzzer import Crashes, divide

Fuzz = Callable[..., FuzzReport]


def test_the_fixture_fuzzes_a_registry(fuzz_tools: Fuzz) -> None:
    registry = ToolRegistry()
    registry.register_tool(Find())
    registry.register_tool(Save())
    breaker = registry.breaker
    assert fuzz_tools(registry, examples=40).coverage.calls > 40
    assert registry.breaker is breaker


def test_what_is_found_fails_the_test_and_is_told(fuzz_tools: Fuzz) -> None:
    with pytest.raises(
        AssertionError, match=r"(?s)tool_returns: crash raised IndexError.*crash\('\{\"word\":\"0000\"\}'\)"
    ):
        fuzz_tools([Crashes()], examples=60)
    fuzz_tools([Crashes()], examples=60, without=["tool_returns"])


def test_a_named_target_saves_its_findings(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="regress"):
        demand_sound("tests.fuzz.test_fuzzer:divide", examples=300, folder=tmp_path / "regress")
    assert divide.__name__ in next((tmp_path / "regress").iterdir()).name
