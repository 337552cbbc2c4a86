"""Workspaces as a scenario writes them down: files, links, permissions, git states."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from harness.errors import InputError
from harness.pipeline.workspace import Workspace
from harness.scenario.workspace import FIXED_MTIME_NS, contents, lay_out
from tests.scenario.scenarios import ANSWER, scenario

REPOSITORY = """\
workspace:
  git:
    commits:
      - message: one
        files: {a.txt: "1\\n", "dir/ü \\"q\\".txt": x, run: {text: go, executable: true}, link: {link: a.txt}}
        tag: v1
      - {message: two, branch: side, files: {b.txt: two}, delete: [a.txt]}
      - {message: three, branch: main, files: {a.txt: "3\\n"}}
      - {message: four, branch: side, files: {b.txt: four}}
"""


@contextmanager
def laid_out(workspace: str, path: Path = Path("t.yaml")) -> Iterator[Workspace]:
    with TemporaryDirectory() as folder:
        yield lay_out(scenario(workspace + ANSWER, str(path)), Path(folder).resolve())


def git(workspace: Workspace, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=workspace.root, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_files_links_and_permissions() -> None:
    text = """\
workspace:
  files:
    a/b.txt: {text: "x\\n", times: 2}
    run.sh: {text: hi, executable: true}
    alias: {link: a/b.txt}
    out: {link: /nowhere/at/all}
    gone.txt: x
    folder/x: x
  delete: [gone.txt, folder, out]
"""
    with laid_out(text) as workspace:
        root = workspace.root
        assert contents(workspace) == {"a/b.txt": b"x\nx\n", "run.sh": b"hi", "alias": b"x\nx\n"}
        assert (root / "alias").readlink() == Path("a/b.txt")
        assert os.access(root / "run.sh", os.X_OK)
        assert not os.access(root / "a/b.txt", os.X_OK)
        assert {path.stat().st_mtime_ns for path in root.rglob("*.txt")} == {FIXED_MTIME_NS}
        assert not (root / "out").is_symlink()


def test_a_git_state_has_the_same_hashes_everywhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".gitconfig").write_text(
        "[user]\nname = Somebody\nemail = s@example.org\n[core]\nautocrlf = true\n[init]\ndefaultBranch = trunk\n"
    )
    heads = []
    for home in ("/nonexistent", str(tmp_path)):
        monkeypatch.setenv("HOME", home)
        with laid_out(REPOSITORY) as workspace:
            heads.append(git(workspace, "for-each-ref", "--format=%(objectname) %(refname)"))
            assert git(workspace, "status", "--porcelain") == ""
            assert git(workspace, "branch", "--show-current") == "main"
    assert heads[0] == heads[1]
    assert heads[0].split()[1::2] == ["refs/heads/main", "refs/heads/side", "refs/tags/v1"]


def test_commits_go_to_their_branches_with_links_and_permissions() -> None:
    with laid_out(REPOSITORY) as workspace:
        assert git(workspace, "log", "--format=%s", "main").split() == ["three", "one"]
        assert git(workspace, "log", "--format=%s", "side").split() == ["four", "two", "one"]
        assert git(workspace, "log", "-1", "--format=%an <%ae> %aI", "v1") == (
            "Harness <harness@example.invalid> 2020-01-01T00:00:00+00:00"
        )
        assert contents(workspace) == {"a.txt": b"3\n", 'dir/ü "q".txt': b"x", "run": b"go", "link": b"3\n"}
        assert os.access(workspace.root / "run", os.X_OK)
        assert git(workspace, "ls-tree", "--name-only", "side").split() == ["b.txt", "dir", "link", "run"]


def test_what_is_written_on_top_is_not_committed_unless_staged() -> None:
    text = (
        REPOSITORY
        + """\
    branch: side
    stage: [new.txt]
  files: {new.txt: n, other.txt: o, b.txt: FOUR}
  delete: [run]
