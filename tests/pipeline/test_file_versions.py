from __future__ import annotations

import hashlib
import os
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from harness.pipeline.executor import ToolExecutor
from harness.pipeline.file_versions import (
    EXPECTED_DIGEST,
    EXPECTED_MTIME,
    EXPECTED_SIZE,
    FileVersion,
    FileVersions,
    read_versioned,
    version_of,
)
from harness.pipeline.result import ErrorCode, ToolStatus
from tests.pipeline.tools import WAIT_S, builtin_executor

SECOND_NS = 1_000_000_000


@pytest.mark.seed("L01")
def test_a_version_is_size_time_and_content_of_one_open_file(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"content")
    os.utime(file, ns=(0, 5_123_456_789))
    content, version = read_versioned(file)
    assert content == b"content"
    assert (version.size, version.mtime_ns, version.mtime_ms) == (7, 5_123_456_789, 5_123)
    assert version.digest == version_of(b"content", 0).digest != version_of(b"cOntent", 0).digest
    assert version.digest == hashlib.blake2b(b"content", digest_size=8).hexdigest()


@pytest.mark.seed("L01", "L02")
@settings(deadline=None)
@given(st.binary(max_size=50), st.integers(0, 2**62))
def test_what_a_result_says_of_a_version_is_what_an_edit_will_expect(content: bytes, mtime_ns: int) -> None:
    version = version_of(content, mtime_ns)
    again = FileVersion.from_stats({"time_ms": 3, **version.stats()})
    assert again is not None
    assert again.expected() == version.expected()
    assert version.expected() == {
        EXPECTED_MTIME: mtime_ns // 1_000_000,
        EXPECTED_SIZE: len(content),
        EXPECTED_DIGEST: version.digest,
    }
    assert version.conflict_with(again.expected()) is None


@pytest.mark.parametrize("missing", ["file_mtime_ms", "file_size_bytes", "file_digest"])
def test_stats_without_a_whole_version_say_nothing(missing: str) -> None:
    stats = version_of(b"x", SECOND_NS).stats()
    assert FileVersion.from_stats({key: value for key, value in stats.items() if key != missing}) is None
    assert FileVersion.from_stats({**stats, missing: None}) is None


@pytest.mark.seed("L04")
@pytest.mark.parametrize(
    ("content", "mtime_ns", "conflict"),
    [
        (b"abc", SECOND_NS, None),
        (b"abc", 9 * SECOND_NS, None),
        (b"abC", SECOND_NS, "the content has changed since it was read"),
        (b"abcd", SECOND_NS, "the content has changed since it was read"),
    ],
)
def test_the_content_decides_and_a_touch_is_no_conflict(content: bytes, mtime_ns: int, conflict: str | None) -> None:
    expected = version_of(b"abc", SECOND_NS).expected()
    assert version_of(content, mtime_ns).conflict_with(expected) == conflict


@pytest.mark.seed("L03", "L04")
@pytest.mark.parametrize(
    ("expected", "conflict"),
    [
        ({}, None),
        ({EXPECTED_MTIME: 1000, EXPECTED_SIZE: 3}, None),
        ({EXPECTED_SIZE: 4}, "the size is 3 bytes, 4 were expected"),
        ({EXPECTED_MTIME: 999}, "the modification time is 1000 ms, 999 was expected"),
        ({EXPECTED_MTIME: 0}, "the modification time is 1000 ms, 0 was expected"),
        ({EXPECTED_SIZE: 0, EXPECTED_MTIME: 1000}, "the size is 3 bytes, 0 were expected"),
    ],
)
def test_what_the_model_expects_itself_is_compared_by_size_and_time(
    expected: dict[str, int], conflict: str | None
) -> None:
    assert version_of(b"abc", SECOND_NS).conflict_with(expected) == conflict


def test_the_last_version_seen_is_known_by_path() -> None:
    versions, path = FileVersions(), Path("/w/f")
    assert versions.known(path) is None
    for content in (b"one", b"two"):
        versions.remember(path, version_of(content, 0))
        assert versions.known(path) == version_of(content, 0)
    assert versions.known(Path("/w/g")) is None


def test_two_writers_of_one_file_wait_for_each_other_and_of_two_files_do_not() -> None:
    versions = FileVersions()
    other_done = threading.Event()
    same_done = threading.Event()

    def write(path: str, done: threading.Event) -> None:
        with versions.writing(Path(path)):
            done.set()

    with versions.writing(Path("/w/f")):
        threads = [
            threading.Thread(target=write, args=("/w/f", same_done)),
            threading.Thread(target=write, args=("/w/g", other_done)),
        ]
        for thread in threads:
            thread.start()
        assert other_done.wait(WAIT_S)
        assert not same_done.is_set()
    assert same_done.wait(WAIT_S)
    for thread in threads:
        thread.join(WAIT_S)


