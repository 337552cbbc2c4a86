from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.pipeline.builtin import GrepTool, ReadTool
from harness.pipeline.builtin.grep import LINE_CHARACTERS
from harness.pipeline.builtin.ripgrep import ripgrep_path
from harness.pipeline.result import ErrorCode, ToolResult, ToolStatus
from harness.pipeline.workspace import Workspace


@pytest.fixture
def grep(workspace: Workspace) -> GrepTool:
    return GrepTool(workspace)


def fill(root: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content.encode())


def places(result: ToolResult) -> list[tuple[str, int]]:
    return [(match["path"], match["line"]) for match in result.data["matches"]]


def test_the_binary_is_the_packages_own() -> None:
    path = ripgrep_path()
    assert path is not None
    assert path.is_relative_to(Path(sys.prefix).resolve())


def test_matches_in_the_order_of_paths(grep: GrepTool, root: Path) -> None:
    fill(root, {"b.py": "x = 1\n", "a/z.py": "no\nx = 2\r\n", ".hidden": "x = 3", "c": "y"})
    result = grep.run({"pattern": "^x = \\d$"})
    assert result.status is ToolStatus.SUCCESS
    assert places(result) == [(".hidden", 1), ("a/z.py", 2), ("b.py", 1)]
    assert result.data["matches"][1]["text"] == "x = 2"
    assert result.stats == {"matches": 3, "files": 3}


def test_no_match_is_a_success(grep: GrepTool, root: Path) -> None:
    fill(root, {"f": "abc"})
    result = grep.run({"pattern": "xyz", "path": "f"})
    assert (result.status, result.text) == (ToolStatus.SUCCESS, "no matches")
    assert grep.run({"pattern": "xyz"}).text.startswith("no matches")


def test_path_glob_and_case(grep: GrepTool, root: Path) -> None:
    fill(root, {"src/a.py": "Foo", "src/a.ts": "foo", "src/sub/b.py": "foo", "b.py": "foo", "-x": "foo"})
    assert places(grep.run({"pattern": "foo", "path": "src"})) == [("src/a.ts", 1), ("src/sub/b.py", 1)]
    assert places(grep.run({"pattern": "foo", "path": "src", "glob": "*.py", "ignore_case": True})) == [
        ("src/a.py", 1),
        ("src/sub/b.py", 1),
    ]
    assert places(grep.run({"pattern": "foo", "path": "src/sub/b.py"})) == [("src/sub/b.py", 1)]
    assert places(grep.run({"pattern": "foo", "path": "-x"})) == [("-x", 1)]
    assert grep.run({"pattern": "foo", "path": "sorc/a.py"}).error_code is ErrorCode.NOT_FOUND


def test_a_pattern_that_looks_like_an_option(grep: GrepTool, root: Path) -> None:
    fill(root, {"f": "a --files b"})
    assert places(grep.run({"pattern": "--files"})) == [("f", 1)]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"pattern": "(a"}, "unclosed group"),
        ({"pattern": "a\nb"}, "not allowed"),
        ({"pattern": "a", "glob": "["}, "glob"),
        ({"pattern": "a\0"}, "NUL"),
        ({"pattern": "\ud800"}, "surrogate"),
        ({"pattern": "a" * 200_000}, "bytes"),
        ({"pattern": "a", "max_results": 0}, "max_results"),
        ({}, "pattern is missing"),
    ],
)
def test_bad_arguments(grep: GrepTool, root: Path, arguments: dict[str, Any], reason: str) -> None:
    fill(root, {"f": "a"})
    result = grep.run(arguments)
    assert result.error_code is ErrorCode.INVALID_PARAM
    assert reason in result.text


def test_a_limit_is_told(grep: GrepTool, root: Path) -> None:
    fill(root, {"f": "a\n" * 300, "g": "a\n"})
    result = grep.run({"pattern": "a"})
    assert (result.status, len(result.data["matches"])) == (ToolStatus.PARTIAL, 200)
    assert "there are more" in result.text
    assert grep.run({"pattern": "a", "max_results": 301}).status is ToolStatus.SUCCESS


def test_git_and_the_harness_folder_are_not_searched(grep: GrepTool, root: Path) -> None:
    fill(root, {".git/x": "a", "sub/.git/x": "a", ".harness/spill/s": "a", "sub/f": "a"})
    assert places(grep.run({"pattern": "a"})) == [("sub/f", 1)]
    assert places(grep.run({"pattern": "a", "glob": "**/*"})) == [("sub/f", 1)]
    assert places(grep.run({"pattern": "a", "path": "sub"})) == [("sub/f", 1)]
    assert grep.run({"pattern": "a", "path": ".harness"}).error_code is ErrorCode.ACCESS_DENIED
    assert places(grep.run({"pattern": "a", "path": ".harness/spill/s"})) == [(".harness/spill/s", 1)]


