from __future__ import annotations

import json

from hypothesis import given, settings

from harness.fuzz import RandomChoices, tool_results
from harness.fuzz.results import LARGEST_TEXT, tool_result
from harness.pipeline.result import ToolResult, serialize_tool_result


@settings(max_examples=80)
@given(tool_results())
def test_every_result_can_be_serialized(result: ToolResult) -> None:
    payload = json.loads(serialize_tool_result(result))
    assert payload["status"] == result.status
    assert not result.refused


def test_results_of_every_kind_and_size_come() -> None:
    choices = RandomChoices.seeded(1)
    results = [tool_result(choices) for _ in range(400)]
    assert {str(result.status) for result in results} == {"success", "partial", "error"}
    assert any(len(result.text) > LARGEST_TEXT / 2 for result in results)
    assert any(result.text == "" for result in results)
    assert any("rows" in result.data for result in results)
    assert len({result.error_code for result in results}) > 5
