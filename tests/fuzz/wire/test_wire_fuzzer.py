from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.fuzz.wire import WireAgent, WireFinding, WireReport, WireSpec, fuzz_agent, save_wire
from harness.judge.checks import judge_scenario
from harness.judge.verdict import Verdict
from harness.scenario.format import load_scenario
from harness.scenario.outcome import ScenarioRun
from harness.scenario.runner import run_scenario

AGENTS = "tests.fuzz.wire.agents"


def fuzzed(name: str, spec: WireSpec, kept: list[WireFinding] | None = None) -> WireReport:
    return fuzz_agent(WireAgent(f"{AGENTS}:{name}"), spec, keep=(kept if kept is not None else []).append)


def causes(report: WireReport) -> list[str]:
    return [finding.cause for finding in report.findings]


def judged(path: Path) -> Verdict:
    return judge_scenario(run_scenario(load_scenario(path)), str(path)).verdict


@pytest.mark.parametrize("name", ["sound", "streaming"])
def test_a_sound_agent_has_no_finding(name: str) -> None:
    report = fuzzed(name, WireSpec(seed=3, examples=8))
    assert causes(report) == []
    assert report.coverage.examples == 8


@pytest.mark.parametrize(
    ("name", "seed", "cause", "twin"),
    [
        ("trusts_arguments", 1, "the agent's end", "sound"),
        ("leaves_unknown_tools", 2, "protocol: result_missing", "sound"),
        ("repeats_arguments", 1, "protocol: arguments_not_json", "sound"),
        ("asks_for_ever", 1, "every request answered", "sound"),
        ("takes_what_has_come", 9, "protocol: incomplete_call_used", "streaming"),
    ],
)
def test_a_fault_is_found_made_small_and_kept(name: str, seed: int, cause: str, twin: str, tmp_path: Path) -> None:
    without = ("arguments_not_json",) if cause != "protocol: arguments_not_json" else ()
    spec = WireSpec(seed=seed, examples=1, without=without)
    found = next(one for one in fuzzed(name, spec).findings if one.cause == cause)
    assert sum(len(turn.calls) for turn in found.example.turns) == 1
    assert found.again
    path = save_wire(found, f"{AGENTS}:{name}", spec.rules, tmp_path)
    assert found.why in load_scenario(path).description
    assert judged(path) is Verdict.FAIL
    mended = path.with_name("mended.yaml")
    mended.write_text(path.read_text("utf-8").replace(f":{name}", f":{twin}"), "utf-8")
    assert judged(mended) is Verdict.PASS
    before = path.read_text("utf-8")
    path.write_text(before + "# mine\n", "utf-8")
    assert save_wire(found, f"{AGENTS}:{name}", spec.rules, tmp_path) == path
    assert path.read_text("utf-8").endswith("# mine\n"), "what is there already stays"


def test_workers_change_nothing_but_the_time() -> None:
    spec = WireSpec(seed=2, examples=4, without=("arguments_not_json", "id_used_twice"))
    alone, two = (fuzzed("leaves_unknown_tools", replace(spec, workers=workers)) for workers in (1, 2))
    assert alone == two
    assert causes(alone)


def test_a_cause_is_told_once_and_what_it_explains_is_not_told_again() -> None:
    report = fuzzed("trusts_arguments", WireSpec(seed=1, examples=4, without=("arguments_not_json",)))
    assert causes(report) == ["the agent's end"]
    assert {check.name for check in report.findings[0].checks} >= {"the agent's end", "outcome"}


def test_rules_can_be_left_out() -> None:
    spec = WireSpec(seed=1, examples=2, without=("arguments_not_json", "arguments_not_an_object", "call_without_name"))
    assert "protocol: arguments_not_json" not in causes(fuzzed("repeats_arguments", spec))


def objects(outcome: ScenarioRun) -> str | None:
    """An oracle of a user: this agent may not ask more than once."""
    return "it asked again" if len(outcome.requests) > 1 else None


def test_an_oracle_of_the_user_is_given_the_whole_run(tmp_path: Path) -> None:
    name = f"{__name__}:objects"
    spec = WireSpec(seed=1, examples=1, own=(name,))
    (found,) = fuzzed("sound", spec).findings
    assert (found.cause, found.why) == (name, f"{name}: it asked again")
    path = save_wire(found, f"{AGENTS}:sound", spec.rules, tmp_path)
    assert judged(path) is Verdict.FAIL


def test_an_oracle_that_is_not_there_is_an_error_before_anything_is_played() -> None:
    with pytest.raises(InputError, match="nowhere:nothing cannot be imported"):
        fuzzed("sound", WireSpec(own=("nowhere:nothing",)))


def test_time_ends_a_run_too() -> None:
    report = fuzzed("sound", WireSpec(seed=1, examples=None, seconds=0.01))
    assert 1 <= report.coverage.examples < 20


def test_what_was_found_before_an_interrupt_is_kept() -> None:
    kept: list[WireFinding] = []

    def interrupt(examples: int, _: int) -> None:
        if examples == 2:
            raise KeyboardInterrupt

    spec = WireSpec(seed=1, examples=9, without=("call_without_name", "arguments_not_an_object"))
    agent = WireAgent(f"{AGENTS}:repeats_arguments")
    report = fuzz_agent(agent, spec, keep=kept.append, on_progress=interrupt)
    assert report.interrupted
    assert report.coverage.examples == 2
    assert kept == report.findings != []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupt_ends_what_agents_have_begun_and_no_more(number: signal.Signals, workers: int) -> None:
    def interrupt(examples: int, _: int) -> None:
        if examples == 2:
            signal.raise_signal(number)

    spec = WireSpec(seed=1, examples=9, workers=workers)
    report = fuzz_agent(WireAgent(f"{AGENTS}:sound"), spec, on_progress=interrupt)
    assert report.interrupted
    assert 2 <= report.coverage.examples <= 2 + workers


def test_a_failure_that_does_not_come_again_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    play = WireAgent.play

    def once(self: WireAgent, example: object, rules: object) -> object:
        asked.append(1)
        name = "trusts_arguments" if len(asked) == 1 else "sound"
        return play(WireAgent(f"{AGENTS}:{name}"), example, rules)  # type: ignore[arg-type]

    monkeypatch.setattr(WireAgent, "play", once)
    (found,) = fuzzed("sound", WireSpec(seed=1, examples=1)).findings
    assert not found.again


def test_every_call_is_counted_with_what_became_of_it() -> None:
    coverage = fuzzed("sound", WireSpec(seed=3, examples=6)).coverage
    for axis in ("arguments", "name", "id", "fault"):
        assert sum(row.tried for row in coverage.rows() if row.axis == axis) == coverage.calls > 0
    assert sum(row.outcomes["answered"] for row in coverage.rows() if row.axis == "fault" and row.family == "none") > 0