def test_links_are_not_followed(grep: GrepTool, root: Path) -> None:
    (root.parent / "secret").write_text("a")
    (root / "link").symlink_to("../secret")
    (root / "up").symlink_to("..")
    assert places(grep.run({"pattern": "a"})) == []


def test_ignore_files_hold_only_from_inside(grep: GrepTool, root: Path) -> None:
    (root.parent / ".gitignore").write_text("*.py\n")
    (root.parent / ".ignore").write_text("*\n")
    fill(root, {".gitignore": "build/\n*.log\n", "a.py": "hit", "x.log": "hit", "build/o": "hit", "sub/y.log": "hit"})
    assert places(grep.run({"pattern": "hit"})) == [("a.py", 1)]
    assert places(grep.run({"pattern": "hit", "path": "sub"})) == []
    assert places(grep.run({"pattern": "hit", "path": "x.log"})) == [("x.log", 1)]
    assert places(grep.run({"pattern": "hit", "path": "build"})) == [("build/o", 1)]


def test_configuration_of_the_machine_is_not_read(
    grep: GrepTool, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rc").write_text("--ignore-case\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(tmp_path / "rc"))
    fill(root, {"f": "A"})
    assert places(grep.run({"pattern": "a"})) == []


def test_binary_files_are_named_not_shown(grep: GrepTool, root: Path) -> None:
    (root / "b.bin").write_bytes(bytes(range(256)) * 40 + b"needle")
    (root / "t.txt").write_bytes(b"a\0b\nneedle\n")
    result = grep.run({"pattern": "needle"})
    assert places(result) == [("t.txt", 2)]
    assert "b.bin" in result.text


def test_names_and_lines_that_are_not_utf8(grep: GrepTool, root: Path) -> None:
    (root / "f").write_bytes(b"caf\xe9 x\n")
    assert grep.run({"pattern": "caf"}).data["matches"][0]["text"] == "caf\ufffd x"


def test_a_byte_order_mark_does_not_hide_the_first_line(grep: GrepTool, root: Path) -> None:
    (root / "f").write_bytes(b"\xef\xbb\xbfimport os\n")
    assert places(grep.run({"pattern": "^import"})) == [("f", 1)]


def test_f06_a_long_line_is_shown_around_the_match(grep: GrepTool, root: Path, workspace: Workspace) -> None:
    (root / "bundle.js").write_text("é" * 300_000 + "needle" + "x" * 300_000)
    (match,) = grep.run({"pattern": "needle"}).data["matches"]
    assert "needle" in match["text"]
    assert len(match["text"]) == LINE_CHARACTERS
    rest = ReadTool(workspace).run({"path": "bundle.js", "char_offset": match["char_offset"]})
    assert rest.data["content"].startswith(match["text"])


def test_f06_a_long_line_of_matches_is_one_match(grep: GrepTool, root: Path) -> None:
    (root / "bundle.js").write_text('"submatches":[' + "a" * 300_000)
    (match,) = grep.run({"pattern": "a"}).data["matches"]
    assert match["text"].startswith('"submatches":[')


def test_a_record_beyond_the_limit_is_told(grep: GrepTool, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.pipeline.builtin.ripgrep.RECORD_BYTES", 1000)
    fill(root, {"a": "x" * 2000, "b": "x"})
    result = grep.run({"pattern": "x"})
    assert (result.status, places(result)) == (ToolStatus.PARTIAL, [("b", 1)])
    assert "could not be read" in result.text


def test_time_is_limited(workspace: Workspace, root: Path) -> None:
    fill(root, {"f": "a\n" * 2_000_000})
    result = GrepTool(workspace, timeout_s=0.001).run({"pattern": "a", "max_results": 10**9})
    assert result.error_code is ErrorCode.TIMEOUT


def test_e13_line_numbers_agree_with_read(grep: GrepTool, root: Path, workspace: Workspace) -> None:
    (root / "p.py").write_bytes(b"l1\n\fl2\nl3\xe2\x80\xa8x\nTARGET\n")
    assert places(grep.run({"pattern": "TARGET"})) == [("p.py", 4)]


_pieces = st.sampled_from(
    [b"\n", b"\r\n", b"\r", b"\f", b"\x0b", b"\x85", b"\xc2\x85", b"\xe2\x80\xa8", b"\0", b"z", b""]
)


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pieces=st.lists(_pieces, max_size=20), position=st.integers(0, 20))
def test_e13_line_numbers_agree_for_any_content(
    grep: GrepTool, root: Path, workspace: Workspace, pieces: list[bytes], position: int
) -> None:
    (root / "f").write_bytes(b"".join([*pieces[:position], b"NEEDLE", *pieces[position:]]))
    ((_, line),) = places(grep.run({"pattern": "NEEDLE"}))
    assert "NEEDLE" in ReadTool(workspace).run({"path": "f", "offset": line, "limit": 1}).data["content"]
