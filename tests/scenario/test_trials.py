"""Cassettes of the same tasks by several models as runs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest

from harness.cassette.own import CassetteWriter
from harness.errors import InputError
from harness.scenario.trials import read_cassettes
from harness.trace.run import Trial
from harness.wire.exchange import Exchange, Request, Response

JSON = (("content-type", "application/json"),)


def exchange(model: str, content: str = "hello", answer: str = "hi") -> Exchange:
    body = {"model": model, "messages": [{"role": "user", "content": content}]}
    message = {"role": "assistant", "content": answer}
    completion: dict[str, Any] = {"id": "r", "model": model, "choices": [{"message": message, "finish_reason": "stop"}]}
    return Exchange(
        Request("POST", "https://h.example/v1/chat/completions", JSON, orjson.dumps(body)),
        Response(200, JSON, orjson.dumps(completion)),
    )


def cassette(path: Path, *exchanges: Exchange) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with CassetteWriter(path) as writer:
        for each in exchanges:
            writer.add(each)
    return path


def test_a_folder_of_cassettes_is_trials_by_task_and_model(tmp_path: Path) -> None:
    for date in ("2026-01", "2026-02"):
        for model in ("big", "small"):
            cassette(tmp_path / date / model / "read.cassette.jsonl", exchange(model), exchange(model, "more"))
    trials = [run.trial for run in read_cassettes(tmp_path)]
    assert trials == [
        Trial("read", 0, "big"),
        Trial("read", 0, "small"),
        Trial("read", 1, "big"),
        Trial("read", 1, "small"),
    ]


def test_files_of_a_folder_that_are_no_cassettes_are_passed_over(tmp_path: Path) -> None:
    cassette(tmp_path / "read.cassette.jsonl", exchange("m"))
    (tmp_path / "expected.yaml").write_text("read: [{Read: {path: [a]}}]")
    (tmp_path / "data.json").write_text('{"messages": []}')
    assert len(list(read_cassettes(tmp_path))) == 1
    (tmp_path / "broken.yaml").write_text("interactions: 7\n")
    with pytest.raises(InputError, match="interactions is not a list"):
        list(read_cassettes(tmp_path))


def test_the_model_is_the_one_asked_most_and_among_equals_with_most(tmp_path: Path) -> None:
    title, asked = exchange("title-model", "short"), exchange("main-model", "a long question " * 5)
    cassette(tmp_path / "a.cassette.jsonl", title, asked)
    cassette(
        tmp_path / "b.cassette.jsonl", asked, exchange("title-model", "long " * 99), exchange("main-model", "more")
    )
    assert [run.trial.model for run in read_cassettes(tmp_path) if run.trial] == ["main-model", "main-model"]
    assert [run.trial.model for run in read_cassettes(tmp_path, "mine") if run.trial] == ["mine", "mine"]


def test_a_manifest_says_what_the_cassettes_do_not(tmp_path: Path) -> None:
    cassette(tmp_path / "sub" / "x1.cassette.jsonl", exchange("m"))
    manifest = tmp_path / "trials.yaml"
    manifest.write_text(
        "- {cassette: sub/x1.cassette.jsonl, task: greet, model: renamed, trial: 5, reward: 0.5, error: disk full}\n"
        "- {cassette: sub/x1.cassette.jsonl}\n"
    )
    graded, plain = read_cassettes(manifest)
    assert graded.trial == Trial("greet", 5, "renamed", 0.5, "disk full")
    assert plain.trial == Trial("x1", 0, "m")
    assert plain.lanes[0].final_text == "hi"
    assert len(plain.exchanges) == 1


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{", "not YAML"),
        ("[]", "a manifest is a list"),
        ("cassette: x", "a manifest is a list"),
        ("- {task: t}", "entry 1: cassette: Field required"),
        ("- {cassette: x, trial: -1}", "entry 1: trial: "),
        ("- {cassette: x, rewrad: 1}", "entry 1: rewrad: "),
        ("- 5", "entry 1: "),
        ("- {cassette: nowhere.yaml}", "nowhere.yaml"),
    ],
)
def test_a_manifest_that_is_none_is_an_input_error(tmp_path: Path, text: str, what: str) -> None:
    manifest = tmp_path / "trials.yaml"
    manifest.write_text(text)
    with pytest.raises(InputError) as caught:
        list(read_cassettes(manifest))
    assert what in str(caught.value)
    assert "\n" not in str(caught.value)


def test_folders_without_cassettes_are_input_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no cassette"):
        list(read_cassettes(tmp_path))
    with pytest.raises(InputError, match="no such file or folder"):
        list(read_cassettes(tmp_path / "nowhere"))


@pytest.mark.corpus
def test_the_same_tasks_by_three_models(corpus_dir: Path) -> None:
    runs = list(read_cassettes(corpus_dir / "crush" / "2026-03-12"))
    found = Counter(run.trial.model for run in runs if run.trial)
    assert len(found) == 3
    assert set(found.values()) == {10}
    tasks = {model: {run.trial.task for run in runs if run.trial and run.trial.model == model} for model in found}
    assert len(set(map(frozenset, tasks.values()))) == 1, "every model did the same tasks"
    assert sum(len(step.calls) for run in runs for lane in run.lanes for step in lane.steps) > 0
