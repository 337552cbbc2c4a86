from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from harness.pipeline.circuit_breaker import CircuitBreaker, CircuitState
from harness.pipeline.executor import ToolExecutor
from harness.pipeline.foreign import adapted, foreign_result
from harness.pipeline.loop import LoopStatus
from harness.pipeline.registry import ToolRegistry
from harness.pipeline.result import ErrorCode, ToolResult, ToolStatus
from harness.seams import ManualClock
from tests.pipeline.playing import call, calling, held
from tests.pipeline.tools import SmallTool, json_values

G06_BODY = {"ok": False, "errors": ["the index is locked"]}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (G06_BODY, "the index is locked"),
        ({"success": False, "message": "no such user"}, "no such user"),
        ({"succeeded": False}, '{"succeeded": false}'),
        ({"isError": True, "content": [{"type": "text", "text": "timed out"}]}, "timed out"),
        ({"is_error": True, "content": "bad"}, "bad"),
        ({"failed": True, "detail": "x"}, "x"),
        ({"status": "FAILED", "reason": "quota"}, "quota"),
        ({"status": "error", "ok": True}, '{"status": "error", "ok": true}'),
        ({"error": {"code": 7, "message": "denied"}}, "denied"),
        ({"errors": [{"message": "one"}, "two"]}, "one\ntwo"),
        ({"ok": True, "isError": True, "error": "both"}, "both"),
        ({"error": ["  "], "ok": False, "message": " why "}, "why"),
    ],
)
@pytest.mark.parametrize("as_text", [False, True])
def test_g06_a_failure_in_the_body_is_the_status_of_the_result(
    body: dict[str, Any], reason: str, as_text: bool
) -> None:
    result = foreign_result(json.dumps(body) if as_text else body)
    assert (result.status, result.error_code, result.text) == (ToolStatus.ERROR, ErrorCode.EXECUTION_ERROR, reason)
    assert json.loads(json.dumps(result.data)) == body


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain words", "plain words"),
        ("", ""),
        ('{"ok": fal', '{"ok": fal'),
        ("[1]", "[1]"),
        ('{"a":' * 9000, '{"a":' * 9000),
        (None, ""),
        ([1, 2], "[1, 2]"),
        (3, "3"),
        ({"ok": True, "error": "none of note"}, '{"ok": true, "error": "none of note"}'),
        ({"error": None, "errors": [], "rows": 2}, '{"error": null, "errors": [], "rows": 2}'),
        ({"isError": False, "content": [{"type": "text", "text": "sunny"}]}, "sunny"),
        ({"success": "no idea"}, '{"success": "no idea"}'),
        ({"status": "ok"}, '{"status": "ok"}'),
        ({"status": 500}, '{"status": 500}'),
    ],
)
def test_what_does_not_say_that_it_failed_is_a_success(value: object, text: str) -> None:
    result = foreign_result(value)
    assert (result.status, result.text) == (ToolStatus.SUCCESS, text)


def test_values_are_kept_as_data() -> None:
    assert foreign_result([1, 2]).data == {"value": (1, 2)}
    assert foreign_result(None).data == {}
    assert foreign_result(' {"a": 1}').data == {"a": 1}
    own = ToolResult.partial("some")
    assert foreign_result(own) is own


@given(json_values)
def test_every_json_value_has_a_result(value: Any) -> None:
    assert isinstance(foreign_result(value), ToolResult)


def test_g06_a_tool_that_fails_in_its_body_opens_its_circuit() -> None:
    registry = ToolRegistry(CircuitBreaker(clock=ManualClock()))
    registry.register_function("Index", "", adapted(lambda _: G06_BODY))
    executor = ToolExecutor(registry)
    codes = [executor.execute("Index", {"input": str(number)}).error_code for number in range(5)]
    assert codes == [ErrorCode.EXECUTION_ERROR] * 3 + [ErrorCode.CIRCUIT_OPEN] * 2
    assert registry.breaker.state("Index") is CircuitState.OPEN


def test_g06_the_same_call_without_progress_ends_the_run_whatever_its_body_says() -> None:
    tool = SmallTool("Index", lambda _: ToolResult.success("", G06_BODY))
    result, bodies = held([calling(call("Index", "{}"))] * 20, tool)
    assert (result.status, len(bodies), len(tool.runs)) == (LoopStatus.CIRCLE, 5, 3)
