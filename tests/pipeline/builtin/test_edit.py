from __future__ import annotations

import os
import re
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from harness.pipeline.builtin import EditTool, GrepTool, ReadTool
from harness.pipeline.builtin.diffs import short_diff
from harness.pipeline.builtin.edit import DIFF_CHARACTERS
from harness.pipeline.builtin.replacing import all_matches, count_matches, distinct_matches
from harness.pipeline.file_versions import FileVersion, FileVersions, read_versioned
from harness.pipeline.result import ErrorCode, ToolResult, ToolStatus
from harness.pipeline.workspace import Workspace


@pytest.fixture
def edit(workspace: Workspace, versions: FileVersions) -> EditTool:
    return EditTool(workspace, versions)


@pytest.fixture
def read(workspace: Workspace) -> ReadTool:
    return ReadTool(workspace)


def change(edit: EditTool, path: str, old: str, new: str, **more: Any) -> ToolResult:
    return edit.run({"path": path, "old_string": old, "new_string": new, **more})


def seen(read: ReadTool, path: str) -> dict[str, Any]:
    """What the lock injects after this Read."""
    version = FileVersion.from_stats(read.run({"path": path}).stats)
    assert version is not None
    return version.expected()


def test_one_place(edit: EditTool, root: Path) -> None:
    (root / "f.py").write_text("a = 1\nb = 2\n")
    result = change(edit, "f.py", "b = 2", "b = 3")
    assert result.status is ToolStatus.SUCCESS
    assert (root / "f.py").read_text() == "a = 1\nb = 3\n"
    assert result.data == {"path": "f.py", "replacements": 1, "first_line": 2}
    assert result.text == "Edited f.py in line 2.\n@@ -1,2 +1,2 @@\n a = 1\n-b = 2\n+b = 3"


def test_all_places(edit: EditTool, root: Path) -> None:
    (root / "f").write_bytes(b"x\ny\r\nx y\n")
    result = change(edit, "f", "x", "zz", replace_all=True)
    assert (root / "f").read_bytes() == b"zz\ny\r\nzz y\n"
    assert result.data == {"path": "f", "replacements": 2, "first_line": 1}


def test_all_places_whatever_their_line_ends(edit: EditTool, root: Path) -> None:
    (root / "f").write_bytes(b"a\nb a\r\nb\r\n")
    change(edit, "f", "a\nb", "c\nd\ne", replace_all=True)
    assert (root / "f").read_bytes() == b"c\nd\ne c\r\nd\r\ne\r\n"


@pytest.mark.parametrize("arguments", [{}, {"path": "f"}, {"path": "f", "old_string": "a"}])
def test_missing_arguments(edit: EditTool, root: Path, arguments: dict[str, Any]) -> None:
    assert edit.run(arguments).error_code is ErrorCode.INVALID_PARAM


def test_a_no_op_is_said(edit: EditTool, root: Path) -> None:
    (root / "f").write_bytes(b"a\r\nb")
    for old, new in (("a", "a"), ("a\nb", "a\r\nb")):
        result = change(edit, "f", old, new)
        assert result.error_code is ErrorCode.INVALID_PARAM
        assert "nothing would change" in result.text


def test_nothing_is_created(edit: EditTool, root: Path) -> None:
    (root / "there.py").touch()
    result = change(edit, "their.py", "a", "b")
    assert result.error_code is ErrorCode.NOT_FOUND
    assert "there.py" in result.text
    assert [path.name for path in root.iterdir()] == ["there.py"]
    assert change(edit, ".", "a", "b").error_code is ErrorCode.EXECUTION_ERROR


def test_half_a_surrogate_is_no_text(edit: EditTool, root: Path) -> None:
    (root / "f").write_text("a")
    assert change(edit, "f", "a", "\ud83d").error_code is ErrorCode.INVALID_PARAM
    assert (root / "f").read_text() == "a"


def test_pictures_of_bytes_are_explained(edit: EditTool, root: Path) -> None:
    (root / "f").write_bytes(b"a\xff\n")
    result = change(edit, "f", "a\ufffd", "b")
    assert result.error_code is ErrorCode.NOT_FOUND
    assert "U+FFFD" in result.text


def test_spilled_output_may_not_be_edited(edit: EditTool, workspace: Workspace, root: Path) -> None:
    workspace.spill_folder.mkdir(parents=True)
    (workspace.spill_folder / "s").write_text("a")
    (root / "link").symlink_to(".harness/spill/s")
    for path in (".harness/spill/s", "link"):
        assert change(edit, path, "a", "b").error_code is ErrorCode.ACCESS_DENIED
    assert (workspace.spill_folder / "s").read_text() == "a"


