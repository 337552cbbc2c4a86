"""``harness check``: the files it takes, its exit codes and its two outputs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cassette.dialects.vcrpy import dump_vcrpy
from harness.errors import InputError
from harness.judge.lint import check_paths
from harness.judge.verdict import Verdict
from harness.wire.exchange import Exchange, Request, Response

ROOT = Path(__file__).resolve().parents[2]
CHAT = "https://models.example/v1/chat/completions"
GOOD = Exchange(
    Request("POST", CHAT, (), b'{"messages":[{"role":"user","content":"a"}]}'),
    Response(200, (), b'{"choices":[{"message":{"content":"b"},"finish_reason":"stop"}]}'),
)
LIMITED = Exchange(GOOD.request, Response(429, (), b"{}"))
BROKEN = Exchange(GOOD.request, Response(200, (), b"{"))
SCENARIO = "prompt: a\nplayer: {cassette: %s}\n"


def write(folder: Path, **files: Exchange | str) -> Path:
    for name, content in files.items():
        path = folder / (name.replace("__", ".") + ("" if "__" in name else ".yaml"))
        path.write_bytes(content.encode() if isinstance(content, str) else dump_vcrpy([content]))
    return folder


def harness(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = Path(sys.executable).parent / "harness"
    return subprocess.run([command, "check", *arguments], cwd=cwd, capture_output=True, text=True, check=False)


def test_the_shipped_cassettes_have_no_error() -> None:
    checked = check_paths([ROOT / "cassettes", ROOT / "scenarios"])
    assert [finding for finding in checked.findings if finding.severity == "error"] == []
    assert checked.verdict is Verdict.PASS
    assert (checked.cassettes, checked.exchanges) == (42, 48)


def test_the_collection_is_checked_too(tmp_path: Path) -> None:
    write(tmp_path, used=GOOD, unused=GOOD, one=SCENARIO % "used.yaml", two=SCENARIO % "gone.yaml")
    write(tmp_path, bad="prompt: 5\nplayer: {}\n", torn="interactions:\n- request: 5\n", old__yaml__partial=GOOD)
    checked = check_paths([tmp_path])
    found = {(Path(finding.file).name, finding.code, finding.severity.value) for finding in checked.findings}
    assert found == {
        ("unused.yaml", "cassette_unused", "warning"),
        ("torn.yaml", "cassette_unused", "warning"),
        ("two.yaml", "cassette_missing", "error"),
        ("bad.yaml", "unreadable", "error"),
        ("torn.yaml", "unreadable", "error"),
        ("old.yaml.partial", "recording_unfinished", "warning"),
    }


def test_without_scenarios_nothing_is_said_of_use_and_a_file_is_looked_at_once(tmp_path: Path) -> None:
    path = write(tmp_path, used=GOOD) / "used.yaml"
    checked = check_paths([path, tmp_path, path])
    assert (checked.findings, checked.cassettes, checked.exchanges) == ([], 1, 1)


def test_a_partial_recording_can_be_named(tmp_path: Path) -> None:
    path = write(tmp_path, a__yaml__partial=LIMITED) / "a.yaml.partial"
    assert [finding.code for finding in check_paths([path]).findings] == ["error_answer", "recording_unfinished"]


def test_a_named_file_that_cannot_be_read_is_bad_input(tmp_path: Path) -> None:
    write(tmp_path, torn="interactions:\n- request: 5\n", bad="prompt: 5\n")
    for name in ("torn.yaml", "bad.yaml", "gone.yaml"):
        with pytest.raises(InputError):
            check_paths([tmp_path / name])


@pytest.mark.parametrize(
    ("exchange", "code", "verdict"), [(GOOD, 0, "PASS"), (LIMITED, 0, "PASS"), (BROKEN, 1, "FAIL")]
)
def test_only_errors_fail(tmp_path: Path, exchange: Exchange, code: int, verdict: str) -> None:
    write(tmp_path, one=exchange)
    done = harness("--json", "one.yaml", cwd=tmp_path)
    assert done.returncode == code
    document = json.loads(done.stdout)
    assert document["verdict"] == verdict
    assert set(document) == {"findings", "totals", "verdict"}
    for finding in document["findings"]:
        assert list(finding) == ["file", "exchange", "path", "code", "severity", "what", "todo"]
    assert document["totals"]["exchanges"] == 1
    assert done.stderr.splitlines()[-1].startswith(f"{verdict}  1 cassette, 1 exchange: ")


def test_the_lines_can_be_searched_and_quiet_leaves_warnings_out(tmp_path: Path) -> None:
    write(tmp_path, bad=BROKEN, limited=LIMITED)
    loud, quiet = harness("bad.yaml", "limited.yaml", cwd=tmp_path), harness("-q", ".", cwd=tmp_path)
    assert loud.stdout == quiet.stdout == ""
    assert len(loud.stderr.splitlines()) == 3
    assert "error    bad.yaml  exchange 0 response body  response_not_json: it is no JSON" in loud.stderr
    assert "warning  limited.yaml  exchange 0 response status  error_answer: HTTP 429" in loud.stderr
    assert len(quiet.stderr.splitlines()) == 2


def test_bad_input_and_nothing_to_do(tmp_path: Path) -> None:
    assert harness("gone.yaml", cwd=tmp_path).returncode == 2
    assert harness("--secret", "(", ".", cwd=write(tmp_path, a=GOOD)).returncode == 2
    empty = tmp_path / "empty"
    empty.mkdir()
    assert harness(cwd=empty).returncode == 125


def test_a_pattern_can_be_given(tmp_path: Path) -> None:
    write(tmp_path, one=GOOD)
    assert harness("--secret", '"user"', ".", cwd=tmp_path).returncode == 0
    assert harness("--secret", "^user$", ".", cwd=tmp_path).returncode == 1
