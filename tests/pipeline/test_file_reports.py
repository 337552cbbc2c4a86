"""Bug reports of family E: set up by their own shell lines, run through all gates, judged by their own oracles."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.pipeline.executor import ToolExecutor
from harness.pipeline.result import ErrorCode, ToolResult, ToolStatus
from tests.pipeline.tools import builtin_executor

pytestmark = pytest.mark.corpus

Report = dict[str, Any]


@pytest.fixture(scope="module")
def reports(shared_dir: Path) -> dict[str, Report]:
    lines = (shared_dir / "cases" / "bug-reports.jsonl").read_text().splitlines()
    return {entry["id"]: entry for entry in map(json.loads, lines)}


@pytest.fixture
def agent(tmp_path: Path, reports: dict[str, Report]) -> Callable[[str], Agent]:
    def prepared(report: str) -> Agent:
        return Agent(tmp_path, reports[report])

    return prepared


class Agent:
    """The folder that a report sets up, and the tools on it."""

    def __init__(self, root: Path, report: Report) -> None:
        self.root = root.resolve()
        self.report = report
        if setup := report["input"].get("setup"):
            subprocess.run(["sh", "-c", setup], cwd=root, check=True, timeout=10)
        self.executor: ToolExecutor = builtin_executor(root)

    def read(self, path: str, **more: Any) -> ToolResult:
        return self.executor.execute("Read", {"path": path, **more})

    def edit(self, path: str, old: str, new: str, **more: Any) -> ToolResult:
        return self.executor.execute("Edit", {"path": path, "old_string": old, "new_string": new, **more})

    def demand(self, path: str) -> None:
        """The file is what the report's oracle says."""
        oracle = self.report["expected"]["oracle"]
        content = (self.root / path).read_bytes()
        if "file_hex" in oracle:
            assert content.hex() == oracle["file_hex"]
        else:
            assert content.decode() == oracle["file"]


Agents = Callable[[str], Agent]


def test_e01_a_touched_but_unchanged_file_is_edited(agent: Agents) -> None:
    e01 = agent("E01")
    e01.read("f.py")
    os.utime(e01.root / "f.py", ns=(0, 0))
    assert e01.edit("f.py", "a=1", "a=2").status is ToolStatus.SUCCESS
    e01.demand("f.py")


def test_e03_a_second_edit_of_ones_own_is_not_stale(agent: Agents) -> None:
    e03 = agent("E03")
    e03.read("f")
    assert [e03.edit("f", old, new).status for old, new in (("a", "A"), ("b", "B"))] == ["success", "success"]
    e03.demand("f")


def test_e06_mixed_line_endings_match_and_stay(agent: Agents) -> None:
    e06 = agent("E06")
    e06.read("m.txt")
    assert e06.edit("m.txt", "alpha\nbeta", "ALPHA\nbeta").status is ToolStatus.SUCCESS
    assert e06.edit("m.txt", "gamma", "GAMMA").status is ToolStatus.SUCCESS
    e06.demand("m.txt")


@pytest.mark.parametrize("tool", ["Edit", "MultiEdit"])
def test_e09_an_empty_old_text_is_refused(agent: Agents, tool: str) -> None:
    e09 = agent("E09")
    for more in ({}, {"replace_all": True}):
        hunk = {"old_string": "", "new_string": "X", **more}
        arguments = {"path": "f", **(hunk if tool == "Edit" else {"edits": [hunk]})}
        assert e09.executor.execute(tool, arguments).error_code is ErrorCode.INVALID_PARAM
    e09.demand("f")


def test_e12_the_lock_knows_a_file_under_every_spelling(agent: Agents) -> None:
    e12 = agent("E12")
    e12.executor = builtin_executor(e12.root, require_read=True)
    assert e12.edit("e/f", "a", "b").error_code is ErrorCode.CONFLICT
    e12.read("d/f")
    edits = [("./d/../d/f", "a", "b"), (f"{e12.root}/d/f", "b", "c"), ("e/f", "c", "d")]
    assert [e12.edit(*edit).status for edit in edits] == ["success"] * 3
    e12.demand("d/f")
    (e12.root / "d/f").write_text("x")
    assert e12.edit("e/f", "x", "y").error_code is ErrorCode.CONFLICT


