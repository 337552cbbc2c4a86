"""Each expectation passes where it holds and fails, with a first line that says so, where it does not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.judge.checks import judge_scenario
from harness.judge.verdict import Case, Verdict
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
    "steps: {min: 3, max: 3}",
    "final_text: {lacks: [Error, sorry]}",
    "trajectory: {mode: ordered, calls: [{tool: Read}, {tool: Bash, status: error}]}",
    """trajectory:
    - {mode: superset, calls: [{tool: Edit, arguments_include: {new_string: {$matches: "^b"}}}]}
    - {mode: subset, lane: all, calls: [{tool: Bash}, {tool: Edit}, {tool: Glob}, {tool: Read}, {tool: Grep}]}
    - {mode: unordered, lane: main, calls: [{tool: Bash}, {tool: Edit}, {tool: Glob}, {tool: Read}]}""",
    """counts:
    calls: {max: 4}
    tools: {Read: 1, Grep: 0, Edit: {min: 1}}
    forbidden: [Grep, {tool: Bash, arguments_include: {command: {$matches: "rm"}}}]
    max_identical: 1""",
    'files: {a.txt: {diff: "-alpha\\n+beta\\n"}}',
    "changed: [a.txt]",
    'changed: ["*.txt"]',
    'untouched: [keep.txt, "src/**"]',
    "python: helpers.py:nothing_wrong",
    "protocol: on",
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
        'step 1 call 1 (Read): arguments $.path: "b" -> "a.txt"',
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
    ("steps: {max: 2}", "steps is 3, expected at most 2"),
    ("steps: {min: 4}", "steps is 3, expected at least 4"),
    ("final_text: {lacks: done}", "final_text: the text contains 'done'"),
    (
        "final_text: {contains: sudo id}",
        "final_text: the text does not contain 'sudo id'; it stands in the arguments of step 2 call 1 (Bash)",
    ),
    (
        "trajectory: {mode: superset, calls: [{tool: Edit, arguments_include: {new_string: {$matches: '^c'}}}]}",
        'step 1 call 3 (Edit): arguments $.new_string: /^c/ -> "beta"',
    ),
    ("trajectory: {mode: subset, lane: task-1, calls: []}", "there is no lane task-1 (lanes: main)"),
    ("counts: {lane: task-1, calls: 1}", "there is no lane task-1 (lanes: main)"),
    ("counts: {calls: {max: 3}}", "the number of calls is 4, expected at most 3"),
    ("counts: {tools: {Read: 2}}", "the number of calls of Read is 1, expected 2"),
    ("counts: {forbidden: [Bash]}", 'step 2 call 1 (Bash): Bash is forbidden, and Bash(command: "sudo id") was made'),
    ('files: {a.txt: {diff: "-alpha\\n+gamma\\n"}}', "file a.txt: the file was changed in another way"),
    ('files: {keep.txt: {diff: "-alpha\\n+gamma\\n"}}', "file keep.txt: the file is as it was"),
    ('files: {gone.txt: {diff: "+alpha\\n"}}', "file gone.txt: there is no such file"),
    ("changed: []", "a.txt was changed, which is not expected"),
    ("changed: [a.txt, keep.txt]", "keep.txt was not changed"),
    ('untouched: ["*.txt"]', "a.txt was changed"),
    ("python: helpers.py:four_steps", "helpers.py:four_steps: 3 steps"),
    ("python: [helpers.py:nothing_wrong, helpers.py:says_no]", "helpers.py:says_no: helpers.py:says_no says no"),
    ("python: helpers.py:asserts_silently", "assert outcome.requests == [] does not hold"),
]

HELPERS = """
def nothing_wrong(outcome):
    assert outcome.files_after["a.txt"] == b"beta\\n"

def four_steps(outcome):
    steps = len(outcome.run.lanes[0].steps)
    return steps == 4 or f"{steps} steps"

def says_no(outcome):
    return False

def asserts_silently(outcome):
    assert outcome.requests == []

def raises(outcome):
    return outcome.no_such_thing

def answers_oddly(outcome):
    return 3
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "helpers.py").write_text(HELPERS, "utf-8")
    return tmp_path


