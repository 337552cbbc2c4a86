from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import InputError
from harness.judge.tokens import measure_paths
from harness.measure.against import compare_tools, sent_tools, tool_set
from tests.measure.talks import session_of, talk, task_of, tool


def test_a_change_is_told_tool_by_tool_per_request_and_per_task() -> None:
    before = tool_set([tool("read"), tool("edit"), tool("bash")], "gpt-4o")
    new = [tool("read"), tool("edit", "Changes a file, and says what it changed, line by line."), tool("grep")]
    task = task_of(talk([[("read", "x")], [("read", "y")], []], new))
    after = sent_tools([task])
    assert after is not None
    against = compare_tools(before, after, [task])
    assert {change.name: change.status for change in against.changes} == {
        "read": "same", "edit": "changed", "bash": "removed", "grep": "added"
    }  # fmt: skip
    assert against.delta == sum(change.delta for change in against.changes)
    (cost,) = against.tasks
    assert (cost.requests, cost.delta) == (3, 3 * against.delta)


def test_the_most_sent_set_stands_for_a_source() -> None:
    rare = talk([[]], [tool("other", "Something else. " * 9)])
    often = talk([[("read", "x")], []], [tool("read")])
    found = sent_tools(session_of([*often, *rare]).tasks)
    assert found is not None
    assert [one.name for one in found.count.tools] == ["read"]
    assert found.sets == 2


def test_both_sides_are_counted_in_one_encoding() -> None:
    tools = [tool("read", "Liest eine Datei mit Umlauten: äöü. " * 9)]
    against = compare_tools(tool_set(tools, "gpt-4"), tool_set(tools, "gpt-4o"))
    assert against.delta == 0


def test_nothing_to_compare_is_said(tmp_path: Path) -> None:
    (tmp_path / "none.json").write_text("[]")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no tools in it to compare"):
        measure_paths([str(tmp_path / "none.json")], str(tmp_path / "empty"))


@pytest.mark.corpus
def test_the_crush_tools_on_their_dates(corpus_dir: Path) -> None:
    sizes = {"2025-10-02": 24_154, "2026-03-12": 32_861, "2026-04-30": 12_753, "2026-07-30": 14_844}
    found = {}
    for date in sizes:
        tools = sent_tools(task.task for task in measure_paths([str(corpus_dir / "crush" / date)]).tasks)
        assert tools is not None
        assert len(tools.count.tools) == 11
        found[date] = tools
    assert {date: tools.json_bytes for date, tools in found.items()} == sizes
    tokens = [tools.tokens for tools in found.values()]
    assert tokens[2] < tokens[3] < tokens[0] < tokens[1]


@pytest.mark.corpus
def test_a_change_of_the_crush_tools_costs_the_same_on_every_request(corpus_dir: Path) -> None:
    folder = corpus_dir / "crush"
    against = measure_paths([str(folder / "2026-03-12")], str(folder / "2025-10-02")).against
    assert against is not None
    changed = {change.name for change in against.changes if change.status == "changed"}
    assert {"edit", "multiedit", "bash"} <= changed
    assert against.delta > 1_500
    assert {task.delta for task in against.tasks} == {task.requests * against.delta for task in against.tasks}
