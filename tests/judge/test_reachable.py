"""What a scenario expects and can never see is found before anybody runs it (bug report J04)."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cassette.dialects.vcrpy import dump_vcrpy
from harness.judge.lint import check_paths
from harness.judge.reachable import Unseen, unseen
from harness.judge.verdict import Verdict
from harness.scenario.format import load_scenario
from harness.wire.exchange import Exchange, Request, Response
from tests.scenario.scenarios import scenario

SCRIPT = """\
prompt: Is it there?
player:
  script:
    - calls: [{tool: report, arguments: {detected: true, detail: a cat}}, {tool: functions.Read, arguments: {path: a}}]
    - text: Sorry.
expect:
"""
NEUTRAL = """\
prompt: a
player: {script: [{read: a.txt}, {text: b}]}
expect:
"""
LIVE = """\
prompt: a
player: {live: true}
expect:
"""


def found(expectation: str, text: str = SCRIPT) -> list[tuple[str, str]]:
    return [(one.key, one.code) for one in unseen(scenario(f"{text}  {expectation}\n"))]


@pytest.mark.parametrize(
    "expectation",
    [
        "calls: [{tool: report}, {tool: Read}]",
        "calls: [{tool: report, arguments: {detected: true, detail: {$matches: cat}}}, {tool: Read}]",
        "trajectory: {mode: superset, calls: [{tool: report, arguments_include: {detected: true}}]}",
        "trajectory: {mode: subset, calls: [{tool: Grep}]}",
        "counts: {tools: {Grep: 0, report: 1, Edit: {max: 3}}, forbidden: [Bash]}",
        "final_text: {contains: Sorry}",
        "final_text: {lacks: cat}",
    ],
)
def test_what_can_be_seen_is_no_finding(expectation: str) -> None:
    assert found(expectation) == []


@pytest.mark.parametrize(
    ("expectation", "place", "code"),
    [
        ("calls: [{tool: report}, {tool: Grep}]", "expect.calls[1]", "call_never_seen"),
        ("calls: [{tool: report, arguments: {detected: true}}]", "expect.calls[0]", "call_never_seen"),
        ("calls: [{tool: report, arguments: '{}'}]", "expect.calls[0]", "call_never_seen"),
        (
            "trajectory: {mode: ordered, calls: [{tool: Read}, {tool: report, arguments_include: {detected: 0}}]}",
            "expect.trajectory[0].calls[1]",
            "call_never_seen",
        ),
        ("lanes: {task-1: {calls: [{tool: Grep}]}}", "expect.lanes.task-1.calls[0]", "call_never_seen"),
        ("counts: {tools: {Grep: {min: 1}}}", "expect.counts.tools.Grep", "call_never_seen"),
        ("final_text: {contains: a cat}", "expect.final_text", "text_never_seen"),
        ("final_text: a dog", "expect.final_text", "text_never_seen"),
    ],
)
def test_j04_what_can_never_be_seen_is_found(expectation: str, place: str, code: str) -> None:
    assert found(expectation) == [(place, code)]


def test_j04_the_finding_says_where_the_text_stands_instead() -> None:
    (one,) = unseen(scenario(SCRIPT + "  final_text: {contains: a cat}\n"))
    assert one == Unseen(
        "expect.final_text",
        "text_never_seen",
        "no turn of the script says such a text: the text does not contain 'a cat'; "
        "it stands in the arguments of report",
        "look at the call's arguments (calls, trajectory)",
    )


def test_the_tools_that_a_neutral_script_may_use_are_those_offered() -> None:
    assert found("calls: [{tool: Read, arguments: {path: a.txt}}]", NEUTRAL) == []
    assert found("calls: [{tool: Teleport}]", NEUTRAL) == [("expect.calls[0]", "call_never_seen")]
    assert found("calls: [{tool: Read, arguments: {file: a.txt}}]", NEUTRAL) == [("expect.calls[0]", "call_never_seen")]
    other = NEUTRAL.replace("prompt: a\n", "prompt: a\nagent: {command: [cat]}\n")
    assert found("calls: [{tool: Teleport}]", other) == []


def test_a_live_model_can_use_what_it_is_offered_and_be_refused_for_all_else() -> None:
    assert found("trajectory: {mode: superset, calls: [{tool: Read, arguments_include: {path: x}}]}", LIVE) == []
    assert found("calls: [{tool: Teleport}]", LIVE) == [("expect.calls[0]", "call_never_seen")]
    assert found("calls: [{tool: Teleport, error_code: UNKNOWN_TOOL}]", LIVE) == []
    assert found("calls: [{tool: Read, arguments_include: {nowhere: 1}}]", LIVE) == [
        ("expect.calls[0]", "call_never_seen")
    ]


def test_nothing_is_said_where_faults_change_the_answers() -> None:
    faulty = SCRIPT.replace("player:\n", "player:\n  faults: [drop]\n")
    assert found("calls: [{tool: Grep}]", faulty) == []


def test_of_a_cassette_the_recorded_calls_are_what_can_be_seen(tmp_path: Path) -> None:
    body = (
        b'{"choices":[{"message":{"content":null,"tool_calls":[{"id":"c","type":"function","function":'
        b'{"name":"weather","arguments":"{\\"city\\": \\"Oslo\\"}"}}]},"finish_reason":"tool_calls"}]}'
    )
    request = Request("POST", "https://models.example/v1/chat/completions", (), b'{"messages":[]}')
    (tmp_path / "c.yaml").write_bytes(dump_vcrpy([Exchange(request, Response(200, (), body))]))
    path = tmp_path / "s.yaml"

    def of(expectation: str) -> list[str]:
        path.write_text(f"prompt: a\nplayer: {{cassette: c.yaml}}\nexpect: {expectation}\n", "utf-8")
        return [one.key for one in unseen(load_scenario(path))]

    # Folders in a recorded call may be mapped to the run's own, so values are not compared.
    assert of("{calls: [{tool: weather, arguments: {city: Rome}}]}") == []
    assert of("{calls: [{tool: weather, arguments: {town: Oslo}}]}") == ["expect.calls[0]"]
    assert of("{calls: [{tool: forecast}]}") == ["expect.calls[0]"]


def test_harness_check_fails_such_a_scenario_and_says_each_thing_once(tmp_path: Path) -> None:
    text = f"{SCRIPT}  calls: [{{tool: Grep}}]\nmatrix:\n- name: one\n- name: two\n  agent: {{stream: true}}\n"
    (tmp_path / "s.yaml").write_text(text, "utf-8")
    checked = check_paths([tmp_path])
    assert checked.verdict is Verdict.FAIL
    (finding,) = checked.findings
    assert (finding.path, finding.code) == ("expect.calls[0]", "call_never_seen")
    assert "Grep is never called" in finding.what
