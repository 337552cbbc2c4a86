"""``git bisect run harness run --bisect`` in a repository whose agent breaks, and whose builds break in between."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import Command, command

HARNESS = Path(sys.executable).parent / "harness"
SCENARIO = """\
agent: {python: "agent.py:answer"}
prompt: Say hello.
player:
  script:
    - text: Hello.
expect:
  final_text: Hello.
"""
AGENT = """\
import json
import urllib.request


def answer(context):
    body = {"model": context.model, "messages": [{"role": "user", "content": PROMPT}]}
    request = urllib.request.Request(
        context.base_url + "/chat/completions",
        json.dumps(body).encode(),
        {"content-type": "application/json", "authorization": "Bearer " + context.api_key},
    )
    with urllib.request.urlopen(request) as response:
        return json.load(response)["choices"][0]["message"]["content"] + ENDING


PROMPT = "Say hello."
ENDING = ""
"""
BROKEN = AGENT + "import a_module_that_nobody_wrote\n"
WRONG = AGENT.replace('ENDING = ""', 'ENDING = " Anything else?"')
COMMITS = [
    ("first", AGENT), ("comment", AGENT + "# 2\n"), ("half a change", BROKEN), ("whole again", AGENT + "# 4\n"),
    ("half a change more", BROKEN), ("whole once more", AGENT + "# 6\n"), ("be polite", WRONG),
    ("later", WRONG + "# 8\n"), ("last", WRONG + "# 9\n"),
]  # fmt: skip


@pytest.fixture
def bisect(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command line in an empty folder; what it changes for a bisection does not outlive the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", sys.dont_write_bytecode)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    return command(capfd)


@pytest.fixture
def git_environment(tmp_path: Path) -> dict[str, str]:
    """An environment without anybody's configuration of git."""
    who = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER")
           for key, value in (("NAME", "t"), ("EMAIL", "t@example.org"), ("DATE", "2026-01-01T00:00:00Z"))}  # fmt: skip
    none = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(tmp_path)}
    return {**os.environ, **who, **none}


def git(folder: Path, environment: dict[str, str], *words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_bisect_finds_the_commit_with_broken_builds_in_between(tmp_path: Path, git_environment: dict[str, str]) -> None:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, git_environment, "init", "-q", "-b", "main")
    (folder / "hello.yaml").write_text(SCENARIO)
    for message, agent in COMMITS:
        (folder / "agent.py").write_text(agent)
        git(folder, git_environment, "add", "hello.yaml", "agent.py")
        git(folder, git_environment, "commit", "-q", "-m", message)
    first = git(folder, git_environment, "rev-list", "--max-parents=0", "HEAD").strip()
    git(folder, git_environment, "bisect", "start", "HEAD", first)
    out = str(tmp_path / "out")
    said = git(
        folder, git_environment, "bisect", "run", str(HARNESS), "run", "--bisect", "-q", "--out", out, "hello.yaml"
    )
    assert "is the first bad commit" in said
    assert "be polite" in said
    assert "git bisect skip" in git(folder, git_environment, "bisect", "log")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (SCENARIO.replace("agent.py:answer", "agent.py:nothing"), 125),
        (SCENARIO + "extra: 1\n", 125),
        (SCENARIO.split("expect:", maxsplit=1)[0], 125),
        (SCENARIO.replace("final_text: Hello.", "final_text: Bye."), 1),
        (SCENARIO, 0),
    ],
)
def test_what_is_no_verdict_is_skipped(tmp_path: Path, bisect: Command, text: str, code: int) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "t.yaml").write_text(text)
    done = bisect("run", "--bisect", "t.yaml")
    assert done.returncode == code, done.stderr


@pytest.mark.parametrize(
    "words",
    [["run", "--bisect", "missing.yaml"], ["run", "--bisect", "--fly"], ["replay", "--bisect"], ["run", "--bisect"]],
)
def test_bad_usage_is_skipped_too(bisect: Command, words: list[str]) -> None:
    assert bisect(*words).returncode == 125


def test_a_crash_of_the_command_is_skipped_too(
    tmp_path: Path, bisect: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("this must not happen")

    monkeypatch.setattr("harness.report.files.write_reports", broken)
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "t.yaml").write_text(SCENARIO)
    done = bisect("run", "--bisect", "t.yaml")
    assert done.returncode == 125
    assert "RuntimeError: this must not happen" in done.stderr


def test_the_documented_wrapper_skips_a_commit_without_the_command(tmp_path: Path) -> None:
    page = (Path(__file__).resolve().parent.parent / "docs" / "ci.md").read_text("utf-8")
    wrapper = next(line for line in page.splitlines() if line.startswith("git bisect run sh -c"))
    script = shlex.split(wrapper)[-1]
    assert script.startswith("pip install -q -e . && ")
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios" / "t.yaml").write_text(SCENARIO.replace("agent.py", "../agent.py"))
    (tmp_path / "bin").mkdir()
    pip = tmp_path / "bin" / "pip"
    for says, there, code in (("exit 1", True, 125), ("exit 0", False, 125), ("exit 0", True, 0)):
        pip.write_text(f"#!/bin/sh\n{says}\n")
        pip.chmod(0o755)
        if there:
            (tmp_path / "bin" / "harness").symlink_to(HARNESS)
        environment = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", "HOME": str(tmp_path)}
        done = subprocess.run(
            ["/bin/sh", "-c", script], cwd=tmp_path, env=environment, capture_output=True, check=False
        )
        assert done.returncode == code, done.stderr
        (tmp_path / "bin" / "harness").unlink(missing_ok=True)