def judged(folder: Path, expectation: str, text: str = RUN) -> Case:
    return judge_scenario(run_scenario(scenario(f"{text}  {expectation}\n", str(folder / "t.yaml"))), "t.yaml")


@pytest.mark.parametrize("expectation", HOLDS)
def test_an_expectation_that_holds_passes(expectation: str, folder: Path) -> None:
    case = judged(folder, expectation)
    assert case.verdict is Verdict.PASS, case.first_line
    assert case.first_line == ""


@pytest.mark.parametrize(("expectation", "line"), BREAKS)
def test_an_expectation_that_does_not_hold_fails_and_says_so(expectation: str, line: str, folder: Path) -> None:
    case = judged(folder, expectation)
    assert case.verdict is Verdict.FAIL
    assert line in case.first_line


@pytest.mark.parametrize(
    ("expectation", "line"),
    [
        ("python: helpers.py:raises", "helpers.py:raises raised AttributeError"),
        ("python: helpers.py:answers_oddly", "helpers.py:answers_oddly gave int"),
        ("python: helpers.py:gone", "helpers.py:gone is not there"),
        ("python: nowhere.py:gone", "there is no file nowhere.py"),
        (
            "calls: [{tool: Read, arguments_python: helpers.py:raises}, {tool: Glob}, {tool: Edit}, {tool: Bash}]",
            "raised",
        ),
        ("counts: {forbidden: [{tool: Read, arguments_python: helpers.py:raises}]}", "raised AttributeError"),
    ],
)
def test_a_check_that_is_broken_has_judged_nothing(expectation: str, line: str, folder: Path) -> None:
    case = judged(folder, expectation)
    assert case.verdict is Verdict.ERROR
    assert line in case.first_line


def test_the_calls_are_told_before_what_follows_from_them(folder: Path) -> None:
    case = judged(folder, "{steps: 2, final_text: x, calls: [{tool: Read}, {tool: Bash}, {tool: Glob}, {tool: Edit}]}")
    assert case.first_line == "step 1: call 2 is Glob, expected Bash (Bash comes as call 4)"
    failed = [check for check in case.checks if check.verdict is Verdict.FAIL]
    assert [check.name for check in failed] == ["calls", "steps", "final_text"]
    assert "- Bash" in failed[0].details


def test_the_first_call_that_differs_shows_both_lists(folder: Path) -> None:
    expectation = (
        "calls: [{tool: Read, arguments: {path: b}}, {tool: Glob}, {tool: Edit}, {tool: Bash, executed: true}]"
    )
    details = [check.details for check in judged(folder, expectation).checks if check.verdict is Verdict.FAIL]
    assert details[0].splitlines()[1].startswith('≠ Read(path: "b")')
    assert details[1] == ""


def test_more_identical_calls_than_allowed_are_named_whatever_order_their_keys_have() -> None:
    text = RUN.replace(
        "- calls: [{tool: Bash, arguments: {command: sudo id}}]",
        '- calls: [{tool: Grep, arguments: \'{"pattern":"x","path":"."}\'}]\n'
        "    - calls: [{tool: Grep, arguments: {path: ., pattern: x}}]",
    )
    case = judged(Path(), "counts: {max_identical: 1}", text)
    assert case.verdict is Verdict.FAIL
    assert case.first_line.endswith("was made 2 times, at most 1 were expected")
    assert case.first_line.startswith("step 3 call 1 (Grep)")
    assert judged(Path(), "counts: {max_identical: 2}", text).verdict is Verdict.PASS


