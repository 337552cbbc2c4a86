"""A project of users: its own agents, which know of the plugin and its documentation only."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from harness.cassette.dialects import load_cassette
from tests.plugin.conftest import LOAD, Run
from tests.plugin.test_cassettes import failure

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[2]
PROJECT = ROOT / "tests" / "projects" / "openai-agent"
PAGE = (ROOT / "docs" / "pytest.md").read_text("utf-8")

Check = Callable[..., subprocess.CompletedProcess[str]]


class Change(NamedTuple):
    """A change of the agent: what is replaced by what, in one or more files, and how its failure begins."""

    what: str
    edits: tuple[tuple[str, str, str], ...]
    test: str
    first_line: str


LISBON = "no recorded answer in lisbon.cassette.jsonl for POST /v1/chat/completions"
TWO_CALLS = "no recorded answer in test_two_calls_in_one_turn.cassette.jsonl for POST /v1/chat/completions"
ANSWERED = '    return [{"role": "tool"'
CREATED = (
    "        message = client.chat.completions.create(messages=messages, **desk.parameters()).choices[0].message\n"
)
QUIET = f"        try:\n    {CREATED}        except Exception:\n            return 'Lisbon is 74 euros.'\n"
PROMPT_CHANGED = 'the system prompt changed (system at $.messages[0].content, exchange 1 of 2): "terse" is now "brief"'
WORD = ("travel/desk.py", "one terse sentence", "one brief sentence")

CHANGES = [
    Change(
        "a word of the prompt",
        (WORD,),
        "checks/test_sync.py::test_a_question",
        f"{PROMPT_CHANGED}; {LISBON}",
    ),
    Change(
        "a tool's description",
        (("travel/desk.py", "cheapest one-way fare", "cheapest return fare"),),
        "checks/test_sync.py::test_a_question",
        "the description of the tool fare changed (tools at $.tools[0].function.description, exchange 1 of 2): "
        f'"one-way" is now "return"; {LISBON}',
    ),
    Change(
        "the order of the calls",
        (("travel/desk.py", "for key, name, text in calls]", "for key, name, text in reversed(calls)]"),),
        "checks/test_streamed.py::test_two_calls_in_one_turn",
        "the order changed: the result of sky stands where the result of fare was (history at $.messages[3], "
        f"exchange 2 of 2); {TWO_CALLS}",
    ),
    Change(
        "a result that is lost",
        (("travel/desk.py", ANSWERED, f"    calls = calls[:1]\n{ANSWERED}"),),
        "checks/test_streamed.py::test_two_calls_in_one_turn",
        f"the result of sky is gone (history at $.messages[4], exchange 2 of 2); {TWO_CALLS}",
    ),
    Change(
        "a default",
        (("travel/desk.py", "TEMPERATURE = 0.2", "TEMPERATURE = 0.7"),),
        "checks/test_sync.py::test_a_question",
        f"the parameter temperature changed (parameters at $.temperature, exchange 1 of 2): 0.2 is now 0.7; {LISBON}",
    ),
    Change(
        "an agent that swallows every error",
        (("travel/desk.py", '    except LookupError as error:\n        return f"error: {error}"',
          '    except Exception:\n        return ""'),),
        "checks/test_sync.py::test_a_tool_that_fails",
        "the result of fare changed (history at $.messages[3].content, exchange 2 of 2): "
        '"error: no flights to Atlantis" is gone; '
        "no recorded answer in nowhere.cassette.jsonl for POST /v1/chat/completions",
    ),
    Change(
        "a word of the prompt, and an agent that swallows the miss",
        (WORD, ("travel/sync.py", CREATED, QUIET)),
        "checks/test_sync.py::test_a_question",
        f"{PROMPT_CHANGED}; {LISBON}",
    ),
]  # fmt: skip


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return shutil.copytree(PROJECT, tmp_path / "project", ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))


@pytest.fixture
def check(project: Path) -> Check:
    """Run the project's checks, or another program of it, as its users do."""

    def check(*arguments: str, program: tuple[str, ...] = ("-m", "pytest")) -> subprocess.CompletedProcess[str]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
        return subprocess.run(
            [sys.executable, *program, *LOAD, "-p", "no:cacheprovider", *arguments],
            cwd=project, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip

    return check


def test_the_project_is_green(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    result = run()
    result.assert_outcomes(passed=10)
    result.stdout.no_fnmatch_line("no test uses*")


def test_the_project_is_green_with_xdist(check: Check) -> None:
    done = check("-n", "2")
    assert done.returncode == 0, done.stdout
    assert "10 passed" in done.stdout
    assert "no test uses" not in done.stdout


@pytest.mark.parametrize("change", CHANGES, ids=[change.what.replace(" ", "-") for change in CHANGES])
def test_a_change_of_the_agent_is_named_in_the_first_line(
    project: Path, run: Run, monkeypatch: pytest.MonkeyPatch, change: Change
) -> None:
    monkeypatch.chdir(project)
    for file, old, new in change.edits:
        path = project / file
        text = path.read_text("utf-8")
        assert text.count(old) == 1
        path.write_text(text.replace(old, new), "utf-8")
    result = run(change.test)
    result.assert_outcomes(failed=1)
    lines = failure(result)
    assert lines[0] == change.first_line
    shown = "\n".join(line for line in lines if not line.startswith("  the test then ended"))
    assert shown in PAGE, f"docs/pytest.md does not show:\n{shown}"


def test_without_its_cassettes_the_project_fails(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    shutil.rmtree(project / "recordings")
    run("checks").assert_outcomes(errors=9)


def test_the_cassettes_can_be_recorded_again(project: Path, check: Check) -> None:
    kept = {
        path.relative_to(PROJECT / "recordings"): path for path in (PROJECT / "recordings").rglob("*") if path.is_file()
    }
    shutil.rmtree(project / "recordings")
    done = check(program=("make_cassettes.py",))
    assert done.returncode == 0, done.stdout
    made = {path for path in (project / "recordings").rglob("*") if path.is_file()}
    assert made == {project / "recordings" / name for name in kept}
    for name, path in kept.items():
        again = load_cassette(project / "recordings" / name)
        asked = [sorted(exchange.request.body for exchange in one.exchanges) for one in (load_cassette(path), again)]
        assert asked[0] == asked[1], name
        assert (again.workspace, again.home) == (None, None)
