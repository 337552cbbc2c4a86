from __future__ import annotations

import errno
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.pipeline.budget import (
    LEAST_RESULT_BYTES,
    MAX_CALLS,
    PER_RESULT_BYTES,
    TOTAL_BYTES,
    BudgetPolicy,
    SpillStore,
    apply_budgets,
    full_text,
)
from harness.pipeline.builtin import GlobTool, GrepTool, ReadTool
from harness.pipeline.executor import ToolExecutor
from harness.pipeline.history import History
from harness.pipeline.observation import Serializer, ToolObservation
from harness.pipeline.orchestrator import StepOutcome, ToolOrchestrator
from harness.pipeline.permissions import ask_allows
from harness.pipeline.result import ErrorCode, ToolResult, ToolStatus, serialize_tool_result, verbatim
from harness.pipeline.truncation import Spill
from harness.pipeline.workspace import Workspace
from harness.seams import ManualClock, SequentialIds
from harness.wire.chat import ModelTurn
from tests.pipeline.tools import SmallTool, builtin_executor, flat, json_objects, registry_with


class Answering(SmallTool):
    """Answers each call with the result prepared for its position."""

    def __init__(self, results: list[ToolResult]) -> None:
        super().__init__("Answer")
        self._results = iter(results)

    def run(self, parameters: Mapping[str, Any]) -> ToolResult:
        return next(self._results)


def step(
    root: Path,
    results: list[ToolResult],
    budget: BudgetPolicy | None = None,
    serializer: Serializer = serialize_tool_result,
    ids: list[str] | None = None,
    surplus: int = 0,
) -> StepOutcome:
    """The outcome of a step in which one tool gives these results, in this workspace."""
    executor = ToolExecutor(registry_with(Answering(results)), Workspace(root), clock=ManualClock())
    executor.registry.breaker.failure_threshold = 1_000_000
    orchestrator = ToolOrchestrator(executor, budget=budget, serializer=serializer, ids=SequentialIds())
    names = ids or [f"call_{number}" for number in range(len(results) + surplus)]
    return orchestrator.run([flat("Answer", "", call_id) for call_id in names])


def sizes(outcome: StepOutcome) -> list[int]:
    return [len(item.observation.encode("utf-8")) for item in outcome.observations]


def spilled(root: Path, observation: ToolObservation) -> str:
    path: str = observation.result.stats["full_result_path"]
    return (root / path).read_text(encoding="utf-8")


def bare_step(results: list[ToolResult], root: Path) -> list[ToolObservation]:
    observations = [ToolObservation(f"call_{n}", "T", result, result) for n, result in enumerate(results)]
    return apply_budgets(observations, SpillStore(Workspace(root)))


def of_size(size: int) -> ToolResult:
    """A result whose own observation has exactly this size."""
    overhead = len(serialize_tool_result(ToolResult.success("")))
    return ToolResult.success("x" * (size - overhead))


# Layer 1


@pytest.mark.seed("O02")
def test_a_result_of_exactly_fifty_kilobytes_is_left_alone_and_one_byte_more_is_cut(tmp_path: Path) -> None:
    assert PER_RESULT_BYTES == 50 * 1024
    fits, exceeds = bare_step([of_size(51_200), of_size(51_201)], tmp_path)
    assert (fits.size, fits.truncated) == (51_200, False)
    assert exceeds.size <= 51_200
    assert exceeds.truncated
    assert exceeds.result.status is ToolStatus.PARTIAL
    assert len(list((tmp_path / ".harness" / "spill").iterdir())) == 1


