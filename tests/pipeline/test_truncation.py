from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from harness.pipeline.budget import LEAST_RESULT_BYTES
from harness.pipeline.result import ErrorCode, ToolResult, ToolStatus, serialize_tool_result, verbatim
from harness.pipeline.truncation import Spill, cut_text, fit
from tests.pipeline.tools import json_objects

long_texts = st.builds(
    lambda unit, times, end: unit * times + end,
    st.text(min_size=1, max_size=20),
    st.integers(0, 2000),
    st.text(max_size=9),
)

SPILL = Spill(".harness/spill/call_1-0123abcd.txt")
UNSAVED = Spill(None, "No space left on device")


def escaped(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False).encode()) - 2


def size(result: ToolResult) -> int:
    return len(serialize_tool_result(result).encode())


@settings(deadline=None)
@given(long_texts, st.integers(0, 4000))
@example("\x00" * 1000, 100)
@example("\U0001f642" * 1000, 101)
@example('"\\' * 1000, 77)
def test_a_cut_text_never_exceeds_its_limit_and_splits_no_character(text: str, limit: int) -> None:
    shown = cut_text(text, limit)
    assert escaped(shown) <= limit
    shown.encode("utf-8")
    if escaped(text) <= limit:
        assert shown == text


@settings(deadline=None)
@given(long_texts, st.integers(200, 4000))
def test_a_cut_text_keeps_head_and_tail_and_says_how_much_it_shows(text: str, limit: int) -> None:
    shown = cut_text(text, limit)
    if shown == text:
        return
    marker = f"\n[... cut: {limit} of {escaped(text)} bytes shown ...]\n"
    head, _, tail = shown.partition(marker)
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) >= 10
    assert len(tail) >= 5
    assert escaped(shown) > limit - 16


def test_f02_the_end_of_a_test_report_survives() -> None:
    report = "\n".join(f"test {number} PASSED" for number in range(5000)) + "\nFAILED t.py::x - assert 1 == 2\n2 failed"
    shown = cut_text(report, 4000)
    assert shown.startswith("test 0 PASSED")
    assert shown.endswith("FAILED t.py::x - assert 1 == 2\n2 failed")
    assert f"[... cut: 4000 of {escaped(report)} bytes shown ...]" in shown
    assert escaped(shown) <= 4000


contents = st.builds(
    lambda text, data, context: (text, data, context),
    long_texts,
    st.one_of(
        json_objects,
        st.dictionaries(st.sampled_from(["a", "b", "c"]), long_texts, max_size=3),
        st.dictionaries(long_texts, st.integers(), max_size=3),
        st.builds(lambda item, times: {"rows": [item] * times}, json_objects | st.integers(), st.integers(0, 200)),
    ),
    st.dictionaries(st.sampled_from(["cwd", "params_input"]), long_texts, max_size=2),
)


@settings(deadline=None, max_examples=60)
@given(
    contents,
    st.sampled_from([LEAST_RESULT_BYTES, 600, 1000, 5000, 51_200]),
    st.sampled_from([SPILL, UNSAVED]),
    st.booleans(),
    st.sampled_from([serialize_tool_result, verbatim]),
)
def test_a_result_is_cut_to_its_limit_whatever_it_holds(
    content: tuple[str, dict[str, Any], dict[str, Any]],
    limit: int,
    spill: Spill,
    failed: bool,
    serializer: Callable[[ToolResult], str],
) -> None:
    text, data, context = content
    status, code = (ToolStatus.ERROR, ErrorCode.EXECUTION_ERROR) if failed else (ToolStatus.SUCCESS, None)
    result = ToolResult(status, text, data, code, {"time_ms": 1}, context)
    shown = fit(result, limit, spill, lambda each: len(serializer(each).encode()))
    assert len(serializer(shown).encode()) <= limit
    assert shown.status is (ToolStatus.ERROR if failed else ToolStatus.PARTIAL)
    assert shown.error_code is code
    payload = json.loads(serialize_tool_result(shown))
    if spill.path is not None:
        assert spill.path in payload["text"]
    else:
        assert "could not be saved" in payload["text"] or "not saved" in payload["text"]
        assert ".harness" not in payload["text"].removeprefix(text)


