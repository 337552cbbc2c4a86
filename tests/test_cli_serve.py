"""``harness serve`` as a user meets it: a process, a URL on its first line, a signal, a verdict."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from harness.trace.folder import load_run
from tests.command_line import command
from tests.play.raw_http import ask

ROOT = Path(__file__).resolve().parent.parent
HARNESS = Path(sys.executable).parent / "harness"
SCRIPT = "prompt: hi\nplayer:\n  script:\n    - text: one\n    - text: two\n"
QUESTION: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
BROKEN = {"model": "m", "messages": [{"role": "tool", "tool_call_id": "x", "content": "lost"}]}


Act = Callable[[str], object]
Serve = Callable[..., tuple[int, str, str]]


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Serve:
    """``harness serve`` in this process, with an agent in a thread that ends it: exit code, stdout, stderr.

    What ``act`` raises fails the test.
    """
    monkeypatch.chdir(tmp_path)

    def run(*words: str | Path, act: Act) -> tuple[int, str, str]:
        port = free_port()
        url = f"http://127.0.0.1:{port}/v1"

        def agent() -> None:
            try:
                wait_for(port)
                act(url)
            finally:
                os.kill(os.getpid(), signal.SIGTERM)

        with ThreadPoolExecutor(1) as pool:
            acted = pool.submit(agent)
            done = command(capfd)("serve", *words, "--port", str(port), "--out", "out")
            acted.result()
        first, _, rest = done.stdout.partition("\n")
        assert first == url
        return done.returncode, rest, done.stderr

    return run


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def wait_for(port: int) -> None:
    for _ in range(1000):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.01)
        else:
            return
    raise TimeoutError(f"nobody listens on port {port}")


def asking(*bodies: object) -> Callable[[str], object]:
    return lambda url: [ask(f"{url}/chat/completions", body) for body in bodies]


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (tmp_path / "s.yaml").write_text(SCRIPT)
    return tmp_path


def test_a_script_played_to_its_end_passes(script: Path) -> None:
    """In a process of its own: the URL is there before anything else happens, and a signal is a clean end."""
    words = [str(HARNESS), "serve", "s.yaml", "--out", "out"]
    with subprocess.Popen(words, cwd=script, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            asking(QUESTION, QUESTION)(url)
            process.send_signal(signal.SIGINT)
            out, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, out) == (0, "")
    first, *_, verdict, report = errors.splitlines()
    assert first.startswith("s.yaml is played at http://127.0.0.1:")
    assert verdict == "PASS  1 passed, 0 failed, 0 inconclusive, 0 errors"
    assert report == "report: out/summary.md"
    suite = ET.parse(script / "out" / "junit.xml").getroot().find("testsuite")
    assert suite is not None
    assert suite.get("failures") == "0"
    run = load_run(script / "out" / "runs" / "serve--default")
    assert [exchange.turn().content for exchange in run.exchanges] == ["one", "two"]


@pytest.mark.parametrize(
    ("bodies", "code", "what"),
    [
        ([QUESTION], 1, "turn 2 of the script was never asked for: the run is partial"),
        ([QUESTION] * 3, 1, "the script has 2 turns, the agent asked for one more"),
        ([QUESTION, BROKEN], 1, "result_without_call: 'x' answers no call before it"),
        ([], 125, "nobody sent a request"),
    ],
)
def test_the_verdict_is_the_servers_own(serve: Serve, script: Path, bodies: list[object], code: int, what: str) -> None:
    got, out, errors = serve("s.yaml", "--quiet", act=asking(*bodies))
    assert (got, out) == (code, "")
    assert what in errors
    assert "is played at" not in errors


def test_json_is_one_document_behind_the_url(serve: Serve, script: Path) -> None:
    def act(url: str) -> None:
        root = url.removesuffix("/v1")
        for session in ("s1", "s2", "other"):
            for _ in range(3 if session == "s1" else 2):
                ask(f"{root}/s/{session}/v1/chat/completions", QUESTION)

    code, out, _ = serve("s.yaml", "--json", "--sessions", "2", "--max-requests", "2", act=act)
    document = json.loads(out)
    assert code == 1
    sessions = {session["id"]: session for session in document["sessions"]}
    assert list(sessions) == ["s1", "s2", "other"]
    assert {name: session["verdict"] for name, session in sessions.items()} == {
        "s1": "FAIL",
        "s2": "PASS",
        "other": "PASS",
    }
    assert sessions["s1"]["refused"] == 1
    assert "may run in a circle" in sessions["s1"]["case"]["first_line"]
    assert document["totals"] == {"requests": 7, "answered": 6, "misses": 0, "refused": 1, "tool_calls": 0}
    assert document["verdict"] == "FAIL"


def test_a_session_that_was_opened_and_not_asked_is_inconclusive(serve: Serve, script: Path) -> None:
    code, _, errors = serve("s.yaml", "--sessions", "1", act=asking(QUESTION, QUESTION))
    assert code == 125
    assert "INCONCLUSIVE  s1" in errors


def test_a_miss_of_a_cassette_is_explained_to_the_client_and_in_the_report(serve: Serve, tmp_path: Path) -> None:
    seen: list[str] = []

    def act(url: str) -> None:
        listed = json.loads(ask(f"{url}/models", method="GET").body)
        assert [model["id"] for model in listed["data"]] == ["gemma-3-270m"]
        seen.append(
            json.loads(ask(f"{url}/chat/completions", {**QUESTION, "model": "gemma-3-270m"}).body)["error"]["message"]
        )

    code, _, errors = serve(ROOT / "cassettes" / "gemma-read.yaml", act=act)
    assert code == 1
    first = seen[0].splitlines()[0]
    assert first in errors
    assert len(seen[0].splitlines()) > 1


def test_faults_are_injected_and_said(serve: Serve, script: Path) -> None:
    code, _, errors = serve("s.yaml", "--fault", "status=429,times=1", act=asking(*[QUESTION] * 3))
    assert code == 0, errors
    assert "fault status=429" in errors


def test_models_from_a_file(serve: Serve, script: Path) -> None:
    (script / "models.json").write_text('{"data": [{"id": "x", "capabilities": ["tools"]}]}')

    def act(url: str) -> None:
        assert json.loads(ask(f"{url}/models", method="GET").body)["data"] == [{"id": "x", "capabilities": ["tools"]}]

    serve("s.yaml", "--models", "models.json", act=act)


def test_an_address_that_others_can_reach_is_warned_of(serve: Serve, script: Path) -> None:
    _, _, errors = serve("s.yaml", "--host", "0.0.0.0", "--quiet", act=asking(QUESTION))
    assert errors.startswith("warning: http://127.0.0.1:")
    assert "can be reached from outside this machine" in errors.splitlines()[0]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["missing.yaml"], "missing.yaml: no such file or folder"),
        (["."], ".: one file is served at a time"),
        (["s.yaml", "--speed", "-1"], "Invalid value for '--speed'"),
        (["s.yaml", "--allow-drift", "x"], "--allow-drift: no class 'x'"),
        (["s.yaml", "--models", "s.yaml"], "s.yaml: cannot be read"),
        (["s.yaml", "--fault", "swop"], "no fault 'swop'"),
        (["s.yaml", "--host", "192.0.2.1"], "192.0.2.1:0: cannot listen there"),
        (["before.yaml"], "before.yaml: player.script[0].before: a served script has no workspace"),
    ],
)
def test_wrong_usage_is_one_line(
    script: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], words: list[str], line: str
) -> None:
    (script / "before.yaml").write_text("prompt: hi\nplayer:\n  script:\n    - {text: a, before: [{touch: [x]}]}\n")
    monkeypatch.chdir(script)
    done = command(capfd)("serve", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert line in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_port_that_is_taken_is_said(
    script: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(script)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = command(capfd)("serve", "s.yaml", "--port", str(port))
    assert done.returncode == 2
    assert done.stderr.startswith(f"harness: 127.0.0.1:{port}: cannot listen there")
