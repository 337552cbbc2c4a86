"""Each expectation passes where it holds and fails, with a first line that says so, where it does not."""

from __future__ import annotations

import pytest

from harness.judge.checks import judge_scenario
from harness.judge.verdict import Verdict
from harness.scenario.runner import run_scenario
from tests.scenario.scenarios import scenario

RUN = """\
workspace:
  files:
    a.txt: "alpha\\n"
    keep.txt: {base64: AP8=}
prompt: Work.
player:
  script:
    - calls:
        - {tool: Read, arguments: {path: a.txt}}
        - {tool: Glob, arguments: {pattern: "*"}}
        - {tool: Edit, arguments: {path: a.txt, old_string: alpha, new_string: beta}}
    - calls: [{tool: Bash, arguments: {command: sudo id}}]
    - text: All done.
expect:
"""

HOLDS = [
    "outcome: answered",
    "outcome: [cut, answered]",
    "reason: {contains: without a call}",
    "final_text: All done.",
    "final_text: {contains: [All, done], matches: '^All'}",
    "steps: 3",
    "calls: [{tool: Read}, {tool: Glob}, {tool: Edit}, {tool: Bash}]",
    """calls:
    - {tool: Read, id: call_1_1, arguments: {path: a.txt}, status: success, executed: true, truncated: false}
    - {tool: Glob, arguments: '{"pattern": "*"}', contains: a.txt}
    - {tool: Edit}
    - {tool: Bash, error_code: PERMISSION_DENIED, executed: false}""",
    "batches: [[{concurrent: [Read, Glob]}, {serial: [Edit]}], [{serial: [Bash]}]]",
    'files: {a.txt: "beta\\n", keep.txt: {unchanged: true}, other.txt: {absent: true}}',
    "files: {a.txt: {contains: et, matches: '^b'}, keep.txt: {base64: AP8=}}",
    "tools: [{step: 1, shown: [Read], hidden: [Teleport]}]",
    "budget: {per_result_bytes: 51200, total_bytes: 204800}",
]

BREAKS = [
    ("outcome: step_limit", "the run ended as answered"),
    ("reason: {contains: hurry}", "reason: the text does not contain 'hurry'"),
    ("final_text: Done.", "final_text: the text differs"),
    ("final_text: {matches: '^Done'}", "does not match '^Done'"),
    ("steps: 2", "steps is 3, expected 2"),
    ("calls: []", "call 1 is Read, expected no call"),
    ("calls: [{tool: Read}, {tool: Edit}, {tool: Glob}, {tool: Bash}]", "step 1: call 2 is Glob, expected Edit"),
    ("calls: [{tool: Read}, {tool: Glob}, {tool: Edit}]", "call 4 is Bash, expected no call"),
    (
        "calls: [{tool: Read, status: error}, {tool: Glob}, {tool: Edit}, {tool: Bash}]",
        "step 1 call 1 (Read): status is success, expected error",
    ),
    (
        "calls: [{tool: Read, arguments: {path: b}}, {tool: Glob}, {tool: Edit}, {tool: Bash}]",
        'arguments are {"path": "a.txt"}, expected {"path": "b"}',
    ),
    (
        "calls: [{tool: Read, contains: omega}, {tool: Glob}, {tool: Edit}, {tool: Bash}]",
        "the observation does not contain 'omega'",
    ),
    (
        "calls: [{tool: Read}, {tool: Glob}, {tool: Edit}, {tool: Bash, executed: true}]",
        "executed is False, expected True",
    ),
    (
        "batches: [[{concurrent: [Read, Glob, Edit]}], [{serial: [Bash]}]]",
        "step 1: the batches are concurrent(Read, Glob)",
    ),
    ("batches: [[{concurrent: [Read, Glob]}, {serial: [Edit]}]]", "2 steps with calls, expected 1"),
    ('files: {a.txt: "alpha\\n"}', "file a.txt: the content differs"),
    ("files: {keep.txt: {absent: true}}", "file keep.txt: the file exists"),
    ("files: {a.txt: {unchanged: true}}", "file a.txt: the content differs"),
    ('files: {b.txt: "x"}', "file b.txt: there is no such file"),
    ("files: {b.txt: {contains: x}}", "file b.txt: there is no such file"),
    ("files: {keep.txt: {base64: AAA=}}", "file keep.txt: the content differs"),
    ("tools: [{step: 1, hidden: [Read]}]", "step 1: Read is offered"),
    ("tools: [{step: 1, shown: [Teleport]}]", "Teleport is not offered"),
    ("tools: [{step: 9, shown: [Read]}]", "there is no step 9"),
    ("budget: {per_result_bytes: 10}", "step 1: "),
    ("budget: {total_bytes: 10}", "the budget is 10"),
    ("notes: {contains: something}", "notes: the text does not contain"),
]


@pytest.mark.parametrize("expectation", HOLDS)
def test_an_expectation_that_holds_passes(expectation: str) -> None:
    case = judge_scenario(run_scenario(scenario(f"{RUN}  {expectation}\n")), "t.yaml")
    assert case.verdict is Verdict.PASS, case.first_line
    assert case.first_line == ""


@pytest.mark.parametrize(("expectation", "line"), BREAKS)
def test_an_expectation_that_does_not_hold_fails_and_says_so(expectation: str, line: str) -> None:
    case = judge_scenario(run_scenario(scenario(f"{RUN}  {expectation}\n")), "t.yaml")
    assert case.verdict is Verdict.FAIL
    assert line in case.first_line


def test_without_expectations_nothing_has_passed() -> None:
    case = judge_scenario(run_scenario(scenario(RUN.replace("expect:\n", ""))), "t.yaml")
    assert case.verdict is Verdict.INCONCLUSIVE


def test_a_request_that_a_strict_server_refuses_fails_by_default() -> None:
    outcome = run_scenario(scenario(RUN + "  steps: 3\n"))
    messages = outcome.requests[1]["messages"]
    assert isinstance(messages, list)
    del messages[2]
    case = judge_scenario(outcome, "t.yaml")
    assert case.verdict is Verdict.FAIL
    assert "result_missing" in case.first_line


def test_facts_count_steps_calls_and_recorded_tokens() -> None:
    text = RUN.replace("text: All done.", "text: All done.\n      usage: {prompt_tokens: 7, completion_tokens: 1}")
    facts = judge_scenario(run_scenario(scenario(text + "  steps: 3\n")), "t.yaml").facts
    assert facts == {"model": "scripted", "steps": 3, "tool_calls": 4, "prompt_tokens": 7}
