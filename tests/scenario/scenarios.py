"""Small scenarios for tests, and a way to write them down."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

from harness.scenario.format import Scenario, parse_scenario
from harness.scenario.source import parse_source

ANSWER = """\
prompt: Say hello.
player:
  script:
    - text: Hello.
expect:
  final_text: Hello.
"""

READ_AND_ANSWER = """\
workspace:
  files:
    a.txt: "alpha\\n"
prompt: Read a.txt.
player:
  script:
    - calls: [{tool: Read, arguments: {path: a.txt}}]
    - text: It says alpha.
expect:
  final_text: It says alpha.
  steps: 2
  calls:
    - {tool: Read, status: success, contains: alpha}
"""


def scenario(text: str, path: str = "test.yaml") -> Scenario:
    """A scenario from YAML, as if it stood in ``path``."""
    return parse_scenario(parse_source(Path(path), dedent(text)))