def test_long_texts_are_cut_to_one_length_and_the_structure_stays() -> None:
    result = ToolResult.success("t", {"small": "kept", "rows": [{"a": "x" * 50_000}, {"b": "y" * 900}], "n": 3})
    shown = fit(result, 5000, SPILL, size)
    assert shown.data["small"] == "kept"
    assert shown.data["n"] == 3
    assert shown.data["rows"][1] == {"b": "y" * 900}
    assert 3000 < len(shown.data["rows"][0]["a"]) < 5000
    assert shown.stats["full_result_path"] == SPILL.path
    assert size(shown) > 4900


def test_where_the_structure_is_too_large_head_and_tail_of_it_are_shown() -> None:
    result = ToolResult.success("summary", {"rows": list(range(20_000)), "end": "the last"})
    shown = fit(result, 5000, SPILL, size)
    assert list(shown.data) == ["preview"]
    assert shown.data["preview"].startswith('{"rows": [0, 1, 2')
    assert shown.data["preview"].endswith('19999], "end": "the last"}')
    assert shown.text.startswith("summary\n[Incomplete: cut to 5000 of ")


def test_f08_the_note_says_that_it_is_incomplete_that_asking_again_gives_the_same_and_what_to_do() -> None:
    rows = "\n".join(f"row {number}" for number in range(50_000))
    result = ToolResult.success(rows)
    shown = fit(result, 2000, SPILL, size)
    assert size(shown) <= 2000
    for words in (
        "Incomplete", f"cut to 2000 of {size(result)} bytes", "the same call is cut the same way, ask for less",
        SPILL.path, "Read shows it by offset and limit",
    ):  # fmt: skip
        assert str(words) in shown.text


def test_what_could_not_be_saved_is_said_with_its_reason_and_no_path() -> None:
    shown = fit(ToolResult.success("row\n" * 50_000), 2000, UNSAVED, size)
    assert "the full result could not be saved (No space left on device)" in shown.text
    assert shown.stats["full_result_path"] is None


@pytest.mark.parametrize("code", list(ErrorCode))
@pytest.mark.parametrize("limit", [LEAST_RESULT_BYTES, 600, 700, 900])
def test_an_error_at_the_smallest_limit_keeps_its_beginning_and_names_the_file(code: ErrorCode, limit: int) -> None:
    longest = Spill(f".harness/spill/{'c' * 60}-0123abcd.txt")
    error = ToolResult.error(code, "no such column: prise " + "\u00e9\n" * 40_000, {"k" * 3000: 1})
    shown = fit(error, limit, longest, size)
    assert size(shown) <= limit
    assert shown.text.startswith("no such column")
    assert str(longest.path) in shown.text
    assert json.loads(serialize_tool_result(shown))["error"] == {"code": code.value, "message": shown.text}


@pytest.mark.parametrize("limit", [*range(0, 420, 7), 700, 1000, 4000])
@pytest.mark.parametrize("spill", [Spill(f"/w/{'d' * 240}/f"), Spill(None, "d" * 240)])
def test_f07_the_note_never_breaks_the_budget_however_long_its_path(limit: int, spill: Spill) -> None:
    def shown_bytes(result: ToolResult) -> int:
        return len(verbatim(result).encode())

    assert shown_bytes(fit(ToolResult.success("x" * 100_000), limit, spill, shown_bytes)) <= limit


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_the_size_of_a_text_is_that_of_its_json(text: str) -> None:
    assert len(cut_text(text + "x" * 100, 100_000)) == len(text) + 100
    assert cut_text(text, escaped(text)) == text
    assert escaped(cut_text(text, escaped(text) - 1)) < max(1, escaped(text))


def test_a_marker_that_would_take_most_of_the_room_gives_way_to_the_head() -> None:
    assert cut_text("word " * 1000, 60) == "word " * 12
    assert "cut: 120 of 5000 bytes shown" in cut_text("word " * 1000, 120)


def test_a_note_longer_than_the_limit_is_dropped_before_the_limit_is() -> None:
    endless = Spill(None, "reason " * 500)
    shown = fit(ToolResult.error(ErrorCode.TIMEOUT, "x" * 9999), 130, endless, size)
    assert size(shown) <= 130
    assert shown.error_code is ErrorCode.TIMEOUT
