"""``harness tokens`` as a user meets it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cassette.dialects.vcrpy import dump_vcrpy
from harness.trace.folder import save_run
from harness.trace.run import Run
from tests.measure.talks import talk, tool

HARNESS = Path(sys.executable).parent / "harness"
TOOLS = [tool("read"), tool("edit")]
USAGE = {"prompt_tokens": 90, "completion_tokens": 5, "total_tokens": 95}
REGISTRY = """
from harness.pipeline.registry import ToolRegistry
registry = ToolRegistry()
registry.register_function("echo", "Says it again.", lambda text: text)
def make():
    return registry
"""


def harness(*words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([HARNESS, *words], cwd=cwd, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    exchanges = talk([[("read", "x")], [("read", "y"), ("read", "z")], []], TOOLS, USAGE)
    (tmp_path / "talk.yaml").write_bytes(dump_vcrpy(exchanges))
    save_run(Run("talk", "replay", "talk.yaml", exchanges=exchanges), tmp_path / "run")
    (tmp_path / "a.tools.json").write_text(json.dumps(TOOLS[:1]))
    (tmp_path / "mytools.py").write_text(REGISTRY)
    lines = [{"path": "/v1/chat/completions", "body": exchange.request.json()} for exchange in exchanges]
    (tmp_path / "captured.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


def test_the_json_of_a_cassette_is_what_the_contract_says(folder: Path) -> None:
    done = harness("tokens", "talk.yaml", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert len(document["exchanges"]) == 3
    for number, exchange in enumerate(document["exchanges"]):
        assert exchange["file"] == "talk.yaml"
        assert exchange["index"] == number
        assert exchange["model"] == "gpt-4o-2024-08-06"
        assert exchange["recorded_prompt_tokens"] == 90
        assert exchange["estimate"] is False
        assert exchange["not_counted"] == []
        parts = ("tools_tokens", "system_tokens", "history_tokens", "other_tokens")
        assert exchange["counted_prompt_tokens"] == sum(exchange[part] for part in parts)
    assert [(use["name"], use["sent"], use["called"]) for use in document["tools"]] == [("edit", 3, 0), ("read", 3, 3)]
    edit, read = document["tools"]
    assert (read["unused_tokens"], edit["unused_tokens"]) == (0, 3 * edit["tokens"])
    assert document["totals"]["recorded_prompt_tokens"] == 270
    assert document["totals"]["price"]["usd"] > 0
    reports = folder / "reports" / "tokens"
    assert {path.name for path in reports.iterdir()} == {"summary.md", "steps.csv", "tools.csv", "task-1.svg"}
    assert done.stderr.splitlines()[-1] == f"report: {Path('reports/tokens/summary.md')}"


@pytest.mark.parametrize("source", ["run", "captured.jsonl"])
def test_a_saved_run_and_captured_requests_are_counted_alike(folder: Path, source: str) -> None:
    documents = [json.loads(harness("tokens", name, "--json", cwd=folder).stdout) for name in ("talk.yaml", source)]
    counts = [[one["counted_prompt_tokens"] for one in document["exchanges"]] for document in documents]
    assert counts[0] == counts[1]
    assert documents[0]["tools"] == documents[1]["tools"]


def test_definitions_and_registries_are_counted_by_themselves(folder: Path) -> None:
    done = harness("tokens", "a.tools.json", "mytools:registry", "mytools:make", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert [entry["file"] for entry in document["definitions"]] == ["a.tools.json", "mytools:registry", "mytools:make"]
    assert sorted(use["name"] for use in document["tools"]) == ["echo", "echo", "read"]
    assert {use["sent"] for use in document["tools"]} == {0}
    assert "3 tool definitions" in done.stderr


def test_a_change_of_tools_is_compared(folder: Path) -> None:
    done = harness("tokens", "talk.yaml", "--against", "a.tools.json", "--json", cwd=folder)
    against = json.loads(done.stdout)["against"]
    assert {tool["name"]: tool["status"] for tool in against["tools"]} == {"read": "same", "edit": "added"}
    assert [(task["requests"], task["delta"]) for task in against["tasks"]] == [(3, 3 * against["per_request"])]
    assert "over 3 requests of 1 task" in done.stderr


def test_a_folder_is_searched_and_what_cannot_be_read_is_said(folder: Path) -> None:
    (folder / "broken.yaml").write_text("interactions: 7\n")
    done = harness("tokens", ".", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["totals"]["files"] == 2
    assert len(document["unreadable"]) == 1
    assert "not read: broken.yaml" in done.stderr


def test_nothing_to_count_is_no_success(tmp_path: Path) -> None:
    done = harness("tokens", cwd=tmp_path)
    assert done.returncode == 125
    assert "nothing was collected" in done.stderr


def test_several_files_of_definitions_are_one_set(folder: Path) -> None:
    (folder / "b.json").write_text(json.dumps(TOOLS[1:]))
    (folder / "all.json").write_text(json.dumps(TOOLS))
    done = harness("tokens", "a.tools.json", "b.json", "--against", "all.json", "--json", cwd=folder)
    against = json.loads(done.stdout)["against"]
    assert against["per_request"] == 0
    assert {tool["status"] for tool in against["tools"]} == {"same"}


def test_csv_goes_to_stdout_and_quiet_leaves_two_lines(folder: Path) -> None:
    done = harness("tokens", "talk.yaml", "--csv", "--quiet", "--parquet", "--out", "here", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (folder / "here" / "tokens" / "steps.csv").read_text()
    assert (folder / "here" / "tokens" / "tools.parquet").is_file()
    assert len(done.stderr.splitlines()) == 2


def test_two_reports_of_the_same_are_the_same(folder: Path) -> None:
    for name in ("one", "two"):
        assert harness("tokens", "talk.yaml", "--out", name, cwd=folder).returncode == 0
    one, two = (sorted((folder / name / "tokens").iterdir()) for name in ("one", "two"))
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in two]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["missing.yaml"], "missing.yaml: no such file or folder"),
        (["nowhere:registry"], "nowhere:registry: cannot be used: ModuleNotFoundError"),
        (["mytools:nothing"], "mytools:nothing: cannot be used: AttributeError"),
        (["mytools:REGISTRY.x"], "mytools:REGISTRY.x: cannot be used"),
        (["bad.json"], "bad.json: not valid JSON"),
        (["numbers.json"], "numbers.json: entry 0 is no tool definition"),
        (["talk.yaml", "--against", "missing"], "missing: no such file or folder"),
        (["talk.yaml", "--json", "--csv"], "--json and --csv both want stdout"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(folder: Path, words: list[str], line: str) -> None:
    (folder / "bad.json").write_text("[1")
    (folder / "numbers.json").write_text("[1]")
    done = harness("tokens", *words, cwd=folder)
    assert done.returncode == 2
    assert done.stderr.startswith(f"harness: {line}")
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


@pytest.mark.corpus
def test_the_tools_of_real_agents_are_counted(shared_dir: Path, tmp_path: Path) -> None:
    files = sorted((shared_dir / "agents").glob("*.tools.json"))
    done = harness("tokens", *files, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = {Path(entry["file"]).name.split(".")[0]: entry for entry in json.loads(done.stdout)["definitions"]}
    assert len(found) == 10
    assert {name: entry["tools"] for name, entry in found.items() if name in {"opencode", "qwen", "aider", "pi"}} == {
        "aider": 0, "opencode": 9, "pi": 4, "qwen": 15
    }  # fmt: skip
    assert found["aider"]["tokens"] == 0
    assert found["qwen"]["tokens"] > found["opencode"]["tokens"] > found["pi"]["tokens"] > 0


@pytest.mark.corpus
def test_the_requests_of_real_agents_are_counted(shared_dir: Path, tmp_path: Path) -> None:
    files = sorted(path for path in (shared_dir / "agents").glob("*.jsonl") if ".2." not in path.name)
    done = harness("tokens", *files, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert {Path(one["file"]).name for one in document["exchanges"]} == {path.name for path in files}
    assert all(one["recorded_prompt_tokens"] is None for one in document["exchanges"])
