"""The fuzzer in a test of one's own: `demand_sound`, which the fixture ``fuzz_tools`` gives."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path

from harness.fuzz.findings import REGRESSIONS, save, title_of
from harness.fuzz.fuzzer import FuzzSpec, Session
from harness.fuzz.oracles import ORACLES
from harness.fuzz.parts import FuzzReport
from harness.fuzz.targets import LoadedTarget, TargetName, load_target, loaded
from harness.pipeline.workspace import Workspace
from harness.scenario.target import Surroundings, target_of
from harness.seams import ManualClock

DEFAULT_EXAMPLES = 200


def demand_sound(
    target: object,
    *,
    examples: int = DEFAULT_EXAMPLES,
    seed: int = 0,
    texts: bool = False,
    without: Collection[str] = (),
    folder: Path = REGRESSIONS,
) -> FuzzReport:
    """Fuzz a target; raises AssertionError with all findings, InputError for what cannot be fuzzed.

    The target is a registry, tools, an executor, a function or a factory of one; or its name (``module:object``): then
    the findings are saved as scenarios in ``folder``. ``without`` names oracles that do not count.
    """
    spec = FuzzSpec(
        seed=seed, examples=examples, oracles=tuple(name for name in ORACLES if name not in without), texts=texts
    )
    name = TargetName.parse(target) if isinstance(target, str) else None
    targets = _loaded(target) if name is None else load_target(name)
    report = Session(targets, spec).run()
    if report.findings:
        saved = [None] * len(report.findings) if name is None else save(report.findings, name, targets, seed, folder)
        raise AssertionError(_told(report, saved))
    return report


def _loaded(target: object) -> list[LoadedTarget]:
    with tempfile.TemporaryDirectory(prefix="harness-fuzz-") as folder:
        return [loaded(target_of(target), Surroundings(Workspace(folder), ManualClock()))]


def _told(report: FuzzReport, saved: Sequence[Path | None]) -> str:
    lines = [f"{len(report.findings)} finding(s) in {report.coverage.calls:,} calls"]
    for finding, path in zip(report.findings, saved, strict=True):
        lines += ["", f"{finding.breach.invariant}: {finding.breach.text}", f"  {title_of(finding)}"]
        lines += [f"  {call.name}({call.arguments!r})" for turn in finding.example.turns for call in turn.calls]
        lines += [f"  {path}"] if path is not None else []
    return "\n".join(lines)
