"""Edits for tools that take a patch, a whole file or a shell command: applied, they give the edited file."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from harness.play.neutral.actions import EditFile
from harness.play.neutral.contents import content_after, patch_of
from harness.play.neutral.shell_edit import edit_command
from harness.play.player import CannotAnswerError
from tests.play.offers import READ, call_of, text, tool

PATCH = tool("apply_patch", {"patchText": text("The full patch text")})
WRITE = tool("write", {"path": text(), "content": text()})

lines = st.lists(st.text("ab \t'", max_size=4), min_size=1, max_size=8).map("\n".join)
argument = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12)


def applied(patch: str, content: str) -> str:
    """What a patch tool makes of a file: each hunk's old lines, found behind the last hunk's, become its new ones."""
    first, file, *rest, last = patch.split("\n")
    assert (first, last) == ("*** Begin Patch", "*** End Patch")
    assert file == "*** Update File: a.txt"
    hunks = [hunk.split("\n")[1:] for hunk in ("\n" + "\n".join(rest)).split("\n@@")[1:]]
    now = content.split("\n")
    position = 0
    for hunk in hunks:
        old = [line[1:] for line in hunk if line[0] in " -"]
        new = [line[1:] for line in hunk if line[0] in " +"]
        found = [n for n in range(position, len(now)) if now[n : n + len(old)] == old]
        assert found, (old, now[position:])
        now[found[0] : found[0] + len(old)] = new
        position = found[0]
    return "\n".join(now)


@given(content=lines, data=st.data())
def test_a_patch_of_whole_lines_gives_the_edited_file(
    content: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    start = data.draw(st.integers(0, len(content)))
    end = data.draw(st.integers(start, len(content)))
    old, new = content[start:end], data.draw(st.text("ab\n", max_size=4))
    assume(old and old != new and content.count(old) == 1)
    folder = tmp_path_factory.getbasetemp()
    (folder / "a.txt").write_bytes(content.encode())
    action = EditFile("a.txt", old, new)
    assert content_after(action, str(folder)) == content.replace(old, new)
    assert applied(patch_of(action, str(folder)), content) == content.replace(old, new)


def test_a_patch_shows_three_lines_around_and_names_the_file_relative_to_the_folder(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1\n2\n3\n4\n5 helo\n6\n7\n8\n9\n")
    action = EditFile("${CWD}/a.txt", "helo", "hello")
    name, arguments = call_of(action, PATCH, folder=str(tmp_path))
    assert name == "apply_patch"
    assert arguments["patchText"].split("\n") == [
        "*** Begin Patch", "*** Update File: a.txt", "@@", " 2", " 3", " 4", "-5 helo", "+5 hello", " 6", " 7", " 8",
        "*** End Patch",
    ]  # fmt: skip


def test_every_place_has_a_hunk(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x\n-\n-\n-\n-\n-\n-\n-\nx x\n")
    action = EditFile("a.txt", "x", "y", everywhere=True)
    patch = patch_of(action, str(tmp_path))
    assert patch.count("\n@@") == 2
    assert applied(patch, "x\n-\n-\n-\n-\n-\n-\n-\nx x\n") == "y\n-\n-\n-\n-\n-\n-\n-\ny y\n"


def test_a_whole_file_is_written_where_the_agent_can_do_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("helo\n")
    action = EditFile("a.txt", "helo", "hello")
    assert call_of(action, READ, WRITE, folder=str(tmp_path)) == ("write", {"path": "a.txt", "content": "hello\n"})


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "cannot be read"),
        (b"\xff", "cannot be read"),
        (b"none", "does not stand in"),
        (b"xx", "stands 2 times in"),
    ],
)
def test_an_edit_that_does_not_fit_the_file_is_an_error(content: bytes | None, why: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "a.txt").write_bytes(content)
    with pytest.raises(CannotAnswerError, match=why):
        call_of(EditFile("a.txt", "x", "y"), PATCH, folder=str(tmp_path))


def test_whole_lines_need_the_folder() -> None:
    with pytest.raises(CannotAnswerError, match="the agent's folder is not known"):
        call_of(EditFile("a.txt", "x", "y"), PATCH, folder=None)


@settings(max_examples=20)
@given(before=argument, old=argument, new=argument)
def test_a_shell_edits_whatever_the_texts_are(
    before: str, old: str, new: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    content = (before + old).encode()
    assume(old != new and content.count(old.encode()) == 1)
    path = tmp_path_factory.getbasetemp() / "a file's name"
    path.write_bytes(content)
    command = edit_command(EditFile(path.name, old, new), path.name)
    subprocess.run(["bash", "-c", command], cwd=path.parent, check=True)
    assert path.read_bytes() == content.replace(old.encode(), new.encode())


@pytest.mark.parametrize(("everywhere", "code", "after"), [(False, 1, "x x"), (True, 0, "y y")])
def test_a_shell_edits_several_places_only_when_told_to(
    everywhere: bool, code: int, after: str, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("x x")
    command = edit_command(EditFile("a.txt", "x", "y", everywhere), "a.txt")
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert (tmp_path / "a.txt").read_text() == after
    assert ("stands 2 times" in done.stderr) is not everywhere