def test_mode_and_link_stay(edit: EditTool, root: Path) -> None:
    (root / "real").write_text("a")
    (root / "real").chmod(0o751)
    (root / "link").symlink_to("real")
    result = change(edit, "link", "a", "b")
    assert result.data["path"] == "real"
    assert (root / "link").is_symlink()
    assert (root / "real").read_text() == "b"
    assert (root / "real").stat().st_mode & 0o777 == 0o751
    assert sorted(path.name for path in root.iterdir()) == ["link", "real"]


def test_write_protection_holds(edit: EditTool, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "f").write_text("a")
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert change(edit, "f", "a", "b").error_code is ErrorCode.ACCESS_DENIED
    assert (root / "f").read_text() == "a"


@pytest.mark.seed("L04")
@pytest.mark.parametrize("expected", [{"expected_mtime_ms": 1}, {"expected_size_bytes": 9}, {"expected_digest": "0"}])
def test_an_unexpected_state_is_a_conflict(edit: EditTool, root: Path, expected: dict[str, Any]) -> None:
    (root / "f").write_text("a")
    result = change(edit, "f", "a", "b", **expected)
    assert result.error_code is ErrorCode.CONFLICT
    assert "Read it again" in result.text
    assert (root / "f").read_text() == "a"


@pytest.mark.seed("L05")
def test_nothing_expected_is_no_conflict(edit: EditTool, root: Path) -> None:
    (root / "f").write_text("a")
    assert change(edit, "f", "a", "b").status is ToolStatus.SUCCESS


def test_e01_a_touched_but_unchanged_file_is_no_conflict(edit: EditTool, read: ReadTool, root: Path) -> None:
    (root / "f.py").write_text("a=1\n")
    expected = seen(read, "f.py")
    os.utime(root / "f.py", ns=(1, 1))
    _, now = read_versioned(root / "f.py")
    assert now.conflict_with(expected) is None
    change(edit, "f.py", "a=1", "a=2", **expected)
    assert (root / "f.py").read_text() == "a=2\n"


def test_e03_an_own_edit_refreshes_the_lock(edit: EditTool, read: ReadTool, root: Path, versions: FileVersions) -> None:
    (root / "f").write_text("a\nb\n")
    first = change(edit, "f", "a", "A", **seen(read, "f"))
    known = versions.known((root / "f").resolve())
    assert known is not None
    assert known.stats() == dict(first.stats)
    assert change(edit, "f", "b", "B", **known.expected()).status is ToolStatus.SUCCESS
    assert (root / "f").read_text() == "A\nB\n"


def test_e06_mixed_line_endings(edit: EditTool, root: Path) -> None:
    (root / "m.txt").write_bytes(b"alpha\nbeta\r\ngamma\n")
    assert change(edit, "m.txt", "alpha\nbeta", "ALPHA\nbeta").status is ToolStatus.SUCCESS
    assert change(edit, "m.txt", "gamma", "GAMMA").status is ToolStatus.SUCCESS
    assert (root / "m.txt").read_bytes().hex() == "414c5048410a626574610d0a47414d4d410a"


@pytest.mark.parametrize(
    ("content", "old", "new", "expected"),
    [
        (b"a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", b"x\r\ny\r\nz\r\nc\r\n"),
        (b"a\nb\r\nc\n", "a\nb\nc", "1\n2\n3", b"1\n2\r\n3\n"),
        (b"a\r\nb\r\n", "b", "b1\nb2", b"a\r\nb1\r\nb2\r\n"),
        (b"a\r\nb", "b", "b1\nb2", b"a\r\nb1\r\nb2"),
        (b"a\nb\r\n", "a", "a1\na2", b"a1\na2\nb\r\n"),
        (b"a\nb\n", "a\r\nb", "x\r\ny", b"x\ny\n"),
        (b"a\r\nb\r\n", "a\r\nb", "a\nb", b"a\nb\r\n"),
        (b"a\r\nb\r\n", "\nb", "", b"a\r\n"),
        (b"a\r\nb\r\nc", "b\n", "", b"a\r\nc"),
        (b"a\nb a\r\nb", "a\nb", "X", b"X a\r\nb"),
        (b"a\rb\n", "a\rb", "c", b"c\n"),
        (b"\xef\xbb\xbfa\r\n\xff\r\n", "a", "b", b"\xef\xbb\xbfb\r\n\xff\r\n"),
    ],
)
def test_e06_line_endings_of_the_place_are_kept(
    edit: EditTool, root: Path, content: bytes, old: str, new: str, expected: bytes
) -> None:
    (root / "f").write_bytes(content)
    assert change(edit, "f", old, new).status is ToolStatus.SUCCESS
    assert (root / "f").read_bytes() == expected


