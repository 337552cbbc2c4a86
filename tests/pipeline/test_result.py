from __future__ import annotations

import copy
import dataclasses
import json
import pickle
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.pipeline.result import (
    DEEPEST_VALUE,
    REFUSALS,
    ErrorCode,
    FrozenDict,
    ToolResult,
    ToolStatus,
    serialize_tool_result,
    tool_result_payload,
    verbatim,
)
from tests.pipeline.tools import any_text, json_objects, json_values

RESULT = ToolResult(
    ToolStatus.PARTIAL,
    "three of nine",
    {"files": ["a", {"size": 1}], "empty": {}, "none": []},
    stats={"time_ms": 4},
    context={"cwd": "w", "params_input": {"pattern": "*"}},
)


@pytest.mark.seed("T02")
@pytest.mark.parametrize("field", ["status", "text", "data", "error_code", "stats", "context"])
def test_no_field_of_a_result_can_be_set(field: str) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(RESULT, field, getattr(RESULT, field))


CHANGES: dict[str, Callable[[Any], object]] = {
    "set": lambda mapping: mapping.__setitem__("files", 1),
    "delete": lambda mapping: mapping.__delitem__("files"),
    "or": lambda mapping: mapping.__ior__({"files": 1}),
    "clear": lambda mapping: mapping.clear(),
    "pop": lambda mapping: mapping.pop("files"),
    "popitem": lambda mapping: mapping.popitem(),
    "setdefault": lambda mapping: mapping.setdefault("more", 1),
    "update": lambda mapping: mapping.update(files=1),
}


@pytest.mark.seed("T02")
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_no_mapping_of_a_result_can_be_changed(change: Callable[[Any], object]) -> None:
    before = serialize_tool_result(RESULT)
    for mapping in (RESULT.data, RESULT.stats, RESULT.context, RESULT.data["files"][1], RESULT.context["params_input"]):
        with pytest.raises(TypeError, match="immutable"):
            change(mapping)
    assert serialize_tool_result(RESULT) == before


@pytest.mark.seed("T02")
@settings(deadline=None)
@given(json_objects)
def test_every_container_at_every_depth_is_read_only(data: dict[str, Any]) -> None:
    def demand_frozen(value: object) -> None:
        assert not isinstance(value, list)
        if isinstance(value, Mapping):
            assert isinstance(value, FrozenDict)
            for item in value.values():
                demand_frozen(item)
        if isinstance(value, tuple):
            for item in value:
                demand_frozen(item)

    demand_frozen(ToolResult.success("", data).data)


@pytest.mark.seed("T02")
def test_what_the_maker_of_a_result_changes_later_does_not_reach_it() -> None:
    data: dict[str, Any] = {"rows": [{"n": 1}]}
    result = ToolResult.success("", data)
    data["rows"][0]["n"] = 2
    data["rows"].append(3)
    data["more"] = True
    assert result.data == {"rows": ({"n": 1},)}


@pytest.mark.seed("T02")
def test_data_stats_and_context_are_never_none() -> None:
    bare = ToolResult(ToolStatus.SUCCESS, "")
    assert (bare.data, bare.stats, bare.context) == ({}, {}, {})
    assert ToolResult.success("x", None).data == {}
    for name in ("data", "stats", "context"):
        nothing: dict[str, Any] = {name: None}
        with pytest.raises(TypeError, match=f"{name} is a mapping, not NoneType"):
            dataclasses.replace(bare, **nothing)


@pytest.mark.seed("T03")
def test_the_status_is_one_of_three() -> None:
    assert [status.value for status in ToolStatus] == ["success", "partial", "error"]
    for text in ("success", "ok"):
        with pytest.raises(TypeError, match="status is a ToolStatus"):
            ToolResult(text, "x")  # type: ignore[arg-type]


@pytest.mark.seed("T03")
def test_an_error_has_a_code_and_nothing_else_has_one() -> None:
    with pytest.raises(ValueError, match="do not go together"):
        ToolResult(ToolStatus.ERROR, "failed")
    for status in (ToolStatus.SUCCESS, ToolStatus.PARTIAL):
        with pytest.raises(ValueError, match="do not go together"):
            ToolResult(status, "fine", error_code=ErrorCode.NOT_FOUND)
    with pytest.raises(TypeError, match="error_code is an ErrorCode"):
        ToolResult(ToolStatus.ERROR, "failed", error_code="NOT_FOUND")  # type: ignore[arg-type]


@pytest.mark.seed("T01")
def test_text_that_is_no_text_is_refused() -> None:
    with pytest.raises(TypeError, match="text is a string, not bytes"):
        ToolResult.success(b"x")  # type: ignore[arg-type]


