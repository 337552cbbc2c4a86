from __future__ import annotations

from pathlib import Path

from harness.pipeline.builtin import ListFilesTool
from harness.pipeline.builtin.list_files import MAX_FILES
from harness.pipeline.result import ToolStatus
from harness.pipeline.workspace import Workspace


def test_all_files_but_git_and_the_harness_folder(workspace: Workspace, root: Path) -> None:
    for name in ("b", "a/c", ".git/config", ".harness/spill/s"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    result = ListFilesTool(workspace).run({})
    assert (result.status, result.text) == (ToolStatus.SUCCESS, "2 files")
    assert result.data == {"files": ("a/c", "b"), "total": 2}


def test_f08_a_cut_list_says_so(workspace: Workspace, root: Path) -> None:
    for number in range(MAX_FILES + 1):
        (root / str(number)).touch()
    result = ListFilesTool(workspace).run({})
    assert (result.status, len(result.data["files"])) == (ToolStatus.PARTIAL, MAX_FILES)
    assert str(MAX_FILES + 1) in result.text