@pytest.mark.parametrize("replace_all", [False, True])
def test_e09_empty_old_text(edit: EditTool, root: Path, replace_all: bool) -> None:
    (root / "f").write_text("abc")
    assert change(edit, "f", "", "X", replace_all=replace_all).error_code is ErrorCode.INVALID_PARAM
    assert (root / "f").read_text() == "abc"


def test_e12_one_identity_for_all_spellings(edit: EditTool, read: ReadTool, root: Path, versions: FileVersions) -> None:
    (root / "d").mkdir()
    (root / "d/f").write_text("a")
    (root / "e").symlink_to("d")
    expected = seen(read, "d/f")
    for path, old, new in (("./d/../d/f", "a", "b"), (str(root / "d/f"), "b", "c"), ("e/f", "c", "d")):
        result = change(edit, path, old, new, **expected)
        assert (result.status, result.data["path"]) == (ToolStatus.SUCCESS, "d/f")
        known = versions.known((root / "d/f").resolve())
        assert known is not None
        expected = known.expected()
    assert (root / "d/f").read_text() == "d"


def test_e13_the_line_that_grep_reports_is_the_one_edited(edit: EditTool, root: Path, workspace: Workspace) -> None:
    (root / "p.py").write_bytes(b"l1\n\fl2\nl3\xe2\x80\xa8x\nTARGET\n")
    (match,) = GrepTool(workspace).run({"pattern": "TARGET"}).data["matches"]
    assert change(edit, "p.py", "TARGET", "done").data["first_line"] == match["line"] == 4


