"""``harness compare`` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.cassette.dialects import load_cassette
from tests.command_line import Command, command
from tests.judge.trials import call, run, save

__all__ = ["harness"]

CASSETTES = Path(__file__).resolve().parent.parent / "cassettes" / "models"


@pytest.fixture
def harness(capfd: pytest.CaptureFixture[str]) -> Command:
    return command(capfd)


def folder(path: Path, **rewards: list[float | None]) -> Path:
    """A collection with a trial for each reward of each model."""
    runs = [
        run(f"t{n}", [[call("Read", {"n": n})]], model=model, reward=reward)
        for model, given in rewards.items()
        for n, reward in enumerate(given)
    ]
    return save(runs, path)


def test_the_json_is_what_the_contract_says(harness: Command, tmp_path: Path) -> None:
    out = folder(tmp_path / "runs", a=[1, 1, 0, 0], b=[1, 0, 1, 1])
    done = harness("compare", out, "--json", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert [(model["model"], model["tasks"], model["trials"], model["pass_hat_k"]) for model in document["models"]] == [
        ("a", 4, 4, {"1": 0.5}), ("b", 4, 4, {"1": 0.75}),
    ]  # fmt: skip
    low, high = document["models"][0]["interval"]
    assert 0 < low < 0.5 < high < 1
    (pair,) = document["pairs"]
    assert {key: pair[key] for key in ("a", "b", "both", "only_a", "only_b", "neither", "p_value", "conclusion")} == {
        "a": "a", "b": "b", "both": 1, "only_a": 1, "only_b": 2, "neither": 0, "p_value": 1.0,
        "conclusion": "too few tasks",
    }  # fmt: skip
    assert "verdict" not in document
    assert (tmp_path / "compare" / "summary.md").is_file()
    assert done.stderr.endswith(f"report: {tmp_path / 'compare' / 'summary.md'}\n")


@pytest.mark.parametrize(
    ("new", "options", "code", "verdict"),
    [
        ([1.0] * 30, [], 0, "PASS"),
        ([0.0] * 8 + [1.0] * 22, [], 1, "FAIL"),
        ([0.0] * 4 + [1.0] * 26, [], 0, "PASS"),
        ([0.0] * 4 + [1.0] * 26, ["--matters", "0.1"], 125, "INCONCLUSIVE"),
        ([0.0] * 8 + [1.0] * 22, ["--baseline", "new"], 0, "PASS"),
        ([None] * 30, [], 125, "INCONCLUSIVE"),
    ],
)
def test_the_gate_fails_where_a_model_is_worse_and_not_where_too_few_tasks_can_tell(
    harness: Command, tmp_path: Path, new: list[float | None], options: list[str], code: int, verdict: str
) -> None:
    out = folder(tmp_path / "runs", old=[1.0] * 30, new=new)
    done = harness("compare", out, "--gate", "--json", "--out", tmp_path, *options)
    assert (done.returncode, json.loads(done.stdout)["verdict"]) == (code, verdict)
    assert f"gate: {verdict}" in done.stderr


def test_the_same_figures_with_several_workers(harness: Command, tmp_path: Path) -> None:
    out = folder(tmp_path / "runs", a=[1.0, 0.0] * 12, b=[0.0, 1.0] * 12)
    found = [
        harness("compare", out, "--json", "--out", tmp_path / words[-1], *words).stdout
        for words in (["--workers", "1"], ["--workers", "2"])
    ]
    assert found[0] == found[1] != ""
    reports = [(tmp_path / name / "compare" / "trials.csv").read_bytes() for name in ("1", "2")]
    assert reports[0] == reports[1]


def test_nothing_to_judge_is_125_and_says_why(harness: Command, tmp_path: Path) -> None:
    done = harness("compare", folder(tmp_path / "runs", a=[None, None]), "--out", tmp_path)
    assert done.returncode == 125
    assert "2 trials could not be judged: no recorded reward (--judge says how to)" in done.stderr
    assert "no trial was judged" in done.stderr
    nothing = harness("compare", tmp_path / "runs", "--tasks", "other/*", "--out", tmp_path)
    assert nothing.returncode == 125


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--baseline", "c"], "--baseline: no trial is of 'c'"),
        (["--judge", "calls", "--expect", "missing.yaml"], "missing.yaml: cannot be read"),
        (["--judge", "stars"], "--judge: 'stars' is no judge"),
        (["--expect", "x.yaml"], "--expect: --judge reward takes no file"),
        (["--workers", "0"], "--workers"),
    ],
)
def test_bad_input_is_one_line(harness: Command, tmp_path: Path, words: list[str], message: str) -> None:
    done = harness("compare", folder(tmp_path / "runs", a=[1.0]), "--out", tmp_path, *words)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert message in done.stderr


def test_the_shipped_cassettes_of_two_local_models(harness: Command, tmp_path: Path) -> None:
    assert harness("convert", CASSETTES / "trials.yaml", tmp_path / "runs", "--from", "cassettes").returncode == 0
    words = ("--judge", "calls", "--expect", CASSETTES / "expected.yaml")
    done = harness("compare", tmp_path / "runs", *words, "--json", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert [(model["model"], model["tasks"], model["trials"]) for model in document["models"]] == [
        ("SmolLM2-135M-Instruct", 6, 18), ("Gemma-3-270M-base", 6, 18),
    ]  # fmt: skip
    assert all(model["tokens"] > 0 and model["duration_s"] > 0 for model in document["models"])
    assert [pair["conclusion"] for pair in document["pairs"]] == ["too few tasks"]


def test_both_local_models_were_offered_the_same_tools_in_the_same_shuffled_orders() -> None:
    orders: dict[str, dict[str, list[str]]] = {}
    for path in sorted(CASSETTES.glob("*.cassette.jsonl")):
        (exchange,) = load_cassette(path).exchanges
        model, trial = path.name.split("--", 1)
        body = exchange.request.json()
        assert isinstance(body, dict)
        orders.setdefault(model, {})[trial] = [tool["function"]["name"] for tool in body["tools"]]
    first, second = orders.values()
    assert first == second
    assert len(first) == 18
    assert len({name for names in first.values() for name in names}) == 6
    assert len({tuple(names) for names in first.values()}) > 12
    assert len({names[0] for names in first.values()}) > 4


@pytest.mark.corpus
def test_the_published_row_of_tau_bench(harness: Command, corpus_dir: Path, tmp_path: Path) -> None:
    harness("convert", corpus_dir / "tau-bench", tmp_path / "runs", "--from", "tau-bench")
    done = harness("compare", tmp_path / "runs", "--json", "--out", tmp_path)
    (model,) = json.loads(done.stdout)["models"]
    assert (model["model"], model["tasks"], model["trials"]) == ("gpt-4o", 50, 200)
    assert [f"{share:.3f}" for share in model["pass_hat_k"].values()] == ["0.420", "0.273", "0.220", "0.200"]


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("domain", "tasks", "rates", "conclusion"),
    [("airline", 20, {0.5, 0.65}, "too few tasks"), ("retail", 40, {0.85}, "no difference shown")],
)
def test_tau2_bench_shows_no_difference(
    harness: Command, corpus_dir: Path, tmp_path: Path, domain: str, tasks: int, rates: set[float], conclusion: str
) -> None:
    harness("convert", corpus_dir / "tau2-bench", tmp_path / "runs", "--from", "tau2-bench")
    done = harness("compare", tmp_path / "runs", "--tasks", f"{domain}/*", "--json", "--out", tmp_path)
    document = json.loads(done.stdout)
    assert {model["pass_hat_k"]["1"] for model in document["models"]} == rates
    (pair,) = document["pairs"]
    assert (pair["tasks"], pair["conclusion"]) == (tasks, conclusion)
    assert set(pair["resources"]) >= {"steps", "tokens", "duration_s"}