def test_of_many_edits_of_one_file_at_the_same_time_none_is_lost(tmp_path: Path) -> None:
    (tmp_path / "f").write_text(" ".join(f"<{number}>" for number in range(8)))
    executor = builtin_executor(tmp_path)
    start = threading.Barrier(8)
    statuses: list[ToolStatus] = []

    def edit(number: int) -> None:
        start.wait(WAIT_S)
        arguments = {"path": "f", "old_string": f"<{number}>", "new_string": f"[{number}]"}
        statuses.append(executor.execute("Edit", arguments).status)

    threads = [threading.Thread(target=edit, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S)
    written = (tmp_path / "f").read_text().split()
    assert len(statuses) == 8
    assert sum(status is ToolStatus.SUCCESS for status in statuses) == sum(part.startswith("[") for part in written)
    assert [part.strip("<>[]") for part in written] == [str(number) for number in range(8)]


FILES = ("a.txt", "d/b.txt")

SPELLINGS = {
    "a.txt": ("a.txt", "./a.txt", "d/../a.txt", "link.txt"),
    "d/b.txt": ("d/b.txt", "e/b.txt", "d/./b.txt"),
}

files = st.sampled_from(FILES)
spelled = files.flatmap(lambda name: st.tuples(st.just(name), st.sampled_from(SPELLINGS[name])))


class LockMachine(RuleBasedStateMachine):
    """An agent that reads and edits, and a world that writes beside it.

    Every content holds one ``|end``, which the edits replace: without the lock each of them would succeed.
    """

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self.root = Path(self._folder.name).resolve()
        (self.root / "d").mkdir()
        (self.root / "e").symlink_to("d")
        (self.root / "link.txt").symlink_to("a.txt")
        self.executor: ToolExecutor = builtin_executor(self.root)
        self.disk: dict[str, bytes] = {}
        self.seen: dict[str, bytes] = {}
        self.number = 0
        for name in FILES:
            self._write(name, b"begin|first|end")

    def teardown(self) -> None:
        self._folder.cleanup()

    def _write(self, name: str, content: bytes) -> None:
        (self.root / name).write_bytes(content)
        self.disk[name] = content

    def _next(self) -> bytes:
        self.number += 1
        return f"begin|{self.number:04d}|end".encode()

    @rule(file=spelled)
    def read(self, file: tuple[str, str]) -> None:
        name, path = file
        result = self.executor.execute("Read", {"path": path})
        if name in self.disk:
            assert result.status is ToolStatus.SUCCESS
            self.seen[name] = self.disk[name]
        else:
            assert result.error_code is ErrorCode.NOT_FOUND

    @rule(file=spelled)
    def edit(self, file: tuple[str, str]) -> None:
        name, path = file
        self.number += 1
        new = f"|{self.number}|end"
        result = self.executor.execute("Edit", {"path": path, "old_string": "|end", "new_string": new})
        if name not in self.disk:
            assert result.error_code is ErrorCode.NOT_FOUND
        elif name in self.seen and self.seen[name] != self.disk[name]:
            assert result.error_code is ErrorCode.CONFLICT
        else:
            assert result.status is ToolStatus.SUCCESS
            self.disk[name] = self.disk[name].replace(b"|end", new.encode())
            self.seen[name] = self.disk[name]

    @rule(name=files)
    def somebody_writes(self, name: str) -> None:
        self._write(name, self._next())

    @precondition(lambda self: self.disk)
    @rule(name=files)
    def somebody_writes_the_same_size_in_the_same_tick(self, name: str) -> None:
        if name in self.disk:
            before = (self.root / name).stat()
            self._write(name, self.disk[name].swapcase().replace(b"|END", b"|end"))
            os.utime(self.root / name, ns=(before.st_atime_ns, before.st_mtime_ns))

    @rule(name=files, seconds=st.integers(1, 10**6))
    def somebody_touches(self, name: str, seconds: int) -> None:
        if name in self.disk:
            os.utime(self.root / name, ns=(0, seconds * SECOND_NS))

    @rule(name=files, same=st.booleans())
    def somebody_renames_a_file_over_it(self, name: str, same: bool) -> None:
        content = self.disk.get(name, b"") if same and name in self.disk else self._next()
        (self.root / "other").write_bytes(content)
        (self.root / "other").replace(self.root / name)
        self.disk[name] = content

    @rule(name=files)
    def somebody_renames_it_away_and_back(self, name: str) -> None:
        if name in self.disk:
            (self.root / name).rename(self.root / "away")
            missing = self.executor.execute("Edit", {"path": name, "old_string": "|end", "new_string": "|lost|end"})
            assert missing.error_code is ErrorCode.NOT_FOUND
            (self.root / "away").rename(self.root / name)

    @rule(name=files)
    def somebody_puts_a_link_out_in_its_place(self, name: str) -> None:
        (self.root / name).unlink(missing_ok=True)
        (self.root / name).symlink_to("/etc/hostname")
        for tool in ("Read", "Edit"):
            result = self.executor.execute(tool, {"path": name, "old_string": "|end", "new_string": "|x|end"})
            assert result.status is ToolStatus.ERROR
        (self.root / name).unlink()
        self.disk.pop(name, None)

    @rule(file=spelled)
    def several_edits_of_which_one_is_impossible(self, file: tuple[str, str]) -> None:
        _, path = file
        edits = [{"old_string": "|end", "new_string": "|lost|end"}, {"old_string": "nowhere", "new_string": "x"}]
        result = self.executor.execute("MultiEdit", {"path": path, "edits": edits})
        assert result.status is ToolStatus.ERROR

    @rule(name=files)
    def somebody_deletes(self, name: str) -> None:
        (self.root / name).unlink(missing_ok=True)
        self.disk.pop(name, None)

    @invariant()
    def nothing_is_lost(self) -> None:
        for name in FILES:
            path = self.root / name
            assert (path.read_bytes() if path.exists() else None) == self.disk.get(name)
        assert (self.root / "link.txt").is_symlink()


TestLockOnRealFiles = pytest.mark.seed("L01", "L02", "L04", "L05")(LockMachine.TestCase)
TestLockOnRealFiles.settings = settings(deadline=None, max_examples=40, stateful_step_count=30)
