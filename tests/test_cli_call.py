"""``harness call`` as a user meets it: one call, each decision shown."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.cli import main

CONTRACT = ["decision", "reason", "concurrency_safe", "executed", "status", "error_code", "observation"]


class Harness:
    """The program in this process, in a folder with a workspace ``w``; a process for each call would cost minutes."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, captured: pytest.CaptureFixture[bytes]) -> None:
        self.folder = folder
        self._patch = patch
        self._captured = captured

    def run(self, *words: str, stdin: bytes = b"") -> tuple[int, bytes, bytes]:
        """Exit code, stdout and stderr of ``harness call``."""
        self._patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as ended:
            main(["call", *words])
        out, err = self._captured.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, out, err

    def called(self, tool: str, arguments: str, *options: str, stdin: bytes = b"") -> dict[str, Any]:
        """The JSON document of a call."""
        code, out, err = self.run(tool, arguments, "--workspace", "w", "--json", "-q", *options, stdin=stdin)
        assert (code, err) == (0, b"")
        document: dict[str, Any] = json.loads(out)
        assert list(document)[: len(CONTRACT)] == CONTRACT
        return document


@pytest.fixture
def harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Harness:
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "a.txt").write_text("one\ntwo\n")
    monkeypatch.chdir(tmp_path)
    return Harness(tmp_path, monkeypatch, capsysbinary)


def summary(document: dict[str, Any]) -> tuple[object, ...]:
    return tuple(document[key] for key in ("decision", "concurrency_safe", "executed", "status", "error_code"))


