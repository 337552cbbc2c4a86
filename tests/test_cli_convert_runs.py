"""``harness convert`` to runs, as a person runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from harness.trace.collection import load_entries

HARNESS = Path(sys.executable).parent / "harness"
TALK = [{"role": "user", "content": "go"}, {"role": "assistant", "content": "done"}]


def convert(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([HARNESS, "convert", *words], capture_output=True, text=True, check=False)


def test_message_lists_become_runs_and_what_they_lack_is_said(tmp_path: Path) -> None:
    source = tmp_path / "talks.jsonl"
    lines = [{"messages": TALK, "task": "t", "reward": 1}, {"messages": TALK, "task": "t", "error": "disk full"}, TALK]
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = convert(source, tmp_path / "out", "--from", "messages")
    assert (done.returncode, done.stdout) == (0, "")
    assert f"{source} (messages): 3 runs, 1 model, 2 tasks written to {tmp_path / 'out'}" in done.stderr
    assert "note: 1 of 3 runs ended by a failure of the infrastructure" in done.stderr
    assert "note: 1 of 3 runs have no recorded reward" in done.stderr
    assert "note: 3 of 3 runs do not say their model; --model NAME does" in done.stderr
    assert [entry.trial.number for entry in load_entries(tmp_path / "out")] == [0, 1, 0]

    again = convert(source, tmp_path / "out", "--from", "messages", "--model", "m")
    assert (again.returncode, again.stderr.count("\n")) == (2, 1)
    assert "--force" in again.stderr
    assert convert(source, tmp_path / "out", "--from", "messages", "--model", "m", "--force", "-q").returncode == 0
    assert {entry.trial.model for entry in load_entries(tmp_path / "out")} == {"m"}


def test_bad_input_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('[{"task_id": 1, "trial": 0}]')
    done = convert(tmp_path / "x.json", tmp_path / "out", "--from", "tau-bench")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "x.json[0]: there is no traj" in done.stderr
    assert not (tmp_path / "out" / "manifest.json").exists()
