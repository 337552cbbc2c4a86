from __future__ import annotations

import os
import sys
import textwrap
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.scenario.agents.process import KEPT_BYTES, ProcessOutcome, run_process

LONG_S = 60.0


def run(program: str, cwd: Path, timeout_s: float = LONG_S, stdin: bytes = b"") -> ProcessOutcome:
    argv = [sys.executable, "-c", textwrap.dedent(program)]
    return run_process(argv, cwd=cwd, env={"PATH": os.defpath, "NAME": "value"}, timeout_s=timeout_s, stdin=stdin)


def alive(pid: int) -> bool:
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_a_program_runs_in_its_folder_with_its_environment_and_nothing_else(tmp_path: Path) -> None:
    ended = run(
        """
        import os, sys
        print(os.getcwd(), os.environ["NAME"], sys.stdin.read(), sorted(set(os.environ) - {"LC_CTYPE"}))
        print("oh", file=sys.stderr)
        sys.exit(3)
        """,
        tmp_path,
        stdin=b"said",
    )
    assert ended.stdout == f"{tmp_path} value said ['HARNESS_PROCESS', 'NAME', 'PATH']\n"
    assert (ended.exit_code, ended.stderr, ended.timed_out, ended.left_behind) == (3, "oh\n", False, 0)


def test_an_ending_by_a_signal_has_the_exit_code_of_a_shell(tmp_path: Path) -> None:
    assert run("import os; os.kill(os.getpid(), 15)", tmp_path).exit_code == 143


def test_a_program_that_takes_too_long_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    ended = run(
        """
        import subprocess, sys, time
        sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
        print(subprocess.Popen(sleep).pid, subprocess.Popen(sleep, start_new_session=True).pid, flush=True)
        time.sleep(600)
        """,
        tmp_path,
        timeout_s=2.0,
    )
    pids = [int(word) for word in ended.stdout.split()]
    assert (ended.exit_code, ended.timed_out, ended.left_behind) == (None, True, 2)
    assert len(pids) == 2
    assert not any(alive(pid) for pid in pids)


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="only Linux tells who left the group")
def test_a_daemon_that_a_program_leaves_behind_is_ended_with_it(tmp_path: Path) -> None:
    ended = run(
        """
        import subprocess, sys
        sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
        print(subprocess.Popen(sleep, start_new_session=True, stdout=subprocess.DEVNULL).pid)
        """,
        tmp_path,
    )
    assert (ended.exit_code, ended.left_behind) == (0, 1)
    assert not alive(int(ended.stdout))


def test_of_a_long_output_both_ends_are_kept(tmp_path: Path) -> None:
    ended = run(f"print('a' * {KEPT_BYTES} + 'b' * {KEPT_BYTES}, end='')", tmp_path)
    head, middle, tail = ended.stdout.split("\n")
    assert (head, tail) == ("a" * (KEPT_BYTES // 2), "b" * (KEPT_BYTES // 2))
    assert middle == f"… {KEPT_BYTES} bytes left out …"


def test_a_program_that_cannot_be_started_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="/no/such/agent: cannot be started"):
        run_process(["/no/such/agent"], cwd=tmp_path, env={}, timeout_s=LONG_S)
