"""Whether a recorded trial solved its task: by its reward, by expected calls, by a scenario, or by a function."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import InputError
from harness.judge.reference_calls import load_references, recorded_references, unmatched
from harness.judge.verdict import Verdict
from harness.trace.run import CallRecord, Run

if TYPE_CHECKING:
    from harness.scenario.format import Scenario

REWARD, CALLS, SCENARIOS = "reward", "calls", "scenarios"
FULL_REWARD = 1.0
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class Judgement:
    """``passed`` is None where the trial could not be judged; ``why`` says what is behind anything but a pass."""

    passed: bool | None
    why: str = ""


Judge = Callable[[Run], Judgement]

_PASSED = Judgement(passed=True)


def _failed(why: str) -> Judgement:
    return Judgement(passed=False, why=why)


@dataclass(frozen=True, slots=True)
class JudgeSpec:
    """Which judge to make, as plain data that other processes can be sent.

    ``kind`` is *reward*, *calls*, *scenarios* or ``module:function``. ``expect`` is the file of expected calls (without
    it the recorded ones count), or a scenario or folder of scenarios. ``threshold`` is the reward from which a trial
    has passed.
    """

    kind: str = REWARD
    expect: Path | None = None
    threshold: float = FULL_REWARD

    def make(self) -> Judge:
        """The judge; raises InputError for a kind, file or function that does not exist."""
        if self.kind == REWARD:
            return lambda run: _by_reward(run, self.threshold)
        if self.kind == CALLS:
            return _by_recorded_calls if self.expect is None else _by_calls(self.expect)
        if self.kind == SCENARIOS:
            if self.expect is None:
                raise InputError("which scenarios?", where="--judge scenarios", hint="--expect PATH")
            return _by_scenarios(self.expect)
        return _by_function(self.kind)


def _by_reward(run: Run, threshold: float) -> Judgement:
    reward = run.trial.reward if run.trial is not None else None
    if reward is None:
        return Judgement(None, "no recorded reward")
    # Benchmarks multiply rewards; theirs count as full within this much too.
    passed = reward >= threshold - _ROUNDING
    return Judgement(passed, "" if passed else f"the reward is {reward:g}")


def _by_recorded_calls(run: Run) -> Judgement:
    """Every expected call was made; others may have been, as the authors list what must happen, not all look-ups."""
    calls = run.facts.get("reference_calls")
    if not isinstance(calls, list):
        return Judgement(None, "no recorded reference calls")
    expected = recorded_references(calls)
    missing, _ = unmatched(expected, _made(run))
    if missing:
        return _failed(f"not called: {expected[missing[0]]}")
    return _PASSED


def _by_calls(path: Path) -> Judge:
    references = load_references(path)

    def judge(run: Run) -> Judgement:
        task = run.trial.task if run.trial is not None else run.name
        if task not in references:
            return Judgement(None, f"{path} has no task {task}")
        expected, made = references[task], _made(run)
        missing, surplus = unmatched(expected, made)
        if missing:
            called = ", ".join(f"{call.name}({_short(call.arguments)})" for call in made[:3]) or "nothing"
            return _failed(f"not called: {expected[missing[0]]}; called: {called}")
        if surplus:
            return _failed(f"called without need: {made[surplus[0]].name}")
        return _PASSED

    return judge


def _by_scenarios(path: Path) -> Judge:
    # What runs scenarios takes a moment to load.
    from harness.judge.checks import judge_lanes  # noqa: PLC0415
    from harness.judge.functions import Functions  # noqa: PLC0415

    scenarios = _scenarios(path)

    def judge(run: Run) -> Judgement:
        task = run.trial.task if run.trial is not None else run.name
        scenario = scenarios.get(task)
        if scenario is None or scenario.expect is None:
            return Judgement(None, f"{path} has no scenario {task} with expectations")
        verdict, why = judge_lanes(scenario.expect, run, Functions(scenario.path.parent))
        passed = {Verdict.PASS: True, Verdict.FAIL: False}.get(verdict)
        return Judgement(passed, why)

    return judge


def _scenarios(path: Path) -> dict[str, Scenario]:
    from harness.scenario.format import load_scenario  # noqa: PLC0415

    if not path.exists():
        raise InputError("no such file or folder", where=str(path))
    files = sorted(path.rglob("*.yaml")) if path.is_dir() else [path]
    found: dict[str, Scenario] = {}
    for file in files:
        scenario = load_scenario(file)
        if scenario.name in found:
            raise InputError(f"the name {scenario.name} is there twice", where=str(file))
        found[scenario.name] = scenario
    if not found:
        raise InputError("the folder holds no scenario", where=str(path))
    return found


def _by_function(name: str) -> Judge:
    function = _imported(name)

    def judge(run: Run) -> Judgement:
        try:
            found = function(run)
        except AssertionError as error:
            return _failed(str(error) or "an assertion does not hold")
        except Exception as error:  # whatever a user's function raises, they want to know for which run
            raise InputError(f"{type(error).__name__}: {error}", where=f"{name} of {run.name}") from error
        if found is None:
            return Judgement(None, f"{name} did not judge it")
        if isinstance(found, str):
            return _failed(found)
        if not isinstance(found, bool):
            raise InputError(
                f"gave {type(found).__name__} for {run.name}", where=name, hint="True, False, a text or None"
            )
        return Judgement(found, "" if found else f"{name} says no")

    return judge


def _imported(name: str) -> Callable[[Run], Any]:
    module, separator, attribute = name.partition(":")
    if not separator or not module or not attribute:
        hint = f"{REWARD}, {CALLS}, {SCENARIOS} or module:function"
        raise InputError(f"{name!r} is no judge", where="--judge", hint=hint)
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        function: Any = importlib.import_module(module)
    except ImportError as error:
        raise InputError(f"cannot be imported: {error}", where=name) from error
    for part in attribute.split("."):
        function = getattr(function, part, None)
    if not callable(function):
        raise InputError(f"{module} has no function {attribute}", where=name)
    judge: Callable[[Run], Any] = function
    return judge


def _made(run: Run) -> list[CallRecord]:
    return [call for lane in run.lanes for step in lane.steps for call in step.calls]


def _short(arguments: object, limit: int = 80) -> str:
    text = str(arguments)
    return text if len(text) <= limit else f"{text[:limit]}…"
