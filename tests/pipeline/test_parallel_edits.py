"""Many edits of one file at the same time, under several spellings and with random delays: none is lost unsaid."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.pipeline.executor import ToolExecutor
from harness.pipeline.file_versions import FileVersion, FileVersions
from harness.pipeline.result import ErrorCode, ToolStatus
from tests.pipeline.tools import WAIT_S, builtin_executor

REPETITIONS = 200
EDITS = 6
LONGEST_DELAY_S = 0.0005

ONE = ("d/f",)
SEVERAL = ("d/f", "./d/f", "d/../d/f", "e/f", "link", "{root}/d/f")


class _Delayed(FileVersions):
    """Waits for a moment at each place where another thread may come in between."""

    def __init__(self, pause: Callable[[], None]) -> None:
        super().__init__()
        self._pause = pause

    def known(self, path: Path) -> FileVersion | None:
        version = super().known(path)
        self._pause()
        return version

    def remember(self, path: Path, version: FileVersion) -> None:
        self._pause()
        super().remember(path, version)

    @contextmanager
    def writing(self, path: Path) -> Iterator[None]:
        self._pause()
        with super().writing(path):
            self._pause()
            yield


def pausing(seed: int) -> Callable[[], None]:
    chance, guard = random.Random(seed), threading.Lock()

    def pause() -> None:
        with guard:
            seconds = chance.random() * LONGEST_DELAY_S
        time.sleep(seconds)

    return pause


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "d").mkdir()
    (tmp_path / "e").symlink_to("d")
    (tmp_path / "link").symlink_to("d/f")
    return tmp_path.resolve()


def edited_at_once(executor: ToolExecutor, paths: list[str]) -> list[tuple[ToolStatus, ErrorCode | None]]:
    """Edit number n turns ``<n>`` into ``[n]``; all begin together."""
    start = threading.Barrier(len(paths))
    results: list[tuple[ToolStatus, ErrorCode | None]] = [(ToolStatus.ERROR, None)] * len(paths)

    def edit(number: int) -> None:
        start.wait(WAIT_S)
        arguments = {"path": paths[number], "old_string": f"<{number}>", "new_string": f"[{number}]"}
        result = executor.execute("Edit", arguments)
        results[number] = (result.status, result.error_code)

    threads = [threading.Thread(target=edit, args=(number,)) for number in range(len(paths))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S)
    return results


@pytest.mark.parametrize("read_first", [False, True])
@pytest.mark.parametrize("spellings", [ONE, SEVERAL], ids=["one spelling", "several spellings"])
def test_nothing_is_lost_without_a_conflict(root: Path, spellings: tuple[str, ...], read_first: bool) -> None:
    conflicts = 0
    for repetition in range(REPETITIONS // 2):
        (root / "d/f").write_text("\n".join(f"<{number}>" for number in range(EDITS)))
        executor = builtin_executor(root, versions=_Delayed(pausing(repetition)))
        if read_first:
            assert executor.execute("Read", {"path": spellings[0]}).status is ToolStatus.SUCCESS
        paths = [spellings[number % len(spellings)].format(root=root) for number in range(EDITS)]
        results = edited_at_once(executor, paths)
        lines = (root / "d/f").read_text().split("\n")
        for number, (status, code) in enumerate(results):
            if status is ToolStatus.SUCCESS:
                assert lines[number] == f"[{number}]"
            else:
                assert code is ErrorCode.CONFLICT
                assert lines[number] == f"<{number}>"
        conflicts += sum(code is ErrorCode.CONFLICT for _, code in results)
        assert any(status is ToolStatus.SUCCESS for status, _ in results)
    if read_first:
        assert conflicts > 0


def test_a_writer_outside_the_pipeline_between_reading_and_writing_is_a_conflict(root: Path) -> None:
    """The last look at the file is when the new one is ready, right before it takes the old one's place."""
    (root / "d/f").write_text("<0>\n")

    executor = builtin_executor(root)
    tool = executor.registry.get("Edit")
    assert tool is not None
    genuine = type(tool).read_file  # type: ignore[attr-defined]
    looks: list[int] = []

    def read_file(self: object, resolved: Path) -> object:
        looks.append(len(looks))
        if len(looks) == 2:
            resolved.write_text("theirs\n")
        return genuine(self, resolved)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(tool), "read_file", read_file)
        result = executor.execute("Edit", {"path": "d/f", "old_string": "<0>", "new_string": "[0]"})
    assert result.error_code is ErrorCode.CONFLICT
    assert "somebody else" in result.text
    assert (root / "d/f").read_text() == "theirs\n"
    assert sorted(path.name for path in (root / "d").iterdir()) == ["f"]