@pytest.mark.seed("T05")
@pytest.mark.parametrize("status", [ToolStatus.SUCCESS, ToolStatus.PARTIAL])
def test_the_payload_of_what_is_no_error_has_no_error(status: ToolStatus) -> None:
    result = ToolResult(status, "t", {"d": 1}, stats={"time_ms": 2}, context={"cwd": "w"})
    assert json.loads(serialize_tool_result(result)) == {
        "status": status.value,
        "data": {"d": 1},
        "text": "t",
        "stats": {"time_ms": 2},
        "context": {"cwd": "w"},
    }


@pytest.mark.seed("T05")
@pytest.mark.parametrize("code", list(ErrorCode))
def test_the_payload_of_an_error_has_its_code_and_message(code: ErrorCode) -> None:
    payload = json.loads(serialize_tool_result(ToolResult.error(code, "why and what to do")))
    assert list(payload) == ["status", "data", "text", "stats", "context", "error"]
    assert payload["status"] == "error"
    assert payload["error"] == {"code": code.value, "message": "why and what to do"}


def test_only_refusals_count_as_refused() -> None:
    assert {code for code in ErrorCode if ToolResult.error(code, "").refused} == REFUSALS
    assert not ToolResult.success("").refused


@pytest.mark.seed("E03")
def test_empty_objects_stay_objects_and_empty_arrays_arrays() -> None:
    data = {"object": {}, "array": [], "nested": [{}, [], {"a": [[]]}]}
    assert '"data": ' + json.dumps(data) in serialize_tool_result(ToolResult.success("", data))


@settings(deadline=None)
@given(any_text, st.dictionaries(any_text, json_values | any_text, max_size=4))
def test_every_result_can_be_serialized_and_sent(text: str, data: dict[str, Any]) -> None:
    result = ToolResult.error(ErrorCode.EXECUTION_ERROR, text, data)
    sent = serialize_tool_result(result).encode("utf-8")
    assert json.loads(sent) == json.loads(json.dumps(tool_result_payload(result)))
    assert verbatim(result).encode("utf-8").decode("utf-8") == result.text


@settings(deadline=None)
@given(st.text(), json_objects)
def test_what_json_can_say_arrives_unchanged(text: str, data: dict[str, Any]) -> None:
    payload = json.loads(serialize_tool_result(ToolResult.success(text, data)))
    assert payload["text"] == text
    assert payload["data"] == data


def test_half_a_surrogate_pair_becomes_the_replacement_character() -> None:
    result = ToolResult.success("a\ud83db", {"k\ud800": ["\udfff"]})
    assert "\ud83d" not in result.text
    assert result.text.strip("ab\ufffd") == ""
    assert result.text.startswith("a\ufffd")
    assert all(character in "k\ufffd" for character in next(iter(result.data)))


@settings(deadline=None)
@given(json_objects)
def test_a_result_survives_pickling_and_copying_and_stays_frozen(data: dict[str, Any]) -> None:
    result = ToolResult.success("t", data, time_ms=1)
    for twin in (pickle.loads(pickle.dumps(result)), copy.copy(result), copy.deepcopy(result)):
        assert twin == result
        assert serialize_tool_result(twin) == serialize_tool_result(result)
        with pytest.raises(TypeError):
            CHANGES["update"](twin.data)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        (b"x", "bytes"),
        ({1}, "set"),
        (object(), "object"),
        ({1: 2}, "key 1"),
        pytest.param(10**5000, "bits", id="a huge integer"),
    ],
)
def test_what_json_cannot_say_is_refused_with_its_place(value: object, reason: str) -> None:
    with pytest.raises(TypeError, match=reason) as raised:
        ToolResult.success("", {"rows": ["fine", {"bad": value}]})
    assert "data.rows[1].bad" in str(raised.value)


def nested(levels: int) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for level in range(levels):
        data = {"a": data} if level % 2 else {"a": [data]}
    return data


def test_a_value_as_deep_as_allowed_can_still_be_used_everywhere() -> None:
    deepest = ToolResult.success("", nested(DEEPEST_VALUE * 2 // 3))
    assert json.loads(serialize_tool_result(deepest))["data"]
    assert copy.deepcopy(deepest) == pickle.loads(pickle.dumps(deepest)) == deepest


def test_a_value_too_deep_for_the_next_reader_is_refused() -> None:
    with pytest.raises(ValueError, match="deeper than 128 levels"):
        ToolResult.success("", nested(DEEPEST_VALUE))
