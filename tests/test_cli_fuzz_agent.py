"""``harness fuzz --agent`` as a user calls it."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from tests.command_line import command

MINE = """\
from tests.fuzz.wire.agents import sound, trusts_arguments


def no_paths(outcome):
    assert all("none.txt" not in str(request) for request in outcome.requests), "it was told of none.txt"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)
    return tmp_path


def test_findings_are_told_counted_and_saved_where_they_can_be_run(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ("fuzz", "--agent", "mine.py:trusts_arguments", "--examples", "1", "--seed", "1", "--json")
    done = command(capfd)(*words)
    assert done.returncode == 1
    document = orjson.loads(done.stdout)
    assert (document["verdict"], document["examples"], document["interrupted"]) == ("FAIL", 1, False)
    (found,) = document["findings"]
    assert found["cause"] == "the agent's end"
    assert found["what"].startswith("the agent raised JSONDecodeError")
    assert len(found["turns"]) == 1
    assert {row["of"] for row in document["coverage"]} == {"arguments", "name", "id", "fault"}
    assert sum(row["tried"] for row in document["coverage"] if row["of"] == "id") == document["calls"]
    assert f"the agent's end: {found['what']}" in done.stderr
    report = (folder / "reports" / "fuzz" / "report.md").read_text()
    assert "## the agent's end" in report
    assert "| of | family | tried | answered | unanswered | not reached |" in report
    path = Path(found["scenario"])
    assert path.parent == Path("scenarios/regressions")
    assert command(capfd)("run", path).returncode == 1
    path.write_text(path.read_text().replace(":trusts_arguments", ":sound"))
    assert command(capfd)("run", path).returncode == 0


def test_the_same_seed_prints_the_same(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = ("fuzz", "--agent", "mine.py:sound", "--examples", "3", "--seed", "5", "--json", "--quiet")
    one, other = command(capfd)(*words), command(capfd)(*words, "--workers", "2")
    assert one.returncode == 0
    assert one.stdout == other.stdout
    assert one.stderr.splitlines()[0].startswith("PASS  mine.py:sound: 3 examples, ")


def test_an_oracle_of_a_file_goes_with_the_scenario(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = ("fuzz", "--agent", "mine.py:sound", "--examples", "4", "--seed", "1", "--oracle", "mine.py:no_paths")
    done = command(capfd)(*words, "--json")
    assert done.returncode == 1
    (found,) = orjson.loads(done.stdout)["findings"]
    assert found["cause"] == "mine.py:no_paths"
    assert command(capfd)("run", found["scenario"]).returncode == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--agent", "nobody"), "there is no preset 'nobody'"),
        (("--agent", "mine.py:nothing"), "the agent mine.py:nothing is not there"),
        (("--agent", "mine.py:sound", "--without", "x"), "there is no oracle 'x'"),
        (("--agent", "mine.py:sound", "--oracle", "mine.py:x"), "mine.py:x is not there"),
        (("--agent", "mine.py:sound", "builtin"), "name what is fuzzed"),
    ],
)
def test_bad_input_is_one_line(
    words: tuple[str, ...], said: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    done = command(capfd)("fuzz", *words)
    assert done.returncode == 2
    assert done.stderr.startswith("harness: ")
    assert said in done.stderr
    assert not (folder / "reports").exists()
