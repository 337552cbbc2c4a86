from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.pipeline.builtin import EditTool, MultiEditTool
from harness.pipeline.builtin.multi_edit import MAX_HUNKS
from harness.pipeline.file_versions import FileVersions
from harness.pipeline.result import ErrorCode, ToolResult, ToolStatus
from harness.pipeline.workspace import Workspace


@pytest.fixture
def multi(workspace: Workspace, versions: FileVersions) -> MultiEditTool:
    return MultiEditTool(workspace, versions)


def change(multi: MultiEditTool, *hunks: tuple[str, str], **more: Any) -> ToolResult:
    edits = [{"old_string": old, "new_string": new} for old, new in hunks]
    return multi.run({"path": "f", "edits": edits, **more})


def test_hunks_are_made_in_order_each_in_what_the_last_has_left(multi: MultiEditTool, root: Path) -> None:
    (root / "f").write_bytes(b"a\r\nb\n\xff")
    result = change(multi, ("a", "x"), ("x\nb", "y\nz"))
    assert result.status is ToolStatus.SUCCESS
    assert (root / "f").read_bytes() == b"y\r\nz\n\xff"
    assert result.data == {"path": "f", "replacements": 2}
    assert result.text.startswith("Made 2 replacements in f.\n@@ -1,")


def test_all_places_of_a_hunk(multi: MultiEditTool, root: Path) -> None:
    (root / "f").write_text("a a b")
    edits = [
        {"old_string": "a", "new_string": "c", "replace_all": True},
        {"old_string": "b", "new_string": "d"},
    ]
    assert multi.run({"path": "f", "edits": edits}).data["replacements"] == 3
    assert (root / "f").read_text() == "c c d"


def test_every_hunk_that_cannot_be_made_is_named_and_none_is_made(multi: MultiEditTool, root: Path) -> None:
    (root / "f").write_text("a b b")
    result = change(multi, ("a", "x"), ("b", "y"), ("none", "z"))
    assert result.error_code is ErrorCode.NOT_UNIQUE
    assert [hunk["hunk"] for hunk in result.data["hunks"]] == [2, 3]
    assert "2 of 3 hunks cannot be made: hunk 2: " in result.text
    assert (root / "f").read_text() == "a b b"


@pytest.mark.parametrize("edits", [None, [], "x", ["x"], [{}], [{"old_string": "a"}], [{}] * (MAX_HUNKS + 1)])
def test_bad_arguments(multi: MultiEditTool, root: Path, edits: object) -> None:
    (root / "f").write_text("a")
    assert multi.run({"path": "f", "edits": edits}).error_code is ErrorCode.INVALID_PARAM
    assert (root / "f").read_text() == "a"


def test_an_unexpected_state_is_a_conflict(multi: MultiEditTool, root: Path) -> None:
    (root / "f").write_text("a")
    assert change(multi, ("a", "b"), expected_size_bytes=9).error_code is ErrorCode.CONFLICT
    assert (root / "f").read_text() == "a"


def test_the_version_written_is_known(multi: MultiEditTool, root: Path, versions: FileVersions) -> None:
    (root / "f").write_text("a")
    result = change(multi, ("a", "b"), ("b", "c"))
    known = versions.known((root / "f").resolve())
    assert known is not None
    assert known.stats() == dict(result.stats)


_hunks = st.lists(
    st.tuples(st.sampled_from(["a", "b", "ab", "a\n", "c"]), st.sampled_from(["", "b", "x\ny", "c"])),
    min_size=1,
    max_size=4,
)


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.text(alphabet="abc\r\n", max_size=12), hunks=_hunks)
def test_several_hunks_are_as_many_edits_or_nothing(
    multi: MultiEditTool,
    workspace: Workspace,
    versions: FileVersions,
    root: Path,
    content: str,
    hunks: list[tuple[str, str]],
) -> None:
    edit = EditTool(workspace, versions)
    (root / "f").write_bytes(content.encode())
    one_by_one = [edit.run({"path": "f", "old_string": old, "new_string": new}) for old, new in hunks]
    expected = (root / "f").read_bytes()
    (root / "f").write_bytes(content.encode())
    result = change(multi, *hunks)
    if all(single.status is ToolStatus.SUCCESS for single in one_by_one) and expected != content.encode():
        assert result.status is ToolStatus.SUCCESS
        assert (root / "f").read_bytes() == expected
    elif any(single.status is ToolStatus.ERROR for single in one_by_one):
        assert result.status is ToolStatus.ERROR
        assert (root / "f").read_bytes() == content.encode()