def test_e13_grep_read_and_edit_count_the_same_lines(agent: Agents) -> None:
    e13 = agent("E13")
    (match,) = e13.executor.execute("Grep", {"pattern": "TARGET"}).data["matches"]
    assert match["line"] == e13.report["expected"]["oracle"]["line"]
    assert e13.read("p.py", offset=match["line"], limit=1).data["content"] == "TARGET\n"
    assert e13.edit("p.py", "TARGET\n", "HIT\n").data["first_line"] == match["line"]
    assert (e13.root / "p.py").read_bytes() == b"l1\n\x0cl2\nl3\xe2\x80\xa8x\nHIT\n"


def test_e14_a_change_of_the_same_size_in_the_same_tick_is_a_conflict(agent: Agents) -> None:
    e14 = agent("E14")
    file = e14.root / "f"
    file.write_text("AAAA")
    before = file.stat()
    e14.read("f")
    file.write_text("BBBB")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_mtime_ns == before.st_mtime_ns
    result = e14.edit("f", "AA", "CC")
    assert result.error_code is ErrorCode.CONFLICT
    assert e14.report["expected"]["oracle"]["result"] == result.error_code.value.lower()
    assert file.read_text() == "BBBB"


def test_e15_a_text_is_not_found_nearby_and_not_taken_at_random(agent: Agents) -> None:
    e15 = agent("E15")
    before = (e15.root / "t.tex").read_bytes()
    codes = [e15.edit(edit["path"], edit["old"], edit["new"]).error_code for edit in e15.report["input"]["edits"]]
    assert codes == [ErrorCode.NOT_FOUND, ErrorCode.NOT_UNIQUE]
    second = e15.report["input"]["edits"][1]
    assert "2 times, in lines 1, 3" in e15.edit(second["path"], second["old"], second["new"]).text
    assert (e15.root / "t.tex").read_bytes() == before


def test_e16_of_several_edits_all_are_made_or_none(agent: Agents) -> None:
    e16 = agent("E16")
    (e16.root / "f").write_text("a c\n")
    given = json.loads(e16.report["input"]["arguments"])
    edits = [{"old_string": hunk["old"], "new_string": hunk["new"]} for hunk in given["edits"]]
    result = e16.executor.execute("MultiEdit", {"path": given["path"], "edits": edits})
    assert result.error_code is ErrorCode.NOT_FOUND
    assert [(hunk["hunk"], hunk["code"]) for hunk in result.data["hunks"]] == [(2, "NOT_FOUND"), (3, "INVALID_PARAM")]
    assert "hunk 2: old_string is not in f" in result.text
    assert "hunk 3: old_string and new_string are the same, so nothing would change" in result.text
    assert (e16.root / "f").read_text() == "a c\n"


def test_g13_paths_are_compared_by_their_parts(agent: Agents, tmp_path: Path) -> None:
    """The report's root and its paths, put below a folder of the test."""
    root = tmp_path / "w" / "agent"
    for folder in (root, tmp_path / "w" / "agent-victim", tmp_path / "w" / "AGENT"):
        folder.mkdir(parents=True)
        (folder / "f").write_text("secret")
    (tmp_path / "w" / "x").write_text("secret")
    executor = builtin_executor(root)
    for path in agent("G13").report["input"]["paths"]:
        spelled = path.replace("/w/", f"{tmp_path.resolve()}/w/")
        result = executor.execute("Read", {"path": spelled})
        if path == "//w/agent/f":
            continue  # The same file as /w/agent/f on this system; elsewhere another host's, so either answer is right.
        assert result.status is ToolStatus.ERROR, path
        assert "secret" not in json.dumps(result.data)
