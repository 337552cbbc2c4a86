"""``harness record --upstream``: a program in front of a scripted endpoint, as a user runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from harness.cassette.dialects import load_cassette
from harness.play.pace import pieces_of
from harness.play.script import ScriptedTurn, ScriptPlayer
from harness.play.server import LoopbackServer
from harness.scenario.serving import ServingPolicy, players_of_cassette
from harness.wire.exchange import header
from tests.command_line import Done, command

ASK = Path(__file__).resolve().parent / "programs" / "ask.py"
KEY = "sk-test0123456789abcdefghijklmnopqrstuv"
TURNS = [ScriptedTurn(text="first 日本🙂", fragment=2), ScriptedTurn(text="second")]
NOWHERE = "http://127.0.0.1:9/v1"


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """``harness record`` in an empty folder, with a key and no other variable of a model API."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("OPENAI_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return partial(command(capfd), "record")


def replayed(cassette: Path, question: str) -> str:
    """What the program prints when the recording answers it; every exchange is asked for."""
    made = players_of_cassette(cassette, ServingPolicy())("again")
    with LoopbackServer(made.player) as server:
        environment = {**os.environ, "OPENAI_BASE_URL": server.base_url}
        words = [sys.executable, str(ASK), *question.split()]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    assert (made.unused(), server.miss) == ([], None)
    return done.stdout


@pytest.mark.parametrize("name", ["talk.cassette.jsonl", "talk.yaml"])
def test_a_program_is_recorded_and_never_knows(record: Callable[..., Done], tmp_path: Path, name: str) -> None:
    player = ScriptPlayer(TURNS)
    with LoopbackServer(player) as upstream:
        url = upstream.base_url
        done = record("--upstream", url, "--cassette", name, "--", sys.executable, ASK, "what", "--now")
        played = [pieces_of(exchange.response) for exchange in upstream.exchanges]
        keys = [header(exchange.request.headers, "authorization") for exchange in upstream.exchanges]
    assert (done.returncode, done.stdout) == (0, "first 日本🙂 second\n"), done.stderr
    assert done.stderr == f"2 exchanges (2 chat) recorded to {name}; the command ended with 0\n"
    assert keys == [f"Bearer {KEY}"] * 2
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert KEY not in (tmp_path / name).read_text("utf-8")
    cassette = load_cassette(tmp_path / name)
    assert [pieces_of(exchange.response) for exchange in cassette.exchanges] == played
    assert all(exchange.request.url == f"{url}/chat/completions" for exchange in cassette.exchanges)
    assert cassette.exchanges[0].request.json()["messages"][0]["content"] == "what --now"
    assert replayed(tmp_path / name, "what --now") == "first 日本🙂 second\n"
    if name.endswith(".jsonl"):
        assert (cassette.workspace, cassette.home) == (str(tmp_path.resolve()), os.environ.get("HOME"))


def test_the_exit_code_is_the_commands_and_an_error_answer_is_recorded(
    record: Callable[..., Done], tmp_path: Path
) -> None:
    with LoopbackServer(ScriptPlayer([ScriptedTurn(error_status=429, error_message="slow down")])) as upstream:
        done = record("--upstream", upstream.base_url, "--cassette", "c.yaml", "--quiet", "--", sys.executable, ASK)
    assert done.returncode == 3
    assert "slow down" in done.stderr
    assert "recorded to" not in done.stderr
    assert [exchange.response.status for exchange in load_cassette(tmp_path / "c.yaml").exchanges] == [429]


def test_an_endpoint_that_does_not_answer_is_said_and_the_old_cassette_stays(
    record: Callable[..., Done], tmp_path: Path
) -> None:
    (tmp_path / "c.cassette.jsonl").write_text("old")
    done = record("--upstream", NOWHERE, "--cassette", "c.cassette.jsonl", "--", sys.executable, ASK)
    assert done.returncode == 3
    assert "note: http://127.0.0.1:9 did not answer POST /v1/chat/completions: ConnectError" in done.stderr
    assert "no exchange was recorded: c.cassette.jsonl is as it was; the command ended with 3" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["c.cassette.jsonl"]
    assert (tmp_path / "c.cassette.jsonl").read_text() == "old"


def test_a_command_that_asks_nothing_is_no_success(record: Callable[..., Done], tmp_path: Path) -> None:
    done = record("--upstream", NOWHERE, "--cassette", "c.yaml", "--", sys.executable, "-c", "print('hi')")
    assert (done.returncode, done.stdout) == (125, "hi\n")


def test_a_key_of_another_name_and_no_key_at_all(record: Callable[..., Done], monkeypatch: pytest.MonkeyPatch) -> None:
    show = (
        "import os; print(os.environ['OPENAI_API_KEY'], os.environ['OPENAI_API_BASE'] == os.environ['OPENAI_BASE_URL'])"
    )
    words: list[str | Path] = ["--upstream", NOWHERE, "--cassette", "c.yaml"]
    monkeypatch.setenv("MINE", "other")
    named = record(*words, "--api-key-env", "MINE", "--", sys.executable, "-c", show)
    assert named.stdout == "other True\n"
    monkeypatch.delenv("OPENAI_API_KEY")
    assert record(*words, "--", sys.executable, "-c", show).stdout == "none True\n"


def test_a_command_ended_by_a_signal_has_the_shells_exit_code(record: Callable[..., Done], tmp_path: Path) -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    done = record("--upstream", NOWHERE, "--cassette", "c.yaml", "--", sys.executable, "-c", code)
    assert done.returncode == 128 + 9


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--upstream", NOWHERE, "--", "x"], "harness: --cassette: missing"),
        (["--upstream", NOWHERE, "--cassette", "c.yaml"], "harness: SCENARIO: missing"),
        (["--upstream", "nowhere", "--cassette", "c.yaml", "--", "x"], "harness: --upstream: 'nowhere' is not"),
        (
            ["--upstream", NOWHERE, "--cassette", "c.yaml", "--", "no-such-program"],
            "harness: no-such-program: cannot be",
        ),
        (
            ["--upstream", NOWHERE, "--cassette", "c.yaml", "--endpoint", "m=http://h", "--", "x"],
            "harness: --endpoint: ",
        ),
        (
            ["--upstream", NOWHERE, "--cassette", "c.yaml", "--api-key-env", "NONE_SUCH", "--", "x"],
            "harness: --api-key-env",
        ),
        (["s.yaml", "--cassette", "c.yaml"], "harness: --cassette: a scenario names"),
        (["s.yaml"], "harness: --endpoint: missing"),
    ],
)
def test_wrong_usage_is_one_line_and_leaves_nothing(
    record: Callable[..., Done], tmp_path: Path, words: list[str], line: str
) -> None:
    done = record(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(line)
    assert len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