"""
    )
    with laid_out(text) as workspace:
        status = git(workspace, "status", "--porcelain").splitlines()
    assert sorted(line.strip() for line in status) == ["?? other.txt", "A  new.txt", "D run", "M b.txt"]


def test_an_agent_can_commit_without_a_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/nonexistent")
    with laid_out(REPOSITORY) as workspace:
        git(workspace, "commit", "--quiet", "--allow-empty", "-m", "mine")
        assert git(workspace, "log", "-1", "--format=%an %s") == "Harness mine"


def test_a_bundle_gives_its_branches_and_further_commits_go_on_top(tmp_path: Path) -> None:
    with laid_out(REPOSITORY) as workspace:
        git(workspace, "bundle", "create", "--quiet", str(tmp_path / "repo.bundle"), "--all")
    head = "workspace:\n  git:\n    bundle: repo.bundle\n"
    with laid_out(head, tmp_path / "t.yaml") as workspace:
        assert git(workspace, "branch", "--show-current") == "main"
        assert git(workspace, "tag") == "v1"
        assert "repo.bundle" not in "".join(
            path.read_text("utf-8", "replace") for path in (workspace.root / ".git").glob("*") if path.is_file()
        )
    more = head + "    branch: side\n    commits: [{message: five, files: {c: c}}, {message: six, branch: new}]\n"
    with laid_out(more, tmp_path / "t.yaml") as workspace:
        assert git(workspace, "log", "--format=%s", "side").split() == ["five", "four", "two", "one"]
        assert git(workspace, "log", "--format=%s", "new").split()[:2] == ["six", "five"]
        assert (workspace.root / "c").read_bytes() == b"c"


def test_a_folder_can_be_committed(tmp_path: Path) -> None:
    (tmp_path / "project" / "src").mkdir(parents=True)
    (tmp_path / "project" / "src" / "a.py").write_text("a = 1\n")
    (tmp_path / "project" / "tool").write_text("#!/bin/sh\n")
    (tmp_path / "project" / "tool").chmod(0o755)
    (tmp_path / "project" / "to").symlink_to("tool")
    text = "workspace:\n  git: {commits: [{message: all, folder: project}]}\n"
    with laid_out(text, tmp_path / "t.yaml") as workspace:
        assert git(workspace, "status", "--porcelain") == ""
        modes = [(line.split()[0], line.split()[-1]) for line in git(workspace, "ls-files", "--stage").splitlines()]
        assert modes == [("100644", "src/a.py"), ("120000", "to"), ("100755", "tool")]


def test_an_empty_repository() -> None:
    with laid_out("workspace: {git: {}, files: {a: b}}\n") as workspace:
        assert git(workspace, "status", "--porcelain") == "?? a"


@pytest.mark.parametrize(
    ("workspace", "message"),
    [
        ("{git: {bundle: no.bundle}}", r"t\.yaml: workspace\.git\.bundle: no such file: no\.bundle"),
        ("{git: {commits: [{message: x, folder: none}]}}", "none is no folder"),
        ("{git: {commits: [{message: x, files: {../a: b}}]}}", r"workspace\.git: git \S+ failed"),
        ("{git: {commits: [{message: x, files: {.git/hooks/a: b}}]}}", r"workspace\.git: git \S+ failed"),
        ("{git: {commits: [{message: x, branch: 'a b'}]}}", r"workspace\.git: git fast-import failed"),
        ("{git: {commits: [{message: x}], branch: other, stage: [none]}}", "git add failed"),
        ("{git: {commits: [{message: x, branch: other}], branch: main}}", "no branch 'main'"),
        ("{delete: [no.txt]}", "there is no no.txt"),
        ("{delete: [.]}", "the workspace itself"),
        ("{files: {../a: x}}", "outside the workspace"),
        ("{files: {../a: {link: x}}}", "outside the workspace"),
        ("{files: {a: x, a/b: y}}", r"t\.yaml: workspace: "),
    ],
)
def test_a_state_that_cannot_be_is_an_input_error(workspace: str, message: str, tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match=message) as caught,
        laid_out(f"workspace: {workspace}\n", tmp_path / "t.yaml"),
    ):
        pass
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "file", ["{text: a, link: b}", "{link: a, times: 2}", "{link: a, executable: true}", "{base64: '?'}", "{}"]
)
def test_a_file_is_one_thing(file: str) -> None:
    with pytest.raises(InputError, match=r"t\.yaml:3: workspace\.files\.a"):
        scenario(f"workspace:\n  files:\n    a: {file}\n" + ANSWER, "t.yaml")
