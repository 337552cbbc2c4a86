"""The command line as a user meets it: a process with a working folder."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.scenario.scenarios import ANSWER

ROOT = Path(__file__).resolve().parent.parent
HARNESS = Path(sys.executable).parent / "harness"


def harness(*words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([HARNESS, *words], cwd=cwd, capture_output=True, text=True, check=False)


def test_help_loads_neither_openai_nor_pandas() -> None:
    code = (
        "import sys; sys.argv = ['harness', '--help']\n"
        "from harness.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "loaded = {'openai', 'pandas', 'httpx2', 'yaml', 'pydantic', 'numpy'} & set(sys.modules)\n"
        "assert not loaded, loaded\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for command in ("run", "replay", "record", "convert"):
        assert command in done.stdout


def test_run_judges_the_shipped_cases_and_writes_reports(tmp_path: Path) -> None:
    done = harness("run", "--out", tmp_path, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    *_, verdict, report = done.stderr.splitlines()
    assert verdict.startswith("PASS")
    assert report == f"report: {tmp_path / 'summary.md'}"
    suite = ET.parse(tmp_path / "junit.xml").getroot().find("testsuite")
    assert suite is not None
    assert len(suite.findall("testcase")) >= 16
    assert suite.get("failures") == suite.get("errors") == "0"
    assert "PASS" in (tmp_path / "summary.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("text", "code", "word"),
    [
        (ANSWER, 0, "PASS"),
        (ANSWER.replace("final_text: Hello", "final_text: Bye"), 1, "FAIL"),
        (ANSWER.split("expect:")[0], 125, "INCONCLUSIVE"),
    ],
)
def test_the_exit_code_follows_the_verdict(tmp_path: Path, text: str, code: int, word: str) -> None:
    (tmp_path / "t.yaml").write_text(text)
    done = harness("run", "t.yaml", cwd=tmp_path)
    assert done.returncode == code
    assert done.stderr.splitlines()[-2].startswith(word)


def test_nothing_collected_is_no_success(tmp_path: Path) -> None:
    assert harness("run", cwd=tmp_path).returncode == 125
    (tmp_path / "scenarios").mkdir()
    assert harness("run", cwd=tmp_path).returncode == 125


@pytest.mark.parametrize(
    ("words", "files", "line"),
    [
        (["run", "missing.yaml"], {}, "missing.yaml: no such file or folder"),
        (["replay", "missing.yaml"], {}, "missing.yaml: no such file or folder"),
        (["run", "t.yaml"], {"t.yaml": "a: [1\nb: 2\n"}, "t.yaml:2: not valid YAML"),
        (["run", "t.yaml"], {"t.yaml": ANSWER + "extra: 1\n"}, "t.yaml:7: extra: unknown key"),
        (["replay", "t.yaml"], {"t.yaml": "just: data\n"}, "t.yaml"),
        (["replay", "t.yaml"], {"t.yaml": ANSWER}, "t.yaml"),
        (["replay", "t.yaml"], {"t.yaml": ""}, "t.yaml"),
        (["replay", "t.yaml"], {"t.yaml": "interactions: []\nversion: 1\n"}, "no exchange"),
        (["replay"], {}, "CASSETTE"),
        (["fly"], {}, "fly"),
        (["run", "--colour"], {}, "--colour"),
        (["record", "t.yaml"], {"t.yaml": ANSWER}, "--endpoint"),
        (["record", "t.yaml", "--endpoint", "x"], {"t.yaml": ANSWER}, "'x' is not MODEL=URL"),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_2(
    tmp_path: Path, words: list[str], files: dict[str, str], line: str
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    done = harness(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith("harness: ")
    assert line in done.stderr


def test_replay_prints_one_json_document_and_nothing_else_on_stdout(tmp_path: Path) -> None:
    done = harness("replay", ROOT / "cassettes", "--json", "--out", tmp_path / "out", cwd=tmp_path)
    assert done.returncode == 0
    document = json.loads(done.stdout)
    assert document["verdict"] == "PASS"
    shipped = [*(ROOT / "cassettes").glob("*.yaml"), *(ROOT / "cassettes" / "models").glob("*.cassette.jsonl")]
    assert document["totals"]["files"] == len(document["files"]) == len(shipped)
    assert set(document["files"][0]) >= {
        "path", "dialect", "exchanges", "chat_exchanges", "tool_calls", "steps", "drift", "anomalies", "verdict",
    }  # fmt: skip
    assert document["totals"]["tool_calls"] == sum(file["tool_calls"] for file in document["files"])


def test_run_prints_its_cases_as_json_with_what_did_not_pass(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(ANSWER.replace("final_text: Hello", "final_text: Bye"))
    done = harness("run", "t.yaml", "--json", cwd=tmp_path)
    assert done.returncode == 1
    document = json.loads(done.stdout)
    assert document["verdict"] == document["cases"][0]["verdict"] == "FAIL"
    assert [check["name"] for check in document["cases"][0]["not_passed"]] == ["final_text"]
    assert (tmp_path / document["cases"][0]["run_folder"] / "run.json").exists()


def test_quiet_prints_only_what_did_not_pass_and_the_end(tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text(ANSWER)
    (tmp_path / "wrong.yaml").write_text(ANSWER.replace("final_text: Hello", "final_text: Bye"))
    done = harness("run", "good.yaml", "wrong.yaml", "-q", cwd=tmp_path)
    assert "good" not in done.stderr
    assert "wrong" in done.stderr


def test_convert_says_what_it_wrote_and_notes_what_it_could_not(tmp_path: Path) -> None:
    source = ROOT / "cassettes" / "weather.yaml"
    done = harness("convert", source, "a.cassette.jsonl", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"{source} (vcrpy): 2 exchanges written to a.cassette.jsonl (harness)\n"
    assert harness("replay", "a.cassette.jsonl", cwd=tmp_path).returncode == 0
    whole = (tmp_path / "a.cassette.jsonl").read_bytes()
    (tmp_path / "a.cassette.jsonl").write_bytes(whole[:-3])
    torn = harness("convert", "a.cassette.jsonl", "b.yaml", "--quiet", cwd=tmp_path)
    assert torn.returncode == 0
    assert torn.stderr.startswith("note: line ")
    again = harness("convert", "a.cassette.jsonl", "b.yaml", cwd=tmp_path)
    assert again.returncode == 2
    assert again.stderr == "harness: b.yaml: this file exists (--force replaces it)\n"
    wrong = harness("convert", "a.cassette.jsonl", "c.yaml", "--from", "vcrpy", "--force", cwd=tmp_path)
    assert wrong.returncode == 2
    assert "this is a cassette of harness, not of vcrpy" in wrong.stderr
    # A replay of half a recording proves nothing.
    replayed = harness("replay", ".", cwd=tmp_path)
    assert replayed.returncode == 125
    assert "INCONCLUSIVE" in replayed.stderr
    assert "is torn and was left out" in replayed.stderr


def test_the_version_is_the_packages() -> None:
    from harness import __version__

    assert harness("--version", cwd=ROOT).stdout.strip() == f"harness {__version__}"
    assert f'version = "{__version__}"' in (ROOT / "pyproject.toml").read_text("utf-8")


def test_a_closed_pipe_ends_without_a_traceback(tmp_path: Path) -> None:
    command = f"{HARNESS} replay {ROOT / 'cassettes'} --json --out {tmp_path} | head -c 10"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert "Traceback" not in done.stderr
