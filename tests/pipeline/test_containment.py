"""No path leads out of the workspace: every tool, every way to name a file, and spilled output."""

from __future__ import annotations

import errno
import json
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.pipeline.budget import BudgetPolicy
from harness.pipeline.contained import PathChangedError, read_contained, replace_contained
from harness.pipeline.executor import ToolExecutor
from harness.pipeline.orchestrator import ToolOrchestrator
from harness.pipeline.result import ErrorCode, ToolResult, ToolStatus, serialize_tool_result
from harness.pipeline.workspace import MAX_PATH_BYTES, OutsideWorkspaceError, Workspace
from harness.seams import ManualClock
from tests.pipeline.tools import WAIT_S, builtin_executor, flat

SECRET = "TOP-SECRET"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace beside a neighbour whose name begins the same and whose files must stay as they are, and unseen."""
    folder = tmp_path.resolve() / "agent"
    victim = tmp_path.resolve() / "agent-victim"
    for place in (folder / "src", victim):
        place.mkdir(parents=True)
    (folder / "src" / "a.py").write_text("inside\n")
    (victim / "f").write_text(SECRET)
    (folder / "parent").symlink_to("../agent-victim")
    (folder / "leaf").symlink_to("../agent-victim/f")
    (folder / "chain").symlink_to("parent/f")
    (folder / "dangling").symlink_to("../agent-victim/new")
    (folder / "loop").symlink_to("loop")
    (folder / "there").symlink_to("back")
    (folder / "back").symlink_to("there")
    (folder / "up").symlink_to("..")
    (folder / "self").symlink_to(".")
    return folder


@pytest.fixture
def executor(root: Path) -> ToolExecutor:
    return builtin_executor(root)


OUTSIDE = [
    "..",
    "../agent-victim/f",
    "src/../../agent-victim/f",
    "self/../../agent-victim/f",
    "parent/f",
    "self/self/parent/f",
    "leaf",
    "chain",
    "dangling",
    "up",
    "up/agent-victim/f",
    "{root}-victim/f",
    "{root}/../agent-victim/f",
    "{root}/./src/../../agent-victim/f",
    "//etc/passwd",
    "/etc/passwd",
    "/dev/zero",
    "/dev/stdin",
    "/proc/self/root/etc/passwd",
    "/proc/self/fd/0",
    "/proc/self/environ",
    "src/a.py\0",
    "\0",
    "a/" * 3000,
]

TOOLS: dict[str, dict[str, Any]] = {
    "Read": {},
    "Edit": {"old_string": SECRET[:3], "new_string": "X"},
    "MultiEdit": {"edits": [{"old_string": SECRET[:3], "new_string": "X"}]},
    "Grep": {"pattern": "."},
    "Glob": {"pattern": "**"},
}


def untouched(root: Path) -> bool:
    victim = root.parent / "agent-victim"
    return [path.name for path in victim.iterdir()] == ["f"] and (victim / "f").read_text() == SECRET


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("path", OUTSIDE)
def test_a_path_that_leads_out_is_refused_by_every_tool(
    executor: ToolExecutor, root: Path, tool: str, path: str
) -> None:
    result = executor.execute(tool, {"path": path.format(root=root), **TOOLS[tool]})
    assert result.error_code in (ErrorCode.PERMISSION_DENIED, ErrorCode.ACCESS_DENIED)
    assert SECRET not in serialize_tool_result(result)
    assert untouched(root)


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("path", ["loop", "there", "there/x", "~/f", "~root/f", "x" * 300, "C:\\x", "\\\\srv\\s", "~"])
def test_a_path_that_is_none_is_an_error_and_creates_nothing(
    executor: ToolExecutor, root: Path, tool: str, path: str
) -> None:
    before = sorted(entry.name for entry in root.iterdir())
    result = executor.execute(tool, {"path": path, **TOOLS[tool]})
    assert result.status is ToolStatus.ERROR
    assert sorted(entry.name for entry in root.iterdir()) == before
    assert untouched(root)


@pytest.mark.parametrize("tool", ["Read", "Edit", "Grep"])
def test_case_is_part_of_a_name(executor: ToolExecutor, root: Path, tool: str) -> None:
    if (root / "SRC").exists():
        pytest.skip("this file system does not tell upper from lower case")
    assert executor.execute(tool, {"path": "SRC/a.py", **TOOLS[tool]}).error_code is ErrorCode.NOT_FOUND
    assert executor.execute(tool, {"path": f"{root.parent}/AGENT/src/a.py", **TOOLS[tool]}).status is ToolStatus.ERROR


@pytest.mark.parametrize(
    "pattern", ["../*", "src/../../agent-victim/*", "{root}-victim/*", "/etc/*", "~/*", "{{..,src}}/*"]
)
def test_a_glob_does_not_climb(executor: ToolExecutor, root: Path, pattern: str) -> None:
    result = executor.execute("Glob", {"pattern": pattern.format(root=root)})
    assert result.error_code is ErrorCode.INVALID_PARAM


def test_walks_go_through_no_link_out_and_come_to_an_end(executor: ToolExecutor, root: Path) -> None:
    assert list(executor.execute("Glob", {"pattern": "**/*"}).data["files"]) == ["src/a.py"]
    assert list(executor.execute("ListFiles", {}).data["files"]) == ["src/a.py"]
    matches = executor.execute("Grep", {"pattern": "."}).data["matches"]
    assert [match["path"] for match in matches] == ["src/a.py"]


@pytest.mark.parametrize("glob", ["../agent-victim/*", "/agent-victim/*", "**/f", "{root}-victim/**", "!src"])
def test_a_glob_of_grep_opens_nothing_outside(executor: ToolExecutor, root: Path, glob: str) -> None:
    result = executor.execute("Grep", {"pattern": SECRET, "glob": glob.format(root=root)})
    assert not result.data.get("matches")


# What is no regular file


@pytest.fixture
def special(root: Path) -> Iterator[list[str]]:
    os.mkfifo(root / "pipe")
    (root / "to-pipe").symlink_to("pipe")
    (root / "zero").symlink_to("/dev/zero")
    names = ["pipe", "to-pipe", "zero", "src"]
    here = Path.cwd()
    with socket.socket(socket.AF_UNIX) as listening:
        os.chdir(root)  # The name of a socket is short.
        try:
            listening.bind("socket")
        finally:
            os.chdir(here)
        yield [*names, "socket"]


def test_what_is_no_regular_file_neither_hangs_nor_is_replaced(
    executor: ToolExecutor, root: Path, special: list[str]
) -> None:
    kinds = {name: (root / name).lstat().st_mode for name in special}
    for name in special:
        for tool in ("Read", "Edit", "MultiEdit"):
            assert executor.execute(tool, {"path": name, **TOOLS[tool]}).status is ToolStatus.ERROR
        if name != "src":
            assert executor.execute("Grep", {"path": name, "pattern": "."}).status is ToolStatus.ERROR
    assert {name: (root / name).lstat().st_mode for name in special} == kinds
    assert [match["path"] for match in executor.execute("Grep", {"pattern": "."}).data["matches"]] == ["src/a.py"]


@pytest.mark.parametrize("name", [".gitignore", ".ignore", "src/.rgignore"])
@pytest.mark.parametrize("kind", ["pipe", "device", "outside", "inside"])
def test_an_ignore_file_that_is_none_is_not_opened(executor: ToolExecutor, root: Path, name: str, kind: str) -> None:
    (root.parent / "rules").write_text("*.py\n")
    (root / "rules").write_text("rules\n")
    if kind == "pipe":
        os.mkfifo(root / name)
    else:
        target = {"device": Path("/dev/zero"), "outside": root.parent / "rules", "inside": root / "rules"}[kind]
        (root / name).symlink_to(target)
    result = executor.execute("Grep", {"pattern": "inside"})
    assert [match["path"] for match in result.data["matches"]] == ["src/a.py"]
    assert (f"Ignore files were not used, because {name} is no file" in result.text) is (kind != "inside")


# Folders that belong to somebody else


@pytest.mark.parametrize("tool", ["Edit", "MultiEdit"])
def test_what_git_would_run_is_not_edited(executor: ToolExecutor, root: Path, tool: str) -> None:
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text(SECRET)
    (root / "harmless").symlink_to(".git/config")
    for path in (".git/config", "harmless", "src/../.git/config"):
        assert executor.execute("Read", {"path": path}).status is ToolStatus.SUCCESS
        result = executor.execute(tool, {"path": path, **TOOLS[tool]})
        assert result.error_code is ErrorCode.ACCESS_DENIED
    assert (root / ".git" / "config").read_text() == SECRET


# Spilled output


def spilled(root: Path) -> tuple[ToolResult, str | None]:
    if not (root / "big").exists():
        (root / "big").write_text("x" * 40 + "\n" * 2000)
    executor = builtin_executor(root, clock=ManualClock())
    orchestrator = ToolOrchestrator(executor, budget=BudgetPolicy(per_result_bytes=1024))
    (observation,) = orchestrator.run([flat("Read", {"path": "big"}, "call/../../x")]).observations
    path = observation.result.stats.get("full_result_path")
    return observation.result, path if isinstance(path, str) else None


def test_spilled_output_stays_inside_whatever_the_calls_id(root: Path) -> None:
    _, path = spilled(root)
    assert path is not None
    assert (root / path).resolve().parent == root / ".harness" / "spill"
    assert untouched(root)


@pytest.mark.parametrize("name", [".harness", ".harness/spill"])
@pytest.mark.parametrize("target", ["{root}-victim", "{root}/src", "{root}-victim/not-there"])
def test_spilled_output_follows_no_link(root: Path, name: str, target: str) -> None:
    (root / name).parent.mkdir(exist_ok=True)
    (root / name).symlink_to(target.format(root=root))
    result, path = spilled(root)
    assert path is None
    assert "could not be saved" in result.text
    assert untouched(root)
    assert [entry.name for entry in (root / "src").iterdir()] == ["a.py"]


def test_a_link_in_the_place_of_a_spilled_file_is_not_written_through(root: Path) -> None:
    _, path = spilled(root)
    assert path is not None
    (root / path).unlink()
    (root / path).symlink_to(root.parent / "agent-victim" / "f")
    assert spilled(root)[1] is None
    assert untouched(root)


def test_spilled_output_is_readable_hidden_and_not_editable(root: Path) -> None:
    _, path = spilled(root)
    assert path is not None
    executor = builtin_executor(root)
    assert "x" * 40 in serialize_tool_result(executor.execute("Read", {"path": path}))
    listed = executor.execute("ListFiles", {}).data["files"]
    globbed = executor.execute("Glob", {"pattern": "**/*.txt"}).data["files"]
    found = executor.execute("Grep", {"pattern": "xxxx", "glob": "**/*.txt"}).data["matches"]
    assert not any(".harness" in name for name in (*listed, *globbed, *(match["path"] for match in found)))
    result = executor.execute("Edit", {"path": path, "old_string": "x" * 40, "new_string": "y"})
    assert result.error_code is ErrorCode.ACCESS_DENIED


# A link put into the path after it was resolved


def test_a_folder_that_becomes_a_link_is_not_gone_through(root: Path) -> None:
    resolved = Workspace(root).resolve("src/f")
    (root / "src").rename(root / "moved")
    (root / "src").symlink_to("../agent-victim")
    with pytest.raises(PathChangedError):
        read_contained(root, resolved, limit=100)
    with pytest.raises(PathChangedError):
        replace_contained(root, resolved, b"new", lambda: None)
    assert untouched(root)


def test_a_file_that_becomes_a_link_or_a_pipe_is_not_opened(root: Path) -> None:
    resolved = Workspace(root).resolve("src/a.py")
    for kind in ("link", "pipe"):
        resolved.unlink()
        if kind == "link":
            resolved.symlink_to(root.parent / "agent-victim" / "f")
        else:
            os.mkfifo(resolved)
        with pytest.raises(PathChangedError):
            read_contained(root, resolved, limit=100)
        with pytest.raises(PathChangedError):
            replace_contained(root, resolved, b"new", lambda: None)
    assert untouched(root)


def test_the_root_itself_is_no_file(root: Path) -> None:
    with pytest.raises(PathChangedError):
        read_contained(root, root, limit=1)


def test_a_refused_replacement_leaves_nothing_behind(root: Path) -> None:
    def refuse() -> None:
        raise OSError(errno.EIO, "no")

    with pytest.raises(OSError, match="no"):
        replace_contained(root, root / "src/a.py", b"new", refuse)
    assert [entry.name for entry in (root / "src").iterdir()] == ["a.py"]
    assert (root / "src/a.py").read_text() == "inside\n"


def test_swapping_a_folder_for_a_link_all_the_time_gives_nothing_away(root: Path) -> None:
    """Another process that races the tools: every answer is the file inside or an error."""
    (root / "src" / "f").write_text("inside")
    (root / "out").symlink_to("../agent-victim")
    executor = builtin_executor(root)
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            (root / "src").rename(root / "real")
            (root / "out").rename(root / "src")
            (root / "src").rename(root / "out")
            (root / "real").rename(root / "src")

    racing = threading.Thread(target=swap)
    racing.start()
    try:
        for number in range(300):
            read = executor.execute("Read", {"path": "src/f"})
            assert SECRET not in json.dumps(read.data)
            new = f"{number}-inside"
            executor.execute("Edit", {"path": "src/f", "old_string": "inside", "new_string": new[-20:]})
            executor.execute("Edit", {"path": "src/f", "old_string": SECRET, "new_string": "lost"})
    finally:
        stop.set()
        racing.join(WAIT_S)
    assert untouched(root)


# Every path


_parts = st.sampled_from(
    ["..", ".", "src", "a.py", "parent", "leaf", "chain", "dangling", "loop", "there", "up", "self", "agent", "f", "",
     "agent-victim", "~", "\0", "/", ".harness", "x" * 256, "\ud800", "\u202e", "A"]
)  # fmt: skip


@pytest.mark.parametrize("tool", TOOLS)
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=st.lists(_parts, max_size=8), absolute=st.booleans())
def test_no_path_at_all_reaches_the_neighbour(
    executor: ToolExecutor, root: Path, tool: str, parts: list[str], absolute: bool
) -> None:
    path = "/".join([str(root)] * absolute + parts)
    result = executor.execute(tool, {"path": path, **TOOLS[tool]})
    assert SECRET not in serialize_tool_result(result)
    assert untouched(root)


def test_a_long_path_is_refused_before_anything_is_looked_up(root: Path) -> None:
    with pytest.raises(OutsideWorkspaceError, match=f"more than {MAX_PATH_BYTES} bytes"):
        Workspace(root).resolve("a/" * 1_000_000)
    assert Workspace(root).resolve("./" * 2000 + "src") == root / "src"
