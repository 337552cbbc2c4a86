"""What the end of a run says of cassettes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cassette.cassette import Cassette
from harness.cassette.own import dump_cassette
from harness.play.script import ScriptedTurn, render_turn
from harness.wire.exchange import Exchange, Request
from tests.plugin.conftest import Run
from tests.plugin.test_cassettes import AGENT, ONE

pytest_plugins = ["pytester"]

LEFT = "no test uses tests/cassettes/old.cassette.jsonl"
TWO = ONE.replace('"one"', '"two"').replace("test_one", "test_two")


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    """Two files of tests, their cassettes, and one that no test uses any more."""
    body = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
    request = Request("POST", "http://api.example.com/v1/chat/completions", (), json.dumps(body).encode())
    exchange = Exchange(request, render_turn(ScriptedTurn(text="You said: Hello"), 0, body))
    cassette = dump_cassette(Cassette(Path("one"), "harness", (exchange,)))
    tests = pytester.mkdir("tests")
    (tests / "test_a.py").write_text(ONE)
    (tests / "test_b.py").write_text(TWO)
    (tests / "cassettes").mkdir()
    for name in ("one.cassette.jsonl", "two.cassette.jsonl", "old.cassette.jsonl", "other.cassette.jsonl.partial"):
        (tests / "cassettes" / name).write_bytes(cassette)
    return pytester


def told(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if line.startswith("no test uses")]


@pytest.mark.parametrize("arguments", [[], ["tests"], ["."], ["-n", "2"]], ids=" ".join)
def test_cassettes_that_no_test_uses_are_listed(suite: pytest.Pytester, run: Run, arguments: list[str]) -> None:
    result = run(*arguments)
    result.assert_outcomes(passed=2)
    assert told(result) == [LEFT]


@pytest.mark.parametrize(
    "arguments",
    [
        ["tests/test_a.py"],
        ["tests/test_a.py", "tests/test_b.py"],
        ["tests/test_a.py::test_one"],
        ["-k", "one"],
        ["-k", "one", "-n", "1"],
        ["--deselect", "tests/test_b.py::test_two"],
        ["--ignore", "tests/test_b.py"],
        ["--collect-only"],
    ],
    ids=" ".join,
)
def test_of_a_part_of_the_tests_nothing_is_said(suite: pytest.Pytester, run: Run, arguments: list[str]) -> None:
    assert told(run(*arguments)) == []


def test_nothing_is_said_when_the_run_stopped_early_or_a_file_is_broken(suite: pytest.Pytester, run: Run) -> None:
    broken = suite.path / "tests" / "test_c.py"
    broken.write_text("import nothing_of_this_name\n")
    assert told(run()) == []
    broken.write_text("def test_fails(): assert False\n")
    assert told(run()) == [LEFT]
    broken.rename(suite.path / "tests" / "test_0.py")
    assert told(run("-x")) == []


def test_nothing_is_said_when_a_worker_crashed(suite: pytest.Pytester, run: Run) -> None:
    (suite.path / "tests" / "test_c.py").write_text("import os\ndef test_crash(): os._exit(1)\n")
    assert told(run("-n", "1", "--max-worker-restart=0")) == []


def test_a_skipped_test_uses_its_cassette_still(suite: pytest.Pytester, run: Run) -> None:
    path = suite.path / "tests" / "test_a.py"
    path.write_text(path.read_text().replace("@pytest.mark.c", "@pytest.mark.skip('later')\n@pytest.mark.c"))
    result = run()
    result.assert_outcomes(passed=1, skipped=1)
    assert told(result) == [LEFT]


def test_a_scenarios_cassette_is_used(suite: pytest.Pytester, run: Run) -> None:
    scenario = "prompt: Hello\nplayer: {cassette: cassettes/old.cassette.jsonl}\nexpect: {steps: 1}\n"
    (suite.path / "tests" / "old.yaml").write_text(scenario)
    assert told(run()) == []


def test_one_folder_for_all_is_judged_by_all_tests(
    pytester: pytest.Pytester, run: Run, recorded: Callable[..., None]
) -> None:
    pytester.makeini("[pytest]\nharness_cassette_dir = store\n")
    for name, text in (("a", ONE), ("b", TWO)):
        (pytester.mkdir(name) / f"test_{name}.py").write_text(text)
    recorded()
    shutil.copy(pytester.path / "store" / "one.cassette.jsonl", pytester.path / "store" / "old.cassette.jsonl")
    assert told(run()) == ["no test uses store/old.cassette.jsonl"]
    assert told(run("a")) == []


def test_workers_tell_what_they_recorded(pytester: pytest.Pytester, run: Run, upstream: str) -> None:
    more = "@pytest.mark.cassette\n@pytest.mark.parametrize('n', range(4))\ndef test_n(n):\n    say(str(n))\n"
    pytester.makepyfile(test_a=AGENT + more)
    result = run("-n", "2", "--cassette-mode=record", f"--cassette-upstream={upstream}")
    result.assert_outcomes(passed=4)
    assert sum(line.startswith("recorded cassettes/test_a/test_n-") for line in result.outlines) == 4
    run().assert_outcomes(passed=4)
