"""What a target does to the process that runs it is a finding like any other, and loses none."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from harness.fuzz.findings import save
from harness.fuzz.fuzzer import FuzzSpec
from harness.fuzz.parallel import WorkerDiedError, fuzz
from harness.fuzz.parts import Finding
from harness.fuzz.playing import memory
from harness.fuzz.targets import TargetName, load_target
from harness.judge.checks import judge_scenario
from harness.judge.verdict import Verdict
from harness.scenario.format import load_scenario
from harness.scenario.runner import run_scenario
from tests.fuzz.killers import MARKS, SEEN

ROOT = Path(__file__).resolve().parents[2]
HARNESS = str(Path(sys.executable).parent / "harness")
LEAVING = FuzzSpec(examples=8, seed=1)


def named(factory: str) -> TargetName:
    return TargetName.parse(f"tests.fuzz.killers:{factory}")


def verdict(path: Path, factory: str = "") -> Verdict:
    """Of the scenario, with another factory in place of the faulty one."""
    if factory:
        document = path.read_text("utf-8")
        faulty = next(name for name in ("backtracks", "leaves") if name in document)
        path = path.with_name(f"{factory}-{path.name}")
        path.write_text(document.replace(f"killers:{faulty}", f"killers:{factory}"), "utf-8")
    return judge_scenario(run_scenario(load_scenario(path)), str(path)).verdict


def check_small_and_reproduced(finding: Finding, factory: str, folder: Path) -> None:
    calls = [call for turn in finding.example.turns for call in turn.calls]
    assert len(calls) == 1
    (path,) = save([finding], named(factory), load_target(named(factory)), 0, folder)
    assert verdict(path) is Verdict.FAIL
    assert verdict(path, "sound") is Verdict.PASS


def test_what_holds_the_interpreter_is_found_made_small_and_reproduced(tmp_path: Path) -> None:
    report = fuzz(named("backtracks"), FuzzSpec(examples=8, seed=205, hang_s=0.2), workers=2)
    (finding,) = report.findings
    assert finding.breach.text == "it did not end within 0.2 s, and held the interpreter"
    assert report.coverage.examples == 8
    check_small_and_reproduced(finding, "backtracks", tmp_path)


def test_what_ends_the_process_is_found_made_small_and_reproduced(tmp_path: Path) -> None:
    report = fuzz(named("leaves"), LEAVING, workers=2)
    by_oracle = {finding.breach.invariant: finding for finding in report.findings}
    assert set(by_oracle) == {"ends", "tool_returns"}
    ends = by_oracle["ends"]
    assert ends.breach.text == "it ended the process (exit code 3)"
    assert by_oracle["tool_returns"].number < ends.number
    check_small_and_reproduced(ends, "leaves", tmp_path)
    # What ends the process is no smaller example of the other fault.
    (call,) = (call for turn in by_oracle["tool_returns"].example.turns for call in turn.calls)
    assert orjson.loads(call.arguments or "")["word"] in MARKS


def test_the_report_is_the_same_with_any_number_of_workers_and_wherever_they_end() -> None:
    alone, two = (fuzz(named("leaves"), replace(LEAVING, shrink=False), workers=workers) for workers in (1, 2))
    assert alone == two
    assert alone.coverage.examples == LEAVING.examples
    # Found before, with the end of the process, and not lost.
    assert {finding.breach.invariant for finding in alone.findings} == {"ends", "tool_returns"}


def test_a_target_that_ends_the_process_while_it_is_loaded_is_an_error() -> None:
    with pytest.raises(WorkerDiedError, match=r"stillborn: it ended the process while it was loaded \(exit code 3\)"):
        fuzz(named("stillborn"), FuzzSpec(examples=5), workers=2)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_keeps_what_was_found_and_leaves_no_process_behind(number: signal.Signals, tmp_path: Path) -> None:
    process = fuzzing("lingers", tmp_path, 3, "--workers", "2")
    children = processes_under(process.pid)
    os.kill(process.pid, number)
    out, _ = process.communicate(timeout=20)
    document = orjson.loads(out)
    assert process.returncode == 1
    assert document["interrupted"]
    assert document["findings"]
    assert len(children) > 2
    assert all_end(children)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a thread sees to it, which has to get its turn")
def test_no_process_outlives_one_that_is_killed(tmp_path: Path) -> None:
    process = fuzzing("backtracks", tmp_path, 1)
    children = processes_under(process.pid)
    process.kill()
    process.communicate()
    assert children
    assert all_end(children)
    for left in Path(memory() or tempfile.gettempdir()).glob(f"harness-fuzz-{process.pid}-*"):
        shutil.rmtree(left)


def fuzzing(factory: str, folder: Path, runs: int, *words: str) -> subprocess.Popen[bytes]:
    """A run of the fuzzer that has come upon so many runs of what is wrong."""
    seen = folder / "seen"
    process = subprocess.Popen(
        [HARNESS, "fuzz", f"tests.fuzz.killers:{factory}", "--json", "--seed", "1", "--save", str(folder),
         "--out", str(folder / "out"), *words],
        cwd=ROOT, env={**os.environ, SEEN: str(seen)}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    deadline = time.monotonic() + 30
    while not (seen.exists() and seen.stat().st_size >= runs) and time.monotonic() < deadline:
        time.sleep(0.02)
    return process


def processes_under(parent: int) -> list[int]:
    """The processes that it has started."""
    found = []
    for task in Path(f"/proc/{parent}/task").iterdir():
        found += [int(child) for child in (task / "children").read_text("utf-8").split()]
    return found


def all_end(processes: list[int]) -> bool:
    """Whether they have ended, or do so soon: that of Python that looks after shared memory takes its time."""
    deadline = time.monotonic() + 10
    while any(is_alive(process) for process in processes) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not any(is_alive(process) for process in processes)


def is_alive(process: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{process}/stat").read_text("utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return False
