"""Scenario files as tests."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from tests.plugin.conftest import Run
from tests.plugin.test_cassettes import failure

pytest_plugins = ["pytester"]

PASSES = """
prompt: Read a.txt
workspace: {files: {a.txt: hello}}
player:
  script:
    - calls: [{tool: Read, arguments: {path: a.txt}}]
    - text: It says hello.
expect:
  calls: [{tool: Read, status: success}]
  final_text: It says hello.
"""
FAILS = PASSES.replace("final_text: It says hello.", "final_text: It says goodbye.")
NOTHING_EXPECTED = PASSES.partition("expect:")[0]
BROKEN = PASSES.replace("workspace:", "workspce:")
CASSETTE = "interactions: []\nversion: 1\nplayer: x\nprompt: x\n"
FOREIGN = {
    "compose": "services: {web: {image: nginx}}\n",
    "prompts": "prompt: You are a helper\nmodel: small\n",
    "cassette": CASSETTE,
    "player": "player: {name: Kim}\n",
    "broken": "player: [\n",
    "indented": "game:\n  player: 1\n  prompt: 2\n",
}


def test_a_scenario_is_a_test(pytester: pytest.Pytester, run: Run) -> None:
    folder = pytester.mkdir("scenarios")
    (folder / "read.yaml").write_text(PASSES)
    (folder / "greet.yml").write_text(PASSES)
    result = run("-v")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["scenarios/greet.yml::greet PASSED*", "scenarios/read.yaml::read PASSED*"])
    run("scenarios/read.yaml").assert_outcomes(passed=1)
    run("scenarios/read.yaml::read").assert_outcomes(passed=1)
    run("-k", "greet").assert_outcomes(passed=1, deselected=1)


def test_a_failure_is_the_checks_text_without_a_traceback(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makefile(".yaml", read=FAILS)
    result = run("-ra", "--junitxml=report.xml")
    result.assert_outcomes(failed=1)
    lines = failure(result)
    assert "the text differs" in lines[0]
    assert "  expected: It says goodbye." in lines
    assert "  actual:   It says hello." in lines
    assert not any(".py" in line for line in lines)
    result.stdout.fnmatch_lines(["FAILED read.yaml::read - *the text differs*"])
    told = ET.parse(pytester.path / "report.xml").find(".//failure")
    assert told is not None
    assert "It says goodbye." in (told.text or "")


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (NOTHING_EXPECTED, "INCONCLUSIVE: nothing was checked"),
        (BROKEN, "ERROR: "),
        (PASSES.replace("script:", "cassette: missing.yaml\n  scrip:"), "ERROR: "),
    ],
)
def test_what_was_not_judged_fails_and_the_others_run(
    pytester: pytest.Pytester, run: Run, text: str, first: str
) -> None:
    pytester.makefile(".yaml", a_first=text, b_second=PASSES)
    result = run()
    result.assert_outcomes(failed=1, passed=1)
    assert failure(result)[0].startswith(first)


def test_an_error_in_a_scenario_names_file_line_and_key(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makefile(".yaml", read=BROKEN)
    first = failure(run())[0]
    assert "read.yaml:2" in first
    assert "workspce: unknown key (did you mean workspace?)" in first


@pytest.mark.parametrize("name", FOREIGN)
def test_other_yaml_is_left_alone(pytester: pytest.Pytester, run: Run, name: str) -> None:
    pytester.makefile(".yaml", foreign=FOREIGN[name])
    assert run().ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_a_named_file_is_taken_for_a_scenario_that_may_lack_something(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makefile(".yaml", read=PASSES.replace("player:", "playr:"))
    assert run().ret == pytest.ExitCode.NO_TESTS_COLLECTED
    result = run("read.yaml")
    result.assert_outcomes(failed=1)
    assert "playr" in failure(result)[0]


def test_the_setting_turns_scenarios_off_or_names_their_folders(pytester: pytest.Pytester, run: Run) -> None:
    for folder in ("here", "there"):
        (pytester.mkdir(folder) / "read.yaml").write_text(PASSES)
    (pytester.path / "here" / "lacks.yaml").write_text(PASSES.replace("player:", "playr:"))
    assert run("-o", "harness_scenarios=off").ret == pytest.ExitCode.NO_TESTS_COLLECTED
    run("-o", "harness_scenarios=here").assert_outcomes(passed=1, failed=1)
    run("-o", "harness_scenarios=here", "there/read.yaml").assert_outcomes(passed=1)
    assert run("-o", "harness_scenarios=off", "there").ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_the_variants_of_a_matrix_are_one_test_that_names_those_that_failed(
    pytester: pytest.Pytester, run: Run
) -> None:
    matrix = "matrix:\n  - {name: short, expect: {final_text: It says goodbye.}}\n  - {name: long}\n"
    pytester.makefile(".yaml", read=PASSES + matrix)
    result = run()
    result.assert_outcomes(failed=1)
    lines = failure(result)
    assert lines[0].startswith("read[short]: ")
    assert not any("read[long]" in line for line in lines)


def test_the_projects_configuration_holds_for_scenarios_and_a_fault_in_it_is_told(
    pytester: pytest.Pytester, run: Run
) -> None:
    pytester.makefile(".yaml", read=PASSES)
    pytester.makepyprojecttoml("[tool.pytest.ini_options]\n[tool.harness]\nallow_drift = ['weather']\n")
    result = run()
    result.assert_outcomes(failed=1)
    assert "'weather'" in "\n".join(failure(result))
    pytester.makepyprojecttoml("[tool.pytest.ini_options]\n[tool.harness]\nallow_drift = ['system']\n")
    run().assert_outcomes(passed=1)