def test_e14_same_size_and_time_but_other_content(edit: EditTool, read: ReadTool, root: Path) -> None:
    (root / "f").write_text("AAAA")
    expected = seen(read, "f")
    before = (root / "f").stat()
    (root / "f").write_text("AABB")
    os.utime(root / "f", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert change(edit, "f", "AA", "CC", **expected).error_code is ErrorCode.CONFLICT
    assert (root / "f").read_text() == "AABB"


def test_e15_no_tolerant_matching(edit: EditTool, root: Path) -> None:
    text = "\\end{a}\ntext1\n\\end{a}\ntext2\n\\section{C}\n"
    (root / "t.tex").write_text(text)
    assert change(edit, "t.tex", "\\end{a}\n\\section{C}", "X").error_code is ErrorCode.NOT_FOUND
    twice = change(edit, "t.tex", "\\end{a}", "Y")
    assert twice.error_code is ErrorCode.NOT_UNIQUE
    assert twice.data["count"] == 2
    assert "2 times, in lines 1, 3" in twice.text
    assert (root / "t.tex").read_text() == text


def test_overlapping_places_are_not_unique(edit: EditTool, root: Path) -> None:
    (root / "f").write_text("aaa")
    assert change(edit, "f", "aa", "b").error_code is ErrorCode.NOT_UNIQUE


@pytest.mark.parametrize(
    ("content", "old", "code"),
    [
        (b"a" * 2_000_000, "a" * 1_000_000, ErrorCode.NOT_UNIQUE),
        (b"a" * 2_000_000, "a" * 1_000_000 + "b", ErrorCode.NOT_FOUND),
        (b"a\r\n" * 200_000, "a\n" * 100_000 + "b", ErrorCode.NOT_FOUND),
        (b"a\r\n" * 200_000, "a\n" * 100_000, ErrorCode.NOT_UNIQUE),
    ],
    ids=["periodic", "nearly", "nearly, other ends", "periodic, other ends"],
)
def test_a_long_text_that_repeats_itself_takes_no_time(
    edit: EditTool, root: Path, content: bytes, old: str, code: ErrorCode
) -> None:
    """Work that grew with content times text would run for hours here."""
    (root / "f").write_bytes(content)
    assert change(edit, "f", old, "x").error_code is code


def test_a_name_of_the_greatest_length_can_be_edited(edit: EditTool, root: Path) -> None:
    name = "\U0001f600" * 63
    (root / name).write_text("a")
    assert change(edit, name, "a", "b").status is ToolStatus.SUCCESS
    assert [(path.name, path.read_text()) for path in root.iterdir()] == [(name, "b")]


def test_a_file_that_grows_past_the_limit_is_left_to_others(
    edit: EditTool, read: ReadTool, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.pipeline.builtin.base.MAX_FILE_BYTES", 10)
    (root / "f").write_text("a" + "b" * 9)
    assert change(edit, "f", "a", "c").status is ToolStatus.SUCCESS
    (root / "f").write_text("a" + "b" * 10)
    assert "11 bytes, the limit is 10" in change(edit, "f", "a", "c").text
    assert read.run({"path": "f"}).error_code is ErrorCode.EXECUTION_ERROR


def test_many_places_in_one_line_take_no_time(edit: EditTool, root: Path) -> None:
    (root / "f").write_bytes(b"a," * 200_000 + b"\r\n")
    assert change(edit, "f", ",", ",\n", replace_all=True).data["replacements"] == 200_000
    assert (root / "f").read_bytes() == b"a,\r\n" * 200_000 + b"\r\n"


def test_many_places_are_named_in_short(edit: EditTool, root: Path) -> None:
    (root / "f").write_text("a\n" * 5000)
    assert len(change(edit, "f", "a", "b").text) < 300
    assert len(change(edit, "f", "a", "b", replace_all=True).text) < 300


def test_edits_of_one_file_at_once_do_not_get_lost(edit: EditTool, root: Path) -> None:
    (root / "f").write_text("".join(f"<{n}>\n" for n in range(20)))
    threads = [threading.Thread(target=change, args=(edit, "f", f"<{n}>", f"[{n}]")) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (root / "f").read_text() == "".join(f"[{n}]\n" for n in range(20))


_bytes = st.sampled_from([b"a", b"bb", b"\n", b"\r\n", b"\r", b"\xff", b"\xef\xbb\xbf", b"\0", "é".encode(), b" "])
_contents = st.lists(_bytes, max_size=25).map(b"".join)


@settings(deadline=None, max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=_contents, after=_contents, new=st.text(alphabet="xy é", max_size=6))
def test_untouched_bytes_stay(edit: EditTool, root: Path, before: bytes, after: bytes, new: str) -> None:
    (root / "f").write_bytes(before + b"NEEDLE" + after)
    assert change(edit, "f", "NEEDLE", new).status is ToolStatus.SUCCESS
    assert (root / "f").read_bytes() == before + new.encode() + after


@settings(deadline=None, max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    before=_contents,
    after=_contents,
    ends=st.lists(st.sampled_from([b"\n", b"\r\n"]), min_size=1, max_size=4),
)
def test_a_place_of_any_line_ends_keeps_them(
    edit: EditTool, root: Path, before: bytes, after: bytes, ends: list[bytes]
) -> None:
    old = "".join(f"L{n}\n" for n in range(len(ends)))
    region = b"".join(b"L%d%s" % (n, end) for n, end in enumerate(ends))
    assume(not (after.startswith(b"\n") and region.endswith(b"\r")))
    (root / "f").write_bytes(before + region + after)
    assert change(edit, "f", old, old.replace("L", "M")).status is ToolStatus.SUCCESS
    assert (root / "f").read_bytes() == before + region.replace(b"L", b"M") + after


_ENDS = st.sampled_from([b"a", b"b", b"\n", b"\r\n", b"\r", b"aa"])


def _by_pattern(content: bytes, old: bytes) -> list[tuple[int, int]]:
    """Overlapping places by a regular expression: easy to see that it is right, and slow for hostile texts."""
    pattern = rb"(?:\r\n|(?<!\r)\n)".join(re.escape(part) for part in re.split(rb"\r?\n", old))
    return [found.span(1) for found in re.finditer(rb"(?=(" + pattern + rb"))", content)]


@settings(deadline=None, max_examples=400)
@given(st.lists(_ENDS, max_size=14).map(b"".join), st.lists(_ENDS, min_size=1, max_size=4).map(b"".join))
def test_places_are_those_that_differ_in_nothing_but_line_ends(content: bytes, old: bytes) -> None:
    assume(not old.endswith(b"\r"))
    exact = [
        (start, start + len(old))
        for start in range(len(content))
        if content.startswith(old, start) and not (old[:1] == b"\n" and content[:start].endswith(b"\r"))
    ]
    expected = exact or _by_pattern(content, old)
    assert distinct_matches(content, old, limit=100) == expected
    assert distinct_matches(content, old, limit=1) == expected[:1]
    assert bool(count_matches(content, old)) == bool(all_matches(content, old)) == bool(expected)


@given(st.lists(st.sampled_from(["a", "b", "c" * 90]), max_size=60), st.lists(st.sampled_from(["a", "d"]), max_size=60))
def test_a_diff_keeps_to_its_size(old: list[str], new: list[str]) -> None:
    diff = short_diff("\n".join(old).encode(), "\n".join(new).encode(), max_characters=200)
    assert len(diff) <= 200


def test_a_diff_names_the_lines_of_the_file() -> None:
    lines = [f"l{n}\n" for n in range(1, 101)]
    changed = [*lines[:49], "new\n", *lines[50:]]
    diff = short_diff("".join(lines).encode(), "".join(changed).encode(), max_characters=DIFF_CHARACTERS)
    assert diff.splitlines() == ["@@ -47,7 +47,7 @@", " l47", " l48", " l49", "-l50", "+new", " l51", " l52", " l53"]
    assert short_diff(b"", b"a\n", max_characters=99) == "@@ -0,0 +1,1 @@\n+a"
