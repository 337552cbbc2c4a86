"""``harness record --scenario``: from nothing to a green test in one command."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from harness.play.script import ScriptedCall, ScriptedTurn, ScriptPlayer
from harness.play.server import LoopbackServer
from tests.command_line import Done, command

KEY = "sk-test0123456789abcdefghijklmnopqrstuv"
TURNS = [
    ScriptedTurn(
        calls=(ScriptedCall("Edit", '{"path": "a.txt", "old_string": "teh", "new_string": "the"}', "c1"),),
        finish_reason="tool_calls",
    ),
    ScriptedTurn(text="It is mended."),
]
NOWHERE = "m=http://127.0.0.1:9/v1"


@pytest.fixture
def harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """The program in an empty folder with a project in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "a.txt").write_text("teh end\n")
    return partial(command(capfd))


def record(harness: Callable[..., Done], *words: str, turns: list[ScriptedTurn] | None = None) -> Done:
    with LoopbackServer(ScriptPlayer(TURNS if turns is None else turns)) as server:
        return harness(
            "record", "--scenario", "tests/typo.yaml", "--prompt", "Mend the typo.", "--endpoint",
            f"m={server.base_url}", "--workspace", "project", *words,
        )  # fmt: skip


def test_one_command_leads_to_a_green_test(harness: Callable[..., Done], tmp_path: Path) -> None:
    done = record(harness)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert done.stderr == (
        "tests/typo.yaml: PASS, recorded from m: 2 steps, 1 call\n"
        "written: tests/typo.yaml, tests/typo.cassette.jsonl\n"
        "again: harness run tests/typo.yaml\n"
    )
    again = harness("run", "tests/typo.yaml")
    assert again.returncode == 0, again.stderr
    assert "1 passed" in again.stderr
    assert (tmp_path / "project" / "a.txt").read_text() == "teh end\n"
    assert KEY not in (tmp_path / "tests" / "typo.cassette.jsonl").read_text()


def test_what_is_there_is_replaced_with_force_alone(harness: Callable[..., Done], tmp_path: Path) -> None:
    record(harness, "--quiet")
    before = (tmp_path / "tests" / "typo.yaml").read_bytes()
    done = record(harness, turns=[])
    assert done.returncode == 2
    assert done.stderr == "harness: --scenario: tests/typo.yaml is there already (--force replaces it)\n"
    done = record(harness, "--force", turns=[])
    assert done.returncode == 2
    assert "gave no usable answer" in done.stderr
    assert (tmp_path / "tests" / "typo.yaml").read_bytes() == before
    done = record(harness, "--force", "--stream", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    assert "stream: true" in (tmp_path / "tests" / "typo.yaml").read_text()


def test_a_session_that_does_not_repeat_is_not_written(harness: Callable[..., Done], tmp_path: Path) -> None:
    calls = (ScriptedCall("Bash", '{"command": "cat /proc/sys/kernel/random/uuid > id && head -c 9 id"}', "c1"),)
    turns = [ScriptedTurn(calls=calls, finish_reason="tool_calls"), ScriptedTurn(text="Done.")]
    done = record(harness, "--ask", "allow", turns=turns)
    assert done.returncode == 1
    assert "tests/typo.yaml: FAIL when replayed: " in done.stderr
    assert done.stderr.endswith("nothing was written: what the session did does not repeat\n")
    assert not (tmp_path / "tests").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--scenario", "x.yaml", "--endpoint", NOWHERE], "--prompt: missing: what to ask"),
        (["--scenario", "x.yaml", "--prompt", " ", "--endpoint", NOWHERE], "--prompt: missing"),
        (["--scenario", "x.yaml", "--prompt", "a"], "--endpoint: missing: where the model answers"),
        (
            ["--scenario", "x.yaml", "--prompt", "a", "--endpoint", NOWHERE, "--endpoint", "n=http://127.0.0.1:9"],
            "--model: missing: which of the models to ask (one of m, n)",
        ),
        (["--scenario", "x.yaml", "--prompt", "a", "--endpoint", NOWHERE, "--model", "z"], "no endpoint for 'z'"),
        (["--scenario", "x.json", "--prompt", "a", "--endpoint", NOWHERE], "ends in .yaml"),
        (["--scenario", "x.yaml", "--prompt", "a", "--endpoint", NOWHERE], "gave no usable answer"),
        (["--scenario", "x.yaml", "--prompt", "a", "--endpoint", NOWHERE, "--mode", "odd"], "none of normal"),
        (["--scenario", "x.yaml", "--prompt", "a", "--endpoint", NOWHERE, "--tools", "Saw"], "no built-in 'Saw'"),
        (["--scenario", "x.yaml", "--prompt", "a", "--endpoint", NOWHERE, "--workspace", "no"], "no such folder"),
        (["--scenario", "x.yaml", "--upstream", "http://x", "--", "ls"], "--upstream: a new scenario is made of"),
        (["--scenario", "x.yaml", "other.yaml"], "SCENARIO: a new scenario is made of"),
        (["--prompt", "a", "--endpoint", NOWHERE], "--prompt: it is for a new scenario (--scenario FILE)"),
        (["--force", "x.yaml", "--endpoint", NOWHERE], "--force: it is for a new scenario"),
        ([], "SCENARIO: missing: what to record"),
    ],
)  # fmt: skip
def test_wrong_words_are_one_line(harness: Callable[..., Done], tmp_path: Path, words: list[str], message: str) -> None:
    done = harness("record", *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["project"]


def test_a_live_player_asks_the_endpoint_that_is_named(harness: Callable[..., Done], tmp_path: Path) -> None:
    (tmp_path / "live.yaml").write_text(
        "workspace: {folder: project}\nagent: {model: m}\nprompt: Mend the typo.\nplayer: {live: true}\n"
        'expect:\n  final_text: It is mended.\n  files: {a.txt: "the end\\n"}\n'
    )
    done = harness("run", "live.yaml")
    assert done.returncode == 2
    assert "agent.model: no endpoint for 'm' to ask (--endpoint MODEL=URL)" in done.stderr
    with LoopbackServer(ScriptPlayer(TURNS)) as server:
        done = harness("run", "live.yaml", "--endpoint", f"m={server.base_url}")
    assert done.returncode == 0, done.stderr
    done = harness("run", "live.yaml", "--endpoint", NOWHERE)
    assert done.returncode != 0