def test_the_installed_program_knows_the_command(harness: Harness) -> None:
    program = Path(sys.executable).parent / "harness"
    words: list[str | Path] = [program, "call", "Read", '{"path":"a.txt"}', "--workspace", "w", "--json"]
    done = subprocess.run(words, cwd=harness.folder, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["status"] == "success"
    assert done.stderr.startswith(b"name ")


def test_an_allowed_call_runs_and_shows_what_the_model_would_see(harness: Harness) -> None:
    document = harness.called("Read", '{"path":"a.txt"}')
    assert summary(document) == ("allow", True, True, "success", None)
    assert document["reason"] == "Read only reads"
    assert json.loads(document["observation"])["data"]["content"] == "one\ntwo\n"
    assert document["arguments"] == {"path": "a.txt"}
    assert [gate["gate"] for gate in document["gates"]] == ["permission", "breaker", "run"]


@pytest.mark.parametrize(
    ("tool", "arguments", "options", "wanted"),
    [
        ("Bash", '{"command":"sudo id"}', [], ("deny", False, False, "error", "PERMISSION_DENIED")),
        ("Bash", '{"command":"mv a.txt b"}', [], ("ask", False, False, "error", "PERMISSION_DENIED")),
        ("Bash", '{"command":"mv a.txt b"}', ["--ask", "allow"], ("ask", False, True, "success", None)),
        ("Bash", '{"command":"mv a.txt b"}', ["--mode", "read_only"],
         ("deny", False, False, "error", "PERMISSION_DENIED")),
        ("Read", '{"path":"../a"}', [], ("deny", True, False, "error", "PERMISSION_DENIED")),
        ("Read", '{"path":"b"}', [], ("allow", True, True, "error", "NOT_FOUND")),
        ("Nope", "{}", [], ("deny", False, False, "error", "UNKNOWN_TOOL")),
        ("", "{}", [], ("deny", False, False, "error", "UNKNOWN_TOOL")),
        ("functions.READ", '{"path":"a.txt"}', [], ("allow", True, True, "success", None)),
        ("Read", '{"path":"a.txt"', [], ("deny", False, False, "error", "INVALID_PARAM")),
        ("Read", "", [], ("deny", True, False, "error", "INVALID_PARAM")),
        ("ListFiles", "", [], ("allow", True, True, "success", None)),
    ],
)  # fmt: skip
def test_the_decision_is_the_permission_gates_own(
    harness: Harness, tool: str, arguments: str, options: list[str], wanted: tuple[object, ...]
) -> None:
    document = harness.called(tool, arguments, *options)
    assert summary(document) == wanted
    assert document["reason"]
    assert (harness.folder / "w" / "b").exists() == (options == ["--ask", "allow"])


@pytest.mark.parametrize(
    ("tool", "arguments", "decision", "error_code"),
    [
        ("Edit", '{"path":"a.txt","old_string":"one","new_string":"1"}', "allow", None),
        ("Bash", '{"command":"mv a.txt b"}', "ask", "PERMISSION_DENIED"),
        ("Bash", '{"command":"rm a.txt"}', "deny", "PERMISSION_DENIED"),
        ("Bash", '{"command":"ls"}', "allow", None),
        ("Edit", '{"path":"a.txt"}', "deny", "INVALID_PARAM"),
    ],
)
def test_a_dry_run_decides_and_runs_nothing(
    harness: Harness, tool: str, arguments: str, decision: str, error_code: str | None
) -> None:
    document = harness.called(tool, arguments, "--dry-run")
    assert (document["decision"], document["error_code"]) == (decision, error_code)
    assert (document["executed"], document["observation"]) == (False, None)
    assert document["status"] == (None if error_code is None else "error")
    assert [path.name for path in (harness.folder / "w").rglob("*")] == ["a.txt"]
    assert (harness.folder / "w" / "a.txt").read_text() == "one\ntwo\n"


FENCED = '```json\n{"path":"a.txt","limit":"1"}\n```'


@pytest.mark.parametrize(
    ("options", "error_code"), [([], "INVALID_PARAM"), (["--repair"], "INVALID_PARAM"), (["--coerce"], "INVALID_PARAM"),
                                (["--repair", "--coerce"], None)]
)  # fmt: skip
def test_repair_and_coercion_are_off_unless_they_are_asked_for(
    harness: Harness, options: list[str], error_code: str | None
) -> None:
    document = harness.called("Read", FENCED, *options)
    assert document["error_code"] == error_code
    assert document["repaired"] is document["coerced"] is (error_code is None)
    assert document["arguments"] == ({"path": "a.txt", "limit": 1} if error_code is None else None)


def test_arguments_come_from_stdin_and_may_be_any_bytes(harness: Harness) -> None:
    assert harness.called("Read", "-", stdin=b'{"path":"a.txt"}')["status"] == "success"
    assert harness.called("Read", "-", stdin=b'{"path":"\xff"}')["error_code"] == "INVALID_PARAM"
    big = harness.called("Read", "-", stdin=b'{"path":"a.txt","limit":123456789012345678901234567890}')
    assert big["arguments"]["limit"] == 123456789012345678901234567890


def test_people_get_one_row_for_each_decision(harness: Harness) -> None:
    code, out, err = harness.run("functions.bash", '{"command":"mv a.txt b"}', "--workspace", "w")
    assert (code, out) == (0, b"")
    rows = {line.split("  ")[0].strip(): line[13:] for line in err.decode().splitlines()}
    assert list(rows) == [
        "name", "arguments", "validation", "permission", "lock", "breaker", "concurrency", "executed", "budget",
        "observation",
    ]  # fmt: skip
    assert rows["name"] == "Bash ('functions.bash' is Bash)"
    assert rows["permission"].startswith("ASK: ")
    assert "refused" in rows["permission"]
    assert rows["executed"] == "no: PERMISSION_DENIED"
    assert json.loads(rows["observation"])["error"]["code"] == "PERMISSION_DENIED"


def test_hostile_text_cannot_steer_the_terminal(harness: Harness) -> None:
    code, _, err = harness.run("\x1b[31mRead\u202e", '{"path":"\\u001b[2J"}', "--workspace", "w")
    assert code == 0
    assert b"\x1b" not in err
    assert "\u202e".encode() not in err


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["Read", "{}", "--workspace", "nowhere"], "--workspace: nowhere is not a folder"),
        (["Read", "{}", "--workspace", "w/a.txt"], "--workspace: w/a.txt is not a folder"),
        (["Read", "{}"], "--workspace"),
        (["Read", "--workspace", "w"], "ARGUMENTS"),
        (
            ["Read", "{}", "--workspace", "w", "--mode", "wild"],
            "--mode: no mode 'wild'; the modes are normal, read_only",
        ),
        (["Read", "{}", "--workspace", "w", "--ask", "maybe"], "--ask: no answer 'maybe'; the answers are deny, allow"),
    ],
)
def test_bad_usage_is_one_line_and_exit_code_2(harness: Harness, words: list[str], line: str) -> None:
    code, out, err = harness.run(*words)
    assert (code, out) == (2, b"")
    assert err.decode().count("\n") == 1
    assert line in err.decode()


def test_half_a_surrogate_pair_is_refused_and_shown_as_an_escape(harness: Harness) -> None:
    for arguments in ('{"path": "a\ud83d"}', '{"path": "a\\ud83d"}'):
        assert summary(harness.called("Read", arguments)) == ("deny", False, False, "error", "INVALID_PARAM")
    code, _, err = harness.run("Re\ud83dad", '{"path": "\ud83d"}', "--workspace", "w")
    assert code == 0
    assert b"\\ud83d" in err
