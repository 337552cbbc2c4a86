"""Trajectories that others published, read whole: the figures are the benchmarks' own."""

from __future__ import annotations

from collections import defaultdict
from math import comb
from pathlib import Path

import pytest

from harness.trace.importing import read_trajectories
from harness.trace.run import CallRecord, Run, Step

pytestmark = pytest.mark.corpus


def steps_of(runs: list[Run]) -> list[Step]:
    return [step for run in runs for lane in run.lanes for step in lane.steps]


def calls_of(runs: list[Run]) -> list[CallRecord]:
    return [call for step in steps_of(runs) for call in step.calls]


def rewards(runs: list[Run]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = defaultdict(list)
    for run in runs:
        assert run.trial is not None
        assert run.trial.reward is not None
        found[run.trial.task].append(run.trial.reward)
    return found


def test_tau_bench_gives_the_published_row(corpus_dir: Path) -> None:
    source = corpus_dir / "tau-bench" / "historical_trajectories" / "gpt-4o-airline.json"
    runs = list(read_trajectories("tau-bench", source))
    by_task = rewards(runs)
    assert (len(runs), len(by_task)) == (200, 50)
    assert {run.trial.model for run in runs if run.trial} == {"gpt-4o"}
    hat = [
        sum(comb(int(sum(trials)), k) / comb(len(trials), k) for trials in by_task.values()) / len(by_task)
        for k in (1, 2, 3, 4)
    ]
    assert [round(value, 3) for value in hat] == [0.420, 0.273, 0.220, 0.200]
    assert len(steps_of(runs)) == 2454
    calls = calls_of(runs)
    assert (len(calls), sum(call.executed is True for call in calls)) == (1164, 1164)
    assert all(run.facts["reference_calls"] is not None for run in runs)


def test_tau2_bench_keeps_rewards_usage_and_cost(corpus_dir: Path) -> None:
    runs = list(read_trajectories("tau2-bench", corpus_dir / "tau2-bench"))
    found: dict[tuple[bool, str], list[float]] = defaultdict(list)
    for run in runs:
        assert run.trial is not None
        assert run.trial.reward is not None
        found[run.trial.model == "gpt-4.1", run.trial.task.split("/")[0]].append(run.trial.reward)
        assert run.trial.cost_usd == pytest.approx(sum(step.cost_usd or 0 for step in run.lanes[0].steps))
    assert {key: (len(values), round(sum(values) / len(values), 2)) for key, values in found.items()} == {
        (True, "airline"): (20, 0.50),
        (False, "airline"): (20, 0.65),
        (True, "retail"): (40, 0.85),
        (False, "retail"): (40, 0.85),
    }
    steps = steps_of(runs)
    assert len(steps) == 1461
    assert all(step.usage for step in steps)
    assert len(calls_of(runs)) == 886
    assert all(call.executed and isinstance(call.arguments, str) for call in calls_of(runs))


def test_swe_agent_and_openhands_are_read_whole(corpus_dir: Path) -> None:
    runs = list(read_trajectories("swe-agent", corpus_dir / "swe-agent"))
    assert (len(runs), len(steps_of(runs)), len(calls_of(runs))) == (6, 49, 49)
    assert [call.name for call in calls_of(runs) if not call.executed] == ["submit"]
    logs = list(read_trajectories("openhands", corpus_dir / "openhands-sdk"))
    assert [(run.trial.model, len(run.lanes[0].steps)) for run in logs if run.trial] == [
        ("litellm_proxy/claude-sonnet-4-20250514", 6),
        ("litellm_proxy/deepseek-chat", 4),
    ]
    for run in logs:
        assert all(call.executed for step in run.lanes[0].steps[:-1] for call in step.calls)
        assert all(step.usage and step.cost_usd for step in run.lanes[0].steps)
    lists = corpus_dir / "openhands-sdk" / "llm_data"
    for name, steps in (("fncall-llm-message.json", 6), ("nonfncall-llm-message.json", 4)):
        (run,) = read_trajectories("messages", lists / name)
        assert len(run.lanes[0].steps) == steps
