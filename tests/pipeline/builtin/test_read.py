from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.pipeline.builtin import ReadTool
from harness.pipeline.builtin.read import DEFAULT_LINES, LINE_CHARACTERS
from harness.pipeline.file_versions import FileVersion, read_versioned
from harness.pipeline.result import ErrorCode, ToolStatus, serialize_tool_result
from harness.pipeline.workspace import Workspace


@pytest.fixture
def read(workspace: Workspace) -> ReadTool:
    return ReadTool(workspace)


def test_a_whole_file_as_it_is(read: ReadTool, root: Path) -> None:
    (root / "f").write_bytes(b"one\r\ntwo\nthree")
    result = read.run({"path": "f"})
    assert result.status is ToolStatus.SUCCESS
    assert result.data == {"content": "one\r\ntwo\nthree", "path": "f", "start_line": 1, "total_lines": 3}


@pytest.mark.seed("L01")
def test_stats_are_the_version_of_the_bytes_read(read: ReadTool, root: Path) -> None:
    (root / "f").write_bytes(b"abc")
    os.utime(root / "f", ns=(5_000_000_000, 7_123_000_000))
    stats = read.run({"path": "f"}).stats
    assert stats["file_mtime_ms"] == 7123
    assert FileVersion.from_stats(stats) == read_versioned(root / "f")[1]


def test_the_path_shown_is_the_one_identity(read: ReadTool, root: Path) -> None:
    (root / "d").mkdir()
    (root / "d/f").write_text("a")
    (root / "e").symlink_to("d")
    for spelling in ("d/f", "./d/../d/f", str(root / "d/f"), "e/f"):
        assert read.run({"path": spelling}).data["path"] == "d/f"


def test_a_window_says_how_to_go_on(read: ReadTool, root: Path) -> None:
    (root / "f").write_text("".join(f"l{n}\n" for n in range(1, 11)))
    result = read.run({"path": "f", "offset": 3, "limit": 2})
    assert result.status is ToolStatus.PARTIAL
    assert result.data["content"] == "l3\nl4\n"
    assert "lines 3-4 of 10" in result.text
    assert "offset=5" in result.text
    assert read.run({"path": "f", "offset": 9, "limit": 2}).status is ToolStatus.SUCCESS
    assert read.run({"path": "f", "offset": 9.0}).data["content"] == "l9\nl10\n"


def test_more_lines_than_the_default(read: ReadTool, root: Path) -> None:
    (root / "f").write_text("x\n" * (DEFAULT_LINES + 1))
    result = read.run({"path": "f"})
    assert result.data["content"] == "x\n" * DEFAULT_LINES
    assert f"offset={DEFAULT_LINES + 1}" in result.text


def test_an_empty_file(read: ReadTool, root: Path) -> None:
    (root / "f").touch()
    result = read.run({"path": "f"})
    assert (result.status, result.data["content"], result.data["total_lines"]) == (ToolStatus.SUCCESS, "", 0)
    assert read.run({"path": "f", "char_offset": 0}).status is ToolStatus.SUCCESS


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"path": 1},
        {"path": "f", "offset": 0},
        {"path": "f", "offset": 3},
        {"path": "f", "offset": True},
        {"path": "f", "limit": 0},
        {"path": "f", "limit": "2"},
        {"path": "f", "char_offset": 4},
    ],
)
def test_bad_arguments(read: ReadTool, root: Path, arguments: dict[str, object]) -> None:
    (root / "f").write_text("abc\nd\n")
    assert read.run(arguments).error_code is ErrorCode.INVALID_PARAM


def test_a_missing_file_with_near_names(read: ReadTool, root: Path) -> None:
    (root / "src").mkdir()
    (root / "src/settings.py").touch()
    (root / ".git").mkdir()
    (root / ".git/settings.py").touch()
    assert "src/settings.py" in read.run({"path": "settings.py"}).text
    result = read.run({"path": "src/setings.py"})
    assert result.error_code is ErrorCode.NOT_FOUND
    assert "Did you mean src/settings.py?" in result.text
    assert read.run({"path": "src/settings.py/x"}).error_code is ErrorCode.NOT_FOUND


