from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.pipeline.builtin import GlobTool
from harness.pipeline.builtin.glob import MAX_FILES, GlobPattern
from harness.pipeline.result import ErrorCode, ToolStatus
from harness.pipeline.workspace import Workspace


@pytest.fixture
def glob(workspace: Workspace) -> GlobTool:
    return GlobTool(workspace)


def touch(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()


@pytest.mark.parametrize(
    ("pattern", "path", "covered"),
    [
        ("*.py", "a.py", True),
        ("*.py", "d/a.py", False),
        ("**/*.py", "a.py", True),
        ("**/*.py", "d/e/a.py", True),
        ("d/**/a.py", "d/a.py", True),
        ("d/**/a.py", "d/x/y/a.py", True),
        ("d/**", "d/x/y", True),
        ("d/**", "d", False),
        ("d/", "d/x/y", True),
        ("**", "d/x", True),
        ("**/**/x", "x", True),
        ("?.[ch]", "a.h", True),
        ("?.[!ch]", "a.h", False),
        ("*.{ts,tsx}", "a.tsx", True),
        ("{a,b/{c,d}}.x", "b/d.x", True),
        ("{a", "{a", True),
        ("*", ".hidden", True),
        ("./a", "a", True),
        ("A", "a", False),
        ("*", "a\nb", True),
        ("[", "[", True),
        ("a.b", "axb", False),
    ],
)
def test_what_patterns_cover(pattern: str, path: str, covered: bool) -> None:
    assert GlobPattern(pattern).matches(path) is covered


def test_hostile_patterns_take_no_time() -> None:
    assert not GlobPattern("*a" * 400 + "b").matches("a" * 255)
    assert not GlobPattern("**/a/" * 150 + "b").matches("/".join("a" * 500))


@given(st.text(alphabet="ab*?/[]{},.!-", max_size=12), st.text(alphabet="ab/.", min_size=1, max_size=8))
def test_any_pattern_compiles_or_says_why_not(pattern: str, path: str) -> None:
    try:
        compiled = GlobPattern(pattern)
    except ValueError:
        return
    assert compiled.matches(path) in {True, False}


def test_files_in_the_order_of_their_paths(glob: GlobTool, root: Path) -> None:
    touch(root, "b.py", "a/x.py", "a-b/x.py", "a.py", "a/b/c.py", "n.txt")
    result = glob.run({"pattern": "**/*.py"})
    expected = sorted(["b.py", "a/x.py", "a-b/x.py", "a.py", "a/b/c.py"])
    assert list(result.data["files"]) == expected
    assert result.data["total"] == 5
    assert list(glob.run({"pattern": "*.py", "path": "a"}).data["files"]) == ["a/x.py"]
    assert list(glob.run({"pattern": "*.py", "path": str(root / "a")}).data["files"]) == ["a/x.py"]


def test_hidden_places_and_links_out_are_left_out(glob: GlobTool, root: Path) -> None:
    touch(root, ".git/config", "sub/.git/config", ".harness/spill/s", "real", ".github/ci.yml")
    (root.parent / "secret").touch()
    (root / "out").symlink_to("../secret")
    (root / "up").symlink_to("..")
    (root / "nowhere").symlink_to("missing")
    (root / "inside").symlink_to("real")
    (root / "loop").symlink_to("loop")
    (root / "spilled").symlink_to(".harness/spill/s")
    assert list(glob.run({"pattern": "**/*"}).data["files"]) == [".github/ci.yml", "inside", "real"]
    assert glob.run({"pattern": "**", "path": ".harness"}).error_code is ErrorCode.ACCESS_DENIED


def test_nothing_found_is_a_success_with_a_hint(glob: GlobTool, root: Path) -> None:
    touch(root, "a/b.py")
    result = glob.run({"pattern": "*.py"})
    assert result.status is ToolStatus.SUCCESS
    assert "**/*.py" in result.text


@pytest.mark.parametrize("pattern", ["../*", "a/../../b", "/etc/*", "~/x", "", "a" * 2000, "{a,b}" * 10])
def test_bad_patterns(glob: GlobTool, pattern: str) -> None:
    assert glob.run({"pattern": pattern}).error_code is ErrorCode.INVALID_PARAM


def test_a_path_that_is_no_folder(glob: GlobTool, root: Path) -> None:
    touch(root, "f")
    assert glob.run({"pattern": "*", "path": "f"}).error_code is ErrorCode.INVALID_PARAM
    assert glob.run({"pattern": "*", "path": "g"}).error_code is ErrorCode.NOT_FOUND


def test_f08_a_cut_list_says_so(glob: GlobTool, root: Path) -> None:
    for number in range(MAX_FILES + 7):
        (root / f"{number:04d}").touch()
    result = glob.run({"pattern": "*"})
    assert result.status is ToolStatus.PARTIAL
    assert f"first {MAX_FILES} of {MAX_FILES + 7}" in result.text
    assert list(result.data["files"])[-1] == f"{MAX_FILES - 1:04d}"


def test_names_that_are_not_utf8_can_be_told(glob: GlobTool, root: Path) -> None:
    Path(os.fsdecode(os.fsencode(root) + b"/caf\xe9")).touch()
    assert glob.run({"pattern": "caf*"}).data["files"][0].startswith("caf\ufffd")
