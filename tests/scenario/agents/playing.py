"""Scenarios with agents of their own, for tests."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

from harness.judge.checks import judge_scenario
from harness.judge.verdict import Case
from harness.scenario.format import Scenario
from harness.scenario.outcome import ScenarioRun
from harness.scenario.runner import run_scenario
from tests.scenario.scenarios import scenario

TESTS = Path(__file__).resolve().parents[2]
TINY = 'command: ["${PYTHON}", "${SCENARIO}/programs/tiny_agent.py", "${PROMPT}"]'

TASK = """\
workspace:
  files:
    hello.txt: "helo\\n"
prompt: Fix the typo.
agent:
{agent}
player:
{player}
expect:
{expect}
"""

FIX = """\
script:
  - calls: [{tool: read_file, arguments: {path: hello.txt}}]
  - calls: [{tool: write_file, arguments: {path: "${CWD}/hello.txt", content: "hello\\n"}}]
  - text: Done.
"""

FIXED = """\
final_text: Done.
steps: 3
calls:
  - {tool: read_file, contains: helo}
  - {tool: write_file, arguments: {path: /workspace/hello.txt, content: "hello\\n"}, contains: wrote /workspace/}
files: {hello.txt: "hello\\n"}
"""


def task(
    agent: str = TINY, player: str = FIX, expect: str = FIXED, path: Path | None = None, rest: str = ""
) -> Scenario:
    """A scenario as if it stood in the folder of the tests, or at ``path``; ``rest`` has further keys."""
    parts = {"agent": agent, "player": player, "expect": expect}
    text = TASK.format(**{name: indent(dedent(part), "  ").rstrip() for name, part in parts.items()})
    return scenario(text + rest, str(path or TESTS / "test.yaml"))


def judged(given: Scenario) -> tuple[ScenarioRun, Case]:
    """Run it and judge it."""
    outcome = run_scenario(given)
    return outcome, judge_scenario(outcome, "test.yaml")


def function(name: str) -> str:
    """The agent that is a function of the tests' programs."""
    return f"python: programs/agents.py:{name}"
