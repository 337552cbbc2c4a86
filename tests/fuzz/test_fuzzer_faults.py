"""Faulty executors and tool sets: the fuzzer finds each, makes it small, and saves a scenario that shows it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from harness.fuzz.findings import save
from harness.fuzz.fuzzer import FuzzSpec, Session
from harness.fuzz.oracles import ORACLES
from harness.fuzz.parts import Finding
from harness.fuzz.targets import TargetName, load_target
from harness.judge.checks import judge_scenario
from harness.judge.verdict import Verdict
from harness.scenario.format import load_scenario
from harness.scenario.runner import run_scenario
from tests.fuzz.faulty import FAULTS, Fault

ROOT = Path(__file__).resolve().parents[2]
HARNESS = str(Path(sys.executable).parent / "harness")
TIME_S = 60.0
MOST_LINES = 3
MOST_EXAMPLES = 25_600
QUICK = ("arguments:b09", "arguments:b24", "steps:d05", "steps:a39", "worlds:g13")
"""Faults for every run of the tests: quick to find, and of all kinds."""


def spec(fault: Fault, examples: int, *, shrink: bool = True) -> FuzzSpec:
    oracles = tuple(name for name in ORACLES if name not in fault.without)
    return FuzzSpec(seed=1, examples=examples, seconds=TIME_S, oracles=oracles, hang_s=1.0, shrink=shrink)


def findings_of(fault: Fault) -> list[Finding]:
    """What is found in more and more examples by the oracles that the fault is about, until there is something."""
    targets = load_target(TargetName.parse(fault.target))
    examples = 100
    while examples <= MOST_EXAMPLES:
        report = Session(targets, spec(fault, examples)).run()
        found = [finding for finding in report.findings if finding.breach.invariant in fault.oracles]
        if found:
            return found
        examples *= 4
    return []


def lines_of(finding: Finding) -> int:
    calls = [call for turn in finding.example.turns for call in turn.calls]
    return sum((call.arguments or "").count("\n") + 1 for call in calls)


def judged(path: Path) -> Verdict:
    return judge_scenario(run_scenario(load_scenario(path)), str(path)).verdict


def check_found_and_reproduced(fault: Fault, folder: Path) -> None:
    found = findings_of(fault)
    assert found, f"{fault.report} was not found"
    assert min(map(lines_of, found)) <= MOST_LINES
    name = TargetName.parse(fault.target)
    for path in save(found, name, load_target(name), 1, folder):
        assert judged(path) is Verdict.FAIL
        mended = folder / f"mended-{path.name}"
        mended.write_text(path.read_text("utf-8").replace(fault.target, fault.sound), "utf-8")
        assert judged(mended) is Verdict.PASS


def test_there_are_enough_faults_and_each_names_its_report() -> None:
    assert len(FAULTS) >= 25
    assert sum(fault.kept for fault in FAULTS) >= 8
    assert len({fault.factory for fault in FAULTS}) == len(FAULTS)
    assert all(set(fault.oracles) <= set(ORACLES) for fault in FAULTS)


@pytest.mark.parametrize("fault", [one for one in FAULTS if one.factory in QUICK], ids=lambda fault: fault.factory)
def test_a_fault_is_found_and_its_scenario_shows_it(fault: Fault, tmp_path: Path) -> None:
    check_found_and_reproduced(fault, tmp_path)


@pytest.mark.parametrize("twin", sorted({fault.sound for fault in FAULTS if not fault.without}))
def test_a_sound_twin_has_no_finding(twin: str) -> None:
    session = Session(load_target(TargetName.parse(twin)), FuzzSpec(seed=3, examples=60))
    assert [finding.breach for finding in session.run().findings] == []


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.factory)
def test_every_fault_is_found_within_a_minute(fault: Fault, tmp_path: Path) -> None:
    if "ends" not in fault.oracles:
        check_found_and_reproduced(fault, tmp_path)
        return
    # Threads that wait for ever would keep this process from ending.
    done = subprocess.run(
        [HARNESS, "fuzz", fault.target, "--examples", "300", "--hang", "1", "--json", "--quiet",
         "--save", str(tmp_path), "--out", str(tmp_path / "out")],
        cwd=ROOT, capture_output=True, check=False, timeout=4 * TIME_S,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    found = orjson.loads(done.stdout)["findings"]
    assert [one["oracle"] for one in found] == ["ends"]
    assert len(found[0]["calls"]) <= MOST_LINES
    path = found[0]["scenario"]
    for target, code in ((fault.target, 1), (fault.sound, 0)):
        text = Path(path).read_text("utf-8").replace(fault.target, target)
        Path(path).write_text(text, "utf-8")
        ran = subprocess.run(
            [HARNESS, "run", path, "--out", str(tmp_path / "out")],
            cwd=ROOT, capture_output=True, check=False, timeout=TIME_S,
        )  # fmt: skip
        assert ran.returncode == code, ran.stderr


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.factory)
def test_no_twin_has_a_finding(fault: Fault) -> None:
    session = Session(load_target(TargetName.parse(fault.sound)), spec(fault, 1500))
    assert [(finding.breach, finding.example) for finding in session.run().findings] == []