def test_what_an_agent_does_not_tell_of_its_calls_is_inconclusive(folder: Path) -> None:
    outcome = run_scenario(scenario(RUN + "  steps: 3\n"))
    for step_index, step in enumerate(outcome.run.lanes[0].steps):
        calls = tuple(
            replace(
                call, executed=None, status=None, error_code=None, batch=None, concurrency_safe=None, observation=""
            )
            for call in step.calls
        )
        outcome.run.lanes[0].steps[step_index] = replace(step, calls=calls)
    for expectation, line in (
        ("calls: [{tool: Read, status: success}, {tool: Glob}, {tool: Edit}, {tool: Bash}]", "status is expected"),
        ("calls: [{tool: Read, contains: alpha}, {tool: Glob}, {tool: Edit}, {tool: Bash}]", "contains is expected"),
        ("calls: [{tool: Read}, {tool: Glob}, {tool: Edit, truncated: false}, {tool: Bash}]", "truncated is expected"),
        ("batches: [[{concurrent: [Read, Glob]}, {serial: [Edit]}], [{serial: [Bash]}]]", "batches are expected"),
        ("counts: {forbidden: [{tool: Bash, executed: true}]}", "executed is expected"),
    ):
        outcome.scenario = scenario(f"{RUN}  {expectation}\n")
        case = judge_scenario(outcome, "t.yaml")
        assert case.verdict is Verdict.INCONCLUSIVE, expectation
        assert line in case.first_line
    outcome.scenario = scenario(f"{RUN}  calls: [{{tool: Read}}, {{tool: Glob}}, {{tool: Edit}}, {{tool: Bash}}]\n")
    assert judge_scenario(outcome, "t.yaml").verdict is Verdict.PASS


def test_j04_a_text_that_stands_in_a_call_is_found_there() -> None:
    text = """\
    prompt: Is it there?
    agent: {tools: [TodoWrite]}
    player:
      script:
        - calls: [{tool: report, arguments: {detected: true, detail: "a cat"}}]
        - text: Sorry, something went wrong.
    expect:
      final_text: {contains: a cat}
    """
    case = judge_scenario(run_scenario(scenario(text)), "t.yaml")
    assert case.verdict is Verdict.FAIL
    assert case.first_line == (
        "final_text: the text does not contain 'a cat'; it stands in the arguments of step 1 call 1 (report)"
    )
    right = text.replace(
        "final_text: {contains: a cat}",
        "trajectory: {mode: superset, calls: [{tool: report, arguments_include: {detected: true}}]}",
    )
    assert judge_scenario(run_scenario(scenario(right)), "t.yaml").verdict is Verdict.PASS


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


@pytest.mark.parametrize(
    ("protocol", "verdict", "mark"),
    [
        ("on", Verdict.FAIL, None),
        ("{without: [result_twice]}", Verdict.FAIL, "protocol rules off: result_twice"),
        ("{without: [result_missing]}", Verdict.PASS, "protocol rules off: result_missing"),
        ("off", Verdict.PASS, "protocol rules off: all"),
    ],
)
def test_rules_that_are_off_are_said_in_every_output(protocol: str, verdict: Verdict, mark: str | None) -> None:
    outcome = run_scenario(scenario(f"{RUN}  protocol: {protocol}\n"))
    messages = outcome.requests[1]["messages"]
    assert isinstance(messages, list)
    del messages[2]
    case = judge_scenario(outcome, "t.yaml")
    assert (case.verdict, case.facts.get("marks")) == (verdict, mark)


def test_a_rule_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="'result_gone' is no rule"):
        scenario(f"{RUN}  protocol: {{without: [result_gone]}}\n")


@pytest.mark.parametrize(
    ("expectation", "why"),
    [
        ("steps: {min: 2, max: 1}", "min is above max"),
        ("steps: {}", "a count has min, max or both"),
        ("python: no_function", "is not module:function"),
        ("final_text: {matches: '('}", "no regular expression"),
        ('changed: [""]', "the pattern is empty"),
        ("trajectory: {mode: loose, calls: []}", "expect.trajectory"),
    ],
)
def test_an_expectation_that_says_nothing_is_refused(expectation: str, why: str) -> None:
    with pytest.raises(InputError) as caught:
        scenario(f"{RUN}  {expectation}\n")
    assert why in str(caught.value)


def test_facts_count_steps_calls_and_recorded_tokens() -> None:
    text = RUN.replace("text: All done.", "text: All done.\n      usage: {prompt_tokens: 7, completion_tokens: 1}")
    facts = judge_scenario(run_scenario(scenario(text + "  steps: 3\n")), "t.yaml").facts
    assert facts == {"model": "scripted", "steps": 3, "tool_calls": 4, "prompt_tokens": 7}
