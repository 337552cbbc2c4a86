from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import InputError
from harness.judge.attribution import attribute_scenario
from harness.judge.checks import judge_scenario
from harness.judge.verdict import Attribution, Verdict
from harness.scenario.dry_trial import is_needed
from harness.scenario.format import Scenario, load_scenario
from harness.scenario.outcome import ScenarioRun
from harness.scenario.policy import ReplayPolicy
from harness.scenario.runner import run_scenario

SCENARIO = """\
agent:
  registry: tests.fuzz.killers:{factory}
  shell: spy
prompts:
  - text: Go on.
  - text: Go on.
player:
  script:
    - calls: [{{tool: search, arguments: {{word: one}}}}]
    - text: done
    - calls: [{{tool: search, arguments: {{word: {word}}}}}]
    - text: done
expect:
  pipeline:
    within_s: 1.0
"""


def scenario(folder: Path, factory: str, word: str) -> Scenario:
    path = folder / "scenario.yaml"
    path.write_text(SCENARIO.format(factory=factory, word=word), "utf-8")
    return load_scenario(path)


def tools_run(outcome: ScenarioRun) -> list[str]:
    return [run.parameters["word"] for step in outcome.seen for run in step.runs]


@pytest.mark.parametrize(
    ("factory", "word", "why"),
    [
        ("leaves", "a", "it ended the process (exit code 3)"),
        ("backtracks", "'#'", "it did not end within 1 s, and held the interpreter"),
    ],
)
def test_what_a_turn_does_to_the_process_fails_the_scenario_and_the_turns_before_are_seen(
    factory: str, word: str, why: str, tmp_path: Path
) -> None:
    outcome = run_scenario(scenario(tmp_path, factory, word))
    assert outcome.run.lanes[0].reason == why
    assert tools_run(outcome) == ["one"]
    case = attribute_scenario(judge_scenario(outcome, ""), outcome)
    assert (case.verdict, case.attribution) == (Verdict.FAIL, Attribution.AGENT)


def test_what_ends_is_run_as_any_other(tmp_path: Path) -> None:
    outcome = run_scenario(scenario(tmp_path, "leaves", "two"))
    assert tools_run(outcome) == ["one", "two"]
    assert judge_scenario(outcome, "").verdict is Verdict.PASS


def test_a_target_that_ends_the_process_while_it_is_made_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"agent: it ended the process \(exit code 3\) while it was made"):
        run_scenario(scenario(tmp_path, "stillborn", "two"))


def test_only_what_has_to_end_in_time_is_tried_and_never_a_live_model(tmp_path: Path) -> None:
    timed = scenario(tmp_path, "sound", "two")
    assert is_needed(timed, ReplayPolicy())
    assert not is_needed(timed, ReplayPolicy(on_miss="live"))
    path = tmp_path / "scenario.yaml"
    path.write_text(path.read_text("utf-8").replace("within_s: 1.0", "runs: []"), "utf-8")
    assert not is_needed(load_scenario(path), ReplayPolicy())
