from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from harness.scenario.ending import EndlessError, within
from harness.scenario.guard import OUTSIDE, ProcessRefusedError, guarded, may_start_programs, plant_outside


def start_a_program() -> int:
    return subprocess.run([sys.executable, "-c", ""], check=False).returncode


def test_programs_are_refused_until_the_block_ends(tmp_path: Path) -> None:
    with guarded(tmp_path, refuse_processes=True) as seen:
        with pytest.raises(ProcessRefusedError):
            start_a_program()
        with may_start_programs():
            assert start_a_program() == 0
    assert len(seen.started) == 1
    assert start_a_program() == 0


def test_files_outside_the_folder_are_seen_and_those_inside_are_not(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    root.mkdir()
    plant_outside(root)
    with guarded(root, refuse_processes=False) as seen:
        (root / "a.txt").write_text("a")
        assert seen.take_touched() == ()
        (root.parent / OUTSIDE).read_text()
        (tmp_path / "workspace-old" / OUTSIDE).read_text()
    assert seen.take_touched() == (f"../{OUTSIDE}", f"../workspace-old/{OUTSIDE}")


def test_a_block_left_behind_in_a_thread_that_hangs_holds_for_nothing_that_comes_after(tmp_path: Path) -> None:
    go_on = threading.Event()

    def hang() -> None:
        with guarded(tmp_path, refuse_processes=True):
            go_on.wait()

    with pytest.raises(EndlessError):
        within(0.05, hang)
    assert start_a_program() == 0
    with guarded(tmp_path, refuse_processes=True), pytest.raises(ProcessRefusedError):
        start_a_program()
    assert start_a_program() == 0
    go_on.set()
