from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.pipeline.workspace import OutsideWorkspaceError, Workspace
from tests.pipeline.tools import any_text


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a.py").write_text("a")
    return folder


def test_a_workspace_needs_a_folder(root: Path) -> None:
    for path in (root / "nothing", root / "src" / "a.py"):
        with pytest.raises(NotADirectoryError, match="is not a folder"):
            Workspace(path)


def test_a_workspace_reached_through_a_link_has_the_real_root(root: Path) -> None:
    (root.parent / "link").symlink_to(root)
    assert Workspace(root.parent / "link").root == root
    assert Workspace(str(root.parent / "link")).resolve("src/a.py") == root / "src" / "a.py"


@pytest.mark.parametrize("path", ["src/a.py", "./src/a.py", "src/../src/a.py", "src//a.py", "link/a.py", "one.py"])
def test_a_file_has_one_identity_however_it_is_spelled(root: Path, path: str) -> None:
    (root / "link").symlink_to("src")
    (root / "one.py").symlink_to(root / "src" / "a.py")
    workspace = Workspace(root)
    assert workspace.resolve(path) == root / "src" / "a.py"
    assert workspace.resolve(str(root / path)) == root / "src" / "a.py"
    assert workspace.relative(workspace.resolve(path)) == "src/a.py"


def test_a_file_that_does_not_exist_yet_is_inside_too(root: Path) -> None:
    assert Workspace(root).resolve("new/deep/file") == root / "new" / "deep" / "file"
    assert Workspace(root).resolve(".") == Workspace(root).resolve("") == root


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../project-evil/f",
        "src/../../outside",
        "/etc/passwd",
        "out/f",
        "out",
        "dangling",
        "dangling/f",
        "loop",
        "a\0b",
        "\ud800",
        "src/\udfff/x",
    ],
)
def test_a_path_that_leads_out_or_that_no_file_can_have_is_refused(root: Path, path: str) -> None:
    (root.parent / "project-evil").mkdir()
    (root / "out").symlink_to(root.parent)
    (root / "dangling").symlink_to(root.parent / "not-there")
    (root / "loop").symlink_to("loop")
    with pytest.raises(OutsideWorkspaceError) as raised:
        Workspace(root).resolve(path)
    str(raised.value).encode("utf-8")


def test_a_neighbour_whose_name_begins_the_same_is_outside(root: Path) -> None:
    neighbour = root.parent / "project-evil"
    neighbour.mkdir()
    with pytest.raises(OutsideWorkspaceError):
        Workspace(root).resolve(str(neighbour / "f"))


def test_a_link_that_stays_inside_is_followed_even_where_it_dangles(root: Path) -> None:
    (root / "soon").symlink_to("src/not-there-yet")
    assert Workspace(root).resolve("soon") == root / "src" / "not-there-yet"


@settings(deadline=None)
@given(st.lists(st.sampled_from(["..", ".", "src", "a.py", "out", "", "/", "~", "\0"]) | any_text, max_size=6))
def test_every_text_is_a_path_inside_or_refused(parts: list[str]) -> None:
    workspace = Workspace(Path(__file__).parent)
    try:
        resolved = workspace.resolve("/".join(parts))
    except OutsideWorkspaceError:
        return
    assert resolved == workspace.root or workspace.root in resolved.parents
    assert workspace.resolve(str(resolved)) == resolved


def test_only_the_harnesss_own_folder_is_hidden(root: Path) -> None:
    workspace = Workspace(root)
    assert workspace.is_hidden(workspace.spill_folder / "f.txt")
    assert workspace.is_hidden(root / ".harness")
    for name in ("src/a.py", ".harness-notes", ".git/config", "src/.harness/f", "."):
        assert not workspace.is_hidden(workspace.resolve(name))
    assert workspace.relative(workspace.spill_folder / "f.txt") == ".harness/spill/f.txt"


def test_a_path_outside_is_shown_as_it_is(root: Path) -> None:
    assert Workspace(root).relative(Path("/etc/passwd")) == "/etc/passwd"


@pytest.mark.parametrize(
    ("command", "known"),
    [
        ("cat /workspace/a.txt", True),
        ("cd /workspace && ls", True),
        ('cat "/workspace/a.txt"', True),
        ("run --dir=/workspace", True),
        ("cat </workspace/a.txt", True),
        ("ls /workspace.", True),
        ("cat /workspace-old/a.txt", False),
        ("cat /workspace.bak", False),
        ("cat src/workspace/a.txt", False),
        ("cat ../workspace/a.txt", False),
        ("cat ~/workspace", False),
        ("cat $HOME/workspace", False),
        ("cat ${HOME}/workspace $(pwd)/workspace */workspace", False),
    ],
)
def test_a_command_may_name_the_folder_by_its_alias(command: str, known: bool, tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, alias="/workspace")
    wanted = command.replace("/workspace", str(tmp_path)) if known else command
    assert workspace.real_paths(command) == wanted
    assert Workspace(tmp_path).real_paths(command) == command


def test_what_a_program_prints_says_the_alias(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, alias="/workspace")
    printed = f"{tmp_path}\n{tmp_path}/a.txt: no\n{tmp_path}-old\n"
    assert workspace.shown_paths(printed) == f"/workspace\n/workspace/a.txt: no\n{tmp_path}-old\n"
    assert Workspace(tmp_path).shown_paths(printed) == printed


def test_a_folder_whose_name_a_shell_would_read_otherwise_is_not_put_into_commands(tmp_path: Path) -> None:
    root = tmp_path / "my folder"
    root.mkdir()
    assert Workspace(root, alias="/workspace").real_paths("ls /workspace") == "ls /workspace"