def test_a_folder_and_a_pipe(read: ReadTool, root: Path) -> None:
    os.mkfifo(root / "pipe")
    assert "Glob or ListFiles" in read.run({"path": "."}).text
    assert read.run({"path": "pipe"}).error_code is ErrorCode.EXECUTION_ERROR


def test_a_byte_order_mark_is_not_shown(read: ReadTool, root: Path) -> None:
    (root / "f").write_bytes(b"\xef\xbb\xbfa\n")
    assert read.run({"path": "f"}).data["content"] == "a\n"


def test_bytes_that_are_not_utf8_are_replaced_and_told(read: ReadTool, root: Path) -> None:
    (root / "f").write_bytes(b"a\xff\n\0b\n")
    result = read.run({"path": "f"})
    assert result.data["content"] == "a\ufffd\n\u2400b\n"
    assert "not UTF-8" in result.text
    assert "NUL" in result.text


@pytest.mark.parametrize("content", [bytes(range(256)) * 20, "text\n".encode("utf-16")])
def test_binary_files_are_refused(read: ReadTool, root: Path, content: bytes) -> None:
    (root / "f").write_bytes(content)
    result = read.run({"path": "f"})
    assert result.error_code is ErrorCode.EXECUTION_ERROR
    assert "binary" in result.text


def test_the_harness_folder_is_readable(read: ReadTool, workspace: Workspace) -> None:
    workspace.spill_folder.mkdir(parents=True)
    (workspace.spill_folder / "s.txt").write_text("all of it")
    assert read.run({"path": ".harness/spill/s.txt"}).data["content"] == "all of it"


def test_e13_only_lf_and_crlf_end_lines(read: ReadTool, root: Path) -> None:
    (root / "p.py").write_bytes(b"l1\n\fl2\nl3\xe2\x80\xa8x\nTARGET\n")
    assert read.run({"path": "p.py", "offset": 4}).data["content"] == "TARGET\n"
    (root / "q").write_bytes(b"a\rb\x0bc\x85\xc2\x85d\n")
    assert read.run({"path": "q"}).data["total_lines"] == 1


def test_f06_one_enormous_line_is_read_page_by_page(read: ReadTool, root: Path) -> None:
    line = "".join(chr(97 + n % 26) for n in range(200_000))
    (root / "bundle.js").write_text(line + "\nend\n")
    first = read.run({"path": "bundle.js"})
    assert first.status is ToolStatus.PARTIAL
    assert first.data["content"].startswith(line[:LINE_CHARACTERS] + "…")
    assert first.data["content"].endswith("\nend\n")
    assert f"offset=1 and char_offset={LINE_CHARACTERS}" in first.text
    position, pieces = 0, []
    while position < len(line):
        page = read.run({"path": "bundle.js", "offset": 1, "char_offset": position, "limit": 1})
        pieces.append(page.data["content"])
        position += len(pieces[-1])
    assert "".join(pieces) == line + "\n"
    assert len(pieces) < 7


@pytest.mark.parametrize("unit", ["a", "é", "\x01", "🙂", '"', "\n", "a\n"])
def test_f06_a_page_fits_a_result_whatever_it_holds(read: ReadTool, root: Path, unit: str) -> None:
    (root / "f").write_text(unit * 100_000)
    for arguments in ({}, {"char_offset": 0}, {"limit": 10**6}):
        observation = serialize_tool_result(read.run({"path": "f"} | arguments))
        assert len(observation.encode()) <= 51_200


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(alphabet="ab\n\r\f\u2028é🙂", max_size=60), limit=st.integers(1, 4))
def test_pages_join_to_the_whole(read: ReadTool, root: Path, text: str, limit: int) -> None:
    (root / "f").write_bytes(text.encode())
    offset, pages = 1, []
    while True:
        result = read.run({"path": "f", "offset": offset, "limit": limit})
        pages.append(result.data["content"])
        offset += limit
        if offset > result.data["total_lines"]:
            break
    assert "".join(pages) == text
