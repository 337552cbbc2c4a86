"""``harness stream`` as a user meets it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli import main
from tests.wire.recordings import ROOT, scripted

HARNESS = Path(sys.executable).parent / "harness"
CASSETTE = ROOT / "cassettes" / "smollm2-read-streamed.yaml"
STREAM = next(recording.body for recording in scripted() if recording.name == "two calls")


def harness(*words: str | Path, data: bytes = b"", cwd: Path = ROOT) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([HARNESS, "stream", *words], cwd=cwd, input=data, capture_output=True, check=False)


def test_standard_input_as_json_is_one_document_and_nothing_else() -> None:
    done = harness("-", "--json", data=STREAM)
    assert (done.returncode, done.stderr) == (0, b"")
    document = json.loads(done.stdout)
    assert [call["name"] for call in document["tool_calls"]] == ["note", "clock"]
    assert document["status"] == "complete"


def test_people_see_each_event_with_its_time_and_the_message_on_stderr() -> None:
    done = harness(CASSETTE, "--exchange", "0")
    assert (done.returncode, done.stdout) == (0, b"")
    lines = done.stderr.decode().splitlines()
    assert lines[0].split() == ["0", "2.486s", "role", "assistant"]
    assert lines[2].endswith("call 0 arguments '{'")
    assert "[DONE]" in lines[15]
    assert lines[17].startswith("complete")
    assert 'call 0: Read {"path":"src/main.py"}' in lines[18]


def test_quiet_leaves_the_events_out(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["stream", str(CASSETTE), "--exchange", "0", "-q"])
    assert [line.split()[0] for line in capsys.readouterr().err.splitlines()] == ["complete", "call", "usage:"]


def test_an_anomaly_is_marked_at_its_event_and_counted() -> None:
    hostile = STREAM.replace(b'"index":1,"id"', b'"index":0,"id"').replace(
        b"data: [DONE]", b"data: null\n\ndata: [DONE]"
    )
    lines = harness("-", data=hostile).stderr.decode().splitlines()
    marked = [line for line in lines if "  ! " in line]
    assert ["index_reused" in line for line in marked].count(True) == 1
    assert marked[-1].endswith("-  ! null_frame")
    assert any(line.startswith("anomaly: null_frame at event") for line in lines)


def test_what_a_provider_sends_does_not_steer_the_terminal() -> None:
    hostile = STREAM.replace(b'"name":"note"', b'"name":"no\\u001b[31mte\\u202e"')
    shown = harness("-", data=hostile).stderr.decode()
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert r"no\x1b[31mte\u202e" in shown


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["nowhere.sse"], "nowhere.sse: there is no such file"),
        ([], "name a FILE"),
        ([str(ROOT / "LICENSE")], "neither a stream of events"),
        ([str(CASSETTE)], "choose with --exchange 0, 1"),
        ([str(CASSETTE), "--exchange", "9"], "there is no exchange 9"),
        ([str(CASSETTE), "--conformance"], "takes no FILE"),
        (["-", "--assembler", "a:b"], "--assembler goes with --conformance"),
        (["--conformance", "--assembler", "a"], "is not module:object"),
        (["-", "--max-tokens", "0"], "--max-tokens"),
    ],
)
def test_bad_usage_and_input_is_one_line_and_exit_code_2(
    words: list[str], what: str, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["stream", *words])
    printed = capsysbinary.readouterr()
    assert (ended.value.code, printed.out) == (2, b"")
    (line,) = printed.err.decode().splitlines()
    assert what in line


def test_the_conformance_table_and_its_json(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def assemble(body):\n    return []\n")
    shown = harness("--conformance", "--assembler", "mine:assemble", cwd=tmp_path)
    assert (shown.returncode, shown.stdout) == (0, b"")
    assert shown.stderr.startswith(b"| stream | report | harness | openai stream() | append by index | mine:assemble |")
    done = harness("--conformance", "--json", cwd=tmp_path)
    document = json.loads(done.stdout)
    assert document["totals"]["harness"]["right"] == len(document["streams"])
    assert done.stderr == b""


def test_half_a_surrogate_pair_is_an_escape_in_json_and_for_people() -> None:
    stream = STREAM.replace(b'"arguments":"', b'"arguments":"\\ud83d', 1)
    done = harness("-", "--json", data=stream)
    assert done.returncode == 0
    document = json.loads(done.stdout)
    assert "\ud83d" in document["tool_calls"][0]["arguments"]
    assert (document["status"], document["anomalies"]) == ("complete", [])
    assert b"\\ud83d" in harness("-", data=stream).stderr