@pytest.mark.seed("O02")
def test_the_limit_counts_bytes_not_characters(tmp_path: Path) -> None:
    overhead = len(serialize_tool_result(ToolResult.success("")))
    (observation,) = bare_step([ToolResult.success("\u20ac" * ((51_200 - overhead) // 3 + 1))], tmp_path)
    assert observation.truncated
    assert observation.size <= 51_200


@pytest.mark.seed("O02", "O01")
def test_a_cut_result_names_a_file_with_the_full_content(tmp_path: Path) -> None:
    lines = "\n".join(f"line {number} \u00e9" for number in range(9000))
    outcome = step(tmp_path, [ToolResult.success("summary", {"content": lines, "more": {"n": 1}})])
    (observation,) = outcome.observations
    path = observation.result.stats["full_result_path"]
    assert path.startswith(".harness/spill/call_0-")
    assert path in json.loads(observation.observation)["text"]
    assert observation.raw_result is outcome.executions[0].result
    assert observation.raw_result.data["content"] == lines
    assert lines in spilled(tmp_path, observation)
    assert spilled(tmp_path, observation) == full_text(observation.raw_result)
    cut = json.loads(observation.observation)["data"]["content"]
    assert cut.startswith("line 0 \u00e9\nline 1")
    assert cut.endswith("line 8999 \u00e9")
    (truncation,) = outcome.truncations
    assert (truncation.tool_call_id, truncation.layer, truncation.bytes_after) == ("call_0", 1, observation.size)
    assert truncation.bytes_before > 51_200


def pages(read: ReadTool, path: str) -> Iterator[str]:
    """All of a file as an agent reads it: page after page, and the rest of long lines by character."""
    offset, skip = 1, None
    while True:
        result = read.run({"path": path, "offset": offset} | ({} if skip is None else {"char_offset": skip}))
        assert result.status is not ToolStatus.ERROR, result.text
        content, total = result.data["content"], result.data["total_lines"]
        if skip is not None:
            yield content
            skip = skip + len(content) if not content.endswith("\n") and offset < total else None
            offset += 1 if skip is None else 0
        elif "more characters]" in content or len(content) > 2000 * content.count("\n"):
            skip = 0
        else:
            yield content
            offset += content.count("\n")
        if offset > total:
            return


@pytest.mark.seed("O02")
def test_f04_the_file_can_be_read_back_with_the_agents_own_tool_and_is_hidden_from_its_search(
    tmp_path: Path,
) -> None:
    workspace = Workspace(tmp_path)
    lines = "\n".join(f"needle {number}" for number in range(9000))
    (observation,) = step(tmp_path, [ToolResult.success(lines)]).observations
    path = observation.result.stats["full_result_path"]
    assert "".join(pages(ReadTool(workspace), path)) == full_text(observation.raw_result)
    assert GlobTool(workspace).run({"pattern": "**/*"}).data.get("files", ()) == ()
    assert "needle" not in json.dumps(dict(GrepTool(workspace).run({"pattern": "needle 8"}).data))


@pytest.mark.parametrize("in_text", [True, False])
def test_a_result_full_of_control_characters_can_be_read_back_too(tmp_path: Path, in_text: bool) -> None:
    noise = "\x00\x01\x02" * 30_000
    result = ToolResult.success(noise) if in_text else ToolResult.success("", {"raw": noise})
    (observation,) = step(tmp_path, [result]).observations
    first = ReadTool(Workspace(tmp_path)).run({"path": observation.result.stats["full_result_path"]})
    assert first.status is not ToolStatus.ERROR
    assert json.dumps(noise) in spilled(tmp_path, observation)


def test_the_same_result_is_kept_under_the_same_name_and_another_under_another(tmp_path: Path) -> None:
    def kept(text: str, call_id: str = "call_0") -> str:
        (observation,) = step(tmp_path, [ToolResult.success(text)], ids=[call_id]).observations
        return str(observation.result.stats["full_result_path"])

    assert kept("a" * 60_000) == kept("a" * 60_000) != kept("b" * 60_000)
    assert kept("a" * 60_000, "../../x y/\u00e9") == kept("a" * 60_000, ".././x y/\u00e9")
    names = {path.name for path in (tmp_path / ".harness" / "spill").iterdir()}
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789_-.") for name in names)


def block_with_a_file(root: Path) -> None:
    (root / ".harness").write_text("in the way")


def block_below_with_a_file(root: Path) -> None:
    (root / ".harness").mkdir()
    (root / ".harness" / "spill").write_text("in the way")


def block_with_a_link_out(root: Path) -> None:
    (root / ".harness").symlink_to(tempfile.gettempdir())


@pytest.mark.parametrize("block", [block_with_a_file, block_below_with_a_file, block_with_a_link_out])
@pytest.mark.parametrize("limit", [LEAST_RESULT_BYTES, PER_RESULT_BYTES])
def test_f05_a_failed_spill_is_said_not_advertised(tmp_path: Path, block: Callable[[Path], None], limit: int) -> None:
    block(tmp_path)
    budget = BudgetPolicy(per_result_bytes=limit)
    (observation,) = step(tmp_path, [ToolResult.success("x" * 200_000)], budget).observations
    assert observation.size <= limit
    assert "saved" in observation.result.text
    assert "not" in observation.result.text
    assert ".harness/spill" not in observation.observation
    assert observation.result.stats.get("full_result_path") is None


def test_f05_without_a_workspace_nothing_is_advertised_either() -> None:
    result = ToolResult.success("x" * 60_000)
    (observation,) = apply_budgets([ToolObservation("c", "T", result, result)], SpillStore(None))
    assert "could not be saved (there is no workspace)" in observation.result.text


def test_f05_a_full_disk_is_named_and_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: object, __: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fchmod", full)
    (observation,) = step(tmp_path, [ToolResult.success("x" * 200_000)]).observations
    assert "the full result could not be saved (No space left on device)" in observation.result.text
    assert observation.result.stats["full_result_path"] is None
    assert ".harness" not in observation.observation
    assert list((tmp_path / ".harness" / "spill").iterdir()) == []


# What is kept


def test_the_kept_text_has_long_texts_raw_under_headings_and_the_rest_as_json() -> None:
    lines, long, plain = "a\nb", "x" * 201, "y" * 200
    result = ToolResult(
        ToolStatus.ERROR,
        "first\nsecond \u00e9",
        {"\u20ac": [plain, lines, {"in": long}], "n": 1.5},
        ErrorCode.TIMEOUT,
        {"time_ms": 7},
        {"cwd": "/w", "params_input": {"command": "l\ns"}},
    )
    rest = {
        "status": "error",
        "error_code": "TIMEOUT",
        "data": {"\u20ac": [plain, "(below: data.\u20ac[1])", {"in": "(below: data.\u20ac[2].in)"}], "n": 1.5},
        "stats": {"time_ms": 7},
        "context": {"cwd": "/w", "params_input": {"command": "(below: context.params_input.command)"}},
    }
    assert full_text(result) == "\n".join(
        [
            json.dumps(rest, ensure_ascii=False, indent=1),
            "--- text ---",
            "first\nsecond \u00e9",
            "--- data.\u20ac[1] ---",
            lines,
            "--- data.\u20ac[2].in ---",
            long,
            "--- context.params_input.command ---",
            "l\ns",
            "",
        ]
    )


def test_a_kept_text_with_nul_characters_stays_json() -> None:
    text, leaf = "a\0\u00e9", "b\0\n\u00e9" + "x" * 300
    rest = {"status": "success", "data": {"leaf": leaf}, "stats": {}, "context": {}}
    assert full_text(ToolResult.success(text, {"leaf": leaf})) == (
        json.dumps(rest, ensure_ascii=False, indent=1) + '\n--- text ---\n"a\\u0000\u00e9"\n'
    )


def test_the_kept_file_is_named_after_the_calls_id_and_its_content(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    store = SpillStore(Workspace(tmp_path / "w"))

    def kept(call_id: str) -> str:
        result = ToolResult.success("x")
        spill = store.keep(ToolObservation(call_id, "T", result, result))
        assert spill.path is not None
        return spill.path

    digest = hashlib.blake2b(full_text(ToolResult.success("x")).encode(), digest_size=4).hexdigest()
    assert kept("Call_1-z") == f".harness/spill/Call_1-z-{digest}.txt"
    assert kept("../a b\u00e9") == f".harness/spill/_a_b_-{digest}.txt"
    assert kept("y" * 61) == f".harness/spill/{'y' * 60}-{digest}.txt"


def test_f05_the_reason_of_a_failed_spill_is_said_whatever_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = ToolResult.success("x")
    observation = ToolObservation("c", "T", result, result)
    (tmp_path / "full").mkdir()
    (tmp_path / "w").mkdir()
    store = SpillStore(Workspace(tmp_path / "full"))

    def nameless(_: object, __: object) -> None:
        raise TimeoutError

    with monkeypatch.context() as patch:
        patch.setattr(os, "fchmod", nameless)
        assert store.keep(observation) == Spill(None, "TimeoutError")
    assert SpillStore(None).keep(observation) == Spill(None, "there is no workspace")
    for target in (tmp_path / "outside", tmp_path / "w" / "inside"):
        root = tmp_path / "w"
        target.mkdir(parents=True)
        (root / ".harness").unlink(missing_ok=True)
        (root / ".harness").symlink_to(target)
        assert SpillStore(Workspace(root)).keep(observation) == Spill(None, ".harness leads elsewhere")
        assert list(target.iterdir()) == []


# The bug reports, with the agent's own tools


def test_f04_what_bash_printed_is_read_back_by_the_same_agent_and_is_not_its_to_change(tmp_path: Path) -> None:
    def spill_of(root: Path) -> tuple[ToolExecutor, str]:
        root.mkdir()
        executor = builtin_executor(root, ask=ask_allows, clock=ManualClock())
        outcome = ToolOrchestrator(executor).run([flat("Bash", {"command": "seq 1 35000"}, "call_7")])
        (observation,) = outcome.observations
        assert observation.size <= PER_RESULT_BYTES
        return executor, observation.result.stats["full_result_path"]

    executor, path = spill_of(tmp_path / "a")
    page = executor.execute("Read", {"path": path, "offset": 30_000, "limit": 3})
    assert page.status is not ToolStatus.ERROR
    first = page.data["content"].split()
    assert [int(number) - int(first[0]) for number in first] == [0, 1, 2]
    before = (tmp_path / "a" / path).read_bytes()
    edit = executor.execute("Edit", {"path": path, "old_string": "34999", "new_string": "x"})
    assert edit.status is ToolStatus.ERROR
    assert (tmp_path / "a" / path).read_bytes() == before
    assert (tmp_path / "a" / path).stat().st_mode & 0o077 == 0
    listed = executor.execute("ListFiles", {})
    assert ".harness" not in serialize_tool_result(replace(listed, context={}))
    # The same call with the same output names the same file, or a replayed request would differ.
    assert spill_of(tmp_path / "b")[1].startswith(".harness/spill/call_7-")


def test_f06_one_enormous_line_passes_no_limit_and_its_rest_is_read_by_character(tmp_path: Path) -> None:
    length = 4_000_000
    executor = builtin_executor(tmp_path, ask=ask_allows)
    command = f"head -c {length - 8} /dev/zero | tr '\\0' a; printf the_end_"
    (observation,) = ToolOrchestrator(executor).run([flat("Bash", {"command": command})]).observations
    assert observation.size <= PER_RESULT_BYTES
    output = observation.result.data["output"]
    assert output.startswith("aaaa")
    assert output.endswith("the_end_")
    path = observation.result.stats["full_result_path"]
    (line,) = (
        number for number, text in enumerate((tmp_path / path).read_text().split("\n"), 1) if len(text) == length
    )
    last = executor.execute("Read", {"path": path, "offset": line, "char_offset": length - 10})
    assert last.data["content"].strip() == "aathe_end_"
    whole_line = ToolOrchestrator(executor).run([flat("Read", {"path": path, "offset": line})]).observations[0]
    assert 1_000 < whole_line.size <= PER_RESULT_BYTES


def test_f09_output_that_is_not_utf8_passes_the_whole_way(tmp_path: Path) -> None:
    executor = builtin_executor(tmp_path, ask=ask_allows)
    command = r"for i in $(seq 9000); do printf 'ok\xf0\xff\n\x00tail\x1b[31mred\n'; done"
    (observation,) = ToolOrchestrator(executor).run([flat("Bash", {"command": command})]).observations
    assert observation.size <= PER_RESULT_BYTES
    shown = json.loads(observation.observation)["data"]["output"]
    assert shown.startswith("ok\ufffd\ufffd\n\u2400tailred\n")
    assert shown.endswith("\u2400tailred\n")


# Layer 2


@pytest.mark.seed("O03")
def test_the_largest_result_is_cut_until_all_fit_and_the_small_ones_are_left_alone(tmp_path: Path) -> None:
    assert TOTAL_BYTES == 200 * 1024
    given_sizes = [1_000, 45_000, 50_000, 48_000, 40_000, 300, 30_000]
    observations = bare_step([of_size(size) for size in given_sizes], tmp_path)
    assert sum(item.size for item in observations) <= 204_800
    assert [item.truncated for item in observations] == [False, False, True, False, False, False, False]
    assert observations[2].size == pytest.approx(50_000 - (sum(given_sizes) - 204_800), abs=8)


@pytest.mark.seed("O03")
def test_when_cutting_the_largest_is_not_enough_the_next_largest_is_cut(tmp_path: Path) -> None:
    cuts: list[tuple[str, int]] = []
    results = [of_size(size) for size in (3_000, 6_000, 5_000, 4_000)]
    observations = [ToolObservation(f"call_{n}", "T", result, result) for n, result in enumerate(results)]
    shown = apply_budgets(
        observations,
        SpillStore(Workspace(tmp_path)),
        total_bytes=9_000,
        on_truncation=lambda before, _, layer: cuts.append((before.tool_call_id, layer)),
    )
    assert cuts == [("call_1", 2), ("call_2", 2)]
    assert sum(item.size for item in shown) <= 9_000
    assert [item.truncated for item in shown] == [False, True, True, False]


@pytest.mark.seed("O03")
def test_exactly_two_hundred_kilobytes_together_are_left_alone(tmp_path: Path) -> None:
    assert not any(item.truncated for item in bare_step([of_size(51_200)] * 4, tmp_path))
    assert any(item.truncated for item in bare_step([*[of_size(51_200)] * 4, of_size(200)], tmp_path))


@pytest.mark.seed("O02", "O03")
def test_ten_results_that_layer_one_has_cut_are_cut_again_to_one_level(tmp_path: Path) -> None:
    outcome = step(tmp_path, [ToolResult.success(str(number) * 70_000) for number in range(10)])
    assert sum(sizes(outcome)) <= 204_800
    assert min(sizes(outcome)) > 20_000
    for number, observation in enumerate(outcome.observations):
        assert observation.result.text.startswith(str(number))
        assert str(number) * 70_000 in spilled(tmp_path, observation)
    assert {cut.layer for cut in outcome.truncations} == {1, 2}


def budgeted(sizes_before: list[int], total: int, root: Path) -> list[int]:
    results = [of_size(size) for size in sizes_before]
    observations = [ToolObservation(f"call_{n}", f"T{n}", result, result) for n, result in enumerate(results)]
    shown = apply_budgets(observations, SpillStore(Workspace(root)), total_bytes=total)
    assert [(item.tool_call_id, item.tool_name) for item in shown] == [
        (f"call_{n}", f"T{n}") for n in range(len(sizes_before))
    ]
    assert sum(item.size for item in shown) <= total
    return [item.size for item in shown]


@pytest.mark.seed("O03")
def test_a_total_is_exceeded_by_one_byte_and_not_by_none(tmp_path: Path) -> None:
    assert budgeted([1_000, 2_000], 3_000, tmp_path) == [1_000, 2_000]
    small, large = budgeted([1_000, 2_000], 2_999, tmp_path)
    assert small == 1_000
    assert 1_990 <= large <= 1_999


@pytest.mark.seed("O03")
def test_results_at_the_floor_are_only_cut_when_all_are_cut_to_one_level(tmp_path: Path) -> None:
    after = budgeted([LEAST_RESULT_BYTES, 3_000, 300], 2_000, tmp_path)
    assert after[::2] == [LEAST_RESULT_BYTES, 300]
    assert 1_180 <= after[1] <= 1_188
    observations = [
        ToolObservation(f"call_{size}", "T", result, result) for size in (60_000, 512) for result in [of_size(size)]
    ]
    for total in (2_000, 1_024):
        large, small = apply_budgets(observations, SpillStore(Workspace(tmp_path)), total_bytes=total)
        assert total - 520 <= large.size <= total - 512
        assert small is observations[1]


@pytest.mark.seed("O03")
@pytest.mark.parametrize(
    ("before", "total", "level"),
    [
        ([60_000] * 5, 100_000, 20_000),
        ([60_000, 60_000, 300, 60_000], 9_300, 3_000),
        ([60_000, 200, 60_000, 500, 400], 3_100, 1_000),
        ([52_000, 51_999, 52_001, 60_000], 204_000, 51_000),
    ],
)
def test_what_is_cut_again_gets_an_equal_share_of_what_the_small_ones_leave(
    tmp_path: Path, before: list[int], total: int, level: int
) -> None:
    for size, shown in zip(before, budgeted(before, total, tmp_path), strict=True):
        assert shown == size if size <= level else level - 8 <= shown <= level


@pytest.mark.seed("O04")
def test_budgets_apply_only_after_all_batches_have_run(tmp_path: Path) -> None:
    spills_during: list[bool] = []
    workspace = Workspace(tmp_path)

    def run(_: object) -> ToolResult:
        spills_during.append((tmp_path / ".harness").exists())
        return ToolResult.success("x" * 60_000)

    executor = ToolExecutor(registry_with(SmallTool("Task", run)), workspace)
    outcome = ToolOrchestrator(executor).run([flat("Task") for _ in range(3)])
    assert len(outcome.batches) == 3
    assert spills_during == [False] * 3
    assert (tmp_path / ".harness").exists()
    assert all(execution.result.text == "x" * 60_000 for execution in outcome.executions)
    assert all(observation.truncated for observation in outcome.observations)


@pytest.mark.seed("O05")
def test_what_enters_the_history_is_the_cut_text(tmp_path: Path) -> None:
    outcome = step(tmp_path, [ToolResult.success("x" * 300_000)])
    history = History([{"role": "user", "content": "go"}])
    history.append_turn(ModelTurn({"content": None}, None, (), "tool_calls", "complete"), outcome.plans)
    history.append_observation(outcome.observations[0])
    assert history.messages[-1] == {
        "role": "tool",
        "tool_call_id": "call_0",
        "content": outcome.observations[0].observation,
    }
    assert len(history.messages[-1]["content"]) <= 51_200


# Any results


TEXT_UNITS = [
    "x", "word ", "line\n", "\u00e9", "\u20ac", "\U0001f642", "\x00", "\x1b[31m", '"', "\\", "\r\n", "\u2028", "\ud800",
]  # fmt: skip

texts = st.builds(
    lambda units, times: "".join(units) * times,
    st.lists(st.sampled_from(TEXT_UNITS), max_size=4),
    st.sampled_from([0, 1, 10, 500, 5000, 15_000]),
)


def nested(text: str, depth: int) -> dict[str, Any]:
    value: Any = text
    for level in range(depth):
        value = [value, level] if level % 2 else {f"level {level}": value}
    return {"outer": value}


payloads = st.one_of(
    st.just({}),
    json_objects,
    st.builds(lambda text: {"content": text}, texts),
    st.builds(lambda text: {"outer": [{"inner": text}, text[:100]], "count": 1}, texts),
    st.builds(lambda text: {text: 1, "after": []}, texts),
    st.builds(lambda length: {"rows": list(range(length))}, st.sampled_from([3, 300, 20_000])),
    st.builds(nested, texts, st.integers(1, 120)),
    st.builds(lambda length: {f"key {number}": "v" for number in range(length)}, st.sampled_from([3, 300, 5000])),
)


@st.composite
def tool_results(draw: st.DrawFn) -> ToolResult:
    failed = draw(st.booleans())
    return ToolResult(
        ToolStatus.ERROR if failed else ToolStatus.SUCCESS,
        draw(texts),
        draw(payloads),
        ErrorCode.EXECUTION_ERROR if failed else None,
        draw(st.just({}) | st.builds(lambda text: {"note": text}, texts)),
        draw(st.just({}) | st.builds(lambda text: {"params_input": {"command": text}}, texts)),
    )


@st.composite
def policies(draw: st.DrawFn) -> BudgetPolicy:
    max_calls = draw(st.integers(1, 8))
    floor = max_calls * 1536
    return BudgetPolicy(
        draw(st.sampled_from([LEAST_RESULT_BYTES, 700, 3_000, PER_RESULT_BYTES])),
        draw(st.sampled_from([floor, floor + 1, floor * 3, TOTAL_BYTES])),
        max_calls,
    )


def leaves(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield key
            yield from leaves(item)
    elif isinstance(value, tuple | list):
        for item in value:
            yield from leaves(item)


def demand_full_content(content: str, raw: ToolResult) -> None:
    for leaf in (raw.text, *leaves(raw.data), *leaves(raw.stats), *leaves(raw.context)):
        assert leaf in content or json.dumps(leaf, ensure_ascii=False)[1:-1] in content


ids = st.text("abcXYZ0189_-./ \u00e9", min_size=1, max_size=90)


@pytest.mark.seed("O02", "O03", "O05")
@settings(deadline=None, max_examples=60)
@given(st.data(), policies(), st.booleans(), st.booleans())
def test_both_budgets_hold_for_every_step(
    data: st.DataObject, budget: BudgetPolicy, blocked: bool, plain: bool
) -> None:
    results = data.draw(st.lists(tool_results(), min_size=1, max_size=budget.max_calls))
    surplus = data.draw(st.integers(0, budget.max_calls * 4)) if len(results) == budget.max_calls else 0
    count = len(results) + surplus
    call_ids = data.draw(st.lists(ids, min_size=count, max_size=count, unique=True))
    serializer = verbatim if plain else serialize_tool_result
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        if blocked:
            block_with_a_file(root)
        outcome = step(root, results, budget, serializer, call_ids)
        assert all(size <= budget.per_result_bytes for size in sizes(outcome))
        assert sum(sizes(outcome)) <= budget.total_bytes
        assert [item.tool_call_id for item in outcome.observations] == call_ids
        for number, (observation, execution) in enumerate(zip(outcome.observations, outcome.executions, strict=True)):
            assert observation.raw_result is execution.result
            if not plain:
                payload = json.loads(observation.observation)
                assert payload["text"] == observation.result.text
                assert ("error" in payload) is (observation.result.status is ToolStatus.ERROR)
            if number >= budget.max_calls:
                assert observation.result.error_code is ErrorCode.TOO_MANY_CALLS
                continue
            assert observation.result.error_code is results[number].error_code
            if not observation.truncated:
                assert observation.observation == serializer(execution.result)
            elif blocked:
                assert ".harness/spill" not in observation.observation
                assert "saved" in observation.observation
            else:
                written = sorted(path.relative_to(root).as_posix() for path in (root / ".harness" / "spill").iterdir())
                (named,) = [path for path in written if path in observation.result.text]
                assert named in observation.observation
                demand_full_content((root / named).read_bytes().decode(), observation.raw_result)
                assert ReadTool(Workspace(root)).run({"path": named}).status is not ToolStatus.ERROR


@pytest.mark.seed("O02", "O03")
@settings(deadline=None, max_examples=12)
@given(st.lists(st.tuples(texts, texts, texts), min_size=1, max_size=4), st.integers(1, MAX_CALLS * 5), st.booleans())
def test_both_budgets_hold_for_any_number_of_calls_that_is_answered(
    kinds: list[tuple[str, str, str]], calls: int, plain: bool
) -> None:
    different = [ToolResult(ToolStatus.SUCCESS, text, {key: [key]}, context={"c": place}) for text, key, place in kinds]
    results = [different[number % len(different)] for number in range(min(calls, MAX_CALLS))]
    serializer = verbatim if plain else serialize_tool_result
    with tempfile.TemporaryDirectory() as folder:
        outcome = step(Path(folder), results, serializer=serializer, surplus=calls - len(results))
    assert len(outcome.observations) == calls
    assert sum(sizes(outcome)) <= TOTAL_BYTES
    assert max(sizes(outcome)) <= PER_RESULT_BYTES


@settings(deadline=None, max_examples=25)
@given(st.sampled_from(TEXT_UNITS[:-1]), st.integers(60_000, 70_000), st.booleans())
def test_head_and_tail_of_a_long_text_are_kept(unit: str, length: int, plain: bool) -> None:
    text = "the beginning " + unit * length + " the end"
    serializer = verbatim if plain else serialize_tool_result
    with tempfile.TemporaryDirectory() as folder:
        (observation,) = step(Path(folder), [ToolResult.success(text)], serializer=serializer).observations
    head, _, tail = observation.result.text.partition("\n[... cut: ")
    assert text.startswith(head)
    assert len(head) > 2_000
    shown_tail = tail.partition(" shown ...]\n")[2].partition("\n[Incomplete")[0]
    assert text.endswith(shown_tail)
    assert len(shown_tail) > 1_000
    assert plain or observation.size > 50_000


def test_the_largest_step_that_is_answered_holds_both_budgets(tmp_path: Path) -> None:
    results = [ToolResult.error(ErrorCode.EXECUTION_ERROR, "\u20ac" * 3000, {"k" * 3000: "x" * 3000})] * MAX_CALLS
    names = [f"call_{number:03d}_{'i' * 90}" for number in range(MAX_CALLS * 5)]
    outcome = step(tmp_path, results, ids=names)
    assert sum(sizes(outcome)) <= 204_800
    assert max(sizes(outcome)) <= 51_200
    assert [item.tool_call_id for item in outcome.observations] == names
    for observation in outcome.observations[:MAX_CALLS]:
        assert observation.result.text.startswith("\u20ac")
        assert (".harness/spill/call_" in observation.observation) is observation.truncated
    assert sum(observation.truncated for observation in outcome.observations) > 100


def test_many_small_results_are_all_cut_to_one_level_when_they_are_too_many(tmp_path: Path) -> None:
    shown = bare_step([of_size(2_000)] * 120, tmp_path)
    assert sum(item.size for item in shown) <= 204_800
    assert all(item.size >= LEAST_RESULT_BYTES - 8 for item in shown)


def test_a_verbatim_result_names_its_file_in_its_text(tmp_path: Path) -> None:
    (observation,) = step(tmp_path, [ToolResult.success("x" * 99_999, {"also": 1})], serializer=verbatim).observations
    assert observation.observation == observation.result.text
    assert observation.size <= 51_200
    assert str(observation.result.stats["full_result_path"]) in observation.observation
    assert "x" * 99_999 in spilled(tmp_path, observation)


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"per_result_bytes": 511}, "per_result_bytes is 511; the least is 512"),
        ({"total_bytes": 128 * 1536 - 1}, "for 128 calls the least is 196608"),
        ({"max_calls": 0}, "max_calls is 0"),
        ({"max_calls": 134}, "for 134 calls the least is 205824"),
    ],
)
def test_limits_below_their_floor_are_refused(limits: dict[str, int], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        BudgetPolicy(**limits)


def test_limits_at_their_floor_are_taken() -> None:
    assert BudgetPolicy(512, 1536, 1).most_calls_answered == 5
    assert BudgetPolicy(max_calls=133).max_calls == 133
