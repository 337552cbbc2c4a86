"""The files on the page are run as they stand."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from harness.play.script import ScriptedTurn, ScriptPlayer
from harness.play.server import LoopbackServer
from harness.plugin.settings import MODES
from tests.plugin.conftest import Run

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "pytest.md").read_text("utf-8")
FILES = dict(re.findall(r"^```py\n# file: (\S+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))


def test_the_first_test_is_recorded_and_then_green(pytester: pytest.Pytester, run: Run) -> None:
    for name in ("agent.py", "test_agent.py"):
        (pytester.path / name).write_text(FILES[name])
    pytester.syspathinsert()
    with LoopbackServer(ScriptPlayer([ScriptedTurn(text="Lima")])) as server:
        result = run("--cassette-mode=record", "--cassette-upstream", server.base_url)
    result.assert_outcomes(passed=1)
    line = next(line for line in result.outlines if line.startswith("recorded"))
    assert f"```text\n{line}\n```" in PAGE
    run().assert_outcomes(passed=1)


def test_the_fixtures_do_what_the_page_says(pytester: pytest.Pytester, run: Run) -> None:
    (pytester.path / "test_fixtures.py").write_text(FILES["test_fixtures.py"])
    shutil.copytree(ROOT / "cassettes", pytester.path / "cassettes", ignore=shutil.ignore_patterns("models", "*.py"))
    run().assert_outcomes(passed=1)


def test_every_option_and_setting_is_on_the_page(pytester: pytest.Pytester, run: Run) -> None:
    told = run("--help").stdout.str()
    names = set(re.findall(r"--cassette-\w+|harness_\w+", told))
    assert len(names) == 8
    assert {name for name in names if f"`{name}`" not in PAGE} == set()
    assert {mode for mode in MODES if f"| `{mode}`" not in PAGE} == set()
