from __future__ import annotations

from pathlib import Path

import pytest

from harness.judge.checks import judge_scenario
from harness.judge.verdict import Verdict
from harness.scenario.format import load_scenario
from harness.scenario.runner import run_scenario
from tests.scenario.scenarios import READ_AND_ANSWER, scenario

SHIPPED = Path(__file__).resolve().parents[2] / "scenarios" / "tokens" / "five-verbose-tools.yaml"
AGENT = "agent: {model: gpt-4o}\n"


def judged(bound: str) -> tuple[Verdict, str]:
    case = judge_scenario(run_scenario(scenario(f"{AGENT}{READ_AND_ANSWER}  tokens: {bound}\n")), "t.yaml")
    return case.verdict, case.first_line


@pytest.mark.seed("M01")
def test_five_definitions_over_twenty_turns_cost_thirty_thousand_tokens() -> None:
    case = judge_scenario(run_scenario(load_scenario(SHIPPED)), str(SHIPPED))
    assert case.verdict is Verdict.PASS
    assert case.facts["steps"] == 20
    assert case.facts["tools_tokens"] == 20 * 1500
    assert "tool schemas take 30,000 of" in str(case.facts["marks"])


@pytest.mark.parametrize(
    "bound",
    [
        "{tools_tokens: 5000}",
        "{tools_share: 1}",
        "{prompt_tokens: 100000, tools_tokens_total: 50000}",
        "{baseline: {prompt_tokens: 100000}}",
    ],
)
def test_a_bound_that_is_kept_passes(bound: str) -> None:
    assert judged(bound) == (Verdict.PASS, "")


@pytest.mark.parametrize(
    ("bound", "line"),
    [
        ("{tools_tokens: 10}", "request 1: tools_tokens is "),
        ("{tools_share: 0.01}", "request 1: tools_share is "),
        ("{prompt_tokens: 10}", "prompt_tokens is "),
        ("{tools_tokens_total: 10}", "tools_tokens_total is "),
        ("{baseline: {prompt_tokens: 100, percent: 5}}", "baseline is "),
    ],
)
def test_a_bound_that_is_passed_fails_and_names_request_and_figure(bound: str, line: str) -> None:
    verdict, first_line = judged(bound)
    assert verdict is Verdict.FAIL
    assert first_line.startswith(line)
    assert "were expected" in first_line


def test_the_costliest_tools_are_named() -> None:
    text = f"{AGENT}{READ_AND_ANSWER}  tokens: {{tools_tokens: 10}}\n"
    case = judge_scenario(run_scenario(scenario(text)), "t.yaml")
    failed = next(check for check in case.checks if check.verdict is Verdict.FAIL)
    assert failed.details.startswith("the costliest tools: ")


def test_a_baseline_allows_its_percentage_and_no_more() -> None:
    text = f"{AGENT}{READ_AND_ANSWER}  tokens: {{prompt_tokens: 1000000}}\n"
    total = judge_scenario(run_scenario(scenario(text)), "t.yaml").facts["counted_prompt_tokens"]
    assert isinstance(total, int)
    accepted = -(-total * 100 // 105)
    assert judged(f"{{baseline: {{prompt_tokens: {accepted}, percent: 5}}}}")[0] is Verdict.PASS
    assert judged(f"{{baseline: {{prompt_tokens: {accepted - 20}, percent: 5}}}}")[0] is Verdict.FAIL


def test_counts_of_models_that_are_not_openais_are_marked_as_estimates() -> None:
    text = f"agent: {{model: someone-elses}}\n{READ_AND_ANSWER}  tokens: {{prompt_tokens: 1000000}}\n"
    assert judge_scenario(run_scenario(scenario(text)), "t.yaml").facts["estimated"] is True
